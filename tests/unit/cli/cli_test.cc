#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shared/base/sha256.h"
#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSource = ACL_SOURCE_DIR;

Json RunOf(const std::string& status, bool closed) {
  return {{"id", kId},
          {"name", "hello"},
          {"version", "1.0.0"},
          {"status", status},
          {"closed", closed},
          {"state", {{"name", closed ? "closed" : "leased"}, {"holder", "worker-1"}}},
          {"fencing_token", 4294967297},
          {"head_seq", 5},
          {"steps_completed", 1},
          {"steps_total", 2},
          {"created_at", "2026-11-22T01:02:03.000004Z"},
          {"steps", Json::array({{{"step_id", "a"},
                                  {"name", "a"},
                                  {"status", "COMPLETED"},
                                  {"attempts", 1},
                                  {"max_attempts", 3},
                                  {"capability", "test.echo"},
                                  {"attempt_rows", Json::array({{{"fencing_token", 7}}})}}})}};
}

TEST(Cli, UsageErrorsAreTwoAndSayWhatWasMeant) {
  FakeServer server;
  EXPECT_EQ(Airun(&server, {}).code, kExitUsage);
  Outcome typo = Airun(&server, {"workflow", "lits"});
  EXPECT_EQ(typo.code, kExitUsage);
  EXPECT_THAT(typo.err, HasSubstr("did you mean 'list'?"));
  EXPECT_TRUE(typo.out.empty());
  EXPECT_EQ(Airun(&server, {"workflow", "status"}).code, kExitUsage);
  EXPECT_EQ(Airun(&server, {"-o", "xml", "workflow", "list"}).code, kExitUsage);
  EXPECT_EQ(Airun(&server, {"--help"}).code, kExitOk);
  EXPECT_THAT(Airun(&server, {"workflow", "run", "--help"}).out, HasSubstr("--wait"));
  EXPECT_THAT(Airun(&server, {"--version"}).out, HasSubstr("airun"));
}

TEST(Cli, StatusOfProblemsDecidesTheExitCode) {
  for (auto [status, code] : std::vector<std::pair<int, int>>{{404, kExitNotFound},
                                                              {401, kExitDenied},
                                                              {403, kExitDenied},
                                                              {409, kExitConflict},
                                                              {400, kExitUsage},
                                                              {422, kExitUsage},
                                                              {413, kExitFailure},
                                                              {503, kExitFailure},
                                                              {504, kExitTimeout}}) {
    FakeServer server;
    server.On("POST /v1/workflows/" + kId + "/cancel", status,
              {{"code", "x"}, {"detail", "because"}, {"errors", Json::array({{{"message", "more"}}})}});
    Outcome outcome = Airun(&server, {"workflow", "cancel", kId});
    EXPECT_EQ(outcome.code, code) << status;
    EXPECT_THAT(outcome.err, HasSubstr("because\n  more"));
    EXPECT_TRUE(outcome.out.empty());
  }
  FakeServer other;  // of something else
  other.On("GET /v1/workflows/" + kId, 404, "<html>not found</html>");
  const Outcome outcome = Airun(&other, {"workflow", "status", kId});
  EXPECT_EQ(outcome.code, kExitFailure) << "not as if the run did not exist";
  EXPECT_THAT(outcome.err, HasSubstr("another server listens there"));
  FakeServer down;
  down.down = true;
  EXPECT_EQ(Airun(&down, {"workflow", "list"}).code, kExitFailure);
  EXPECT_EQ(Airun(&down, {"workflow", "status", "zz"}).code, kExitUsage);
}

