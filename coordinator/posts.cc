#include "coordinator/posts.h"

#include "coordinator/children.h"

#include <set>

#include "shared/telemetry/log.h"

namespace acl::coordinator {

namespace {

constexpr int kPostsAtOnce = 256;
constexpr milliseconds kPostsBusy{300};  // where something is said, more may follow

}  // namespace

Tick PostsJob(const JobContext& context, const RunMaker& maker, milliseconds period) {
  const Logger log("posts");
  return [context, maker, period, log]() -> Result<milliseconds> {
    auto asked = MakeChildren(context, maker, kPostsAtOnce);  // first: what is said to a child waits until it is there
    if (!asked) return asked.error();
    auto delivered = context.store.DeliverPosts(kPostsAtOnce);
    if (!delivered) return delivered.error();
    std::set<std::string> queues;
    for (const auto& [subject, answer] : delivered->posted) {
      if (!answer.holder) queues.insert(answer.queue);  // a holder hears of it with its heartbeat
    }
    for (const std::string& queue : queues) context.ring(queue);
    if (delivered->dropped > 0)
      log.Warn("dropped what was said to subjects that have ended or are not there", {{"posts", delivered->dropped}});
    if (delivered->more || *asked == kPostsAtOnce) return milliseconds(0);
    return delivered->posted.empty() && *asked == 0 ? period : kPostsBusy;
  };
}

}  // namespace acl::coordinator
