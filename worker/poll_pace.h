#pragma once
// When to look for work next (queue driver `postgres`): at once while there is some, backing off while there is none, at once on a hint.

#include "shared/base/random.h"
#include "shared/kernel/types.h"

namespace acl {

class PollPace {
 public:
  PollPace(milliseconds min, milliseconds max) : min_(min), max_(max), wait_(min) {}

  void Hint(SteadyTime now) {
    next_ = now;
    wait_ = min_;
  }
  void Found(SteadyTime now) { Hint(now); }
  void Empty(SteadyTime now, Random& random) {
    next_ = now + wait_ / 2 + milliseconds(std::int64_t(double(wait_.count()) / 2 * random.Unit()));
    wait_ = std::min(max_, wait_ * 2);
  }
  void Failed(SteadyTime now, Random& random) { Empty(now, random); }

  bool Due(SteadyTime now) const { return next_ <= now; }
  SteadyTime next() const { return next_; }

 private:
  milliseconds min_, max_, wait_;
  SteadyTime next_{};
};

}  // namespace acl
