// The next fire times of random expressions against a walk over every second (or minute) of days at which clocks change.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "shared/schedule/cron.h"

namespace acl::schedule {
namespace {

constexpr std::int64_t kHour = 3'600, kDay = 86'400;

// A field as text and as what it means, kept apart from the parser's bits.
struct Field {
  std::string text;
  std::set<int> values;
};

Field RandomField(int min, int max) {
  Field out;
  const int form = *rc::gen::inRange(0, 6);
  const auto add = [&](int low, int high, int step) {
    for (int value = low; value <= high; value += step) out.values.insert(value);
  };
  if (form <= 1) {
    out.text = "*";
    add(min, max, 1);
    return out;
  }
  if (form == 2) {
    const int step = *rc::gen::inRange(1, max + 1);
    out.text = "*/" + std::to_string(step);
    add(min, max, step);
    return out;
  }
  const int parts = *rc::gen::inRange(1, 4);
  for (int i = 0; i < parts; ++i) {
    const int low = *rc::gen::inRange(min, max + 1), high = *rc::gen::inRange(low, max + 1);
    if (i > 0) out.text += ",";
    if (form == 3) {
      out.text += std::to_string(low);
      add(low, low, 1);
    } else if (form == 4) {
      out.text += std::to_string(low) + "-" + std::to_string(high);
      add(low, high, 1);
    } else {
      const int step = *rc::gen::inRange(1, 20) % max + 1;
      out.text += std::to_string(low) + "/" + std::to_string(step);
      add(low, max, step);
    }
  }
  return out;
}

// A field that takes every value, however it is written, is a star.
bool IsAny(const Field& field, std::size_t values) { return field.values.size() == values; }

struct Expression {
  Field second, minute, hour, day, month, weekday;
  std::string text;

  bool Fits(std::int64_t local) const {
    using namespace std::chrono;
    const sys_seconds at{std::chrono::seconds(local)};
    const auto day_point = floor<days>(at);
    const year_month_day date(day_point);
    const auto in_day = local - day_point.time_since_epoch().count() * kDay;
    if (!second.values.contains(int(in_day % 60)) || !minute.values.contains(int(in_day / 60 % 60)) ||
        !hour.values.contains(int(in_day / kHour)) || !month.values.contains(int(unsigned(date.month())))) {
      return false;
    }
    const bool day_fits = day.values.contains(int(unsigned(date.day()))),
               week_fits = weekday.values.contains(int(std::chrono::weekday(day_point).c_encoding()));
    return IsAny(day, 31) || IsAny(weekday, 7) ? day_fits && week_fits : day_fits || week_fits;
  }
};

Expression RandomExpression(bool seconds) {
  Expression out;
  out.second = seconds ? RandomField(0, 59) : Field{"", {0}};
  out.minute = RandomField(0, 59);
  out.hour = RandomField(0, 23);
  // Days and months that mostly let the days of the walk through: otherwise nothing fires there.
  out.day = *rc::gen::inRange(0, 3) == 0 ? RandomField(1, 31) : Field{"*", {}};
  if (out.day.values.empty()) {
    for (int d = 1; d <= 31; ++d) out.day.values.insert(d);
  }
  out.month = *rc::gen::inRange(0, 4) == 0 ? RandomField(1, 12) : Field{"*", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  out.weekday = *rc::gen::inRange(0, 3) == 0 ? RandomField(0, 6) : Field{"*", {0, 1, 2, 3, 4, 5, 6}};
  out.text = (seconds ? out.second.text + " " : "") + out.minute.text + " " + out.hour.text + " " + out.day.text + " " + out.month.text +
             " " + out.weekday.text;
  return out;
}

// Changes of offset in a year and a half, found by walking the hours; once a zone.
const std::vector<std::int64_t>& Changes(const TimeZone& zone) {
  constexpr std::int64_t kBegin = 1'767'225'600;  // 2026-01-01
  static std::map<std::string, std::vector<std::int64_t>> known;
  auto& out = known[zone.name()];
  if (!out.empty()) return out;
  for (std::int64_t at = kBegin; at < kBegin + 550 * kDay; at += kHour) {
    if (zone.OffsetAt(at) != zone.OffsetAt(at + kHour)) out.push_back(at);
  }
  if (out.empty()) out.push_back(kBegin + 100 * kDay);
  return out;
}

std::vector<std::int64_t> Walk(const Expression& expression, const TimeZone& zone, std::int64_t after, std::int64_t end,
                               std::int64_t step) {
  std::vector<std::int64_t> out;
  std::unordered_set<std::int64_t> shown;  // what the clocks have shown already
  const bool every_hour = expression.hour.values.size() == 24;
  constexpr std::int64_t kQuarter = 900;  // clocks of our days change at a quarter of an hour
  std::int64_t offset = 0, quarter = -1;
  for (std::int64_t at = after - 3 * kHour; at <= end; at += step) {
    if (at / kQuarter != quarter) {
      quarter = at / kQuarter;
      offset = zone.OffsetAt(at);
    }
    const std::int64_t local = at + offset;
    const bool first = shown.insert(local).second;
    if (at > after && (first || every_hour) && expression.Fits(local)) out.push_back(at);
  }
  return out;
}

void Compare(bool seconds, std::int64_t around, std::int64_t step) {
  const auto* name = *rc::gen::element("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC",
                                       "Africa/Casablanca", "America/Havana", "Antarctica/Troll", "Pacific/Chatham", "Asia/Beirut");
  const auto zone = TimeZone::Load(name);
  RC_ASSERT(bool(zone));
  const Expression expression = RandomExpression(seconds);
  const auto cron = ParseCron(expression.text);
  if (!cron) {
    RC_ASSERT(cron.message().find("never fires") != std::string::npos);
    RC_DISCARD("never fires");
  }
  const auto& changes = Changes(*zone);
  const std::int64_t change = changes[*rc::gen::inRange<std::size_t>(0, changes.size())];
  const std::int64_t after = change - change % step + *rc::gen::inRange(-around, around) / step * step, end = after + around;
  RC_TAG(std::string(name));
  const auto expected = Walk(expression, *zone, after, end, step);
  std::vector<std::int64_t> found;
  for (auto at = NextFire(*cron, *zone, after); at && *at <= end; at = NextFire(*cron, *zone, *at)) found.push_back(*at);
  RC_LOG() << name << " '" << expression.text << "' after " << FormatZoned(*zone, after) << "\n";
  RC_ASSERT(found == expected);
}

RC_GTEST_PROP(CronBruteForce, MinutesOverDaysOfChange, ()) { Compare(false, 2 * kDay, 60); }
RC_GTEST_PROP(CronBruteForce, SecondsOverHoursOfChange, ()) { Compare(true, 2 * kHour, 1); }

}  // namespace
}  // namespace acl::schedule
