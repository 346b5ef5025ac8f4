// When an expression fires: jumps over a calendar without offsets ("local seconds": what the clocks show, counted as if it were UTC), then
// from local seconds to instants.
#include <fmt/format.h>

#include <bit>
#include <chrono>

#include "shared/schedule/cron.h"

namespace acl::schedule {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kLongestPause = 9 * 366 * kDay;  // 29 February, from 2096 to 2104

// The lowest bit at or above `from`; -1 if there is none.
int NextBit(std::uint64_t bits, int from) {
  const std::uint64_t rest = from > 63 ? 0 : bits >> from << from;
  return rest == 0 ? -1 : std::countr_zero(rest);
}

struct Day {
  int year, month, day, weekday;
};

Day DayOf(std::int64_t days) {
  using namespace std::chrono;
  const sys_days at{std::chrono::days(days)};
  const year_month_day date(at);
  return {int(date.year()), int(unsigned(date.month())), int(unsigned(date.day())), int(weekday(at).c_encoding())};
}

std::int64_t FirstOfMonth(int year, int month) {
  using namespace std::chrono;
  return sys_days(std::chrono::year(year) / month / 1).time_since_epoch().count();
}

// The first second of day at or after `second` that fits; -1 if none is left in the day.
std::int64_t NextInDay(const Cron& cron, std::int64_t second) {
  int hour = int(second / 3600), minute = int(second / 60 % 60), sec = int(second % 60);
  if (const int next = NextBit(cron.seconds, sec); next >= 0) {
    sec = next;
  } else {
    sec = 0;
    ++minute;
  }
  const int found_minute = NextBit(cron.minutes, minute);
  if (found_minute != minute) sec = 0;
  if (found_minute < 0) {
    minute = 0;
    ++hour;
  } else {
    minute = found_minute;
  }
  const int found_hour = NextBit(cron.hours, hour);
  if (found_hour < 0) return -1;
  if (found_hour != hour) minute = sec = 0;
  minute = NextBit(cron.minutes, minute);
  return found_hour * 3600 + minute * 60 + NextBit(cron.seconds, sec);
}

// The first local second strictly after `local` that fits and is not after `until`.
std::optional<std::int64_t> NextLocal(const Cron& cron, std::int64_t local, std::int64_t until) {
  ++local;
  std::int64_t day = (local >= 0 ? local : local - (kDay - 1)) / kDay, second = local - day * kDay;
  while (day * kDay <= until) {
    const Day date = DayOf(day);
    if ((cron.months >> date.month & 1) == 0) {
      const int month = NextBit(cron.months, date.month);
      day = month < 0 ? FirstOfMonth(date.year + 1, std::countr_zero(cron.months)) : FirstOfMonth(date.year, month);
      second = 0;
      continue;
    }
    if (cron.FitsDay(date.day, date.weekday)) {
      const auto found = NextInDay(cron, second);
      if (found >= 0) return day * kDay + found;
    }
    ++day;
    second = 0;
  }
  return std::nullopt;
}

// The instants at which the zone's clocks show this local second: none, one, or two in order.
struct Instants {
  std::int64_t first = 0, second = 0;
  int count = 0;
};

Instants InstantsOf(const TimeZone& zone, std::int64_t local) {
  Instants out;
  const std::int64_t before = zone.OffsetAt(local - kDay), after = zone.OffsetAt(local + kDay);
  const std::int64_t early = local - std::max(before, after), late = local - std::min(before, after);
  if (early + zone.OffsetAt(early) == local) out = {early, 0, 1};
  if (late != early && late + zone.OffsetAt(late) == local) {
    (out.count == 0 ? out.first : out.second) = late;
    ++out.count;
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> NextFire(const Cron& cron, const TimeZone& zone, std::int64_t after) {
  const std::int64_t offset = zone.OffsetAt(after), here = after + offset, until = here + kLongestPause;
  std::optional<std::int64_t> found;
  for (auto local = NextLocal(cron, here, until); local; local = NextLocal(cron, *local, until)) {
    const Instants at = InstantsOf(zone, *local);
    if (at.count > 0 && at.first > after) {
      found = at.first;
    } else if (at.count > 1 && at.second > after && cron.EveryHour()) {
      found = at.second;
    } else {
      continue;
    }
    break;
  }
  if (!cron.EveryHour()) return found;
  // Clocks go back before that, within a day: what they showed before `after` comes once more.
  const std::int64_t back = offset - zone.OffsetAt(found ? std::min(*found, after + kDay) : after + kDay);
  if (back <= 0) return found;
  for (auto local = NextLocal(cron, here - back - 1, here); local; local = NextLocal(cron, *local, here)) {
    const Instants at = InstantsOf(zone, *local);
    if (at.count < 2 || at.second <= after) continue;
    return found ? std::min(*found, at.second) : at.second;
  }
  return found;
}

std::vector<std::int64_t> NextFires(const Cron& cron, const TimeZone& zone, std::int64_t after, int count) {
  std::vector<std::int64_t> out;
  while (int(out.size()) < count) {
    const auto next = NextFire(cron, zone, out.empty() ? after : out.back());
    if (!next) break;
    out.push_back(*next);
  }
  return out;
}

std::string FormatZoned(const TimeZone& zone, std::int64_t unix_seconds) {
  const std::int64_t offset = zone.OffsetAt(unix_seconds), local = unix_seconds + offset;
  const std::int64_t day = (local >= 0 ? local : local - (kDay - 1)) / kDay, second = local - day * kDay;
  const Day date = DayOf(day);
  const std::int64_t minutes = (offset < 0 ? -offset : offset) / 60;
  const std::string suffix = offset == 0 ? "Z" : fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}", date.year, date.month, date.day, second / 3600, second / 60 % 60, second % 60,
                     suffix);
}

}  // namespace acl::schedule
