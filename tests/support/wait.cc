#include "tests/support/wait.h"

#include <thread>

#include "shared/base/clock.h"

namespace acl::test {

bool WaitUntil(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const SystemClock clock;
  const auto end = clock.Steady() + limit;
  while (!done()) {
    if (clock.Steady() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void LetPass(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

}  // namespace acl::test
