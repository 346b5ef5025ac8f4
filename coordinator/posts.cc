#include "coordinator/posts.h"

#include <set>

#include "shared/telemetry/log.h"

namespace acl::coordinator {

namespace {

constexpr int kPostsAtOnce = 256;

}  // namespace

Turn PostsTurn(const TurnContext& context, milliseconds period) {
  const Logger log("posts");
  return [context, period, log]() -> Result<milliseconds> {
    auto delivered = context.store.DeliverPosts(kPostsAtOnce);
    if (!delivered) return delivered.error();
    std::set<std::string> queues;
    for (const auto& [subject, answer] : delivered->posted) {
      if (!answer.holder) queues.insert(answer.queue);  // a holder hears of it with its heartbeat
    }
    for (const std::string& queue : queues) context.ring(queue);
    if (delivered->dropped > 0)
      log.Warn("dropped what was said to subjects that have ended or are not there", {{"posts", delivered->dropped}});
    return delivered->more ? milliseconds(0) : period;
  };
}

}  // namespace acl::coordinator
