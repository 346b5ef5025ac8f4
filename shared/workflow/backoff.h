#pragma once
// How long to wait before the next attempt. Pure: jitter is drawn from the step's idempotency key and the number of failures.

#include <chrono>
#include <string_view>

#include "shared/definition/workflow_definition.h"

namespace acl::workflow {

// `failures`: attempts with a known outcome so far, at least 1. 0 ms: at once.
std::chrono::milliseconds RetryDelay(const RetryPolicy& policy, int failures, std::string_view idempotency_key);

// Of a compensation: files name none.
inline RetryPolicy CompensationRetry() {
  using std::chrono::milliseconds;
  return {.max_attempts = 3,
          .backoff = RetryPolicy::Backoff::kExponential,
          .initial_delay = milliseconds(200),
          .max_delay = milliseconds(60'000),
          .multiplier = 5.0,
          .jitter = 0.2};
}

}  // namespace acl::workflow
