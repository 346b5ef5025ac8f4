// Steps that run at the same time, and what the documented table says of attempts while their run is open.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

struct Parallel : ::testing::Test {
  void SetUp() override {
    fleet.StartCoordinator();
    fleet.StartWorker(1);
    ASSERT_TRUE(fleet.AwaitReady());
  }
  // What workflow_steps says of a step's attempts: "STATUS|error" a line.
  std::string Attempts(const std::string& id, const std::string& step) {
    return Psql(fleet.database_url(), "select status, coalesce(error_message, '-') from workflow_steps where workflow_id = '" + id +
                                          "' and step_name = '" + step + "' order by started_at");
  }
  static GatedRun::Shape Diamond() { return {.depends_on = {{2, "[step_1]"}, {3, "[step_1]"}, {4, "[step_2, step_3]"}}}; }
  Fleet fleet;
};

TEST_F(Parallel, BothArmsOfADiamondRunAtOnce) {
  GatedRun run(fleet, 4, Diamond());
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(run.AwaitStarted(3)) << "neither arm has ended";
  run.Open(3);
  ASSERT_TRUE(WaitUntil([&] { return fleet.Run(run.id()).value("steps_completed", 0) == 2; }));
  EXPECT_EQ(run.Starts(4), 0) << "it waits for both";
  run.OpenAll();
  run.ExpectCompletedOnce();
  for (int step = 1; step <= 4; ++step) EXPECT_EQ(run.Starts(step), 1);
}

TEST_F(Parallel, AWorkerKilledBetweenTheArmsCostsOneRepetitionOfEach) {
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 4, Diamond());
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(run.AwaitStarted(3));
  const int holder = fleet.HolderOf(run.id());
  ASSERT_GT(holder, 0) << fleet.Logs();
  fleet.worker(holder).Kill();
  for (int step : {2, 3}) {
    ASSERT_TRUE(run.AwaitStarted(step, 2));
    EXPECT_LT(run.Tokens(step)[0], run.Tokens(step)[1]) << "a takeover raises the token";
  }
  run.OpenAll();
  run.ExpectCompletedOnce();
  EXPECT_EQ(run.Starts(1), 1);
  EXPECT_EQ(run.Starts(4), 1);
}

TEST_F(Parallel, TheSamePathChangedByBothIsAClearError) {
  std::string yaml = "name: both\nsteps:\n  - {name: first, capability: sys.info.get_time}\n";
  for (const std::string arm : {"left", "right"}) {
    yaml += "  - name: " + arm +
            "\n    depends_on: [first]\n    capability: sys.exec.run\n    max_retries: 1\n    inputs:\n      command: sh\n" +
            "      args: [\"-c\", \"echo " + arm + " > shared.txt; touch " + (fleet.folder() / arm).string() + "; while [ ! -e " +
            (fleet.folder() / "go").string() + " ]; do sleep 0.02; done\"]\n";
  }
  const auto id = fleet.Submit(yaml);
  for (const char* arm : {"left", "right"}) {
    ASSERT_TRUE(WaitUntil([&] { return std::filesystem::exists(fleet.folder() / arm); })) << fleet.Logs();
  }
  WriteFile(fleet.folder() / "go", "");
  ASSERT_TRUE(fleet.AwaitStatus(id, "ROLLED_BACK"));
  const std::string said = fleet.Run(id).value("error", "");
  EXPECT_NE(said.find("it changed /workspace/shared.txt, which another step changed while it ran; let one depend on the other"),
            std::string::npos)
      << said;
  fleet.ExpectVerified();
}

// An attempt that failed has FAILED, also while its run is held by a worker and waits to try it again.
TEST_F(Parallel, TheStepTableTellsAFailureWhileTheRunIsOpen) {
  GatedRun run(fleet, 2,
               {.depends_on = {{2, "[step_1]"}},
                .more_steps = "  - name: flaky\n    depends_on: [step_1]\n    capability: test.fail\n    inputs: {message: not yet}\n"
                              "    max_retries: 2\n    retry: {backoff: fixed, initial_delay: 1h, max_delay: 1h}\n"});
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(WaitUntil([&] { return Attempts(run.id(), "flaky").find("not yet") != std::string::npos; })) << fleet.Logs();
  ASSERT_GT(fleet.HolderOf(run.id()), 0) << "the gated step runs";
  EXPECT_EQ(Attempts(run.id(), "flaky"), "FAILED|not yet");
  EXPECT_EQ(Attempts(run.id(), "step_2"), "RUNNING|-");
  run.Open(2);
  ASSERT_TRUE(WaitUntil([&] { return fleet.HolderOf(run.id()) < 0; })) << "nothing to do for an hour: the run is released";
  EXPECT_EQ(Attempts(run.id(), "flaky"), "FAILED|not yet");
  EXPECT_EQ(Attempts(run.id(), "step_2"), "COMPLETED|-");
}

// One of unknown outcome waits for a person, also while its run is held.
TEST_F(Parallel, TheStepTableTellsAnUncertainStepWhileTheRunIsOpen) {
  GatedRun run(fleet, 3, {.on_unknown_outcome = "ask", .depends_on = {{2, "[step_1]"}, {3, "[step_1]"}}});
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(run.AwaitStarted(3));
  fleet.worker(1).Kill();
  fleet.StartWorker(2);
  ASSERT_TRUE(WaitUntil([&] { return fleet.Run(run.id()).value("/uncertain"_json_pointer, Json::array()).size() == 2; })) << fleet.Logs();
  ASSERT_EQ(fleet.Cli({"step", "resolve", run.id(), "step_2", "--decision", "retry"}).exit_code, 0);
  ASSERT_TRUE(run.AwaitStarted(2, 2));
  ASSERT_EQ(fleet.HolderOf(run.id()), 2);
  EXPECT_EQ(Attempts(run.id(), "step_3").substr(0, 7), "PAUSED|");
  EXPECT_NE(Attempts(run.id(), "step_3"), "PAUSED|-") << "and says why";
  const std::string retried = Attempts(run.id(), "step_2");
  EXPECT_EQ(retried.substr(0, 7), "FAILED|") << "another attempt was made since: " << retried;
  EXPECT_NE(retried.find("\nRUNNING|-"), std::string::npos) << retried;
}

}  // namespace
}  // namespace acl::test
