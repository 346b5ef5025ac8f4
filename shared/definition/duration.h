#pragma once
// Lengths of time as people write them.

#include <chrono>
#include <cstdint>
#include <optional>

#include "shared/base/json.h"

namespace acl {

inline constexpr std::int64_t kLongestSeconds = 10LL * 366 * 24 * 3600;  // ten years

// Seconds as a number (0.5), or parts with a unit each, "500ms", "1.5h", "1d12h30m"; a text without a unit is seconds. Not below 0, at most
// kLongestSeconds; else nothing.
std::optional<std::chrono::milliseconds> ParseDuration(const Json& value);
inline constexpr const char* kDurationForms =
    "seconds as a number (0.5) or a text like \"500ms\", \"2s\", \"1h30m\", \"7d\", at most ten years";

}  // namespace acl
