#pragma once
// How many tries in a row a process may add to a store that fails: without it, retries multiply the load on what is overloaded already.
// Every retry costs 1; every success gives 0.1 back, up to the most. Safe from any thread.

#include <algorithm>
#include <mutex>

namespace acl {

class RetryBudget {
 public:
  explicit RetryBudget(double most) : most_(most), left_(most) {}
  bool Spend() {
    std::lock_guard lock(mutex_);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  void Earn() {
    std::lock_guard lock(mutex_);
    left_ = std::min(most_, left_ + 0.1);
  }

 private:
  const double most_;
  std::mutex mutex_;
  double left_;
};

}  // namespace acl
