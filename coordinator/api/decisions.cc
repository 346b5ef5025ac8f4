#include "coordinator/api/decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "coordinator/api/request.h"
#include "shared/approval/render.h"
#include "shared/http/problem.h"
#include "shared/journal/event.h"
#include "shared/workflow/approvals.h"
#include "shared/workflow/events.h"
#include "shared/workflow/state.h"

namespace acl::coordinator {
namespace {

constexpr int kMostWaiting = 3;  // each holds a thread of the pool; who comes then is told 202 and may look
std::atomic<int> waiting_decisions{0};
constexpr std::int64_t kLookedBack = 2'000;  // events, for the answer to a decision that is repeated
constexpr std::array<const char*, 3> kDecisionWords = {"approval_id", "decision", "digest"};

// One of those places, while it lives.
class WaitingPlace {
 public:
  WaitingPlace() : taken_(waiting_decisions.fetch_add(1) < kMostWaiting) {}
  ~WaitingPlace() { waiting_decisions.fetch_sub(1); }
  WaitingPlace(const WaitingPlace&) = delete;
  WaitingPlace& operator=(const WaitingPlace&) = delete;
  bool taken() const { return taken_; }

 private:
  const bool taken_;
};

HttpResponse AlreadyDecided(const approval::Request& request, const std::string& detail) {
  // Over, though the run has not said so yet: nobody won.
  const bool over = request.pending();
  Json winner = {{"state", over ? std::string(approval::kTimeout) : request.state}};
  if (!request.decided_by.empty()) winner["decided_by"] = request.decided_by;
  if (request.decided_at) winner["decided_at"] = FormatWallTime(*request.decided_at);
  return Problem(409, "already-decided", detail, Json::array(), {{"winner", winner}});
}

// Of a refusal in the journal.
HttpResponse RefusedBy(const Json& facts, const std::optional<approval::ShownApproval>& now) {
  const std::string code = workflow::TextOf(&facts, "code"), why = workflow::TextOf(&facts, "reason");
  if ((code == "not-pending" || code == "expired") && now) return AlreadyDecided(now->request, why);
  if (code == "not-allowed") return Problem(403, code, why);
  if (code == "invalid-decision") return Problem(422, code, why);
  if (code == "not-asked") return Problem(404, "not-found", why);
  return Problem(409, code.empty() ? "refused" : code, why);  // digest-mismatch, already-voted
}

// Type and facts of the event that came of the inbox row, if it is there.
Result<std::optional<std::pair<std::string, Json>>> HeardOf(const ApiContext& api, const SubjectId& run, std::int64_t& after,
                                                            const std::string& inbox_id) {
  using Heard = std::optional<std::pair<std::string, Json>>;
  auto events = api.queries.Events(run, after, 100, 4u << 20);
  if (!events) return events.error();
  for (const Event& event : *events) {
    after = event.seq;
    auto payload = ParsePayload(event);
    if (!payload) continue;
    if (workflow::TextOf(&*payload, "inbox_id") == inbox_id) return Heard(std::pair(event.type, std::move(*payload)));
  }
  return Heard();
}

// Whether what was said stands in the approval as it is now.
bool Counts(const approval::Request& request, const Json& said, const std::string& by) {
  if (workflow::TextOf(&said, "decision") == "reject") return request.state == approval::kRejected && request.decided_by == by;
  return std::any_of(request.votes.begin(), request.votes.end(), [&](const approval::Vote& vote) { return vote.by == by; });
}

// How the run refused the same words, if it did, lately.
std::optional<Json> RefusedBefore(const ApiContext& api, const SubjectId& run, std::int64_t head, const Json& said, const std::string& by) {
  std::optional<Json> refused;
  for (std::int64_t after = std::max<std::int64_t>(0, head - kLookedBack);;) {
    auto events = api.queries.Events(run, after, 100, 4u << 20);
    if (!events || events->empty()) return refused;
    for (const Event& event : *events) {
      after = event.seq;
      if (event.type != workflow::event::kInputRefused) continue;
      auto facts = ParsePayload(event);
      if (!facts || workflow::TextOf(&*facts, "decided_by") != by) continue;
      const bool same = std::all_of(kDecisionWords.begin(), kDecisionWords.end(),
                                    [&](const char* word) { return workflow::TextOf(&*facts, word) == workflow::TextOf(&said, word); });
      if (same) refused = std::move(*facts);
    }
  }
}

// Of a decision that was taken under the same key before: the answer that the first one has or would have by now.
void AnswerAgain(const ApiContext& api, const SubjectId& run, std::int64_t head, const Json& said, Decided& decided) {
  std::string by = workflow::TextOf(&said, "by");
  if (by.empty()) by = workflow::TextOf(&said, "approver");
  decided.known = Counts(decided.shown->request, said, by);
  if (decided.known) return;
  if (const auto refused = RefusedBefore(api, run, head, said, by)) {
    decided.refusal = RefusedBy(*refused, decided.shown);
  } else if (!decided.shown->request.pending()) {
    decided.refusal =
        AlreadyDecided(decided.shown->request, fmt::format("the approval is {}", approval::OutcomeText(decided.shown->request)));
  }
}

Decided Refusal(HttpResponse response) { return {std::move(response), std::nullopt, false, false}; }

// Looks again and again, less and less often.
void WaitForRun(const ApiContext& api, const InboxPost& post, std::int64_t after, Decided& decided) {
  const WaitingPlace place;
  milliseconds left = place.taken() ? api.approval_wait : milliseconds(0), pause{10};
  for (;;) {
    auto heard = HeardOf(api, post.subject, after, post.id.ToString());
    if (heard && *heard) {
      auto now = api.approvals->Get(kDefaultProject, decided.shown->request.approval_id);
      if (now) decided.shown = *now;
      decided.known = true;
      const auto& [type, facts] = **heard;
      if (type == workflow::event::kInputRefused) decided.refusal = RefusedBy(facts, decided.shown);
      return;
    }
    if (left <= milliseconds(0)) return;
    std::this_thread::sleep_for(std::min(pause, left));
    left -= std::min(pause, left);
    pause = std::min(pause * 2, milliseconds(200));
  }
}

}  // namespace

Decided Decide(const ApiContext& api, const GivenDecision& given) {
  auto shown = api.approvals->Get(kDefaultProject, given.approval_id);
  if (!shown) return Refusal(ProblemOf(shown.error()));
  const SubjectId run = shown->run;
  const std::string seen = workflow::TextOf(&given.payload, "shown_digest");
  if (!seen.empty() && workflow::TextOf(&given.payload, "digest") == shown->request.digest &&
      seen != approval::Render(shown->request).digest)
    return Refusal(Problem(409, "shown-digest-mismatch", "what was shown is not what is asked; look at it again (airun approvals show)"));
  // Who comes late is told so at once, and on record all the same, as long as the run takes anything.
  auto subject = api.queries.GetSubject(run);
  if (!subject) return Refusal(ProblemOf(subject.error()));
  Json payload = given.payload;
  payload["approval_id"] = given.approval_id;
  if (Status storable = CheckStorable(payload); !storable) return Refusal(Problem(422, "invalid-request", storable.message()));
  const InboxPost post{run, api.ids.New<InboxId>(), "decide", DumpJson(payload), given.key};
  auto answer = api.store.Post(post);
  if (!answer && IsKeyConflict(answer.error()))
    return Refusal(Problem(422, "key-reused", "this Idempotency-Key was used for another request of this run"));
  if (!answer && answer.code() == Code::kConflict)
    return Refusal(AlreadyDecided(shown->request,
                                  fmt::format("the run has ended already; the approval is {}", approval::OutcomeText(shown->request))));
  if (!answer) return Refusal(ProblemOf(answer.error()));
  Decided decided{std::nullopt, std::move(*shown), false, answer->replayed};
  if (answer->replayed) {
    Counter(api.idempotency_hits).Add();
    AnswerAgain(api, run, subject->head.seq, payload, decided);
    return decided;
  }
  api.bell.RingPosted(*answer, run);
  WaitForRun(api, post, subject->head.seq, decided);
  return decided;
}

}  // namespace acl::coordinator
