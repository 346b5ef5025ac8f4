#pragma once
// What the load and the model tell the runner while they run, a JSON line each: {"mark":"begin"} and {"mark":"end", figures} around each
// window, {"mark":"done", totals} when nothing of theirs is in flight any more. They run without a break: between two windows they warm up.

#include <cstdio>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "tests/bench/figures/histogram.h"

namespace acl::bench {

class Rounds {
 public:
  Rounds(double warm_up_s, double window_s, int rounds)
      : warm_up_(Ns(warm_up_s)), window_(Ns(window_s)), left_(rounds), next_(Now() + warm_up_) {}

  std::int64_t Now() const { return clock_.Steady().time_since_epoch().count(); }
  // One operation that was submitted at `began` and whose end is seen `now`; `steps` of it are new.
  void Count(std::int64_t began, std::int64_t now, int runs, int steps) {
    if (!in_window_) return;
    runs_ += runs;
    steps_ += steps;
    for (int i = 0; i < runs; ++i) times_.Add(now - began);
  }
  void CountSteps(int steps) { steps_ += in_window_ ? steps : 0; }
  // To be called all the time; true when the last window is over.
  bool Over(std::int64_t now) {
    if (left_ == 0) return true;
    if (now < next_) return false;
    if (!in_window_) {
      in_window_ = true;
      began_ = now;
      next_ = now + window_;
      runs_ = steps_ = 0;
      times_.Clear();
      Say({{"mark", "begin"}});
      return false;
    }
    in_window_ = false;
    const double seconds = static_cast<double>(now - began_) / 1e9;
    Say({{"mark", "end"},
         {"seconds", seconds},
         {"runs", runs_},
         {"steps", steps_},
         {"runs_per_s", static_cast<double>(runs_) / seconds},
         {"steps_per_s", static_cast<double>(steps_) / seconds},
         {"p50_ms", times_.QuantileMs(0.5)},
         {"p99_ms", times_.QuantileMs(0.99)},
         {"max_ms", times_.MaxMs()}});
    next_ = now + warm_up_;
    return --left_ == 0;
  }
  static void Say(const Json& line) {
    std::printf("%s\n", DumpJson(line).c_str());
    std::fflush(stdout);
  }

 private:
  static std::int64_t Ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

  SystemClock clock_;
  std::int64_t warm_up_, window_;
  int left_;
  std::int64_t next_, began_ = 0;
  bool in_window_ = false;
  std::int64_t runs_ = 0, steps_ = 0;
  Histogram times_;
};

}  // namespace acl::bench
