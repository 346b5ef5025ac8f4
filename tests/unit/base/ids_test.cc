#include "shared/base/ids.h"

#include <gtest/gtest.h>

#include "shared/base/clock.h"

namespace acl {
namespace {

TEST(Uuid, RoundTripsAndRefusesOtherForms) {
  const std::string text = "0190f5fe-7c00-7a00-8000-0123456789ab";
  ASSERT_TRUE(Uuid::Parse(text));
  EXPECT_EQ(Uuid::Parse(text)->ToString(), text);
  EXPECT_FALSE(Uuid::Parse("0190f5fe7c007a0080000123456789ab"));
  EXPECT_FALSE(Uuid::Parse("0190f5fe-7c00-7a00-8000-0123456789ag"));
  EXPECT_FALSE(Uuid::Parse(""));
}

TEST(WallTime, FormatsAndParsesMicroseconds) {
  auto time = ParseWallTime("2026-11-22T00:36:00.123456Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(FormatWallTime(*time), "2026-11-22T00:36:00.123456Z");
  EXPECT_EQ(FormatWallTime(*ParseWallTime("2026-11-22T02:36:00+02:00")), "2026-11-22T00:36:00.000000Z");
  EXPECT_FALSE(ParseWallTime("2026-13-22T00:36:00Z"));
  EXPECT_FALSE(ParseWallTime("2026-11-22T00:36:00"));
}

}  // namespace
}  // namespace acl
