#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/sim/seeds.h"
#include "tests/sim/workflow_load.h"

namespace acl::test {
namespace {

TEST(WorkflowSim, HoldsOverAllSeedsAndEndsInEveryWay) {
  const char* text = std::getenv("ACL_SIM_SEEDS");
  std::map<std::string, int> ended, approvals;
  int waits = 0, fast_paths = 0, scopes = 0, signals = 0, children = 0;
  SimOptions large;
  large.subjects = 8;
  const SimReport sum = RunSeeds(
      1, text ? std::atoi(text) : 2'000, [] { return std::make_unique<WorkflowLoad>(); }, large,
      [&](SimLoad& load) {
        for (const auto& [status, times] : static_cast<WorkflowLoad&>(load).ended()) ended[status] += times;
        for (const auto& [state, times] : static_cast<WorkflowLoad&>(load).approvals()) approvals[state] += times;
        waits += static_cast<WorkflowLoad&>(load).waits();
        fast_paths += static_cast<WorkflowLoad&>(load).fast_paths();
        scopes += static_cast<WorkflowLoad&>(load).scopes();
        signals += static_cast<WorkflowLoad&>(load).signals();
        children += static_cast<WorkflowLoad&>(load).children();
      });
  std::cout << "sim: " << sum.ToString() << "\nsim: ended";
  for (const auto& [status, times] : ended) std::cout << " " << status << " " << times;
  std::cout << ", waits " << waits << ", fast paths " << fast_paths << ", scopes " << scopes << ", signals " << signals << ", children "
            << children;
  for (const auto& [state, times] : approvals) std::cout << ", " << state << " " << times;
  std::cout << "\n";
  std::string first;
  for (std::size_t i = 0; i < sum.violations.size() && i < 10; ++i) first += sum.violations[i] + "\n";
  EXPECT_TRUE(sum.violations.empty()) << first;
  if (std::getenv("ACL_SIM_SEED")) return;
  EXPECT_GT(ended["COMPLETED"], 0);
  EXPECT_GT(ended["FAILED"], 0);
  EXPECT_GT(ended["ROLLED_BACK"], 0);
  EXPECT_GT(waits, 0);
  EXPECT_GT(scopes, 0);
  EXPECT_GT(signals, 0);
  EXPECT_GT(children, 0);
  for (const char* state : {"APPROVED", "REJECTED", "TIMEOUT"}) EXPECT_GT(approvals[state], 0) << state;
  EXPECT_GT(fast_paths, sum.subjects) << "each is compared with what the long way says";
  EXPECT_GT(sum.takeovers, 0);
  EXPECT_GT(sum.stale_commits_refused, 0);
  EXPECT_GT(sum.unknown_landed, 0);
  EXPECT_GT(sum.uncertain_resolved, 0);
  EXPECT_GT(sum.dispatches_taken, 0);
  EXPECT_GT(sum.dispatch_results, 0);
  EXPECT_GT(sum.dispatches_lost, 0);
  EXPECT_GT(sum.dispatches_withdrawn, 0);
  EXPECT_GT(sum.late_results_refused, 0);
  EXPECT_GT(sum.dispatch_results_kept, 0);
  EXPECT_GT(sum.scheduled_runs, 0);
  EXPECT_GT(sum.fire_times, sum.scheduled_runs) << "some are missed or skipped";
  EXPECT_GT(sum.ticks_side_by_side, 0);
}

// The checkers have teeth: a store that takes a result whatever became of its dispatch is found out.
// (Not from seed 1, which is a large run: what is found there took 38 s to be shrunk, not 1.)
TEST(WorkflowSim, ResultsThatAreNotComparedAreFoundOut) {
  SimOptions options;
  options.subjects = 8;
  options.mutants.no_dispatch_compare = true;
  EXPECT_FALSE(RunSeeds(
                   2, 800, [] { return std::make_unique<WorkflowLoad>(); }, options)
                   .violations.empty());
}

}  // namespace
}  // namespace acl::test
