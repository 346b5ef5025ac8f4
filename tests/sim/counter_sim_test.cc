#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "tests/sim/counter_load.h"
#include "tests/sim/seeds.h"

namespace acl::test {
namespace {

// ACL_SIM_SEEDS=n runs n seeds, ACL_SIM_SEED=s only that one.
int SeedCount(int normal) {
  const char* text = std::getenv("ACL_SIM_SEEDS");
  return text ? std::atoi(text) : normal;
}

SimReport RunCounters(std::uint64_t first, int count, const SimOptions& options = {}, bool shrink = true) {
  return RunSeeds(
      first, count, [] { return std::make_unique<CounterLoad>(); }, options, nullptr, shrink);
}

std::string First(const std::vector<std::string>& violations) {
  std::string text;
  for (std::size_t i = 0; i < violations.size() && i < 10; ++i) text += violations[i] + "\n";
  return text;
}

// 8 000 seeds in four parts, so that ctest runs them side by side.
class CounterSimSeeds : public ::testing::TestWithParam<int> {};

TEST_P(CounterSimSeeds, HoldAndMeetWhatTheyClaimTo) {
  const int count = SeedCount(2'000);
  SimReport report = RunCounters(std::uint64_t(GetParam() * count + 1), count);
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
  EXPECT_GT(report.rolls, count) << "journals roll";
  EXPECT_GT(report.dropped, count) << "and old ones are dropped";
  EXPECT_GT(report.by_messages, 0);
  EXPECT_GT(report.messages_lost, 0);
  EXPECT_GT(report.messages_repeated, 0);
  EXPECT_GT(report.messages_dropped, 0);
  EXPECT_GT(report.late_claims, 0);
  EXPECT_GT(report.ready_hints, 0);
  EXPECT_GT(report.coordinators_killed, 0);
  EXPECT_GT(report.coordinators_frozen, 0);
  EXPECT_GT(report.jobs_stolen, 0);
  EXPECT_GT(report.jobs_taken, 2 * count) << "leadership moves";
  EXPECT_GT(report.ticks_side_by_side, 0) << "both believe that they lead";
  EXPECT_GT(report.hints, 0);
  EXPECT_GT(report.granted_as_made, 0);
  EXPECT_GT(report.grants_unheard, 0);
  EXPECT_GT(report.grants_heard_twice, 0);
  EXPECT_GT(report.grants_to_the_dead, 0);
}

INSTANTIATE_TEST_SUITE_P(Sim, CounterSimSeeds, ::testing::Values(0, 1, 2, 3));

TEST(CounterSim, TheSameSeedGivesTheSameRun) {
  for (std::uint64_t seed : {7u, 77u, 777u}) {
    CounterLoad first, second;
    EXPECT_EQ(SimTestBed(seed, first, {}).Run().trace_hash, SimTestBed(seed, second, {}).Run().trace_hash) << "seed " << seed;
  }
}

// The checkers have teeth: each known mistake turns the simulation red.
TEST(CounterSim, TurnsRedWithoutTheFence) {
  SimOptions options;
  options.mutants.no_fence = true;
  EXPECT_FALSE(RunCounters(1, SeedCount(1'000), options, false).violations.empty());
}

// A seed that breaks something is told with few faults instead of all of them. How few depends on the seed: some need many.
TEST(CounterSim, ShrinksToTheFaultsThatMatter) {
  SimOptions options;
  options.mutants.no_fence = true;
  options.fault_time = std::chrono::seconds(15);  // some hundred runs of it
  int halved = 0;
  bool far_fewer = false;
  for (int from : {1, 300, 500, 700, 900}) {
    const SimReport report = RunCounters(from, 1'000, options);
    ASSERT_FALSE(report.violations.empty());
    const std::string& told = report.violations.back();
    std::cout << "sim: " << told << "\n";
    int seed = 0, left = 0, all = 0;
    ASSERT_EQ(std::sscanf(told.c_str(), "seed %d: %d of its %d faults are enough for: ", &seed, &left, &all), 3) << told;
    EXPECT_GT(all, 0);
    EXPECT_LE(left, all);
    if (left * 2 < all) ++halved;
    far_fewer = far_fewer || left * 5 < all;
    EXPECT_NE(told.find("invariant 4"), std::string::npos) << told;
  }
  EXPECT_GE(halved, 3) << "of some nearly all faults matter";
  EXPECT_TRUE(far_fewer);
}

TEST(CounterSim, TurnsRedWithoutTheSnapshotThatEndsAJournal) {
  SimOptions options;
  options.mutants.closing_snapshot_lost = true;
  const SimReport report = RunCounters(1, SeedCount(1'000), options, false);
  ASSERT_FALSE(report.violations.empty());
  EXPECT_NE(report.violations.front().find("the snapshot that ends the journal before it is gone"), std::string::npos)
      << report.violations.front();
}

TEST(CounterSim, TurnsRedWithAClaimThatReadsTooEarly) {
  SimOptions options;
  options.mutants.stale_claim = true;
  EXPECT_FALSE(RunCounters(1, SeedCount(1'000), options, false).violations.empty());
}

TEST(CounterSim, TurnsRedWithoutTheWakeUpCheckAtClose) {
  SimOptions options;
  options.mutants.no_wake_check_at_close = true;
  EXPECT_FALSE(RunCounters(1, SeedCount(1'000), options, false).violations.empty());
}

}  // namespace
}  // namespace acl::test
