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
  for (const char* bad :
       {"2026-13-22T00:36:00.000000Z", "2026-02-30T00:36:00.000000Z", "2026-11-22T24:36:00.000000Z", "2026-11-22T00:60:00.000000Z",
        "2026-11-22T00:36:00+25:00", "2026-11-22T00:36:00+01:60", "2026-11-22T00:36:00+-1:30", "2026-11-22T-1:36:00Z"})
    EXPECT_FALSE(ParseWallTime(bad)) << bad;
  for (std::int64_t micros = -5'000'000'000'000'003; micros < 5'000'000'000'000'000; micros += 9'999'999'777'777) {
    const WallTime at = WallTimeFromMicros(micros);
    const std::string text = FormatWallTime(at);
    EXPECT_EQ(ParseWallTime(text), at) << text;  // as written here, and the same instant in another form
    EXPECT_EQ(ParseWallTime(text.substr(0, text.size() - 1) + "+00:00"), at) << text;
  }
  EXPECT_FALSE(ParseWallTime("2026-11-22T00:36:00"));
}

}  // namespace
}  // namespace acl
