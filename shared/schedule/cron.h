#pragma once
// Cron expressions and the times at which they fire in a time zone. Pure; docs/guides/workflows.md, "Schedules", says the same for users.
//
//   [second] minute hour day-of-month month day-of-week
//
// Five fields, or six with seconds first. A field is a list of `*`, a number, a range `a-b`, or one of these with a step `/n` (`a/n` is
// from a to the end); months and days of the week have names (JAN, MON), Sunday is 0 or 7, `?` is `*` in the two day fields. If both day
// fields leave something out, a day fits that fits either of them; a field that takes every value is `*`, however it is written (*/1,
// 1-31). @hourly @daily @midnight @weekly @monthly @yearly @annually.
//
// Where a zone changes its offset (Fires):
//   - a local time that does not exist (skipped when clocks go forward) does not fire;
//   - a local time that comes twice (when clocks go back) fires once, the first time,
//   - but an expression whose hour field takes every hour means "every so often", not "at that time of day": it goes on through the
//     repeated hour, so `*/15 * * * *` fires four times in each of the two.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"
#include "shared/base/time_zone.h"

namespace acl::schedule {

// One bit a value: bit 5 of `minutes` is minute 5.
struct Cron {
  std::uint64_t seconds = 1, minutes = 0;
  std::uint32_t hours = 0, days = 0, months = 0, weekdays = 0;  // days from bit 1, months from bit 1, weekdays from bit 0: Sunday
  bool any_day = true, any_weekday = true;                      // the field leaves no day out

  bool EveryHour() const { return hours == 0xFFFFFF; }
  bool FitsDay(int day_of_month, int weekday) const;
  friend bool operator==(const Cron&, const Cron&) = default;
};

// kInvalid, naming the field, its column (from 1) and what may stand there; also for an expression that never fires (0 0 30 2 *).
Result<Cron> ParseCron(std::string_view text);

// The first time strictly after `after` (both in seconds since 1970). Nothing if there is none within 9 years (no expression that
// ParseCron takes has a longer pause, but for zones that end their calendar).
std::optional<std::int64_t> NextFire(const Cron& cron, const TimeZone& zone, std::int64_t after);
std::vector<std::int64_t> NextFires(const Cron& cron, const TimeZone& zone, std::int64_t after, int count);

// "2026-03-29T03:00:00+02:00": a time as the zone's clocks show it.
std::string FormatZoned(const TimeZone& zone, std::int64_t unix_seconds);

}  // namespace acl::schedule
