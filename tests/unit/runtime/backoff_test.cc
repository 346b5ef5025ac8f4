#include "shared/runtime/backoff.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace acl {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, BoundsDoubleUpToTheMaximum) {
  const BackoffPolicy policy{milliseconds(100), milliseconds(1000), 2.0};
  EXPECT_EQ(BackoffBound(policy, 0), milliseconds(100));
  EXPECT_EQ(BackoffBound(policy, 1), milliseconds(200));
  EXPECT_EQ(BackoffBound(policy, 3), milliseconds(800));
  EXPECT_EQ(BackoffBound(policy, 4), milliseconds(1000));
  EXPECT_EQ(BackoffBound(policy, 100'000), milliseconds(1000));
  EXPECT_EQ(BackoffBound(policy, -3), milliseconds(100));
  const BackoffPolicy none{milliseconds(0), milliseconds(1000), 100.0};
  for (const int attempt : {0, 1, 155, 1000}) EXPECT_EQ(BackoffBound(none, attempt), milliseconds(0)) << attempt;
}

TEST(Backoff, DelayCoversTheWholeRange) {
  const BackoffPolicy policy{milliseconds(100), milliseconds(1000), 2.0};
  EXPECT_EQ(BackoffDelay(policy, 0, 0.0), milliseconds(0));
  EXPECT_EQ(BackoffDelay(policy, 0, 0.999999), milliseconds(100));
  EXPECT_EQ(BackoffDelay(policy, 9, 0.5), milliseconds(500));
}

RC_GTEST_PROP(Backoff, NeverAboveItsBound, (std::uint64_t seed)) {
  SeededRandom random(seed);
  const BackoffPolicy policy{milliseconds(50), milliseconds(3000), 1.7};
  Backoff backoff(policy, random);
  for (int i = 0; i < 40; ++i) {
    const auto delay = backoff.Next();
    RC_ASSERT(delay.count() >= 0);
    RC_ASSERT(delay <= BackoffBound(policy, i));
  }
  backoff.Reset();
  RC_ASSERT(backoff.Next() <= milliseconds(50));
}

}  // namespace
}  // namespace acl
