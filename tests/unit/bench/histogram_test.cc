#include "tests/bench/figures/histogram.h"

#include <gtest/gtest.h>

namespace acl::bench {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(Histogram, NothingIsZero) {
  const Histogram none;
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.QuantileMs(0.5), 0);
  EXPECT_EQ(none.MaxMs(), 0);
}

TEST(Histogram, QuantilesAreWithinAPercent) {
  Histogram times;
  for (int i = 1; i <= 10'000; ++i) times.Add(i * kMs / 10);
  EXPECT_EQ(times.count(), 10'000);
  EXPECT_NEAR(times.QuantileMs(0.5), 500, 5);
  EXPECT_NEAR(times.QuantileMs(0.99), 990, 10);
  EXPECT_NEAR(times.QuantileMs(0.001), 1, 0.01);
  EXPECT_DOUBLE_EQ(times.MaxMs(), 1000);
}

TEST(Histogram, OfOneItIsThatOne) {
  for (const std::int64_t time :
       {std::int64_t(1), std::int64_t(255), std::int64_t(256), std::int64_t(257), std::int64_t(511), 37 * kMs, 9000 * kMs}) {
    Histogram times;
    times.Add(time);
    const double ms = static_cast<double>(time) / 1e6;
    EXPECT_NEAR(times.QuantileMs(0.5), ms, ms * 0.01) << time;
    EXPECT_DOUBLE_EQ(times.MaxMs(), ms);
  }
}

TEST(Histogram, NoQuantileIsAboveTheMaximum) {
  Histogram times;
  for (int i = 0; i < 100; ++i) times.Add(1001 * kMs);
  EXPECT_LE(times.QuantileMs(0.99), times.MaxMs());
}

TEST(Histogram, WhatCannotBeIsKeptInItsRange) {
  Histogram times;
  times.Add(-5);
  times.Add(INT64_MAX);
  EXPECT_EQ(times.count(), 2);
  EXPECT_NEAR(times.QuantileMs(0.5), 0, 1e-6);
  EXPECT_GT(times.QuantileMs(1), 1e8);
}

TEST(Histogram, ClearForgets) {
  Histogram times;
  times.Add(kMs);
  times.Clear();
  EXPECT_EQ(times.count(), 0);
  EXPECT_EQ(times.MaxMs(), 0);
}

}  // namespace
}  // namespace acl::bench
