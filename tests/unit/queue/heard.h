#pragma once
// What tests of the doorbell wait on.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "shared/base/ids.h"

namespace acl {

inline SubjectId Subject(std::uint8_t last) {
  SubjectId id;
  id.uuid.bytes[15] = last;
  return id;
}

// What happened, for a test to wait on.
class Heard {
 public:
  void Add(const std::string& what) {
    std::lock_guard lock(mutex_);
    ++counts_[what];
    changed_.notify_all();
  }
  int Count(const std::string& what) {
    std::lock_guard lock(mutex_);
    return counts_[what];
  }
  bool WaitFor(const std::string& what, int times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return counts_[what] >= times; });
  }
  // Of what nobody tells: looks again and again.
  bool Watch(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    for (int n = 0; n < 20'000; ++n) {
      if (done()) return true;
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> counts_;
};

}  // namespace acl
