// What a person sees of runs on a real fleet: results, steps with their attempts, who waits for whom, many runs at once.
#include <gtest/gtest.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

struct Looking : ::testing::Test {
  void SetUp() override {
    fleet.StartCoordinator();
    fleet.StartWorker(1);
    ASSERT_TRUE(fleet.AwaitReady());
  }
  Json JsonOf(std::vector<std::string> line) {
    line.insert(line.end(), {"-o", "json"});
    const auto result = fleet.Cli(line);
    auto answer = ParseJson(result.out);
    EXPECT_TRUE(answer.ok()) << result.out << result.err;
    return answer.ok() ? *answer : Json();
  }
  Json StepOf(const std::string& run, const std::string& name) {
    for (const Json& step : fleet.Run(run).value("steps", Json::array()))
      if (step.value("name", "") == name) return step;
    return Json::object();
  }
  Fleet fleet;
};

TEST_F(Looking, AStepTellsItsAttemptsAndARunItsResult) {
  const std::string example = std::string(ACL_SOURCE_DIR) + "/examples/flaky-retry.yaml";
  const auto submitted = fleet.Cli({"workflow", "run", example, "--wait", "--timeout", "2m"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.out << submitted.err << fleet.Logs();
  const std::string id = submitted.out.substr(0, 36), suffix = id.substr(24);
  const Json step = JsonOf({"step", "show", suffix, "flaky"});
  EXPECT_EQ(step.value("workflow_id", ""), id) << "found by its last digits";
  int failed = 0, completed = 0;
  for (const Json& event : step.value("history", Json::array())) {
    const std::string type = event.value("event_type", ""), error = event.value("error", "");
    completed += type == "step.completed" ? 1 : 0;
    if (type != "step.attempt_failed") continue;
    EXPECT_NE(error.find("call " + std::to_string(++failed) + ": the service is not ready yet"), std::string::npos) << error;
  }
  EXPECT_EQ(failed, 2) << DumpJson(step);
  EXPECT_EQ(completed, 1) << DumpJson(step);
  const auto shown = fleet.Cli({"step", "show", suffix, "flaky"});
  EXPECT_NE(shown.out.find("worked at call 3"), std::string::npos) << shown.out;
  const auto result = fleet.Cli({"workflow", "result", suffix});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(*ParseJson(result.out), fleet.Run(id)["outputs"]);
  EXPECT_EQ(fleet.Cli({"step", "show", suffix, "nobody"}).exit_code, 3);
}

TEST_F(Looking, ARunningStepIsShownAsRunningAndACancelledRunAsCancelled) {
  const auto file = fleet.folder() / "sleep.yaml";
  WriteFile(file,
            "name: sleep\nsteps:\n  - {name: nap, capability: test.sleep, inputs: {seconds: 600}, timeout_seconds: 900}\n"
            "  - {name: after, capability: test.echo}\n");
  const auto submitted = fleet.Cli({"workflow", "run", file.string()});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  const std::string id = submitted.out.substr(0, 36);
  // A pure step: the journal says nothing of it before its end.
  ASSERT_TRUE(WaitUntil([&] { return StepOf(id, "nap").value("/activity/name"_json_pointer, "") == "running"; }))
      << DumpJson(fleet.Run(id));
  EXPECT_EQ(StepOf(id, "nap").value("status", ""), "PENDING");
  EXPECT_FALSE(StepOf(id, "after").contains("activity"));
  EXPECT_NE(fleet.Cli({"workflow", "status", id}).out.find("\nnap    RUNNING"), std::string::npos)
      << fleet.Cli({"workflow", "status", id}).out;
  EXPECT_EQ(fleet.Cli({"workflow", "result", id}).exit_code, 6) << "it goes on";
  EXPECT_EQ(JsonOf({"workflow", "list", "--status", "cancelled"}), Json::array());
  ASSERT_EQ(fleet.Cli({"workflow", "cancel", id, "--reason", "\033[2Jenough"}).exit_code, 0);
  ASSERT_TRUE(fleet.AwaitStatus(id, "FAILED"));
  const Json listed = JsonOf({"workflow", "list", "--status", "cancelled"});
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["id"], id);
  const auto list = fleet.Cli({"workflow", "list"});
  EXPECT_NE(list.out.find("CANCELLED"), std::string::npos) << list.out;
  EXPECT_EQ(list.out.find('\033'), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("[2Jenough"), std::string::npos) << list.out;
}

TEST_F(Looking, ManyRunsOfOneFileAndASignal) {
  const auto file = fleet.folder() / "echo.yaml", lines = fleet.folder() / "lines";
  WriteFile(file, "name: many\ninputs: {n: integer}\nsteps:\n  - {name: a, capability: test.echo, inputs: {outputs: {got: '{{n}}'}}}\n");
  WriteFile(lines, "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n");
  const std::vector<std::string> batch = {"workflow", "batch", file.string(), lines.string(), "--idempotency-key", "once", "--wait"};
  const Json first = JsonOf(batch), again = JsonOf(batch);
  ASSERT_EQ(first.size(), 3u) << DumpJson(first);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].value("status", ""), "COMPLETED") << DumpJson(first);
    EXPECT_EQ(first[i]["outputs"], (Json{{"got", i + 1}})) << DumpJson(first);
    EXPECT_EQ(first[i]["id"], again[i]["id"]) << "the same key makes no further runs";
  }
  GatedRun run(fleet, 1);
  ASSERT_TRUE(run.AwaitStarted(1));
  ASSERT_EQ(fleet.Cli({"workflow", "signal", run.id(), "go", "--payload", "{\"a\": 1}"}).exit_code, 0);
  EXPECT_TRUE(WaitUntil([&] { return fleet.Cli({"workflow", "events", run.id()}).out.find("signal.received") != std::string::npos; }));
  run.OpenAll();
  run.ExpectCompletedOnce();
}

}  // namespace
}  // namespace acl::test
