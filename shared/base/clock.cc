#include "shared/base/clock.h"

#include <fmt/format.h>

#include <cstdio>

namespace acl {

namespace chr = std::chrono;

WallTime SystemClock::Wall() const { return chr::time_point_cast<chr::microseconds>(chr::system_clock::now()); }
SteadyTime SystemClock::Steady() const { return chr::time_point_cast<chr::nanoseconds>(chr::steady_clock::now()); }

std::string FormatWallTime(WallTime time) {
  auto day = chr::floor<chr::days>(time);
  chr::year_month_day date(day);
  chr::hh_mm_ss clock(time - day);
  return fmt::format("{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}.{:06d}Z", int(date.year()), unsigned(date.month()), unsigned(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<WallTime> ParseWallTime(std::string_view text) {
  int year = 0, hour = 0, minute = 0, second = 0, used = 0;
  unsigned month = 0, day = 0;
  std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2u-%2u%*1[Tt ]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) < 6) {
    return std::nullopt;
  }
  chr::year_month_day date{chr::year(year), chr::month(month), chr::day(day)};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  long long micros = 0;
  std::string_view rest = std::string_view(copy).substr(size_t(used));
  if (!rest.empty() && rest[0] == '.') {
    long long scale = 100000;
    size_t i = 1;
    for (; i < rest.size() && rest[i] >= '0' && rest[i] <= '9'; ++i, scale /= 10) micros += (rest[i] - '0') * scale;
    if (i == 1 || i > 10) return std::nullopt;
    rest.remove_prefix(i);
  }
  int offset_minutes = 0;
  if (rest != "Z" && rest != "z") {
    char sign = 0;
    int oh = 0, om = 0, end = 0;
    std::string zone(rest);
    if (std::sscanf(zone.c_str(), "%c%2d:%2d%n", &sign, &oh, &om, &end) < 3 || size_t(end) != zone.size()) return std::nullopt;
    if (sign != '+' && sign != '-') return std::nullopt;
    offset_minutes = (oh * 60 + om) * (sign == '+' ? 1 : -1);
  }
  return WallTime(chr::sys_days(date).time_since_epoch() + chr::hours(hour) + chr::minutes(minute - offset_minutes) + chr::seconds(second) +
                  chr::microseconds(micros));
}

}  // namespace acl
