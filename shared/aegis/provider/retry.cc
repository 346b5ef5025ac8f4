#include "shared/aegis/provider/retry.h"

#include <algorithm>

#include "shared/runtime/backoff.h"

namespace acl::aegis {

using std::chrono::milliseconds;

bool SafeToRepeat(const ModelFailure& failure) {
  if (failure.ran != Ran::kNo) return false;
  return failure.code == Failure::kRateLimited || failure.code == Failure::kOverloaded || failure.code == Failure::kNotConnected;
}

RetryDecision DecideRetry(const ModelFailure& failure, int attempt, bool given_out, const RetryRules& rules, milliseconds left,
                          double unit) {
  if (given_out || attempt >= rules.most_attempts) return {};
  const bool unknown = rules.when_unknown && (failure.code == Failure::kOutcomeUnknown || failure.code == Failure::kTruncatedStream);
  if (!unknown && !SafeToRepeat(failure)) return {};
  const milliseconds own =
      BackoffDelay({.initial = rules.first_wait, .max = rules.most_wait, .multiplier = 2.0}, std::max(0, attempt - 1), unit);
  const milliseconds wait = std::max(own, failure.retry_after.value_or(milliseconds(0)));
  if (wait > rules.most_wait || wait >= left) return {};  // the provider wants a longer pause than anybody here waits
  return {true, wait};
}

}  // namespace acl::aegis
