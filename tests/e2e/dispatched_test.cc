// Steps on other queues than their run's, with real processes: overlap, takeovers of the run, workers that die, freeze, drain, are told to
// stop.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

// Worker 1 serves the runs' queue; the others are started by the tests.
struct Dispatched : ::testing::Test {
  void SetUp() override {
    fleet.StartCoordinator();
    fleet.StartWorker(1);
  }
  void StartOn(const std::string& queue, int n) { fleet.StartWorker(n, {{"ACL_QUEUES", queue}}); }
  Json Dispatch(const std::string& id, std::size_t n = 0) {
    const Json dispatches = fleet.Run(id).value("dispatches", Json::array());
    return n < dispatches.size() ? dispatches[n] : Json::object();
  }
  bool AwaitDispatch(const std::string& id, const std::string& state, std::size_t n = 0) {
    if (WaitUntil([&] { return Dispatch(id, n).value("state", "") == state; })) return true;
    ADD_FAILURE() << "no dispatch " << n << " is " << state << ": " << DumpJson(fleet.Run(id)) << "\n" << fleet.Logs();
    return false;
  }
  // Nobody holds the run, and it says what it waits for.
  bool AwaitBlockedOnDispatch(const std::string& id) {
    return WaitUntil([&] {
      const Json state = fleet.Run(id).value("state", Json::object());
      return state.value("name", "") == "waiting" && state.value("blocked_on", "") == "dispatch";
    });
  }
  int NumberOf(const std::string& worker) { return worker.empty() ? -1 : std::stoi(worker.substr(worker.rfind('-') + 1)); }
  // Each dispatch that ended stands in the journal once.
  void ExpectEachEndOnce(const std::string& id) {
    for (const Json& dispatch : fleet.Run(id).value("dispatches", Json::array())) {
      int times = 0;
      for (const Json& event : fleet.Events(id))
        times += event.value("/payload/inbox_id"_json_pointer, "") == dispatch.value("dispatch_id", "-");
      EXPECT_EQ(times, 1) << DumpJson(dispatch);
    }
  }
  static GatedRun::Shape Fork() {
    return {.depends_on = {{2, "[step_1]"}, {3, "[step_1]"}, {4, "[step_2, step_3]"}}, .queues = {{2, "gpu"}, {3, "cpu"}}};
  }
  Fleet fleet;
};

TEST_F(Dispatched, TwoStepsOfOneRunOnTwoQueuesOverlap) {
  StartOn("gpu", 2);
  StartOn("cpu", 3);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 4, Fork());
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(run.AwaitStarted(3)) << "both run, neither has ended";
  ASSERT_TRUE(AwaitBlockedOnDispatch(run.id())) << "nobody holds the run meanwhile";
  const auto status = fleet.Cli({"workflow", "status", run.id()});
  EXPECT_NE(status.out.find("blocked on dispatch"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("step step_2 on queue gpu, run by worker-2 since"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("step step_3 on queue cpu, run by worker-3 since"), std::string::npos) << status.out;
  run.Open(3);
  ASSERT_TRUE(WaitUntil([&] { return fleet.Run(run.id()).value("steps_completed", 0) == 2; }));
  EXPECT_EQ(run.Starts(4), 0);
  run.OpenAll();
  run.ExpectCompletedOnce();
  for (int step = 1; step <= 4; ++step) EXPECT_EQ(run.Starts(step), 1);
  ExpectEachEndOnce(run.id());
}

// A third step runs with the lease while a dispatch is out; its worker is killed, another takes the run over, the dispatch goes on and
// counts once.
TEST_F(Dispatched, TheRunsLeaseChangesHandsWhileATaskRuns) {
  StartOn("gpu", 2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 4, {.depends_on = {{2, "[step_1]"}, {3, "[step_1]"}, {4, "[step_2, step_3]"}}, .queues = {{2, "gpu"}}});
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(run.AwaitStarted(3));
  ASSERT_EQ(fleet.HolderOf(run.id()), 1);
  fleet.worker(1).Kill();
  fleet.StartWorker(4);
  ASSERT_TRUE(run.AwaitStarted(3, 2)) << "what ran with the lease runs again";
  EXPECT_EQ(fleet.HolderOf(run.id()), 4);
  run.OpenAll();
  run.ExpectCompletedOnce();
  EXPECT_EQ(run.Starts(2), 1) << "the dispatch did not notice";
  ExpectEachEndOnce(run.id());
}

TEST_F(Dispatched, ADispatchesWorkerIsKilledAndAnotherRunsTheNextAttempt) {
  StartOn("gpu", 2);
  StartOn("gpu", 3);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 1, {.queues = {{1, "gpu"}}});
  ASSERT_TRUE(run.AwaitStarted(1));
  const int taker = NumberOf(Dispatch(run.id()).value("holder", ""));
  ASSERT_GT(taker, 1);
  fleet.worker(taker).Kill();
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  EXPECT_LT(run.Tokens(1)[0], run.Tokens(1)[1]) << "the next attempt's token is higher";
  EXPECT_EQ(Dispatch(run.id()).value("state", ""), "lost");
  run.Open(1);
  run.ExpectCompletedOnce();
  ExpectEachEndOnce(run.id());
  EXPECT_GT(fleet.Metric(fleet.ApiUrl(), "acl_dispatches_total", "lost"), 0);
}

