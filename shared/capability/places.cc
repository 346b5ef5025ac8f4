#include "shared/capability/places.h"

#include <chrono>

namespace acl {

Places::Held Places::Take(const std::function<bool()>& stopped, const std::function<void()>& must_wait) {
  std::unique_lock lock(mutex_);
  if (free_ > 0 && waiting_.empty()) {
    --free_;
    return Held(this);
  }
  const auto turn = waiting_.insert(waiting_.end(), 0);
  lock.unlock();
  must_wait();
  lock.lock();
  while (!(free_ > 0 && turn == waiting_.begin())) {
    if (stopped()) {
      waiting_.erase(turn);
      freed_.notify_all();  // whoever is first now
      return Held();
    }
    freed_.wait_for(lock, std::chrono::milliseconds(20));
  }
  waiting_.erase(turn);
  --free_;
  if (free_ > 0) freed_.notify_all();
  return Held(this);
}

void Places::Give() {
  {
    std::lock_guard lock(mutex_);
    ++free_;
  }
  freed_.notify_all();
}

}  // namespace acl
