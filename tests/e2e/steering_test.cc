// Steering runs from outside, through API and CLI: cancel, pause and resume, uncertain steps, idempotent submission.
#include <gtest/gtest.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

struct Steering : ::testing::Test {
  void SetUp() override {
    fleet.StartCoordinator();
    fleet.StartWorker(1);
    ASSERT_TRUE(fleet.AwaitReady());
  }
  Fleet fleet;
};

TEST_F(Steering, CancelEndsARunInMidStep) {
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  const auto cancelled = fleet.Cli({"workflow", "cancel", run.id(), "--reason", "no longer needed"});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  ASSERT_TRUE(fleet.AwaitStatus(run.id(), "FAILED"));
  EXPECT_EQ(fleet.Run(run.id()).value("reason", ""), "cancelled");
  EXPECT_EQ(run.Starts(2), 0);
  // Its lease is closed when the step that ran has stopped; until then a second cancel is taken like the first.
  EXPECT_TRUE(WaitUntil([&] { return fleet.Cli({"workflow", "cancel", run.id()}).exit_code == 5; })) << "a finished run: conflict";
  fleet.ExpectVerified();
}

TEST_F(Steering, APausedRunWaitsForResume) {
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  ASSERT_EQ(fleet.Cli({"workflow", "pause", run.id()}).exit_code, 0);
  ASSERT_TRUE(fleet.AwaitStatus(run.id(), "PAUSED"));  // heard by its holder: what ended before that would begin the next step
  run.Open(1);
  ASSERT_TRUE(WaitUntil([&] { return fleet.Run(run.id()).value("steps_completed", 0) == 1; }));
  LetPass(std::chrono::milliseconds(500));
  EXPECT_EQ(run.Starts(2), 0) << "a paused run starts no step";
  ASSERT_EQ(fleet.Cli({"workflow", "resume", run.id()}).exit_code, 0);
  run.OpenAll();
  run.ExpectCompletedOnce();
}

// A template that no check at load can judge: it is a warning of the run, and ends one that was submitted with strict templates.
TEST_F(Steering, AMissingReferenceIsSaidAndUnderStrictTemplatesEndsTheRun) {
  const auto file = fleet.folder() / "maybe.yaml";
  WriteFile(file,
            "name: maybe\nsteps:\n  - {name: a, capability: test.echo, inputs: {outputs: {there: 1}}}\n"
            "  - {name: b, capability: test.echo, inputs: {outputs: {got: '{{a.gone}}'}}}\n");
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> line = {"workflow", "run", file.string(), "--wait", "--timeout", "60", "-o", "json"};
    line.insert(line.end(), more.begin(), more.end());
    const auto result = fleet.Cli(line);
    auto answer = ParseJson(result.out);
    EXPECT_TRUE(answer.ok()) << result.out << result.err << fleet.Logs();
    return answer.ok() ? *answer : Json::object();
  };
  const Json loose = run({});
  EXPECT_EQ(loose.value("status", ""), "COMPLETED") << DumpJson(loose);
  const std::string warning = "step 'b': nothing answered {{a.gone}}; it stayed as literal text";
  EXPECT_EQ(loose.value("warnings", Json()), Json::array({warning}));
  const auto shown = fleet.Cli({"workflow", "status", loose.value("id", "")});
  EXPECT_NE((shown.out + shown.err).find(warning), std::string::npos) << shown.out << shown.err;
  const Json strict = run({"--strict-templates"});
  EXPECT_EQ(strict.value("status", ""), "ROLLED_BACK") << DumpJson(strict);
  EXPECT_NE(strict.value("error", "").find("nothing answers {{a.gone}}"), std::string::npos) << strict.value("error", "");
  fleet.ExpectVerified();
}

// A step that may not be repeated blindly: its worker is killed, and a person says what happened.
TEST_F(Steering, AnUncertainStepWaitsForAPerson) {
  GatedRun run(fleet, 2, {.on_unknown_outcome = "ask"});
  ASSERT_TRUE(run.AwaitStarted(1));
  fleet.worker(1).Kill();
  fleet.StartWorker(2);
  ASSERT_TRUE(WaitUntil([&] {
    const Json now = fleet.Run(run.id());
    return now.contains("uncertain") && !now["uncertain"].empty();
  })) << DumpJson(fleet.Run(run.id()));
  EXPECT_EQ(run.Starts(1), 1) << "never a blind retry";
  const auto resolved = fleet.Cli({"step", "resolve", run.id(), GatedRun::StepName(1), "--decision", "retry"});
  EXPECT_EQ(resolved.exit_code, 0) << resolved.err;
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  run.OpenAll();
  run.ExpectCompletedOnce();
}

