#include "shared/base/time_zone.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

TEST(TimeZone, PosixRules) {
  const std::tuple<const char*, std::int64_t, std::int64_t> table[] = {
      {"UTC0", 0, 0},
      {"CET-1CEST,M3.5.0,M10.5.0/3", 1'774'745'999, 3600},  // 2026-03-29 00:59:59Z
      {"CET-1CEST,M3.5.0,M10.5.0/3", 1'774'746'000, 7200},  // 01:00:00Z
      {"CET-1CEST,M3.5.0,M10.5.0/3", 1'792'889'999, 7200},  // 2026-10-25 00:59:59Z
      {"CET-1CEST,M3.5.0,M10.5.0/3", 1'792'890'000, 3600},
      {"AEST-10AEDT,M10.1.0,M4.1.0/3", 1'768'000'000, 39600},  // January, in the south
      {"<+0530>-5:30", 0, 19800},
      {"NZST-12NZDT,M9.5.0,M4.1.0/3", 1'782'000'000, 43200},
  };
  for (const auto& [rule, at, offset] : table) {
    auto got = PosixTzOffset(rule, at);
    ASSERT_TRUE(got) << rule;
    EXPECT_EQ(*got, offset) << rule << " at " << at;
  }
  for (const char* bad : {"", "X", "CET", "CET-1CEST", "CET-1CEST,M13.1.0,M1.1.0", "CET-1CEST,M3.5.0", "<abc"})
    EXPECT_FALSE(PosixTzOffset(bad, 0)) << bad;
}

TEST(TimeZone, NamesOfTheDatabase) {
  EXPECT_EQ(OffsetOf("uTc", 0)->suffix, "Z");
  EXPECT_EQ(OffsetOf("Europe/Berlin", 1'768'000'000)->suffix, "+01:00");
  EXPECT_EQ(OffsetOf("Europe/Berlin", 1'782'000'000)->suffix, "+02:00");
  EXPECT_EQ(OffsetOf("Europe/Berlin", 4'118'000'000)->suffix, "+02:00") << "a summer far beyond the table";
  EXPECT_EQ(OffsetOf("America/New_York", 1'768'000'000)->suffix, "-05:00");
  EXPECT_FALSE(OffsetOf("Europe", 0));
  EXPECT_FALSE(TzifOffset("TZif", 0));
  EXPECT_FALSE(TzifOffset(std::string(200, '\0'), 0));
}

TEST(TimeZone, ReadOnceAskedOften) {
  auto berlin = TimeZone::Load("Europe/Berlin");
  ASSERT_TRUE(berlin) << berlin.error();
  EXPECT_EQ(berlin->name(), "Europe/Berlin");
  EXPECT_EQ(berlin->OffsetAt(1'768'000'000), 3600);
  EXPECT_EQ(berlin->OffsetAt(1'782'000'000), 7200);
  EXPECT_EQ(TimeZone::Load("uTC")->OffsetAt(1'782'000'000), 0);
  EXPECT_EQ(TimeZone::Load("Asia/Kathmandu")->OffsetAt(0), 19'800) << "before the table's last change";
  for (const char* bad : {"", "local", "Europe", "Nowhere/Town", "/etc/passwd", "../../../etc/passwd", "Europe/../Europe/Berlin"}) {
    EXPECT_FALSE(TimeZone::Load(bad)) << bad;
  }
}

}  // namespace
}  // namespace acl
