#pragma once
// A bounded number of places, given in the order in which they were asked for. Safe from any thread.

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace acl {

class Places {
 public:
  explicit Places(int count) : free_(count) {}

  // Holds one place until it is destroyed.
  class Held {
   public:
    Held() = default;
    explicit Held(Places* places) : places_(places) {}
    Held(Held&& other) noexcept : places_(std::exchange(other.places_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (places_) places_->Give();
    }
    explicit operator bool() const { return places_ != nullptr; }

   private:
    Places* places_ = nullptr;
  };

  // Waits for a place; none if `stopped` (asked about every 20 ms) says so first. `must_wait` is called once if there is none at once.
  Held Take(const std::function<bool()>& stopped, const std::function<void()>& must_wait);

 private:
  void Give();

  std::mutex mutex_;
  std::condition_variable freed_;
  std::list<int> waiting_;  // in order; the first goes next
  int free_;
};

}  // namespace acl
