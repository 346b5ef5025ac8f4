// Who holds a run: stopped workers, drains, two coordinators.
#include <gtest/gtest.h>
#include <signal.h>

#include "chaos/proxy/proxy.h"
#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

struct TwoWorkers : ::testing::Test {
  void Start(std::map<std::string, std::string> environment = {}) {
    fleet.StartCoordinator();
    fleet.StartWorker(1, environment);
    fleet.StartWorker(2, environment);
    ASSERT_TRUE(fleet.AwaitReady());
  }
  Fleet fleet;
};

// SIGSTOP past the lease: another worker takes the run over; continued, the old holder's commit is refused and counted.
TEST_F(TwoWorkers, AStoppedHolderIsRefusedWhenItComesBack) {
  Start();
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  const int stopped = fleet.HolderOf(run.id());
  ASSERT_GT(stopped, 0);
  fleet.worker(stopped).Signal(SIGSTOP);
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  run.Open(1);  // both shells end; the stopped worker hears of its own only when it is continued
  ASSERT_TRUE(run.AwaitStarted(2));
  fleet.worker(stopped).Signal(SIGCONT);
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.HealthUrl(stopped), "acl_fence_refusals_total") > 0; })) << fleet.Logs();
  EXPECT_GT(fleet.Metric(fleet.HealthUrl(stopped), "acl_lease_losses_total"), 0);
  run.Open(2);
  run.ExpectCompletedOnce();
  EXPECT_EQ(run.Starts(2), 1);
  EXPECT_TRUE(fleet.worker(stopped).running()) << "it goes on with a session of its own";
}

// The same with its commit already on the way when it is stopped: the commit reaches the database after the takeover, which refuses it.
TEST(StoppedInCommit, TheCommitIsRefusedAndCounted) {
  Fleet fleet;
  const auto& url = fleet.database_url();
  const auto proxy = std::move(*chaos::Proxy::Start(PortOf(url), chaos::Proxy::Protocol::kPostgres));
  fleet.StartCoordinator();
  fleet.StartWorker(1, {{"ACL_DATABASE_URL", WithPort(url, proxy->port())}});
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  proxy->ArmHold();
  run.Open(1);
  ASSERT_TRUE(WaitUntil([&] { return proxy->Holding(); })) << fleet.Logs();
  fleet.worker(1).Signal(SIGSTOP);
  fleet.StartWorker(2);
  ASSERT_TRUE(run.AwaitStarted(2)) << "the other worker repeats step 1 and goes on";
  EXPECT_EQ(run.Starts(1), 2);
  proxy->Release();
  fleet.worker(1).Signal(SIGCONT);
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.HealthUrl(1), "acl_fence_refusals_total") > 0; })) << fleet.Logs();
  run.Open(2);
  run.ExpectCompletedOnce();
  EXPECT_EQ(run.Starts(2), 1);
}

TEST_F(TwoWorkers, ADrainingWorkerFinishesItsStep) {
  Start();
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  const int holder = fleet.HolderOf(run.id());
  ASSERT_GT(holder, 0);
  fleet.worker(holder).Signal(SIGTERM);
  run.Open(1);
  EXPECT_EQ(fleet.worker(holder).Wait(), 0) << fleet.worker(holder).Output();
  ASSERT_TRUE(run.AwaitStarted(2));
  EXPECT_EQ(run.Starts(1), 1) << "the step it was in was finished, not repeated";
  EXPECT_NE(fleet.HolderOf(run.id()), holder);
  run.Open(2);
  run.ExpectCompletedOnce();
}

TEST_F(TwoWorkers, ADrainPastItsDeadlineGivesTheRunBack) {
  Start({{"ACL_DRAIN_DEADLINE_MS", "300"}, {"ACL_DRAIN_EFFECTS_DEADLINE_MS", "300"}});
  GatedRun run(fleet, 1);
  ASSERT_TRUE(run.AwaitStarted(1));
  const int holder = fleet.HolderOf(run.id());
  ASSERT_GT(holder, 0);
  fleet.worker(holder).Signal(SIGTERM);
  fleet.worker(holder).Wait();
  ASSERT_TRUE(run.AwaitStarted(1, 2)) << "the other worker runs the step again";
  run.Open(1);
  run.ExpectCompletedOnce();
}

TEST_F(TwoWorkers, ASecondSignalStopsAtOnce) {
  Start({{"ACL_DRAIN_DEADLINE_MS", "600000"}});
  GatedRun run(fleet, 1);
  ASSERT_TRUE(run.AwaitStarted(1));
  const int holder = fleet.HolderOf(run.id());
  ASSERT_GT(holder, 0);
  auto& worker = fleet.worker(holder);
  worker.Signal(SIGTERM);
  const auto ready = fleet.HealthUrl(holder) + "/readyz";
  ASSERT_TRUE(WaitUntil([&] { return HttpGet(ready).status != 200; })) << "a draining worker is not ready";
  ASSERT_TRUE(worker.running());
  worker.Signal(SIGTERM);
  EXPECT_NE(worker.Wait(), 0);
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  run.Open(1);
  run.ExpectCompletedOnce();
}

TEST_F(TwoWorkers, TwoCoordinatorsOneOfThemKilled) {
  fleet.StartCoordinator(1);
  Start();
  GatedRun run(fleet, 1);
  ASSERT_TRUE(run.AwaitStarted(1));
  for (int n : {0, 1}) EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + run.id(), {}, {}, n).json().value("status", ""), "RUNNING");
  fleet.coordinator(1).Kill();
  // The loops' leases move to the other: the worker that is killed now is reaped by it.
  const int holder = fleet.HolderOf(run.id());
  ASSERT_GT(holder, 0);
  fleet.worker(holder).Kill();
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  run.Open(1);
  run.ExpectCompletedOnce();
}

// The doorbell is only a hint: without any, all runs still end.
TEST(NoDoorbell, RunsStillEnd) {
  FleetOptions options;
  options.environment["ACL_COORDINATORS"] = "";
  Fleet fleet(options);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2);
  run.OpenAll();
  run.ExpectCompletedOnce();
}

}  // namespace
}  // namespace acl::test