TEST(Cli, ListPagesUntilTheEnd) {
  FakeServer server;
  server.On("GET /v1/workflows", 200, {{"workflows", Json::array({RunOf("RUNNING", false)})}, {"next_cursor", "c1"}});
  server.On("GET /v1/workflows", 200, {{"workflows", Json::array({RunOf("COMPLETED", true)})}});
  Outcome outcome = Airun(&server, {"workflow", "list", "--status", "running", "-o", "json"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(ParseJson(outcome.out)->size(), 2u);
  EXPECT_THAT(server.asked[0].path, HasSubstr("status=RUNNING"));
  EXPECT_THAT(server.asked[1].path, HasSubstr("cursor=c1"));
  EXPECT_THAT(Airun(&server, {"workflow", "list"}).out, HasSubstr("hello"));
  Airun(&server, {"workflow", "list", "--label", "team=a b", "--label", "x=1"});
  EXPECT_THAT(server.asked.back().path, HasSubstr("&label=team%3Da%20b&label=x%3D1"));
}

TEST(Cli, StatusShowsStepsTokensAndWhyItRuns) {
  FakeServer server;
  server.On("GET /v1/workflows/0193a0", 200, RunOf("RUNNING", false));
  Outcome outcome = Airun(&server, {"workflow", "status", "0193-A0"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  for (const char* part : {"RUNNING", "leased by worker-1", "1 of 2", "test.echo", "1/3", "7"}) EXPECT_THAT(outcome.out, HasSubstr(part));
}

TEST(Cli, ColoursOnlyOnATerminalAndNotAgainstTheReadersWill) {
  FakeServer server;
  server.On("GET /v1/workflows/" + kId, 200, RunOf("RUNNING", false));
  const std::vector<std::string> ask = {"workflow", "status", kId};
  EXPECT_THAT(Airun(&server, ask).out, Not(HasSubstr("\033[")));
  Terminal terminal;
  terminal.is_terminal = true;
  EXPECT_THAT(Airun(&server, ask, &terminal).out, HasSubstr("\033["));
  EXPECT_THAT(Airun(&server, {"--no-color", "workflow", "status", kId}, &terminal).out, Not(HasSubstr("\033[")));
  terminal.environment["NO_COLOR"] = "1";
  EXPECT_THAT(Airun(&server, ask, &terminal).out, Not(HasSubstr("\033[")));
}

TEST(Cli, EventsFollowResumesABrokenStreamWithoutRepeating) {
  FakeServer server;
  auto event = [](int seq) {
    return Json{{"event_seq", seq},
                {"event_type", "step.completed"},
                {"timestamp", "2026-11-22T01:02:03.000004Z"},
                {"fencing_token", 1},
                {"payload", {{"step_id", "s"}}}};
  };
  auto frame = [&](int seq) { return "id: " + std::to_string(seq) + "\r\ndata: " + event(seq).dump() + "\r\n\r\n"; };
  const std::string events = "GET /v1/workflows/" + kId + "/events";
  server.On(events, 200, {{"events", Json::array({event(1)})}});
  server.On(events, 200, ": keep-alive\n\n" + frame(2) + frame(3) + "id: 4\ndata: {\"event_s");
  server.On(events, 200, frame(3) + frame(4) + frame(5));
  server.On("GET /v1/workflows/" + kId, 200, RunOf("RUNNING", false));
  server.On("GET /v1/workflows/" + kId, 200, RunOf("COMPLETED", true));
  Outcome outcome = Airun(&server, {"workflow", "events", kId, "--follow", "-o", "json"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  std::istringstream lines(outcome.out);
  std::vector<std::int64_t> seen;
  for (std::string line; std::getline(lines, line);) seen.push_back((*ParseJson(line))["event_seq"].get<std::int64_t>());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(server.asked[1].headers["Last-Event-ID"], "1");
}

class CliRun : public testing::Test {
 protected:
  CliRun() {
    folder_ = std::filesystem::temp_directory_path() /
              ("acl-cli-test-" + std::to_string(getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "in" / "sub");
    Write("w.yaml", "name: hello\ninputs: {n: integer, who: {type: string, default: you}}\nsteps: [{name: a, capability: test.echo}]\n");
    server_.On("POST /v1/workflows", 201, {{"id", kId}, {"name", "hello"}});
  }
  ~CliRun() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
  FakeServer server_;
};

TEST_F(CliRun, SubmitsTypedInputsUnderAKey) {
  Outcome outcome = Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=5", "-i", "who=5", "--idempotency-key", "k1"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, kId + "\n");
  const Json body = *ParseJson(server_.asked[0].body);
  EXPECT_EQ(body["inputs"], *ParseJson(R"({"n":5,"who":"5"})"));
  EXPECT_EQ(server_.asked[0].headers["Idempotency-Key"], "k1");
}

TEST_F(CliRun, RefusesWhatIsWrongBeforeAskingTheServer) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"-i", "n=x"},
                                                                                         {},
                                                                                         {"-i", "n=1", "-i", "m=2"},
                                                                                         {"-i", "n"},
                                                                                         {"-i", "n=1", "-i", "n=2"},
                                                                                         {"-i", "n=1", "--files", "/nonexistent"}}) {
    std::vector<std::string> all = {"workflow", "run", Path("w.yaml")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(Airun(&server_, all).code, kExitUsage);
  }
  Write("bad.yaml", "name: x\nsteps: [{name: a, capability: test.echo, step_type: HUMAN_APPROVEL}]\n");
  Outcome outcome = Airun(&server_, {"workflow", "run", Path("bad.yaml")});
  EXPECT_EQ(outcome.code, kExitFailure);
  EXPECT_THAT(outcome.err, HasSubstr("bad.yaml:2:53: error: unknown-word"));
  EXPECT_TRUE(server_.asked.empty());
}

TEST_F(CliRun, ALostAnswerIsAskedForAgainUnderTheSameKey) {
  server_.answers.clear();
  server_.On("POST /v1/workflows", 503, {{"detail", "later"}});
  server_.On("POST /v1/workflows", 201, {{"id", kId}});
  EXPECT_EQ(Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1"}).code, kExitOk);
  ASSERT_EQ(server_.asked.size(), 2u);
  EXPECT_EQ(server_.asked[0].headers["Idempotency-Key"], server_.asked[1].headers["Idempotency-Key"]);
  EXPECT_FALSE(server_.asked[0].headers["Idempotency-Key"].empty());
}

TEST_F(CliRun, WaitMapsTheOutcome) {
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("RUNNING", false));
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("RUNNING", false));
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("COMPLETED", true));
  EXPECT_EQ(Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--wait"}).code, kExitOk);
  server_.answers["GET /v1/workflows/" + kId] = {};
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("ROLLED_BACK", true));
  EXPECT_EQ(Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--wait"}).code, kExitFailure);
  server_.answers["GET /v1/workflows/" + kId] = {};
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("RUNNING", false));
  Terminal terminal;
  EXPECT_EQ(Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--wait", "--timeout", "3"}, &terminal).code, kExitTimeout);
  EXPECT_EQ(terminal.slept, std::chrono::milliseconds(3000));
}

// The end is heard, not asked for: no pause at all.
TEST_F(CliRun, WaitListensToTheRunsEvents) {
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("RUNNING", false));
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("RUNNING", false));
  server_.On("GET /v1/workflows/" + kId, 200, RunOf("COMPLETED", true));
  server_.On("GET /v1/workflows/" + kId + "/events", 200,
             Json("event: step.completed\ndata: {}\n\nevent: workflow.completed\ndata: {}\n\n"));
  Terminal terminal;
  EXPECT_EQ(Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--wait"}, &terminal).code, kExitOk);
  EXPECT_EQ(terminal.slept.count(), 0);
}

TEST_F(CliRun, UploadsFilesOnceEachUnderTheirPrefix) {
  Write("in/a.txt", "same");
  Write("in/sub/b.txt", "same");
  Write("in/sub/ü c.txt", "other");
  std::filesystem::create_symlink("/etc/passwd", folder_ / "in" / "link");
  const std::string same = ToHex(Sha256("same")), other = ToHex(Sha256("other"));
  server_.On("PUT /v1/contents/" + same, 201, {{"hash", same}});
  server_.On("PUT /v1/contents/" + other, 201, {{"hash", other}});
  Outcome outcome = Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--files", Path("in") + "=data/"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("skipped"));
  ASSERT_EQ(server_.asked.size(), 3u);
  const Json files = (*ParseJson(server_.asked[2].body))["files"];
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0]["path"], "data/a.txt");
  EXPECT_EQ(files[1]["path"], "data/sub/b.txt");
  EXPECT_EQ(files[2]["path"], "data/sub/ü c.txt");
  EXPECT_EQ(files[1]["hash"], same);
  EXPECT_EQ(files[2]["size"], 5);
}

