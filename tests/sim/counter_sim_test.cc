#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/sim/counter_load.h"

namespace acl::test {
namespace {

// ACL_SIM_SEEDS=n runs n seeds, ACL_SIM_SEED=s only that one.
int SeedCount(int normal) {
  const char* text = std::getenv("ACL_SIM_SEEDS");
  return text ? std::atoi(text) : normal;
}

SimReport RunSeeds(int count, SimOptions options = {}, int first = 1) {
  SimReport sum;
  if (const char* only = std::getenv("ACL_SIM_SEED")) {
    CounterLoad load;
    sum.Add(SimWorld(std::strtoull(only, nullptr, 10), load, options).Run());
    return sum;
  }
  for (int seed = first; seed < first + count; ++seed) {
    CounterLoad load;
    sum.Add(SimWorld(std::uint64_t(seed), load, options).Run());
    if (sum.violations.size() > 20) break;
  }
  return sum;
}

std::string First(const std::vector<std::string>& violations) {
  std::string text;
  for (std::size_t i = 0; i < violations.size() && i < 10; ++i) text += violations[i] + "\n";
  return text;
}

// 1 000 seeds in four parts, so that ctest runs them side by side.
class CounterSimSeeds : public ::testing::TestWithParam<int> {};

TEST_P(CounterSimSeeds, HoldAndMeetWhatTheyClaimTo) {
  SimReport report = RunSeeds(SeedCount(250), {}, GetParam());
  std::cout << "sim: " << report.ToString() << "\n";
  EXPECT_TRUE(report.violations.empty()) << First(report.violations);
  if (std::getenv("ACL_SIM_SEED")) return;
  EXPECT_GT(report.takeovers, 0);
  EXPECT_GT(report.stale_commits_refused, 0);
  EXPECT_GT(report.unknown_landed, 0);
  EXPECT_GT(report.signals_at_close, 0);
  EXPECT_GT(report.direct_commands, 0);
  EXPECT_GT(report.uncertain_resolved, 0);
  EXPECT_GT(report.snapshots, 0);
  EXPECT_GT(report.by_messages, 0);
  EXPECT_GT(report.messages_lost, 0);
  EXPECT_GT(report.messages_repeated, 0);
  EXPECT_GT(report.messages_dropped, 0);
  EXPECT_GT(report.late_claims, 0);
}

INSTANTIATE_TEST_SUITE_P(Sim, CounterSimSeeds, ::testing::Values(1, 251, 501, 751));

TEST(CounterSim, TheSameSeedGivesTheSameRun) {
  for (std::uint64_t seed : {7u, 77u, 777u}) {
    CounterLoad first, second;
    EXPECT_EQ(SimWorld(seed, first, {}).Run().trace_hash, SimWorld(seed, second, {}).Run().trace_hash) << "seed " << seed;
  }
}

// The checkers have teeth: each known mistake turns the simulation red.
TEST(CounterSim, TurnsRedWithoutTheFence) {
  SimOptions options;
  options.mutants.no_fence = true;
  EXPECT_FALSE(RunSeeds(SeedCount(60), options).violations.empty());
}

TEST(CounterSim, TurnsRedWithAClaimThatReadsTooEarly) {
  SimOptions options;
  options.mutants.stale_claim = true;
  EXPECT_FALSE(RunSeeds(SeedCount(60), options).violations.empty());
}

TEST(CounterSim, TurnsRedWithoutTheWakeUpCheckAtClose) {
  SimOptions options;
  options.mutants.no_wake_check_at_close = true;
  EXPECT_FALSE(RunSeeds(SeedCount(60), options).violations.empty());
}

}  // namespace
}  // namespace acl::test
