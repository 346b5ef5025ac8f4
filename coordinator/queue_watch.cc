#include "coordinator/queue_watch.h"

#include <algorithm>

namespace acl::coordinator {

bool QueueWatch::Known(const std::vector<std::string>& queues) {
  return std::all_of(queues.begin(), queues.end(), [this](const std::string& queue) {
    if (Hears(queue)) return true;
    std::lock_guard lock(mutex_);
    return Fresh() && served_.contains(queue);
  });
}

std::vector<std::string> QueueWatch::Unserved(const std::vector<std::string>& queues) {
  if (Known(queues)) return {};
  {
    std::unique_lock lock(mutex_);
    if (!Fresh()) {
      lock.unlock();
      auto served = queries_.ServedQueues();
      if (!served) return {};
      lock.lock();
      served_ = std::set<std::string>(served->begin(), served->end());
      asked_at_ = clock_.Steady();
    }
  }
  std::vector<std::string> unserved;
  for (const std::string& queue : queues) {
    if (!Known({queue})) unserved.push_back(queue);
  }
  return unserved;
}

std::string NoWorkerText(const std::string& queue) {
  return "no living worker takes from queue '" + queue + "': what is sent there waits until one does";
}

}  // namespace acl::coordinator
