// Runs that kill their workers (killer_load.h).
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/sim/killer_load.h"
#include "tests/sim/seeds.h"

namespace acl::test {
namespace {

SimOptions Killers() {
  SimOptions options;
  options.subjects = 13;  // three kill
  options.fault_time = std::chrono::seconds(3);
  options.heal_time = std::chrono::seconds(900);
  return options;
}

TEST(KillerSim, WhoeverKillsIsJudgedAndEverybodyElseGoesOn) {
  const char* text = std::getenv("ACL_SIM_SEEDS");
  const char* only = std::getenv("ACL_SIM_SEED");
  const std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t seeds = only ? 1 : text ? std::max(std::atoi(text) / 5, 20) : 60;  // each takes five times as long as a short run
  SimReport sum;
  std::map<KillerLoad::Kind, int> judged;
  int completed = 0, kills = 0, most = 0, released = 0;
  for (std::uint64_t seed = first; seed < first + seeds && sum.violations.empty(); ++seed) {
    KillerLoad load;
    sum.Add(SimTestBed(seed, load, Killers()).Run());
    for (const auto& [kind, times] : load.judged()) judged[kind] += times;
    for (const auto& [subject, times] : load.kills()) kills += times, most = std::max(most, times);
    completed += load.completed();
    released += load.released();
    if (!sum.violations.empty()) sum.violations.push_back("seed " + std::to_string(seed));
  }
  std::cout << "sim: " << sum.ToString() << "\nsim: kills " << kills << ", of one run " << most << " at most, completed " << completed
            << "\n";
  std::string said;
  for (std::size_t i = 0; i < sum.violations.size() && i < 10; ++i) said += sum.violations[i] + "\n";
  EXPECT_TRUE(sum.violations.empty()) << said;
  if (only) return;
  EXPECT_EQ(judged[KillerLoad::Kind::kPureKiller], int(seeds));
  EXPECT_EQ(judged[KillerLoad::Kind::kJournaledKiller], int(seeds));
  EXPECT_EQ(judged[KillerLoad::Kind::kDispatchedKiller], int(seeds));
  EXPECT_EQ(completed, 10 * int(seeds));
  EXPECT_LE(released, 1 + int(seeds) / 100) << "rare: a worker has to die between its claim and its first commit";
}

}  // namespace
}  // namespace acl::test