TEST_F(CliRun, FoldersInWhichNothingLiesAreUploadedToo) {
  std::filesystem::create_directories(folder_ / "tree" / "empty" / "deeper");
  Outcome outcome = Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--files", Path("tree")});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  const Json files = (*ParseJson(server_.asked.at(0).body))["files"];
  ASSERT_EQ(files.size(), 1u) << files;
  EXPECT_EQ(files[0]["path"], "empty/deeper");
  EXPECT_EQ(files[0]["dir"], true);
  EXPECT_FALSE(files[0].contains("hash"));
}

TEST_F(CliRun, AFolderThatHoldsOnlyLinksIsUploadedEmpty) {
  std::filesystem::create_directories(folder_ / "tree" / "links");
  std::filesystem::create_symlink("nowhere", folder_ / "tree" / "links" / "one");
  Outcome outcome = Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--files", Path("tree")});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  const Json files = (*ParseJson(server_.asked.at(0).body))["files"];
  ASSERT_EQ(files.size(), 1u) << files;
  EXPECT_EQ(files[0]["path"], "links");
  EXPECT_EQ(files[0]["dir"], true);
}

TEST_F(CliRun, TheSameFolderOfTwoTreesIsOne) {
  for (const char* tree : {"a", "b"}) std::filesystem::create_directories(folder_ / tree / "empty");
  for (const char* tree : {"a", "b"}) std::filesystem::create_directories(folder_ / tree / "data");
  Write("b/data/x", "1");
  server_.On("PUT /v1/contents/" + ToHex(Sha256("1")), 201, {{"hash", ToHex(Sha256("1"))}});
  const std::vector<std::string> run = {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--files", Path("a"), "--files", Path("b")};
  Outcome outcome = Airun(&server_, run);
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  const Json files = (*ParseJson(server_.asked.back().body))["files"];
  ASSERT_EQ(files.size(), 2u) << files;
  EXPECT_EQ(files[0]["path"], "data/x");
  EXPECT_EQ(files[1]["path"], "empty");
  std::filesystem::create_directories(folder_ / "a" / "data" / "x");  // a folder here, a file there
  outcome = Airun(&server_, run);
  EXPECT_NE(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, HasSubstr("two files would be data/x"));
}

TEST_F(CliRun, ANameThatIsNotUtf8IsRefusedByItsBytes) {
  std::filesystem::create_directories(folder_ / "tree");
  Write("tree/caf\xe9", "x");
  Outcome outcome = Airun(&server_, {"workflow", "run", Path("w.yaml"), "-i", "n=1", "--files", Path("tree")});
  EXPECT_NE(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, HasSubstr("caf\\xe9' is not UTF-8"));
  EXPECT_TRUE(server_.asked.empty());
}

TEST(Cli, ValidateIsLocal) {
  FakeServer server;
  Outcome good = Airun(&server, {"workflow", "validate", kSource + "/examples/saga-rollback.yaml", "--strict"});
  EXPECT_EQ(good.code, kExitOk) << good.out;
  EXPECT_THAT(good.out, HasSubstr("2. book  io.fs.write_file"));
  const std::string bad_file = kSource + "/tests/data/definitions/invalid/cycle.yaml";
  Outcome bad = Airun(&server, {"workflow", "validate", bad_file, "-o", "json"});
  EXPECT_EQ(bad.code, kExitFailure);
  const Json result = (*ParseJson(bad.out))[0];
  EXPECT_EQ(result["valid"], false);
  EXPECT_EQ(result["findings"][0]["code"], "dependency-cycle");
  EXPECT_EQ(result["findings"][0]["line"], 4);
  EXPECT_EQ(Airun(&server, {"workflow", "validate", "/nonexistent.yaml"}).code, kExitUsage);
  EXPECT_TRUE(server.asked.empty());
}

TEST(Cli, EveryExampleIsValid) {
  FakeServer server;
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    Outcome outcome = Airun(&server, {"workflow", "validate", entry.path().string(), "--strict-templates"});
    EXPECT_EQ(outcome.code, kExitOk) << outcome.out;
  }
}

