#include "coordinator/commands/settle.h"

#include <algorithm>

#include "shared/telemetry/log.h"

namespace acl::coordinator {

namespace {

constexpr int kSettledAtOnce = 64;
constexpr milliseconds kSettledBusy{300};  // where something was posted, more may follow

}  // namespace

Turn SettleTurn(const TurnContext& context, std::vector<Settled> kinds, milliseconds period) {
  const Logger log("commands");
  return [context, kinds = std::move(kinds), period, log]() -> Result<milliseconds> {
    auto ready = context.queries.ReadyQueues();
    if (!ready) return ready.error();
    milliseconds next = period;
    for (const Settled& kind : kinds) {
      if (std::find(ready->begin(), ready->end(), kind.queue) == ready->end()) continue;
      auto found = context.queries.FindUndecided({&kind.queue, 1}, kind.kind, kSettledAtOnce);
      if (!found) return found.error();
      bool settled = false;
      for (const Undecided& one : *found) {
        Status done = kind.commands->Settle(one.subject);
        settled = settled || done;
        if (done || done.code() == Code::kCorrupt) continue;  // a person's, and said where it was found
        log.Warn("what was posted could not be decided; tried again", {{"subject", one.subject}, {"error", done.message()}});
      }
      if (settled) next = std::min(next, found->size() >= kSettledAtOnce ? milliseconds(0) : kSettledBusy);
    }
    return next;
  };
}

}  // namespace acl::coordinator
