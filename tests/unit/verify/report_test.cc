#include "shared/verify/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl::verify {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report Sample() {
  Report report;
  report.Check("head.seq", true, "subject_head", "a", "8", "8");
  report.Check("head.seq", false, "subject_head", "b", "8", "7");
  return report;
}

TEST(Report, CountsEveryCheckAndKeepsWhatFailed) {
  Report report = Sample();
  EXPECT_FALSE(report.clean());
  EXPECT_EQ(report.checked["head.seq"], 2);
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].key, "b");
  EXPECT_TRUE(Report().clean());
}

TEST(Report, TheTextNamesTheRowAndBothSides) {
  const std::string text = ToText(Sample());
  EXPECT_THAT(text, HasSubstr("subject_head b  [head.seq]\n  expected: 8\n  found:    7\n"));
  EXPECT_THAT(text, HasSubstr("2 checks, 1 violation\n"));
  EXPECT_THAT(text, Not(HasSubstr("more")));
}

TEST(Report, TheJsonHasAllOfIt) {
  const Json json = ToJson(Sample());
  EXPECT_EQ(json["clean"], false);
  EXPECT_EQ(json["checked"]["head.seq"], 2);
  EXPECT_EQ(json["violations_found"], 1);
  EXPECT_EQ(json["violations"][0]["expected"], "8");
  EXPECT_EQ(json["violations"][0]["table"], "subject_head");
  EXPECT_EQ(ToJson(Report())["violations"], Json::array());
}

TEST(Report, ABrokenDatabaseDoesNotFillTheMemory) {
  Report report;
  for (std::size_t i = 0; i < Report::kKept + 5; ++i) report.Check("c", false, "t", "k", "", "");
  EXPECT_EQ(report.violations.size(), Report::kKept);
  EXPECT_EQ(report.found, std::int64_t(Report::kKept) + 5);
  EXPECT_THAT(ToText(report), HasSubstr("and 5 violations more"));
}

}  // namespace
}  // namespace acl::verify
