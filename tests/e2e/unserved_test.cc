// A queue that no worker serves, with real processes: people are told, and a run there can be cancelled and runs out of time.
#include <gtest/gtest.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

TEST(Unserved, IsToldCancelledAndRunsOutOfTime) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const std::string yaml = "name: far\nqueue: gpuu\nsteps:\n  - {name: a, capability: sys.info.get_time}\n";
  WriteFile(fleet.folder() / "far.yaml", yaml);
  const auto run = fleet.Cli({"workflow", "run", (fleet.folder() / "far.yaml").string()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("no living worker takes from queue 'gpuu'"), std::string::npos) << run.err;
  const std::string id = run.out.substr(0, run.out.find('\n'));
  const auto status = fleet.Cli({"workflow", "status", id});
  EXPECT_NE((status.out + status.err).find("no living worker takes from queue 'gpuu'"), std::string::npos) << status.out << status.err;
  const auto doctor = fleet.Cli({"doctor"});
  EXPECT_EQ(doctor.exit_code, 0) << doctor.out;
  EXPECT_NE(doctor.out.find("'gpuu' has no living worker"), std::string::npos) << doctor.out;
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.ApiUrl(), "acl_ready_unserved") >= 1; }));

  ASSERT_EQ(fleet.Cli({"workflow", "cancel", id, "--reason", "a typing mistake"}).exit_code, 0);
  EXPECT_TRUE(fleet.AwaitStatus(id, "FAILED")) << fleet.Logs();
  EXPECT_EQ(fleet.Run(id).value("reason", ""), "cancelled");
  const auto late = fleet.Submit("max_execution_time_seconds: 1\n" + yaml);
  EXPECT_TRUE(fleet.AwaitStatus(late, "FAILED")) << fleet.Logs();
  EXPECT_EQ(fleet.Run(late).value("reason", ""), "timeout");
  fleet.ExpectVerified();
}

// Its only worker died with it: the run has begun, and its end needs no step.
TEST(Unserved, ARunWhoseWorkersAreGoneIsCancelled) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  fleet.worker(1).Kill();
  ASSERT_EQ(fleet.Cli({"workflow", "cancel", run.id()}).exit_code, 0);
  EXPECT_TRUE(fleet.AwaitStatus(run.id(), "FAILED")) << fleet.Logs();
  EXPECT_TRUE(WaitUntil([&] { return fleet.Run(run.id()).value("/state/name"_json_pointer, "") == "closed"; })) << fleet.Logs();
  EXPECT_EQ(run.Starts(2), 0);
  fleet.ExpectVerified();
}

}  // namespace
}  // namespace acl::test
