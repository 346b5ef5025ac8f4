#include "shared/workflow/backoff.h"

#include <algorithm>
#include <cmath>

#include "shared/base/sha256.h"

namespace acl::workflow {

namespace {

// In [0, 1), the same for the same key and number.
double Draw(std::string_view key, int failures) {
  Hash256 hash = Sha256({key, "#", std::to_string(failures)});
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = bits << 8 | hash[std::size_t(i)];
  return double(bits >> 11) * 0x1.0p-53;
}

}  // namespace

std::chrono::milliseconds RetryDelay(const RetryPolicy& policy, int failures, std::string_view idempotency_key) {
  const double initial = double(std::max<std::int64_t>(0, policy.initial_delay.count()));
  const double most = double(std::max<std::int64_t>(0, policy.max_delay.count()));
  double delay = initial;
  switch (policy.backoff) {
    case RetryPolicy::Backoff::kFixed: break;
    case RetryPolicy::Backoff::kLinear: delay = initial * failures; break;
    case RetryPolicy::Backoff::kExponential: delay = initial * std::pow(std::max(1.0, policy.multiplier), failures - 1); break;
  }
  if (initial == 0) delay = 0;        // 0 times a power beyond the largest double is not a number
  if (!(delay < most)) delay = most;  // also what is beyond the largest double
  delay -= delay * std::clamp(policy.jitter, 0.0, 1.0) * Draw(idempotency_key, failures);
  return std::chrono::milliseconds(std::int64_t(std::llround(delay)));
}

}  // namespace acl::workflow
