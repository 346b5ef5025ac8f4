// The page of limits against the numbers it speaks of.
#include "shared/base/limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

namespace acl {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "4 MiB", "10 000 bytes", "100": as the page writes it.
std::string Spelled(std::size_t value) {
  if (value % limits::kMiB == 0) return std::to_string(value / limits::kMiB) + " MiB";
  if (value % limits::kKiB == 0) return std::to_string(value / limits::kKiB) + " KiB";
  std::string digits = std::to_string(value);
  for (int at = int(digits.size()) - 3; at > 0 && digits.size() > 4; at -= 3) digits.insert(std::size_t(at), " ");
  return digits;
}

const std::map<std::string, std::size_t> kAll = {
    {"kWorkflowFileBytes", limits::kWorkflowFileBytes},
    {"kWorkflowExpandedBytes", limits::kWorkflowExpandedBytes},
    {"kFindingBytes", limits::kFindingBytes},
    {"kFindingsKept", limits::kFindingsKept},
    {"kTemplateBytes", limits::kTemplateBytes},
    {"kTemplateWorkBytes", limits::kTemplateWorkBytes},
    {"kStartedBytes", limits::kStartedBytes},
    {"kJsonValues", limits::kJsonValues},
    {"kPatchCopyBytes", limits::kPatchCopyBytes},
    {"kStepOutputBytes", limits::kStepOutputBytes},
    {"kRegexPatternBytes", limits::kRegexPatternBytes},
    {"kRegexGroups", std::size_t(limits::kRegexGroups)},
    {"kRegexMatches", limits::kRegexMatches},
    {"kRegexProgramBytes", limits::kRegexProgramBytes},
    {"kViewOutputBytes", limits::kViewOutputBytes},
    {"kViewOutputsBytes", limits::kViewOutputsBytes},
    {"kPageBytes", limits::kPageBytes},
    {"kSmallAnswerBytes", limits::kSmallAnswerBytes},
    {"kAnswersBytes", limits::kAnswersBytes},
    {"kRequestsBytes", limits::kRequestsBytes},
    {"kRunStateBytes", limits::kRunStateBytes},
    {"kRunFiles", limits::kRunFiles},
    {"kRunInputs", limits::kRunInputs},
    {"kRunPathsBytes", limits::kRunPathsBytes},
};

TEST(Limits, ThePageSaysEachAsItIs) {
  const std::string page = ReadText(ACL_SOURCE_DIR "/docs/reference/limits.md"), header = ReadText(ACL_SOURCE_DIR "/shared/base/limits.h");
  for (const auto& [name, value] : kAll) {
    std::smatch row;
    ASSERT_TRUE(std::regex_search(page, row, std::regex("\\| ([^|\n]*) \\| `" + name + "` \\|"))) << name << " has no row";
    EXPECT_EQ(row[1].str().substr(0, Spelled(value).size()), Spelled(value)) << name;
  }
  // None is missing here.
  const std::regex constant("constexpr (?:int|std::size_t) (k\\w+) = ");
  for (std::sregex_iterator it(header.begin(), header.end(), constant), end; it != end; ++it) {
    const std::string name = (*it)[1];
    EXPECT_TRUE(name == "kKiB" || kAll.contains(name)) << name;
  }
}

}  // namespace
}  // namespace acl
