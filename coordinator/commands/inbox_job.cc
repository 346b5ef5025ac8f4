#include "coordinator/commands/inbox_job.h"

#include <algorithm>

#include "shared/telemetry/log.h"

namespace acl::coordinator {

namespace {

constexpr int kInboxAtOnce = 64;
constexpr milliseconds kInboxBusy{300};  // where something was posted, more may follow

}  // namespace

Tick InboxJob(const JobContext& context, std::vector<CommandedKind> kinds, milliseconds period) {
  const Logger log("commands");
  return [context, kinds = std::move(kinds), period, log]() -> Result<milliseconds> {
    auto ready = context.queries.ReadyQueues();
    if (!ready) return ready.error();
    milliseconds next = period;
    for (const CommandedKind& kind : kinds) {
      if (std::find(ready->begin(), ready->end(), kind.queue) == ready->end()) continue;
      auto found = context.queries.FindUndecided({&kind.queue, 1}, kind.kind, kInboxAtOnce);
      if (!found) return found.error();
      bool settled = false;
      for (const Undecided& one : *found) {
        Status done = kind.commands->DecideInbox(one.subject);
        settled = settled || done;
        if (done || done.code() == Code::kCorrupt) continue;  // a person's, and said where it was found
        log.Warn("what was posted could not be decided; tried again", {{"subject", one.subject}, {"error", done.message()}});
      }
      if (settled) next = std::min(next, found->size() >= kInboxAtOnce ? milliseconds(0) : kInboxBusy);
    }
    return next;
  };
}

}  // namespace acl::coordinator
