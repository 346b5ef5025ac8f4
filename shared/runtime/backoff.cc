#include "shared/runtime/backoff.h"

#include <cmath>

namespace acl {

using std::chrono::milliseconds;

milliseconds BackoffBound(const BackoffPolicy& policy, int attempt) {
  if (attempt < 0) attempt = 0;
  if (policy.initial.count() == 0) return milliseconds(0);  // 0 times a power beyond the largest double is not a number
  const double bound = double(policy.initial.count()) * std::pow(policy.multiplier, attempt);
  const double max = double(policy.max.count());
  return milliseconds(bound < max ? static_cast<long long>(bound) : policy.max.count());  // infinity is not below max
}

milliseconds BackoffDelay(const BackoffPolicy& policy, int attempt, double unit) {
  const auto bound = BackoffBound(policy, attempt).count();
  return milliseconds(static_cast<long long>(unit * double(bound + 1)));
}

}  // namespace acl
