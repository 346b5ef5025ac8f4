#include "chaos/process/patience.h"

#include <poll.h>

#include <algorithm>
#include <csignal>

#include "shared/base/clock.h"

namespace acl::chaos {
namespace {

volatile std::sig_atomic_t stop_asked = 0;
void OnStop(int) { stop_asked = 1; }

constexpr std::chrono::milliseconds kLook{10};

bool AwaitWith(const std::function<bool()>& done, std::chrono::milliseconds limit, bool stoppable) {
  const SystemClock clock;
  const auto end = clock.Steady() + limit;
  while (!done()) {
    if (clock.Steady() >= end || (stoppable && StopAsked())) return false;
    poll(nullptr, 0, int(kLook.count()));
  }
  return true;
}

}  // namespace

void StopOnSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, OnStop);
}

bool StopAsked() { return stop_asked != 0; }

bool Pause(std::chrono::milliseconds time) {
  const SystemClock clock;
  const auto end = clock.Steady() + time;
  for (;;) {
    if (StopAsked()) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock.Steady());
    if (left.count() <= 0) return true;
    poll(nullptr, 0, int(std::min(left, kLook * 2).count()));
  }
}

bool Await(const std::function<bool()>& done, std::chrono::milliseconds limit) { return AwaitWith(done, limit, true); }
bool AwaitUnstoppably(const std::function<bool()>& done, std::chrono::milliseconds limit) { return AwaitWith(done, limit, false); }

}  // namespace acl::chaos
