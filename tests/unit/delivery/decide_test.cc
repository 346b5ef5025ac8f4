#include "shared/delivery/decide.h"

#include <gtest/gtest.h>

namespace acl::delivery {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Answer Status(int status) {
  Answer answer;
  answer.status = status;
  return answer;
}

TEST(DeliveryDecide, Only2xxDelivers) {
  for (const int status : {200, 202, 204, 299}) EXPECT_EQ(Judge(Status(status), 0, 0).state, State::kDelivered) << status;
  for (const int status : {0, 100, 199, 300, 302, 400, 404, 408, 409, 429, 500, 502, 503}) {
    const auto verdict = Judge(Status(status), 0, 0.5);
    EXPECT_EQ(verdict.state, State::kPending) << status;
    EXPECT_EQ(verdict.failures, 1);
    EXPECT_EQ(verdict.again_in, seconds(5)) << status;
    EXPECT_FALSE(verdict.error.empty());
  }
}

TEST(DeliveryDecide, GoneAndWhatCannotBetterEndAtOnce) {
  EXPECT_EQ(Judge(Status(410), 0, 0).state, State::kDead);
  Answer refused;
  refused.for_good = true;
  refused.error = "there is no such endpoint";
  EXPECT_EQ(Judge(refused, 0, 0).state, State::kDead);
  EXPECT_EQ(Judge(refused, 0, 0).error, "there is no such endpoint");
}

TEST(DeliveryDecide, IsTriedOverThreeDaysAndThenDead) {
  milliseconds shortest{0}, longest{0};
  int failures = 0;
  for (;; ++failures) {
    const auto verdict = Judge(Status(503), failures, 0);
    if (verdict.state == State::kDead) break;
    shortest += verdict.again_in;
    longest += Judge(Status(503), failures, 0.999999).again_in;
    ASSERT_LT(failures, 100);
  }
  EXPECT_EQ(failures + 1, kMostFailures);
  EXPECT_NE(Judge(Status(503), failures, 0).error.find("the last of 10 attempts"), std::string::npos);
  EXPECT_GT(shortest, hours(60));
  EXPECT_GT(longest, hours(72));
  EXPECT_LT(longest, hours(96));
}

TEST(DeliveryDecide, WaitsGrowAndSpreadByAFifth) {
  for (int failures = 1; failures < kMostFailures; ++failures) {
    EXPECT_EQ(WaitAfter(failures, 0.5), kWaits[std::size_t(failures - 1)]);
    EXPECT_EQ(WaitAfter(failures, 0) * 10, kWaits[std::size_t(failures - 1)] * 8);
    EXPECT_LE(WaitAfter(failures, 1) * 10, kWaits[std::size_t(failures - 1)] * 12);
    EXPECT_GE(WaitAfter(failures + 1, 0) * 6, WaitAfter(failures, 0) * 6);
  }
}

TEST(DeliveryDecide, RetryAfterOnlyMakesItLater) {
  Answer busy = Status(429);
  busy.retry_after = minutes(10);
  EXPECT_EQ(Judge(busy, 0, 0).again_in, minutes(10));
  EXPECT_EQ(Judge(busy, 3, 0.5).again_in, hours(2));
}

TEST(DeliveryDecide, AnEndOfOursIsNoFailure) {
  Answer stopped;
  stopped.ours = true;
  stopped.error = "stopped during the call";
  const auto verdict = Judge(stopped, 9, 0);
  EXPECT_EQ(verdict.state, State::kPending);
  EXPECT_EQ(verdict.failures, 9);
  EXPECT_EQ(verdict.again_in, milliseconds(0));
}

}  // namespace
}  // namespace acl::delivery
