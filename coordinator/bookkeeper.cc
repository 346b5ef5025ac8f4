#include "coordinator/bookkeeper.h"

#include <algorithm>
#include <map>

#include "coordinator/decide_alone.h"
#include "shared/capability/inbox_inputs.h"
#include "shared/journal/snapshot.h"
#include "shared/kernel/ending.h"
#include "shared/kernel/item_builder.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {
namespace {

constexpr int kAtOnce = 16;
constexpr milliseconds kSessionTtl{30'000}, kPause{100};

class Bookkeeper {
 public:
  Bookkeeper(const JobContext& context, const SubjectKind& kind, milliseconds period) : context_(context), kind_(kind), period_(period) {}

  Result<milliseconds> Tick() {
    auto queues = UnservedQueues();
    if (!queues) return queues.error();
    if (queues->empty()) return period_;
    auto found = context_.queries.FindUndecided(*queues, std::string(kind_.Name()), kAtOnce);
    if (!found) return found.error();
    if (found->empty()) return period_;
    auto session = context_.store.OpenSession({"coordinator", "", 0, 0, {}, std::string(kProducerVersion), kSessionTtl});
    if (!session) return session.error();
    const Result<int> decided = DecideAll(*found, session->session);
    const Status closed = context_.store.CloseSession(session->session);
    if (!decided) return decided.error();
    if (!closed) return closed.error();
    return *decided > 0 && int(found->size()) >= kAtOnce ? kPause : period_;
  }

 private:
  // Those with something ready that have had no worker for long enough.
  Result<std::vector<std::string>> UnservedQueues() {
    auto ready = context_.queries.ReadyQueues();
    if (!ready) return ready.error();
    std::vector<std::string> served;
    if (!ready->empty()) {
      auto answer = context_.queries.ServedQueues();
      if (!answer) return answer.error();
      served = std::move(*answer);
    }
    const SteadyTime now = context_.clock.Steady();
    std::map<std::string, SteadyTime> seen;
    std::vector<std::string> unserved;
    for (const std::string& queue : *ready) {
      if (std::find(served.begin(), served.end(), queue) != served.end()) continue;
      const auto before = since_.find(queue);
      const SteadyTime since = before == since_.end() ? now : before->second;
      seen[queue] = since;
      if (now - since >= kUnservedFor) unserved.push_back(queue);
    }
    since_ = std::move(seen);
    return unserved;
  }

  // How many were.
  Result<int> DecideAll(const std::vector<Undecided>& found, const WorkerSessionId& session) {
    ClaimRequest request;
    request.session = session;
    request.kinds = {std::string(kind_.Name())};
    request.keys.emplace();
    std::map<SubjectId, bool> out_of_time;
    for (const Undecided& one : found) {
      request.keys->insert(request.keys->end(), one.rows.begin(), one.rows.end());
      out_of_time[one.subject] = one.never_begun_in_time;
    }
    auto claimed = context_.store.Claim(request);
    if (!claimed) return claimed.error();
    std::vector<CommitItem> items;
    for (const Claimed& one : claimed->claimed) {
      auto item = Decide(one, session, out_of_time[one.subject]);
      if (!item) return item.error();
      if (*item) items.push_back(std::move(**item));
    }
    int decided = int(claimed->claimed.size() - items.size());  // put into quarantine
    if (items.empty()) return decided;
    auto outcomes = context_.store.Commit(items);
    if (!outcomes) return outcomes.error();  // what landed is closed or free; the reaper frees the others
    for (std::size_t n = 0; n < items.size(); ++n) {
      if (outcomes->at(n).kind == CommitOutcome::Kind::kCommitted) {
        decided += items[n].events.empty() ? 0 : 1;
        Tell(items[n]);
      } else if (Status given = context_.store.ReleaseLease(items[n].subject, session, items[n].token); !given) {
        return given.error();
      }
    }
    return decided;
  }

  // Nothing: it was put into quarantine.
  Result<std::optional<CommitItem>> Decide(const Claimed& claimed, const WorkerSessionId& session, bool out_of_time) {
    auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, ReaderOf(context_.store, claimed.snapshot, claimed.events));
    Status sound =
        restored ? MatchesHead(*restored, claimed.head.seq, claimed.head.chain, claimed.head.state_root) : Status(restored.error());
    if (!sound && sound.code() == Code::kCorrupt) {
      if (const auto version = NewerVersionOf(claimed.snapshot, claimed.events))
        return std::optional(ReleaseFor(claimed, session, *version));
      return Quarantine(claimed, session, "restore failed", sound.message());
    }
    if (!sound) return std::optional(ReleaseUntilLater(claimed, session));  // its contents cannot be read now
    InboxRead inbox = ReadInbox(claimed.inbox);
    if (!inbox.damage.empty()) return Quarantine(claimed, session, "content damaged", inbox.damage);
    auto item = DecideAlone(kind_, claimed, std::move(inbox.inputs), std::move(restored->state), session, out_of_time);
    if (!item) return Quarantine(claimed, session, "decision failed", item.message());
    return std::optional(std::move(*item));
  }

  Result<std::optional<CommitItem>> Quarantine(const Claimed& claimed, const WorkerSessionId& session, const std::string& reason,
                                               const std::string& detail) {
    log_.Error("quarantined; `airun workflow quarantine inspect` says more", {{"run_id", claimed.subject}, {"reason", reason}});
    if (Status put = context_.store.Quarantine(claimed.subject, session, claimed.token, reason, detail); !put) return put.error();
    return std::optional<CommitItem>();
  }

  void Tell(const CommitItem& item) {
    const bool closed = item.disposition == Disposition::kClose;
    log_.Info(closed ? "ended a run whose queue no worker serves" : "told a run whose queue no worker serves",
              {{"run", item.subject.ToString()}, {"events", item.events.size()}});
    if (item.listing && item.listing->completed_at) CountEnd(*item.listing);
    if (closed && context_.closed) context_.closed(item.subject);
  }

  void CountEnd(const ListingChange& listing) {
    context_.metrics.counter(names::kRunsEnded, {{"ending", std::string(EndingOf(listing))}}).Add();
  }

  const JobContext context_;
  const SubjectKind& kind_;
  const milliseconds period_;
  const Logger log_{"bookkeeper"};
  std::map<std::string, SteadyTime> since_;
};

}  // namespace

Tick BookkeeperJob(const JobContext& context, const SubjectKind& kind, milliseconds period) {
  return [keeper = std::make_shared<Bookkeeper>(context, kind, period)] { return keeper->Tick(); };
}

}  // namespace acl::coordinator