TEST_F(Dispatched, AKilledWorkersEffectThatMayNotBeRepeatedWaitsForAPerson) {
  StartOn("gpu", 2);
  StartOn("gpu", 3);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 1, {.on_unknown_outcome = "ask", .queues = {{1, "gpu"}}});
  ASSERT_TRUE(run.AwaitStarted(1));
  fleet.worker(NumberOf(Dispatch(run.id()).value("holder", ""))).Kill();
  ASSERT_TRUE(WaitUntil([&] { return fleet.Run(run.id()).value("/uncertain"_json_pointer, Json::array()).size() == 1; })) << fleet.Logs();
  ASSERT_EQ(fleet.Cli({"step", "resolve", run.id(), "step_1", "--decision", "retry"}).exit_code, 0);
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  run.Open(1);
  run.ExpectCompletedOnce();
}

// SIGSTOP past the heartbeat: the dispatch is lost and runs elsewhere; continued, the late result is refused and counted.
TEST_F(Dispatched, AFrozenWorkersLateResultIsRefused) {
  StartOn("gpu", 2);
  StartOn("gpu", 3);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2, {.queues = {{1, "gpu"}}});
  ASSERT_TRUE(run.AwaitStarted(1));
  const int frozen = NumberOf(Dispatch(run.id()).value("holder", ""));
  ASSERT_GT(frozen, 1);
  fleet.worker(frozen).Signal(SIGSTOP);
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  run.Open(1);  // both shells end; the frozen worker hears of its own only when it goes on
  ASSERT_TRUE(run.AwaitStarted(2)) << "the second attempt's result counts";
  fleet.worker(frozen).Signal(SIGCONT);
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.HealthUrl(frozen), "acl_dispatches_total", "refused") > 0; })) << fleet.Logs();
  run.Open(2);
  run.ExpectCompletedOnce();
  EXPECT_EQ(run.Starts(1), 2);
  EXPECT_TRUE(fleet.worker(frozen).running()) << "it goes on with a session of its own";
  ExpectEachEndOnce(run.id());
}

TEST_F(Dispatched, ADrainingWorkerFinishesItsDispatch) {
  StartOn("gpu", 2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 1, {.queues = {{1, "gpu"}}});
  ASSERT_TRUE(run.AwaitStarted(1));
  fleet.worker(2).Signal(SIGTERM);
  const auto ready = fleet.HealthUrl(2) + "/readyz";
  ASSERT_TRUE(WaitUntil([&] { return HttpGet(ready).status != 200; }));
  run.Open(1);
  EXPECT_EQ(fleet.worker(2).Wait(), 0) << fleet.worker(2).Output();
  run.ExpectCompletedOnce();
  EXPECT_EQ(run.Starts(1), 1);
}

TEST_F(Dispatched, CancelStopsATaskThatRunsAndEndsOneThatNobodyTook) {
  StartOn("gpu", 2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 4, Fork());  // nobody serves queue cpu
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(AwaitDispatch(run.id(), "started"));
  ASSERT_TRUE(AwaitDispatch(run.id(), "queued", 1));
  ASSERT_EQ(fleet.Cli({"workflow", "cancel", run.id()}).exit_code, 0);
  ASSERT_TRUE(fleet.AwaitStatus(run.id(), "FAILED"));
  ASSERT_TRUE(WaitUntil([&] { return fleet.Run(run.id()).value("closed", false); })) << fleet.Logs();
  EXPECT_EQ(Dispatch(run.id(), 0).value("state", ""), "cancelled");
  EXPECT_EQ(Dispatch(run.id(), 1).value("state", ""), "cancelled");
  ExpectEachEndOnce(run.id());
  fleet.ExpectVerified();
}

TEST_F(Dispatched, FilesGoThereAndComeBack) {
  StartOn("gpu", 2);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto id = fleet.Submit(
      "name: files\nsteps:\n"
      "  - {name: a, capability: io.fs.write_file, inputs: {path: in.txt, content: 'one two'}}\n"
      "  - {name: b, queue: gpu, capability: io.fs.read_file, inputs: {path: in.txt}}\n"
      "  - {name: c, queue: gpu, capability: io.fs.write_file, inputs: {path: out.txt, content: '{{b.content}} three'}}\n"
      "  - {name: d, capability: io.fs.read_file, inputs: {path: out.txt}}\n");
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED"));
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/out.txt").body, "one two three");
  fleet.ExpectVerified();
}

}  // namespace
}  // namespace acl::test