TEST(Cli, CapabilitiesComeFromTheLocalRegistry) {
  FakeServer server;
  EXPECT_THAT(Airun(&server, {"capability", "list"}).out, HasSubstr("io.fs.write_file"));
  EXPECT_THAT(Airun(&server, {"capability", "show", "io.fs.write_file"}).out, HasSubstr("also written file_path"));
  Outcome typo = Airun(&server, {"capability", "show", "io.fs.writefile"});
  EXPECT_EQ(typo.code, kExitNotFound);
  EXPECT_THAT(typo.err, HasSubstr("did you mean 'io.fs.write_file'?"));
  EXPECT_TRUE(server.asked.empty());
}

TEST(Cli, ResolveAndQuarantine) {
  FakeServer server;
  server.On("POST /v1/workflows/" + kId + "/steps/book%20it/resolve", 202, {{"id", kId}});
  EXPECT_EQ(Airun(&server, {"step", "resolve", kId, "book it", "--decision", "completed", "--outputs", "{\"ok\":true}"}).code, kExitOk);
  EXPECT_EQ(*ParseJson(server.asked[0].body), *ParseJson(R"({"decision":"completed","outputs":{"ok":true}})"));
  EXPECT_EQ(Airun(&server, {"step", "resolve", kId, "a", "--decision", "maybe"}).code, kExitUsage);
  EXPECT_EQ(Airun(&server, {"step", "resolve", kId, "a", "--decision", "retry", "--outputs", "{}"}).code, kExitUsage);
  server.On("GET /v1/quarantine", 200,
            {{"quarantined", Json::array({{{"workflow_id", kId}, {"reason", "checksum"}, {"at", "2026-11-22T01:02:03Z"}}})}});
  EXPECT_THAT(Airun(&server, {"workflow", "quarantine", "list"}).out, HasSubstr("checksum"));
  EXPECT_THAT(Airun(&server, {"workflow", "quarantine", "inspect", kId}).out, HasSubstr("checksum"));
  EXPECT_EQ(Airun(&server, {"workflow", "quarantine", "inspect", "ffffff"}).code, kExitNotFound);
}

