#pragma once
// Time. All code that waits or stamps asks a Clock, so that the same code runs under the simulator's virtual time.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace acl {

// Wall time in microseconds: what the journal stores. Only the database's clock decides about leases.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
// A process's own clock, never set back: what a worker trusts for its margins.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime Wall() const = 0;
  virtual SteadyTime Steady() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  WallTime Wall() const override;
  SteadyTime Steady() const override;
};

// "2026-11-22T00:36:00.123456Z", always six digits and Z. ParseWallTime accepts 0 to 9 digits and an offset.
std::string FormatWallTime(WallTime time);
std::optional<WallTime> ParseWallTime(std::string_view text);

inline WallTime WallTimeFromMicros(long long micros) { return WallTime(std::chrono::microseconds(micros)); }
inline long long MicrosOf(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace acl
