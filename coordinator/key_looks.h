#pragma once
// How often a key that is not known may be looked for in the database. Whoever sends wrong keys makes the database read its few keys five
// times at once and twice a second from then on, whatever he sends; the same key once in `refresh`, in which all keys are read anyway.
// Pure; the caller brings the time.

#include <algorithm>
#include <string>
#include <unordered_map>

#include "shared/base/clock.h"

namespace acl::coordinator {

class KeyLooks {
 public:
  explicit KeyLooks(std::chrono::milliseconds refresh) : refresh_(refresh) {}

  // True: look now; it is counted as done.
  bool May(const std::string& key_id, SteadyTime now) {
    const auto looked = looked_.find(key_id);
    if (looked != looked_.end() && now - looked->second < refresh_) return false;
    left_ = std::min(kMost, left_ + std::chrono::duration<double>(now - at_).count() * kASecond);
    at_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    if (looked_.size() >= kRemembered) std::erase_if(looked_, [&](const auto& one) { return now - one.second >= refresh_; });
    if (looked_.size() >= kRemembered) looked_.clear();
    looked_[key_id] = now;
    return true;
  }

 private:
  static constexpr double kMost = 5, kASecond = 2;
  static constexpr std::size_t kRemembered = 64;

  const std::chrono::milliseconds refresh_;
  double left_ = kMost;
  SteadyTime at_{};
  std::unordered_map<std::string, SteadyTime> looked_;  // by id; bounded
};

}  // namespace acl::coordinator
