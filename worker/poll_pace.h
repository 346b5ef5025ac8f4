#pragma once
// When to look for work next (queue driver `postgres`): at once while there is some, backing off while there is none, at once on a hint.
// While every coordinator would ring, looking is only for a hint that was lost, and is done this many times less often.

#include <algorithm>

#include "shared/base/random.h"
#include "shared/kernel/types.h"

namespace acl {

class PollPace {
 public:
  static constexpr int kRarerWhileNotified = 8;

  PollPace(milliseconds min, milliseconds max) : min_(min), plain_max_(max), max_(max), wait_(min) {}

  void Hint(SteadyTime now) {
    next_ = std::max(now, not_before_);
    wait_ = min_;
  }
  void Found(SteadyTime now) { Hint(now); }
  // Less than was asked for: that was all there is. Who makes more rings; it is looked for soon in any case.
  void FoundAll(SteadyTime now, Random& random) {
    wait_ = min_;
    Empty(now, random);
  }
  // Busy: the next look waits as long as the last one took, so that it finds more at once.
  void Throttle(SteadyTime until) {
    not_before_ = until;
    next_ = std::max(next_, until);
  }
  void Empty(SteadyTime now, Random& random) {
    next_ = now + wait_ / 2 + milliseconds(std::int64_t(double(wait_.count()) / 2 * random.Unit()));
    wait_ = std::min(max_, wait_ * 2);
  }
  void Failed(SteadyTime now, Random& random) { Empty(now, random); }

  void SetNotified(SteadyTime now, bool notified) {
    max_ = notified ? plain_max_ * kRarerWhileNotified : plain_max_;
    wait_ = std::min(wait_, max_);
    if (!notified) next_ = std::min(next_, now + plain_max_);
  }

  bool Due(SteadyTime now) const { return next_ <= now; }
  SteadyTime next() const { return next_; }

 private:
  milliseconds min_, plain_max_, max_, wait_;
  SteadyTime next_{}, not_before_{};
};

}  // namespace acl
