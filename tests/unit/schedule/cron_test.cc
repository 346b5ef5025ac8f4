#include "shared/schedule/cron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/clock.h"

namespace acl::schedule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::int64_t At(const char* text) { return MicrosOf(*ParseWallTime(text)) / 1'000'000; }

std::vector<std::string> Fires(const char* text, const char* zone_name, const char* after, int count) {
  const auto cron = ParseCron(text);
  const auto zone = TimeZone::Load(zone_name);
  EXPECT_TRUE(cron && zone) << text;
  std::vector<std::string> out;
  for (const auto time : NextFires(*cron, *zone, At(after), count)) out.push_back(FormatZoned(*zone, time));
  return out;
}

TEST(Cron, FieldsListsRangesStepsNames) {
  const std::pair<const char*, const char*> same[] = {
      {"0 0 * * 7", "0 0 * * 0"},
      {"0 0 * * SUN", "0 0 * * 0"},
      {"0 0 * * sat,sun", "0 0 * * 0,6"},
      {"0 0 * * FRI-SUN", "0 0 * * 0,5,6"},
      {"0 0 * * 5-7", "0 0 * * 0,5,6"},
      {"0 0 * JAN-MAR *", "0 0 * 1,2,3 *"},
      {"*/20 * * * *", "0,20,40 * * * *"},
      {"5/20 * * * *", "5,25,45 * * * *"},
      {"10-30/10,45 1 ? * ?", "10,20,30,45 1 * * *"},
      {"0 30 6 * * *", "30 6 * * *"},
      {"  0\t0  *  * *  ", "@daily"},
      {"@midnight", "@daily"},
      {"0 * * * *", "@hourly"},
      {"0 0 * * 0", "@weekly"},
      {"0 0 1 * *", "@monthly"},
      {"0 0 1 1 *", "@yearly"},
      {"@annually", "@yearly"},
  };
  for (const auto& [one, other] : same) {
    const auto left = ParseCron(one), right = ParseCron(other);
    ASSERT_TRUE(left) << one << ": " << left.error();
    ASSERT_TRUE(right) << other << ": " << right.error();
    EXPECT_EQ(*left, *right) << one << " and " << other;
  }
}

TEST(Cron, RefusalsNameFieldPlaceAndWhatIsAllowed) {
  const std::tuple<const char*, const char*, const char*> table[] = {
      {"60 * * * *", "minute (column 1): '60' does not fit", "0-59"},
      {"* 24 * * *", "hour (column 3): '24' does not fit", "0-23"},
      {"* * 0 * *", "day of month (column 5): '0' does not fit", "1-31"},
      {"* * * 13 *", "month (column 7): '13' does not fit", "1-12 or JAN-DEC"},
      {"* * * FOO *", "month (column 7): 'FOO' does not fit", "JAN-DEC"},
      {"* * * * 8", "day of week (column 9): '8' does not fit", "0-7"},
      {"1,2,99 * * * *", "minute (column 5): '99' does not fit", "0-59"},
      {"5-1 * * * *", "minute (column 1): '5-1' runs backwards", "0-59"},
      {"*/0 * * * *", "minute (column 3): the step '0' is no number from 1 to 59", ""},
      {"*/x * * * *", "minute (column 3): the step 'x'", ""},
      {"1, * * * *", "minute (column 3): nothing stands here", ""},
      {"-1 * * * *", "minute (column 1): '-1' is no range", ""},
      {"? * * * *", "'?' is for the two day fields only", ""},
      {"61 * * * * *", "second (column 1): '61' does not fit", "0-59"},
      {"* * * *", "4 fields, not 5", "or 6 (second first)"},
      {"", "0 fields, not 5", ""},
      {"* * * * * * *", "7 fields", ""},
      {"@reboot", "'@reboot' is not known", "@hourly"},
      {"0 0 30 2 *", "never fires", "column 5"},
      {"0 0 31 4,6,9,11 *", "never fires", ""},
  };
  for (const auto& [text, what, allowed] : table) {
    const auto cron = ParseCron(text);
    ASSERT_FALSE(cron) << text;
    EXPECT_EQ(cron.code(), Code::kInvalid);
    EXPECT_THAT(cron.message(), HasSubstr(what)) << text;
    EXPECT_THAT(cron.message(), HasSubstr(allowed)) << text;
  }
  EXPECT_FALSE(ParseCron(std::string(300, '*')));
  EXPECT_TRUE(ParseCron("0 0 30 2 MON")) << "the day of the week fires";
  EXPECT_TRUE(ParseCron("0 0 29 2 *")) << "in leap years";
}

TEST(Cron, NextTimes) {
  EXPECT_THAT(Fires("0 9 * * 1-5", "UTC", "2026-11-20T09:00:00Z", 2), ElementsAre("2026-11-23T09:00:00Z", "2026-11-24T09:00:00Z"));
  EXPECT_THAT(Fires("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1), ElementsAre("2104-02-29T00:00:00Z"));
  EXPECT_THAT(Fires("0 12 13 * FRI", "UTC", "2026-11-12T00:00:00Z", 3),
              ElementsAre("2026-11-13T12:00:00Z", "2026-11-20T12:00:00Z", "2026-11-27T12:00:00Z"))
      << "both day fields: either";
  EXPECT_THAT(Fires("59 59 23 31 12 *", "UTC", "2026-12-31T23:59:59Z", 1), ElementsAre("2027-12-31T23:59:59Z")) << "strictly after";
  EXPECT_THAT(Fires("0 9 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", 1), ElementsAre("2026-01-01T09:00:00+05:45"));
}

TEST(Cron, ADayFieldThatTakesEveryDayIsAStarHoweverItIsWritten) {
  for (const char* text : {"0 0 * * 1", "0 0 */1 * 1", "0 0 1-31 * 1", "0 0 1-15,16-31 * 1", "0 0 1/1 * 1", "0 0 ? * 1", "0 0 *,5 * 1"}) {
    EXPECT_THAT(Fires(text, "UTC", "2026-11-20T00:00:00Z", 2), ElementsAre("2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z")) << text;
  }
  for (const char* text : {"0 0 13 * *", "0 0 13 * 0-6", "0 0 13 * 1-7", "0 0 13 * */1", "0 0 13 * SUN-SAT", "0 0 13 * ?"}) {
    EXPECT_THAT(Fires(text, "UTC", "2026-11-20T00:00:00Z", 2), ElementsAre("2026-12-13T00:00:00Z", "2027-01-13T00:00:00Z")) << text;
  }
  EXPECT_THAT(Fires("0 0 1-30 * 1", "UTC", "2026-11-20T00:00:00Z", 2), ElementsAre("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"))
      << "one day is left out: either";
  EXPECT_FALSE(ParseCron("0 0 30 2 0-6")) << "never fires";
}

TEST(Cron, ATimeThatDoesNotExistDoesNotFire) {
  EXPECT_THAT(Fires("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
              ElementsAre("2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00", "2026-03-31T02:30:00+02:00"));
  EXPECT_THAT(Fires("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:29:00Z", 3),
              ElementsAre("2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"));
}

TEST(Cron, ATimeThatComesTwiceFiresOnceUnlessEveryHourIsMeant) {
  EXPECT_THAT(Fires("30 2 * * *", "Europe/Berlin", "2026-10-24T22:00:00Z", 2),
              ElementsAre("2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"));
  EXPECT_THAT(Fires("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3),
              ElementsAre("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"));
  EXPECT_THAT(Fires("45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", 3),
              ElementsAre("2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T02:45:00+10:30"));
}

}  // namespace
}  // namespace acl::schedule
