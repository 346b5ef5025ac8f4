// Every workflow of examples/ is run by the CLI, as its header says, and does what it says.
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "tests/support/fleet.h"

namespace acl::test {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string file;
  std::vector<std::string> arguments;
  std::string status = "COMPLETED";
  std::string result_file, result_text;  // a file of the run, and what it holds
};

std::string Path(const std::string& file) { return (fs::path(ACL_SOURCE_DIR) / "examples" / file).string(); }

struct Examples : ::testing::Test {
  void SetUp() override {
    fleet.StartCoordinator();
    WriteFile(fleet.folder() / "keys", "example 127.0.0.1 = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    fs::permissions(fleet.folder() / "keys", fs::perms(0600));
    fleet.StartWorker(1, {{"ACL_WEBHOOK_KEYS_FILE", fleet.folder() / "keys"}});
    fleet.StartWorker(2, {{"ACL_QUEUES", "gpu,cpu"}});
    ASSERT_TRUE(fleet.AwaitReady());
  }

  void Check(const Example& example) {
    SCOPED_TRACE(example.file);
    std::vector<std::string> line = {"workflow", "run", Path(example.file), "--strict", "--wait", "--timeout", "60", "-o", "json"};
    line.insert(line.end(), example.arguments.begin(), example.arguments.end());
    const auto result = fleet.Cli(line);
    EXPECT_EQ(result.exit_code, example.status == "COMPLETED" ? 0 : 1) << result.out << result.err << fleet.Logs();
    const auto run = ParseJson(result.out);
    ASSERT_TRUE(run.ok()) << result.out;
    EXPECT_EQ((*run)["status"], example.status) << result.out;
    if (!example.result_file.empty()) {
      const auto file = fleet.Api("GET", "/v1/workflows/" + (*run)["id"].get<std::string>() + "/files/" + example.result_file);
      EXPECT_EQ(file.status, 200) << file.body;
      EXPECT_NE(file.body.find(example.result_text), std::string::npos) << file.body;
    }
  }

  Fleet fleet;
};

TEST_F(Examples, EachDoesWhatItSays) {
  WriteFile(fleet.folder() / "mine/in/main.md", "# One\n\nthree words here\n");
  WriteFile(fleet.folder() / "mine/in/b.txt", "two words\n");
  const auto port = FreePort();
  Process server({{"python3", Path("small-server.py"), std::to_string(port)}, {}, {}, {}});
  const auto url = "http://127.0.0.1:" + std::to_string(port);
  ASSERT_TRUE(WaitUntil([&] { return HttpGet(url + "/").status == 200; }));
  const auto hooks = FreePort();
  Process receiver({{"python3", Path("webhook-receiver.py"), std::to_string(hooks), fleet.folder() / "keys"}, {}, {}, {}});
  const auto hooks_url = "http://127.0.0.1:" + std::to_string(hooks);
  ASSERT_TRUE(WaitUntil([&] { return HttpGet(hooks_url + "/").status == 200; }));

  const std::vector<Example> examples = {
      {"cooling-off.yaml", {"-i", "delay=0.2s"}, "COMPLETED", "letter.txt", "(slept on until 20"},
      {"exec.yaml", {"-i", "numbers=[3, 1, 2]"}, "COMPLETED", "sorted.txt", "1\n2\n3\n"},
      {"fan-out.yaml", {"--files", fleet.folder() / "mine"}, "COMPLETED", "sums/b.txt.sha256", "  /workspace/in/b.txt"},
      {"files-report.yaml",
       {"--files", fleet.folder() / "mine/in", "-i", "main=main.md", "-i", "title=Mine"},
       "COMPLETED",
       "report.md",
       "Mine"},
      {"flaky-retry.yaml", {}, "COMPLETED", "", ""},
      {"folder-report.yaml", {"--files", fleet.folder() / "mine", "-i", "main=in/main.md"}, "COMPLETED", "out/report.md", "Words: 7"},
      {"http-local.yaml", {"-i", "url=" + url}, "COMPLETED", "note.txt", "answered 200, then 201: {\"number\": 1, \"note\""},
      {"nightly.yaml", {"-i", "scheduled_time=2026-11-22T01:30:00Z"}, "COMPLETED", "at.txt", "2026-11-22T01:30:00Z"},
      {"payment.yaml", {"-i", "patience=0.2s"}, "COMPLETED", "letter.txt", "We are still waiting."},
      {"saga-rollback.yaml", {}, "ROLLED_BACK", "cancelled.txt", "room booked for A-1001"},
      {"trip.yaml", {}, "ROLLED_BACK", "cancelled/hotel.txt", "room 7"},
      {"two-queues.yaml", {}, "COMPLETED", "sorted.txt", "7\n19\n42\n"},
      {"webhook.yaml", {"-i", "url=" + hooks_url}, "COMPLETED", "answer.txt", "200: taken\n"},
  };
  std::vector<std::string> named, present;
  for (const auto& example : examples) named.push_back(example.file);
  for (const auto& entry : fs::directory_iterator(fs::path(ACL_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() == ".yaml") present.push_back(entry.path().filename().string());
  }
  std::sort(present.begin(), present.end());
  ASSERT_EQ(named, present) << "an example without a test";
  for (const auto& example : examples) Check(example);
  EXPECT_EQ(HttpGet(hooks_url + "/").body, "taken: 1\n");
  HttpAsk forged{"POST", hooks_url + "/hooks", "{}", {}, kHttpPatience};
  const std::string now = std::to_string(MicrosOf(SystemClock().Wall()) / 1'000'000);
  forged.headers = {{"webhook-id", "m1"}, {"webhook-timestamp", now}, {"webhook-signature", "v1,AAAA"}};
  EXPECT_EQ(Http(forged).body, "signed by nobody known\n");
  fleet.ExpectVerified();
}

// Asks, and goes on by what is answered. (examples/approval)
TEST_F(Examples, TheDeploymentIsApproved) {
  const auto begun = fleet.Cli({"workflow", "run", Path("approval/deploy.yaml"), "--strict", "-i", "release=1.4.2", "-o", "json"});
  ASSERT_EQ(begun.exit_code, 0) << begun.out << begun.err;
  const std::string id = ParseJson(begun.out)->value("id", "");
  ASSERT_TRUE(fleet.AwaitStatus(id, "PAUSED")) << fleet.Logs();
  const auto shown = fleet.Cli({"approvals", "show", id + ":gate"});
  EXPECT_NE(shown.out.find("Deploy 1.4.2 to production?"), std::string::npos) << shown.out << shown.err;
  const auto approved = fleet.Cli({"approvals", "approve", id + ":gate", "--approver", "ada", "--comment", "tests are green"});
  ASSERT_EQ(approved.exit_code, 0) << approved.out << approved.err;
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED")) << fleet.Logs();
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/shipped.txt").body, "1.4.2 approved by ada: tests are green\n");
  fleet.ExpectVerified();
}

TEST_F(Examples, TheGuidesApprovalRuns) {
  const std::string guide = ReadFile(fs::path(ACL_SOURCE_DIR) / "docs/guides/workflows.md");
  const auto begin = guide.find("```yaml\n", guide.find("### Approvals\n")) + 8, end = guide.find("```", begin);
  const std::string id = fleet.Submit("name: section\n" + guide.substr(begin, end - begin));
  ASSERT_TRUE(fleet.AwaitStatus(id, "PAUSED")) << fleet.Logs();
  const auto resumed = fleet.Cli({"workflow", "resume", id, "--decision", "approve"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED")) << fleet.Logs();
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/shipped.txt").body, "approved by cli_user");
}

// What the guide shows of signed calls stands in the example that is run above.
TEST(ExamplesInTheGuide, TheSignedCallIsTheOneThatIsTested) {
  const std::string guide = ReadFile(fs::path(ACL_SOURCE_DIR) / "docs/guides/workflows.md"), example = ReadFile(Path("webhook.yaml"));
  const auto section = guide.find("### Signed calls");
  ASSERT_NE(section, std::string::npos);
  const auto begin = guide.find("```yaml\n", section) + 8, end = guide.find("```", begin);
  std::istringstream lines(guide.substr(begin, end - begin));
  int looked_at = 0;
  for (std::string line; std::getline(lines, line); ++looked_at)
    EXPECT_NE(example.find(line.substr(line.find_first_not_of(' '))), std::string::npos) << line;
  EXPECT_EQ(looked_at, 7);
}

// What the guide shows of steps in steps, conditions, items and signals, as it stands there.
TEST_F(Examples, TheGuidesSectionsRun) {
  const std::string guide = ReadFile(fs::path(ACL_SOURCE_DIR) / "docs/guides/workflows.md");
  const std::map<std::string, std::pair<std::string, std::string>> sections = {
      {"### Steps in steps", {"report.txt", ""}},        {"### Conditions", {"told.txt", "else_if[0]"}},
      {"### For each", {"copy/c.txt", "number 2"}},      {"### Signals", {"receipt.txt", "0"}},
      {"### Child workflows", {"report.txt", "2 were"}}, {"### Going on as a new run", {"round-3.txt", "done"}}};
  for (const auto& [title, file] : sections) {
    SCOPED_TRACE(title);
    const auto section = guide.find(title + "\n");
    ASSERT_NE(section, std::string::npos);
    const auto begin = guide.find("```yaml\n", section) + 8, end = guide.find("```", begin);
    const std::string path = fleet.folder() / "section.yaml";
    WriteFile(path, "name: section\n" + guide.substr(begin, end - begin));
    const auto result = fleet.Cli({"workflow", "run", path, "--strict", "--wait", "--timeout", "60", "-o", "json"});
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err << fleet.Logs();
    const auto run = ParseJson(result.out);
    const auto made = fleet.Api("GET", "/v1/workflows/" + (*run)["id"].get<std::string>() + "/files/" + file.first);
    EXPECT_EQ(made.status, 200) << made.body;
    EXPECT_NE(made.body.find(file.second), std::string::npos) << made.body;
  }
  fleet.ExpectVerified();
}

// Document 002's tables answer what a person asks of a run: each attempt with what went in, what came out, what went wrong.
TEST_F(Examples, TheDocumentedTablesTellTheStory) {
  const auto result = fleet.Cli({"workflow", "run", Path("flaky-retry.yaml"), "--wait", "--timeout", "60", "-o", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err << fleet.Logs();
  const std::string id = (*ParseJson(result.out))["id"].get<std::string>();
  const auto ask = [&](const std::string& columns, const std::string& step) {
    return Psql(fleet.database_url(), "SELECT " + columns +
                                          " FROM workflow_steps s JOIN workflows w ON w.id = s.workflow_id WHERE w.id = '" + id +
                                          "' AND step_name = '" + step + "' ORDER BY s.started_at");
  };
  EXPECT_EQ(ask("s.status", "flaky"), "FAILED\nFAILED\nCOMPLETED");
  EXPECT_EQ(ask("s.inputs_json::json ->> 'command'", "flaky"), "python3\npython3\npython3");
  EXPECT_EQ(ask("s.error_message LIKE '%the service is not ready yet%'", "flaky"), "t\nt");
  EXPECT_EQ(ask("s.outputs_json::json ->> 'stdout'", "flaky"), "\n\nworked at call 3");
  EXPECT_EQ(ask("s.completed_at IS NOT NULL", "flaky"), "f\nf\nt");
  EXPECT_EQ(ask("s.outputs_json::json ->> 'success'", "note"), "true");
}

}  // namespace
}  // namespace acl::test
