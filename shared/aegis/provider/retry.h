#pragma once
// Whether a failed call is made again, and when: pure.

#include <chrono>

#include "shared/aegis/provider/model_failure.h"

namespace acl::aegis {

struct RetryRules {
  int most_attempts = 3;
  std::chrono::milliseconds first_wait{500}, most_wait{20'000};  // of our own; a provider's wish counts beside it
  // Also after an outcome that is not known, as long as nothing of the answer was given out: it may be billed twice.
  bool when_unknown = false;
};

// The model surely did not run, and the same request may be taken later. Nothing else is repeated unasked.
bool SafeToRepeat(const ModelFailure& failure);

struct RetryDecision {
  bool again = false;
  std::chrono::milliseconds wait{0};
};

// `attempt`: how many were made, from 1. `unit` in [0, 1) spreads the waits. `given_out`: a piece of the answer went to on_delta.
RetryDecision DecideRetry(const ModelFailure& failure, int attempt, bool given_out, const RetryRules& rules, std::chrono::milliseconds left,
                          double unit);

}  // namespace acl::aegis
