#include "worker/coordinator_watch.h"

#include <pthread.h>

#include "shared/base/check.h"

namespace acl {

std::vector<HostPort> DoorbellsFor(const std::string& host, const std::vector<LivingCoordinator>& living) {
  std::vector<HostPort> doorbells;
  for (const LivingCoordinator& one : living) {
    const auto at = ParseHostPort(one.doorbell);
    if (!at || at->port == 0 || (at->is_loopback() && one.host != host)) continue;
    if (std::find(doorbells.begin(), doorbells.end(), *at) == doorbells.end()) doorbells.push_back(*at);
  }
  return doorbells;
}

Status CoordinatorWatch::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "coordinators");
    RunUntilStopped();
  });
  return {};
}

void CoordinatorWatch::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CoordinatorWatch::SetLines(bool all_connected) {
  {
    std::lock_guard lock(mutex_);
    all_connected_ = all_connected;
  }
  changed_.notify_all();
}

void CoordinatorWatch::RunUntilStopped() {
  for (;;) {
    const auto living = store_.Living(options_.silent);
    if (living) options_.on_living(DoorbellsFor(options_.host, *living));
    std::unique_lock lock(mutex_);
    const bool known = living.ok();
    // A line that is lost shortens a wait that is under way.
    if (changed_.wait_for(lock, options_.worried, [this] { return stopping_; })) return;
    if (known && all_connected_) changed_.wait_for(lock, options_.calm - options_.worried, [this] { return stopping_ || !all_connected_; });
    if (stopping_) return;
  }
}

}  // namespace acl
