#include "shared/base/clock.h"

#include <fmt/format.h>

#include <cstdio>

namespace acl {

namespace chr = std::chrono;

WallTime SystemClock::Wall() const { return chr::time_point_cast<chr::microseconds>(chr::system_clock::now()); }
SteadyTime SystemClock::Steady() const { return chr::time_point_cast<chr::nanoseconds>(chr::steady_clock::now()); }

namespace {

// As written by FormatWallTime: read many times a step.
constexpr std::string_view kForm = "0000-00-00T00:00:00.000000Z";

void PutDigits(unsigned value, std::size_t at, std::size_t count, std::string& out) {
  for (std::size_t i = count; i-- > 0; value /= 10) out[at + i] = char('0' + value % 10);
}

bool HasOwnForm(std::string_view text) {
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return false;
  }
  return true;
}

unsigned Digits(std::string_view text, std::size_t at, std::size_t count) {
  unsigned value = 0;
  for (char c : text.substr(at, count)) value = value * 10 + unsigned(c - '0');
  return value;
}

std::optional<WallTime> ParseOwnForm(std::string_view text) {
  const chr::year_month_day date{chr::year(int(Digits(text, 0, 4))), chr::month(Digits(text, 5, 2)), chr::day(Digits(text, 8, 2))};
  const unsigned hour = Digits(text, 11, 2), minute = Digits(text, 14, 2), second = Digits(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return WallTime(chr::sys_days(date).time_since_epoch() + chr::hours(hour) + chr::minutes(minute) + chr::seconds(second) +
                  chr::microseconds(Digits(text, 20, 6)));
}

}  // namespace

std::string FormatWallTime(WallTime time) {
  const auto day = chr::floor<chr::days>(time);
  const chr::year_month_day date(day);
  const chr::hh_mm_ss clock(time - day);
  const int year = int(date.year());
  if (year < 0 || year > 9999) {
    return fmt::format("{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}.{:06d}Z", year, unsigned(date.month()), unsigned(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
  }
  std::string out(kForm);
  PutDigits(unsigned(year), 0, 4, out);
  PutDigits(unsigned(date.month()), 5, 2, out);
  PutDigits(unsigned(date.day()), 8, 2, out);
  PutDigits(unsigned(clock.hours().count()), 11, 2, out);
  PutDigits(unsigned(clock.minutes().count()), 14, 2, out);
  PutDigits(unsigned(clock.seconds().count()), 17, 2, out);
  PutDigits(unsigned(clock.subseconds().count()), 20, 6, out);
  return out;
}

std::optional<WallTime> ParseWallTime(std::string_view text) {
  if (HasOwnForm(text)) return ParseOwnForm(text);
  int year = 0, hour = 0, minute = 0, second = 0, used = 0;
  unsigned month = 0, day = 0;
  std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2u-%2u%*1[Tt ]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) < 6) {
    return std::nullopt;
  }
  chr::year_month_day date{chr::year(year), chr::month(month), chr::day(day)};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
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
    if ((sign != '+' && sign != '-') || oh < 0 || oh > 23 || om < 0 || om > 59) return std::nullopt;
    offset_minutes = (oh * 60 + om) * (sign == '+' ? 1 : -1);
  }
  return WallTime(chr::sys_days(date).time_since_epoch() + chr::hours(hour) + chr::minutes(minute - offset_minutes) + chr::seconds(second) +
                  chr::microseconds(micros));
}

}  // namespace acl
