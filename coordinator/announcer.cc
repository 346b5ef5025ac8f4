#include "coordinator/announcer.h"

#include <pthread.h>

#include "shared/base/check.h"

namespace acl::coordinator {

std::optional<LivingCoordinator> AnnouncedAs(const Settings& settings, const HostPort& listening, const std::string& host) {
  if (settings.doorbell_advertise == "none") return std::nullopt;
  if (!settings.doorbell_advertise.empty()) return LivingCoordinator{settings.doorbell_advertise, host};
  HostPort at = listening;
  if (at.host == "0.0.0.0" || at.host == "::") at.host = host;
  return LivingCoordinator{at.ToString(), host};
}

Status Announcer::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "announcer");
    for (;;) {
      announced_ = store_.Announce(session_, what_).ok();  // what is wrong with the database its watch says
      std::unique_lock waiting(mutex_);
      if (changed_.wait_for(waiting, period_, [this] { return stopping_; })) break;
    }
    if (announced_) (void)store_.Leave(session_);  // else its row grows old by itself
  });
  return {};
}

void Announcer::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace acl::coordinator
