#include "shared/schedule/due.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl::schedule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using What = Fire::What;

class DueTest : public testing::Test {
 protected:
  static constexpr std::int64_t kBase = 1'767'225'600;  // on the minute
  Cron cron = *ParseCron("* * * * *");
  TimeZone zone = *TimeZone::Load("UTC");
  Policy policy;
  State state{.next_fire_at = kBase};

  Decision At(std::int64_t seconds) const { return DueFires(cron, zone, policy, state, kBase + seconds); }
  static Fire Of(std::int64_t seconds, What what) { return {kBase + seconds, what}; }
};

TEST_F(DueTest, NeverBeforeItsTime) {
  const auto decision = At(-1);
  EXPECT_THAT(decision.fires, IsEmpty());
  EXPECT_EQ(decision.next_fire_at, kBase);
}

TEST_F(DueTest, StartsAndMovesOn) {
  const auto decision = At(0);
  EXPECT_THAT(decision.fires, ElementsAre(Of(0, What::kStart)));
  EXPECT_EQ(decision.next_fire_at, kBase + 60);
}

TEST_F(DueTest, SkipIsTheDefault) {
  state.running = true;
  EXPECT_THAT(At(60).fires, ElementsAre(Of(0, What::kSkippedOverlap), Of(60, What::kSkippedOverlap)));
  state.running = false;
  EXPECT_THAT(At(60).fires, ElementsAre(Of(0, What::kStart), Of(60, What::kSkippedOverlap))) << "the first one of a catch-up runs";
}

TEST_F(DueTest, BufferOneKeepsTheFirst) {
  policy.overlap = Overlap::kBufferOne;
  state.running = true;
  auto decision = At(60);
  EXPECT_THAT(decision.fires, ElementsAre(Of(60, What::kSkippedOverlap)));
  EXPECT_EQ(decision.waiting, kBase);
  state.waiting = kBase;
  state.next_fire_at = kBase + 60;
  EXPECT_THAT(At(59).fires, IsEmpty()) << "still open";
  state.running = false;
  decision = At(59);
  EXPECT_THAT(decision.fires, ElementsAre(Of(0, What::kStart)));
  EXPECT_EQ(decision.waiting, std::nullopt);
  decision = At(60);
  EXPECT_THAT(decision.fires, ElementsAre(Of(0, What::kStart)));
  EXPECT_EQ(decision.waiting, kBase + 60) << "behind the one that just started";
}

TEST_F(DueTest, CancelOtherKeepsTheNewest) {
  policy.overlap = Overlap::kCancelOther;
  state.running = true;
  auto decision = At(60);
  EXPECT_TRUE(decision.cancel_running);
  EXPECT_THAT(decision.fires, ElementsAre(Of(0, What::kSkippedOverlap)));
  EXPECT_EQ(decision.waiting, kBase + 60);
  state.running = false;
  EXPECT_FALSE(At(0).cancel_running);
}

TEST_F(DueTest, AllowStartsAll) {
  policy.overlap = Overlap::kAllow;
  state.running = true;
  EXPECT_THAT(At(60).fires, ElementsAre(Of(0, What::kStart), Of(60, What::kStart)));
}

TEST_F(DueTest, WhatIsTooLateIsMissedAndCounted) {
  policy.overlap = Overlap::kAllow;
  policy.catchup_seconds = 90;
  const auto decision = At(600);
  const Fire missed{kBase, What::kMissed, 9, kBase + 480};
  EXPECT_THAT(decision.fires, ElementsAre(missed, Of(540, What::kStart), Of(600, What::kStart)));
  EXPECT_EQ(decision.next_fire_at, kBase + 660);
  policy.catchup_seconds = 0;
  EXPECT_EQ(At(600).fires.back(), Of(600, What::kStart)) << "on time";
  EXPECT_EQ(At(601).fires.size(), 1u);
}

TEST_F(DueTest, AYearOffIsNoYearOfWork) {
  cron = *ParseCron("* * * * * *");
  const auto decision = At(365 * 86'400);
  ASSERT_FALSE(decision.fires.empty());
  EXPECT_EQ(decision.fires.front().what, What::kMissed);
  EXPECT_GE(decision.fires.front().count, 86'400);
  EXPECT_EQ(decision.next_fire_at, kBase + 365 * 86'400 + 1);
}

TEST_F(DueTest, NotMoreThanSoManyAtOnce) {
  cron = *ParseCron("* * * * * *");
  policy = {Overlap::kAllow, 3'600};
  const auto decision = At(999);
  ASSERT_EQ(decision.fires.size(), std::size_t(kMostAtOnce) + 1);
  EXPECT_EQ(decision.fires.front().count, 900);
  EXPECT_EQ(decision.fires.back(), Of(999, What::kStart));
}

TEST_F(DueTest, ARunThatExistsIsSaidNeverSkippedOrMissed) {
  state.started = {kBase};
  state.running = true;  // that very run
  EXPECT_THAT(At(0).fires, ElementsAre(Of(0, What::kStart)));
  EXPECT_EQ(At(600).fires.front().count, 8) << "eight others are too late";
  EXPECT_EQ(At(600).fires[1], Of(0, What::kStart));
  policy.overlap = Overlap::kBufferOne;
  state = {.next_fire_at = kBase + 60, .waiting = kBase, .running = true, .started = {kBase}};
  EXPECT_THAT(At(0).fires, ElementsAre(Of(0, What::kStart)));
}

TEST(OverlapNames, BothWays) {
  for (const auto overlap : {Overlap::kSkip, Overlap::kBufferOne, Overlap::kCancelOther, Overlap::kAllow}) {
    EXPECT_EQ(ParseOverlap(OverlapName(overlap)), overlap);
  }
  EXPECT_EQ(ParseOverlap("never"), std::nullopt);
}

}  // namespace
}  // namespace acl::schedule
