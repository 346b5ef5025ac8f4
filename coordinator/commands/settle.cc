#include "coordinator/commands/settle.h"

#include <algorithm>

#include "shared/telemetry/log.h"

namespace acl::coordinator {

namespace {

constexpr int kSettledAtOnce = 64;
constexpr milliseconds kSettledBusy{300};  // where something was posted, more may follow

}  // namespace

Turn SettleTurn(const TurnContext& context, CommandService& commands, std::string kind, std::string queue, milliseconds period) {
  const Logger log("commands");
  return [context, &commands, kind = std::move(kind), queue = std::move(queue), period, log]() -> Result<milliseconds> {
    auto ready = context.queries.ReadyQueues();
    if (!ready) return ready.error();
    if (std::find(ready->begin(), ready->end(), queue) == ready->end()) return period;
    auto found = context.queries.FindUndecided({&queue, 1}, kind, kSettledAtOnce);
    if (!found) return found.error();
    bool settled = false;
    for (const Undecided& one : *found) {
      Status done = commands.Settle(one.subject);
      settled = settled || done;
      if (done || done.code() == Code::kCorrupt) continue;  // a person's, and said where it was found
      log.Warn("what was posted could not be decided; tried again", {{"subject", one.subject}, {"error", done.message()}});
    }
    return !settled ? period : found->size() >= kSettledAtOnce ? milliseconds(0) : kSettledBusy;
  };
}

}  // namespace acl::coordinator
