// Runs that kill their workers beside runs that do no harm (docs/architecture.md#suspicion): real workers, started again whenever they
// die.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

constexpr int kWorkers = 3;

class Killers : public ::testing::Test {
 protected:
  Killers() : fleet_(Options()) {
    fleet_.StartCoordinator();
    for (int n = 0; n < kWorkers; ++n) fleet_.StartWorker(n, Environment(n));
  }
  static FleetOptions Options() {
    FleetOptions options;
    options.lease_ttl_ms = 1'000;
    return options;
  }
  // The last one serves the queue of the dispatched steps too.
  static std::map<std::string, std::string> Environment(int n) { return {{"ACL_QUEUES", n == kWorkers - 1 ? "default,gpu" : "default"}}; }
  std::string SubmitKiller(const std::string& queue = "") {
    return fleet_.Submit(
        "name: killer\nsteps:\n  - name: kills\n    capability: sys.exec.run\n    on_unknown_outcome: retry\n    max_retries: 3\n" +
        (queue.empty() ? "" : "    queue: " + queue + "\n") +
        "    inputs: {command: sh, args: ['-c', 'set -- $(cat /proc/$PPID/stat); kill -9 $4; sleep 60']}\n");
  }
  std::vector<std::string> SubmitSleepers(int count) {
    std::vector<std::string> ids;
    for (int n = 0; n < count; ++n)
      ids.push_back(fleet_.Submit("name: sleeper\nsteps:\n  - {name: nap, capability: test.sleep, inputs: {seconds: 4}}\n"));
    return ids;
  }
  // Workers that died are started again; how many did.
  void KeepUp() {
    for (int n = 0; n < kWorkers; ++n) {
      if (fleet_.worker(n).running()) continue;
      ++deaths_;
      fleet_.StartWorker(n, Environment(n));
    }
  }
  bool AwaitEnd(const std::string& id) {
    return WaitUntil(
        [&] {
          KeepUp();
          return fleet_.Run(id).value("closed", false);
        },
        std::chrono::seconds(240));
  }
  // With what a person sees of it.
  void ExpectJudged(const std::string& id) {
    ASSERT_TRUE(AwaitEnd(id)) << fleet_.Run(id).dump(1) << fleet_.Logs();
    const Json run = fleet_.Run(id);
    EXPECT_EQ(run["failed_step"], "kills") << run.dump(1);
    EXPECT_NE(run["error"].get<std::string>().find("it may be what kills them"), std::string::npos) << run["error"];
    EXPECT_GE(run["steps"][0].value("attempts_lost", 0), 5) << run.dump(1);
    EXPECT_EQ(run["steps"][0]["attempts"], 1) << "an attempt that was lost does not count";
    const RunResult status = fleet_.Cli({"workflow", "status", id});
    EXPECT_NE(status.out.find("lost"), std::string::npos) << status.out << status.err;
  }
  void ExpectUnharmed(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      ASSERT_TRUE(AwaitEnd(id)) << fleet_.Run(id).dump(1) << fleet_.Logs();
      EXPECT_EQ(fleet_.StatusOf(id), "COMPLETED");
    }
    EXPECT_EQ(Psql(fleet_.database_url(), "select count(*) from quarantine"), "0") << "nothing for a person to release";
    fleet_.ExpectVerified();
  }

  Fleet fleet_;
  int deaths_ = 0;
};

TEST_F(Killers, OnlyTheKillerOfElevenIsJudged) {
  ASSERT_TRUE(fleet_.AwaitReady());
  const auto sleepers = SubmitSleepers(10);
  const std::string killer = SubmitKiller();
  ExpectJudged(killer);
  ExpectUnharmed(sleepers);
  EXPECT_LE(deaths_, 12);
}

TEST_F(Killers, ADispatchedStepIsJudgedByTheSameRule) {
  ASSERT_TRUE(fleet_.AwaitReady());
  const auto sleepers = SubmitSleepers(10);
  const std::string killer = SubmitKiller("gpu");
  ExpectJudged(killer);
  ExpectUnharmed(sleepers);
  EXPECT_LE(deaths_, 12);
}

}  // namespace
}  // namespace acl::test
