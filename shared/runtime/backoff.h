#pragma once
// How long to wait before trying again: exponential with full jitter, so that many processes that failed together do not come back
// together. Pure but for the Random it is given.

#include <chrono>

#include "shared/base/random.h"

namespace acl {

struct BackoffPolicy {
  std::chrono::milliseconds initial{100};  // upper bound of the first delay
  std::chrono::milliseconds max{10'000};   // upper bound of every delay
  double multiplier = 2.0;
};

// The upper bound of the delay before retry number `attempt` (0 = the first): min(max, initial * multiplier^attempt).
std::chrono::milliseconds BackoffBound(const BackoffPolicy& policy, int attempt);
// Full jitter: `unit` in [0, 1) picks uniformly from [0, bound].
std::chrono::milliseconds BackoffDelay(const BackoffPolicy& policy, int attempt, double unit);

// Counts the attempts. Not safe from several threads.
class Backoff {
 public:
  Backoff(const BackoffPolicy& policy, Random& random) : policy_(policy), random_(random) {}
  std::chrono::milliseconds Next() { return BackoffDelay(policy_, attempt_++, random_.Unit()); }
  void Reset() { attempt_ = 0; }
  int attempt() const { return attempt_; }

 private:
  const BackoffPolicy policy_;
  Random& random_;
  int attempt_ = 0;
};

}  // namespace acl
