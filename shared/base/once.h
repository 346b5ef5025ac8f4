#pragma once
// What is worked out once, by whoever asks first. std::call_once asks the kernel to wake those who wait, whether anybody does, which costs
// more than most of what is worked out here.

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace acl {

class Once {
 public:
  bool done() const { return done_.load(std::memory_order_acquire); }
  // `work` asks for nothing else that is worked out once: some share a lock.
  template <class Work>
  void Do(const Work& work) {
    if (done()) return;
    std::lock_guard lock(LockOf(this));
    if (done_.load(std::memory_order_relaxed)) return;
    work();
    done_.store(true, std::memory_order_release);
  }

 private:
  static std::mutex& LockOf(const Once* once) {
    constexpr std::size_t kLocks = 64;
    static std::array<std::mutex, kLocks> locks;
    return locks[(reinterpret_cast<std::uintptr_t>(once) >> 6) % kLocks];
  }

  std::atomic<bool> done_{false};
};

}  // namespace acl
