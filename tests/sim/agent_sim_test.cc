#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/sim/agent_load.h"
#include "tests/sim/seeds.h"

namespace acl::test {
namespace {

TEST(AgentSim, NothingSaidIsLostAndNoActionEndsTwice) {
  const char* text = std::getenv("ACL_SIM_SEEDS");
  std::int64_t turns = 0, actions = 0, uncertain = 0, interrupted = 0, approved = 0, repeated = 0;
  SimOptions options;
  options.subjects = 8;
  const SimReport sum = RunSeeds(
      1, text ? std::atoi(text) : 500, [] { return std::make_unique<AgentLoad>(); }, options,
      [&](SimLoad& load) {
        const auto& agents = static_cast<AgentLoad&>(load);
        turns += agents.turns;
        actions += agents.actions;
        uncertain += agents.uncertain;
        interrupted += agents.interrupted;
        approved += agents.approved;
        repeated += agents.repeated;
      });
  std::cout << "sim: " << sum.ToString() << "\nsim: turns " << turns << ", actions " << actions << ", uncertain " << uncertain
            << ", interrupted " << interrupted << ", approved " << approved << ", attempts lost " << repeated << "\n";
  std::string first;
  for (std::size_t i = 0; i < sum.violations.size() && i < 10; ++i) first += sum.violations[i] + "\n";
  EXPECT_TRUE(sum.violations.empty()) << first;
  if (std::getenv("ACL_SIM_SEED")) return;
  EXPECT_GT(turns, 0);
  EXPECT_GT(actions, 0);
  EXPECT_GT(uncertain, 0);
  EXPECT_GT(interrupted, 0);
  EXPECT_GT(approved, 0);
  EXPECT_GT(repeated, 0);
  EXPECT_GT(sum.takeovers, 0);
  EXPECT_GT(sum.stale_commits_refused, 0);
}

TEST(AgentSim, TurnsRedWithoutTheFence) {
  SimOptions options;
  options.mutants.no_fence = true;
  EXPECT_FALSE(RunSeeds(
                   1, 300, [] { return std::make_unique<AgentLoad>(); }, options, nullptr, false)
                   .violations.empty());
}

}  // namespace
}  // namespace acl::test