// Nothing runs on a journal that does not verify; once it is mended and a person has released it, the journal tells.
TEST_F(Steering, AQuarantineIsReleasedByAPersonAndJournaled) {
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  ASSERT_EQ(fleet.Cli({"workflow", "pause", run.id()}).exit_code, 0);
  ASSERT_TRUE(fleet.AwaitStatus(run.id(), "PAUSED"));  // heard by its holder: what ended before that would begin the next step
  run.Open(1);
  ASSERT_TRUE(WaitUntil([&] { return fleet.HolderOf(run.id()) < 0; }));
  const auto rewrite = [&](const std::string& payload) {
    Psql(fleet.database_url(), "set session_replication_role = replica; update journal_rows set payload = " + payload +
                                   " where subject_id = '" + run.id() + "' and seq = 2");
  };
  rewrite("payload || ' '");
  ASSERT_EQ(fleet.Cli({"workflow", "resume", run.id()}).exit_code, 0);
  const auto state = [&] { return fleet.Run(run.id()).value("/state/name"_json_pointer, ""); };
  ASSERT_TRUE(WaitUntil([&] { return state() == "quarantined"; })) << fleet.Logs();
  // Released as it is, it comes back.
  ASSERT_EQ(fleet.Cli({"workflow", "quarantine", "release", run.id()}).exit_code, 0);
  ASSERT_TRUE(WaitUntil([&] { return Psql(fleet.database_url(), "select count(*) from quarantine") == "2"; })) << fleet.Logs();
  EXPECT_EQ(run.Starts(2), 0);
  rewrite("rtrim(payload)");
  ASSERT_EQ(fleet.Cli({"workflow", "quarantine", "release", run.id()}).exit_code, 0);
  run.OpenAll();
  run.ExpectCompletedOnce();
  const auto events = fleet.Cli({"workflow", "events", run.id()});
  const auto told = events.out.find("subject.quarantine_released");
  EXPECT_NE(told, std::string::npos) << events.out;
  EXPECT_NE(events.out.find("subject.quarantine_released", told + 1), std::string::npos) << "both releases happened\n" << events.out;
}

TEST_F(Steering, TheSameKeySubmitsOnce) {
  const std::string yaml = "name: once\nsteps:\n  - {name: a, capability: sys.info.get_time}\n";
  const std::map<std::string, std::string> key = {{"Idempotency-Key", "e2e-once"}};
  const auto first = fleet.Api("POST", "/v1/workflows", {{"workflow", yaml}}, key);
  const auto again = fleet.Api("POST", "/v1/workflows", {{"workflow", yaml}}, key);
  ASSERT_EQ(first.status / 100, 2) << first.body;
  ASSERT_EQ(again.status / 100, 2) << again.body;
  EXPECT_EQ(first.json()["id"], again.json()["id"]);
  const auto other = fleet.Api("POST", "/v1/workflows", {{"workflow", yaml + "# other\n"}}, key);
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_EQ(Psql(fleet.database_url(), "select count(*) from workflows where name = 'once'"), "1");
  ASSERT_TRUE(fleet.AwaitStatus(first.json()["id"], "COMPLETED"));
}

TEST_F(Steering, WhatTheCliShows) {
  GatedRun run(fleet, 1);
  run.OpenAll();
  run.ExpectCompletedOnce();
  const auto prefix = run.id().substr(0, 20);
  const auto status = fleet.Cli({"workflow", "status", prefix});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_NE(status.out.find("step_1"), std::string::npos) << status.out;
  const auto events = fleet.Cli({"workflow", "events", run.id(), "--follow"});
  EXPECT_EQ(events.exit_code, 0) << events.err;
  EXPECT_NE(events.out.find("workflow.completed"), std::string::npos) << events.out;
  const auto list = fleet.Cli({"workflow", "list", "-o", "json"});
  EXPECT_NE(list.out.find(run.id()), std::string::npos) << list.out;
  EXPECT_EQ(fleet.Cli({"doctor"}).exit_code, 0);
  EXPECT_EQ(fleet.Cli({"workflow", "status", "00000000-0000-7000-8000-000000000000"}).exit_code, 3);
  EXPECT_EQ(fleet.Cli({"workflow", "run", "no-such-file.yaml"}).exit_code != 0, true);
}

}  // namespace
}  // namespace acl::test
