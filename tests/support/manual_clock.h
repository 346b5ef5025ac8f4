#pragma once
// A clock that only a test moves. Wall and steady time move together, from 2026-11-22T00:00:00Z on.

#include <atomic>

#include "shared/base/clock.h"

namespace acl::test {

class ManualClock final : public Clock {
 public:
  WallTime Wall() const override { return WallTimeFromMicros(1'795'305'600'000'000 + micros_.load()); }
  SteadyTime Steady() const override { return SteadyTime(std::chrono::microseconds(micros_.load() + 1'000'000)); }
  void Advance(std::chrono::microseconds by) { micros_ += by.count(); }

 private:
  std::atomic<long long> micros_{0};
};

}  // namespace acl::test
