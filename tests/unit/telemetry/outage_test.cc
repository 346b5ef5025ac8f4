#include "shared/telemetry/outage.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace acl {
namespace {

using std::chrono::milliseconds;

class OutageLogTest : public ::testing::Test {
 protected:
  OutageLogTest() {
    SetLogSink([this](LogLevel level, const std::string& line) {
      Json parsed = Json::parse(line);
      EXPECT_EQ(parsed["level"], std::string(LogLevelName(level)));
      lines_.push_back(std::move(parsed));
    });
  }
  ~OutageLogTest() override { SetLogSink({}); }

  // Calls fail every 125 ms, as a worker's do while its database is away.
  void FailFor(milliseconds time) {
    for (milliseconds at{0}; at < time; at += milliseconds(125)) {
      outage_.Failed({{"call", "claim"}});
      clock_.Advance(milliseconds(125));
    }
  }
  std::string Said(std::size_t n) const { return lines_.at(n)["msg"].get<std::string>(); }

  test::ManualClock clock_;
  std::vector<Json> lines_;
  OutageLog outage_{Logger("worker"), clock_, {"it is away", "it is back"}};
};

TEST_F(OutageLogTest, OneLineWhenItGoesOneAMinuteAndOneWhenItIsBack) {
  outage_.Worked();
  EXPECT_TRUE(lines_.empty()) << "nothing was wrong";
  FailFor(milliseconds(150'000));
  ASSERT_EQ(lines_.size(), 3u) << "1,200 failures";
  EXPECT_EQ(Said(0), "it is away");
  EXPECT_EQ(lines_[0]["level"], "warn");
  EXPECT_EQ(lines_[0]["call"], "claim");
  EXPECT_EQ(Said(1), "still: it is away");
  EXPECT_EQ(lines_[1]["failures"], 481);
  EXPECT_EQ(lines_[1]["for_seconds"], 60);
  EXPECT_EQ(lines_[1]["call"], "claim");
  EXPECT_EQ(lines_[2]["for_seconds"], 120);
  clock_.Advance(milliseconds(1'000));
  outage_.Worked();
  outage_.Worked();
  ASSERT_EQ(lines_.size(), 4u);
  EXPECT_EQ(Said(3), "it is back");
  EXPECT_EQ(lines_[3]["level"], "info");
  EXPECT_EQ(lines_[3]["failures"], 1'200);
  EXPECT_EQ(lines_[3]["away_seconds"], 151.0);
}

TEST_F(OutageLogTest, ACallThatGoesThroughAmongOthersThatFailIsNotBack) {
  for (int n = 0; n < 240; ++n) {
    FailFor(milliseconds(125));
    outage_.Worked();
  }
  EXPECT_EQ(lines_.size(), 1u) << "half of all calls failed for half a minute";
}

TEST_F(OutageLogTest, WhatComesAndGoesForAnHourIsSaidOftenEnoughAndNoMore) {
  for (int n = 0; n < 1'800; ++n) {
    outage_.Failed({});
    clock_.Advance(milliseconds(1'500));  // longer than it must stay to count as back
    outage_.Worked();
    clock_.Advance(milliseconds(500));
  }
  EXPECT_GE(lines_.size(), 60u) << "one a minute while it lasts";
  EXPECT_LE(lines_.size(), 70u);
}

TEST_F(OutageLogTest, AnOutageADayIsSaidAsTheFirstOneWas) {
  for (int day = 0; day < 10; ++day) {
    FailFor(milliseconds(3'000));
    clock_.Advance(milliseconds(1'000));
    outage_.Worked();
    ASSERT_EQ(lines_.size(), std::size_t(2 * day + 2));
    clock_.Advance(std::chrono::hours(24));
  }
}

TEST_F(OutageLogTest, ShortOnesOneAfterTheOtherAreSaidOnceMoreEach) {
  FailFor(milliseconds(1'000));
  clock_.Advance(milliseconds(1'000));
  outage_.Worked();
  clock_.Advance(milliseconds(10'000));
  FailFor(milliseconds(1'000));
  clock_.Advance(milliseconds(1'000));
  outage_.Worked();
  EXPECT_EQ(lines_.size(), 3u) << "the second must stay away from failing for two seconds";
  clock_.Advance(milliseconds(1'000));
  outage_.Worked();
  EXPECT_EQ(lines_.size(), 4u);
}

}  // namespace
}  // namespace acl