TEST(Cli, CompletionKnowsEveryCommandAndFlag) {
  FakeServer server;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = Airun(&server, {"completion", shell}).out;
    for (const char* word : {"workflow", "quarantine", "release", "idempotency-key", "new-epoch", "doctor"})
      EXPECT_THAT(script, HasSubstr(word)) << shell;
  }
  const std::string file = (std::filesystem::temp_directory_path() / ("acl-completion-" + std::to_string(getpid()))).string();
  std::ofstream(file) << Airun(&server, {"completion", "bash"}).out
                      << "COMP_WORDS=(airun workflow qua); COMP_CWORD=2; _airun; echo \"${COMPREPLY[0]}\"\nCOMP_WORDS=(airun workflow run "
                         "--wa); COMP_CWORD=3; _airun; echo \"${COMPREPLY[0]}\"\n";
  FILE* pipe = popen(("bash " + file).c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char buffer[200] = "";
  const std::size_t length = fread(buffer, 1, sizeof buffer - 1, pipe);
  EXPECT_EQ(pclose(pipe), 0);
  std::filesystem::remove(file);
  EXPECT_EQ(std::string(buffer, length), "quarantine\n--wait\n");
}

// As the shell itself reads it, where it is installed.
TEST(Cli, CompletionIsTheShellsOwnLanguage) {
  FakeServer server;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) != 0) continue;
    const std::string file = (std::filesystem::temp_directory_path() / ("acl-" + shell + "-" + std::to_string(getpid()))).string();
    std::ofstream(file) << Airun(&server, {"completion", shell}).out;
    EXPECT_EQ(std::system((shell + " -n " + file).c_str()), 0) << shell;
    std::filesystem::remove(file);
  }
}

TEST(Cli, ApiKeyFileIsSentAndNeverPrinted) {
  FakeServer server;
  server.On("GET /v1/leases", 200, {{"leases", Json::array()}});
  const std::string file = (std::filesystem::temp_directory_path() / ("acl-key-" + std::to_string(getpid()))).string();
  std::ofstream(file) << "secret-key\n";
  Outcome outcome = Airun(&server, {"lease", "list", "--api-key-file", file});
  std::filesystem::remove(file);
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(server.asked[0].headers["Authorization"], "Bearer secret-key");
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("secret-key")));
  EXPECT_EQ(Airun(&server, {"lease", "list", "--api-key-file", "/nonexistent"}).code, kExitUsage);
}

}  // namespace
}  // namespace acl::cli::test
