// Projects on several coordinators under faults (project_test_bed.h).
#include "tests/sim/project_test_bed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "shared/base/mutant.h"

namespace acl::test {
namespace {

// A world of projects costs ten times a fleet of short runs: of ACL_SIM_SEEDS a tenth.
int SeedsOf(int normal) {
  const char* text = std::getenv("ACL_SIM_SEEDS");
  return text ? std::max(std::atoi(text) / 10, 1) : normal;
}

std::string FirstOf(const ProjectReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.violations.size() && i < 10; ++i) text += report.violations[i] + "\n";
  return text;
}

class ProjectSimSeeds : public ::testing::TestWithParam<int> {};

TEST_P(ProjectSimSeeds, HoldAndMeetWhatTheyClaimTo) {
  const int count = SeedsOf(100);
  ProjectReport all;
  for (int n = 0; n < count; ++n) {
    const auto seed = std::uint64_t(GetParam() * count + n + 1);
    const ProjectReport report = ProjectTestBed(seed).Run();
    all.Add(report);
    ASSERT_TRUE(report.violations.empty()) << "seed " << seed << "\n" << FirstOf(report);
    if (n % 25 != 0) continue;
    ASSERT_EQ(ProjectTestBed(seed).Run().end, report.end) << "seed " << seed << " gives another run the second time";
  }
  std::cout << "sim: " << all.ToString() << "\n";
  for (const std::int64_t met : {all.refused, all.repeats, all.started, all.taken, all.expired, all.late_refused, all.completed, all.killed,
                                 all.frozen, all.snapshots, all.together, all.rolls, all.dropped}) {
    EXPECT_GT(met, 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Parts, ProjectSimSeeds, ::testing::Range(0, 2));

#ifdef ACL_MUTANTS
struct ProjectMistake {
  const char* name;
  const char* noticed;  // what the violation says
};
constexpr ProjectMistake kProjectMistakes[] = {
    {"task_token_ignored", "said by one who does not hold"},
    {"shown_a_command_late", "what is shown is not what is"},
    {"answers_forgotten", "was answered"},
    {"claim_never_expires", "never runs out"},
};

class ProjectMutants : public ::testing::TestWithParam<ProjectMistake> {};

TEST_P(ProjectMutants, IsNoticed) {
  const ProjectMistake& mistake = GetParam();
  ChosenMutant() = mistake.name;
  std::string noticed;
  for (std::uint64_t seed = 1; seed <= 40 && noticed.empty(); ++seed) {
    const ProjectReport report = ProjectTestBed(seed).Run();
    for (const std::string& one : report.violations) {
      if (one.find(mistake.noticed) != std::string::npos) noticed = one;
    }
  }
  ChosenMutant().clear();
  EXPECT_FALSE(noticed.empty()) << mistake.name << " goes unnoticed";
  std::cout << "mutant: " << mistake.name << " | " << noticed << "\n";
}
INSTANTIATE_TEST_SUITE_P(Sim, ProjectMutants, ::testing::ValuesIn(kProjectMistakes), [](const auto& one) { return one.param.name; });
#else
static_assert(!Mutant("task_token_ignored"), "a mistake is compiled into a build that is not `mutants`");
#endif

}  // namespace
}  // namespace acl::test
