// POST /v1/workflows/{id}/steps/{step_id}/compensate: a compensation that could not succeed is tried once more, or given up.
#include "coordinator/api/compensate.h"

#include <fmt/format.h>

#include "coordinator/api/request.h"
#include "coordinator/api/run_reader.h"
#include "shared/base/canonical_json.h"
#include "shared/workflow/run_view.h"
#include "shared/workflow/state.h"
#include "shared/workflow/undo_run.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMaxCompensateBytes = 64u << 10, kMostFinishReasonBytes = 2'000;
constexpr std::size_t kMostFinishings = 100;  // of one compensation
constexpr const char* kDecisionLabel = "decision";

struct FinishAsked {
  workflow::Finish finish;
  Hash256 hash{};
};

HttpResponse BadMember(const char* member, const char* code, std::string why) {
  return Problem(422, "invalid-request", why, Json::array({ErrorItem(code, why, std::string("/") + member)}));
}

OrRefusal<FinishAsked> ReadAsked(const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadObject(request, {"decision", "reason", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Json& body = ValueOf(read);
  for (const char* member : {"decision", "reason"}) {
    if (!body.contains(member)) return BadMember(member, "missing-member", fmt::format("'{}' is missing", member));
    if (!body[member].is_string()) return BadMember(member, "wrong-type", fmt::format("'{}' is not a string", member));
  }
  FinishAsked asked;
  const std::string decision = body["decision"];
  if (decision != "retry" && decision != "skip") return BadMember("decision", "bad-value", "decision is retry or skip");
  asked.finish.skip = decision == "skip";
  asked.finish.reason = body["reason"];
  if (asked.finish.reason.empty() || asked.finish.reason.size() > kMostFinishReasonBytes)
    return BadMember("reason", "bad-value", fmt::format("reason has 1 to {} bytes: it is kept in the journal", kMostFinishReasonBytes));
  if (body.contains("by") && !body["by"].is_string()) return BadMember("by", "wrong-type", "'by' is not a string");
  asked.finish.by = !request.principal.empty() ? request.principal : body.value("by", "");
  if (asked.finish.by.empty()) return BadMember("by", "missing-member", "'by' is missing: who decides");
  if (auto storable = CheckStorable(body); !storable) return Problem(422, "invalid-request", storable.message());
  asked.finish.step_id = request.Param("step_id");
  asked.finish.request_key = ValueOf(key).value_or("");
  asked.hash = CanonicalHash(Json{{"decision", decision}, {"reason", asked.finish.reason}, {"by", asked.finish.by}});
  return asked;
}

Json AnswerOf(const SubjectId& made, const SubjectId& run, const std::string& left, bool skip) {
  return {{"id", made.ToString()},
          {"url", "/v1/workflows/" + made.ToString()},
          {"undo_of", run.ToString()},
          {"step_id", left},
          {"decision", skip ? "skip" : "retry"}};
}

// Why nobody may decide on it any more; nothing: somebody may. `again`: the same request was taken before.
std::optional<HttpResponse> DecidedAlready(const ApiContext& api, const std::vector<Finishing>& before, const SubjectId& run,
                                           const std::string& left, const FinishAsked& asked) {
  if (before.empty()) return std::nullopt;
  const Finishing& last = before.back();
  if (!asked.finish.request_key.empty()) {
    auto made = ReadRun(api, last.run);
    const auto record = made ? workflow::ReadRun(made->state) : std::nullopt;
    if (record && workflow::TextOf(record->finishes, "key") == asked.finish.request_key)
      return HttpResponse::OfJson(201, AnswerOf(last.run, run, left, last.decision == "skip")).With("Idempotent-Replayed", "true");
  }
  const std::string by_run = last.run.ToString();
  if (!last.closed) return Problem(409, "already-decided", fmt::format("run {} finishes '{}' and goes on", by_run, left));
  if (last.decision == "skip") return Problem(409, "already-decided", fmt::format("'{}' was given up by run {}", left, by_run));
  if (last.status == "ROLLED_BACK") return Problem(409, "already-decided", fmt::format("'{}' was undone by run {}", left, by_run));
  if (before.size() >= kMostFinishings)
    return Problem(409, "too-many-tries", fmt::format("'{}' was tried {} times; give it up, or undo it by hand", left, before.size()));
  return std::nullopt;
}

// What is left of a run, in words for who asks for something else.
std::string LeftText(const Document& state) {
  std::string names;
  for (const std::string& left : workflow::LeftUndone(state)) names += (names.empty() ? "" : ", ") + left;
  return names.empty() ? "nothing is left undone" : "left undone: " + names;
}

// The newest of the runs that have it as theirs: the run itself, or the last try.
Result<ReadRunState> NewestOf(const ApiContext& api, ReadRunState run, const std::vector<Finishing>& before) {
  if (before.empty()) return run;
  return ReadRun(api, before.back().run);
}

HttpResponse Make(const ApiContext& api, const ReadRunState& newest, const SubjectId& run, const std::string& left, FinishAsked asked) {
  workflow::CreateRequest create;
  create.subject = workflow::FinishIdOf(newest.listed.subject, left, *newest.listed.completed_at);
  create.project = newest.listed.project;
  create.request_key = "finish:" + create.subject.ToString();
  create.request_hash = asked.hash;
  create.labels = {{"undo_of", newest.listed.subject.ToString()}, {kDecisionLabel, asked.finish.skip ? "skip" : "retry"}};
  asked.finish.step_id = left;
  auto item = workflow::MakeFinishItem(api.workflow_kind, newest.state, asked.finish, std::move(create));
  if (!item) return item.code() == Code::kInvalid ? Problem(409, "in-vain", item.message()) : ProblemOf(item.error());
  auto created = api.store.Create({&*item, 1});
  if (!created && created.code() == Code::kConflict) return Problem(409, "already-decided", "somebody else decided at the same time");
  if (!created) return ProblemOf(created.error());
  const CreateOutcome& outcome = created->front();
  if (outcome.kind == CreateOutcome::Kind::kKeyConflict)
    return Problem(409, "already-decided", fmt::format("somebody else decided at the same time: see run {}", outcome.subject.ToString()));
  if (outcome.kind == CreateOutcome::Kind::kCreated) api.bell.RingWork(item->queue);
  Counter(api.runs_created).Add();
  auto response = HttpResponse::OfJson(201, AnswerOf(outcome.subject, run, left, asked.finish.skip));
  response.With("Location", "/v1/workflows/" + outcome.subject.ToString());
  if (outcome.kind == CreateOutcome::Kind::kReplayed) response.With("Idempotent-Replayed", "true");
  return response;
}

HttpResponse Compensate(const ApiContext& api, const HttpRequest& request) {
  auto asked = ReadAsked(request);
  if (const auto* refusal = RefusalOf(asked)) return *refusal;
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  auto run = ReadRun(api, ValueOf(id));
  if (!run) return ProblemOf(run.error());
  if (!run->damage.empty()) return Problem(500, "corrupt", run->damage);
  if (run->listed.state != OpenState::kClosed || !run->listed.completed_at)
    return Problem(409, "not-ended",
                   "the run has not ended, and what could not be undone is known at its end; a compensation that is UNCERTAIN takes "
                   "airun step resolve");
  const SubjectId of = run->listed.subject;
  const std::string left = workflow::LeftUndone(run->state, ValueOf(asked).finish.step_id);
  if (left.empty())
    return Problem(409, "nothing-left",
                   fmt::format("of '{}' nothing is left to be undone ({})", ValueOf(asked).finish.step_id, LeftText(run->state)));
  auto before = FinishingsOf(api, of, *run->listed.completed_at, left);
  if (!before) return ProblemOf(before.error());
  if (auto decided = DecidedAlready(api, *before, of, left, ValueOf(asked))) return std::move(*decided);
  auto newest = NewestOf(api, std::move(*run), *before);
  if (!newest) return ProblemOf(newest.error());
  if (!newest->damage.empty() || !newest->listed.completed_at)
    return Problem(500, "corrupt", fmt::format("run {}: {}", newest->listed.subject.ToString(), newest->damage));
  return Make(api, *newest, of, left, std::move(ValueOf(asked)));
}

}  // namespace

Result<std::vector<Finishing>> FinishingsOf(const ApiContext& api, SubjectId run, WallTime ended_at, const std::string& left) {
  std::vector<Finishing> found;
  while (found.size() < kMostFinishings) {
    const SubjectId next = workflow::FinishIdOf(run, left, ended_at);
    auto view = api.queries.GetSubject(next);
    if (!view && view.code() == Code::kNotFound) break;
    if (!view) return view.error();
    Finishing& one = found.emplace_back();
    one.run = next;
    one.closed = view->state == OpenState::kClosed;
    if (view->listing) {
      one.status = view->listing->status;
      if (auto labels = ParseJson(view->listing->labels_json); labels && labels->is_object())
        one.decision = labels->value(kDecisionLabel, "");
    }
    if (!one.closed || !view->completed_at || one.status != "FAILED" || one.decision != "retry") break;
    run = next;
    ended_at = *view->completed_at;
  }
  return found;
}

Status AddFinishings(const ApiContext& api, const SubjectView& listed, Json& answer) {
  if (!answer.contains("not_undone") || !listed.completed_at) return Status();
  for (Json& one : answer["not_undone"]) {
    auto tries = FinishingsOf(api, listed.subject, *listed.completed_at, one.value("step_id", ""));
    if (!tries) return tries.error();
    if (tries->empty()) continue;
    const Finishing& last = tries->back();
    one["finished_by"] = {{"run_id", last.run.ToString()}, {"decision", last.decision}, {"status", last.status}, {"tries", tries->size()}};
  }
  return Status();
}

void AddCompensateRoutes(Router& router, const ApiContext& api) {
  const RouteOptions options{.max_body = kMaxCompensateBytes, .content_types = {"application/json"}, .body_required = true};
  router.Add("POST", "/v1/workflows/{id}/steps/{step_id}/compensate", options, [api](const HttpRequest& r) { return Compensate(api, r); });
}

}  // namespace acl::coordinator
