#pragma once
// What the status of an HTTP answer means for a step: `expect_status`, `retry_on` and the Retry-After header.

#include <bitset>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/json.h"

namespace acl {

// A set of statuses. In a file: 200, "200-299", or a list of these.
class StatusSet {
 public:
  static constexpr int kFirst = 100, kLast = 599;

  // kInvalid: what may stand there instead.
  static Result<StatusSet> Parse(const Json& value);
  bool Has(int status) const { return status >= kFirst && status <= kLast && set_[std::size_t(status - kFirst)]; }

 private:
  std::bitset<kLast - kFirst + 1> set_;
};

// Statuses that say that another attempt may be served. `repeatable`: the request may be sent twice though the first had its effect (GET,
// PUT); of one that may not only those are left that say that nothing was done.
bool MayPass(int status, bool repeatable);

// How long the answer asks to wait: seconds, or a date as HTTP has it; at most an hour. Nothing if it does not say so.
std::optional<std::chrono::milliseconds> ReadRetryAfter(std::string_view value, WallTime now);

}  // namespace acl
