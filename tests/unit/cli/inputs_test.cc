// Inputs from the command line, files and stdin; many runs at once; signals; changes of schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::HasSubstr;

const std::string kWorkflow =
    "name: hello\ninputs: {n: integer, who: {type: string, default: you}, list: {type: array, default: []}}\n"
    "steps: [{name: a, capability: test.echo}]\n";

class CliInputs : public testing::Test {
 protected:
  CliInputs() { server_.On("POST /v1/workflows", 201, {{"id", kId}, {"name", "hello"}}); }
  Json Sent() const { return *ParseJson(server_.asked.back().body); }

  Folder folder_;
  std::string file_ = folder_.Write("w.yaml", kWorkflow);
  FakeServer server_;
  Terminal terminal_;
};

TEST_F(CliInputs, ComeFromAFileAndTheCommandLineWins) {
  const std::string yaml = folder_.Write("i.yaml", "n: 5\nwho: Ada\nlist: [1, two]\n"), json = folder_.Write("i.json", R"({"n": 6})");
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "--inputs", yaml, "-i", "who=Bea"}).code, kExitOk);
  EXPECT_EQ(Sent()["inputs"], *ParseJson(R"({"n":5,"who":"Bea","list":[1,"two"]})"));
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "--inputs", json}).code, kExitOk);
  EXPECT_EQ(Sent()["inputs"], *ParseJson(R"({"n":6})"));
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "--inputs", folder_.Write("l.yaml", "- 1\n")}).code, kExitUsage);
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "--inputs", folder_.Write("bad.yaml", "a: [\n")}).code, kExitUsage);
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "--inputs", folder_.Write("type.yaml", "n: text\n")}).code, kExitUsage);
}

TEST_F(CliInputs, AValueMayBeTheTextOfAFile) {
  const std::string text = folder_.Write("t", "two\nlines\n"), list = folder_.Write("l", "[1, 2]\n"),
                    bytes = folder_.Write("b", "\xFF\xFE");
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "-i", "n=1", "-i", "who=@" + text, "-i", "list=@" + list}).code, kExitOk);
  EXPECT_EQ(Sent()["inputs"], (Json{{"n", 1}, {"who", "two\nlines\n"}, {"list", {1, 2}}}));
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "-i", "n=1", "-i", "who=@@home"}).code, kExitOk);
  EXPECT_EQ(Sent()["inputs"]["who"], "@home");
  EXPECT_THAT(Airun(&server_, {"workflow", "run", file_, "-i", "n=1", "-i", "who=@" + bytes}).err, HasSubstr("is no UTF-8 text"));
}

TEST_F(CliInputs, StdinIsReadOnce) {
  terminal_.in = kWorkflow;
  EXPECT_EQ(Airun(&server_, {"workflow", "run", "-", "-i", "n=1"}, &terminal_).code, kExitOk);
  EXPECT_EQ(Sent()["workflow"], kWorkflow);
  EXPECT_EQ(Sent()["file"], "stdin");
  terminal_.in = "n: 7\n";
  EXPECT_EQ(Airun(&server_, {"workflow", "run", file_, "--inputs", "-"}, &terminal_).code, kExitOk);
  EXPECT_EQ(Sent()["inputs"]["n"], 7);
  terminal_.in = "name: x\nsteps: [{nam: a}]\n";
  const Outcome bad = Airun(&server_, {"workflow", "validate", "-"}, &terminal_);
  EXPECT_EQ(bad.code, kExitFailure);
  EXPECT_THAT(bad.out, HasSubstr("stdin:2:"));
  terminal_.in = kWorkflow;
  EXPECT_THAT(Airun(&server_, {"workflow", "run", "-", "--inputs", "-"}, &terminal_).err, HasSubstr("stdin (-) can be named once only"));
}

TEST_F(CliInputs, BatchSendsALineARun) {
  server_.On("POST /v1/workflows/batch", 201, {{"runs", Json::array({{{"id", "one"}}, {{"id", "two"}}})}});
  const std::string lines = folder_.Write("lines", "{\"n\": 1}\n\n{\"n\": 2, \"who\": \"Cy\"}\r\n");
  const Outcome outcome =
      Airun(&server_, {"workflow", "batch", file_, lines, "-i", "who=all", "--label", "team=a", "--idempotency-key", "k"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, "one\ntwo\n");
  EXPECT_EQ(server_.asked.back().headers["Idempotency-Key"], "k-0");
  EXPECT_EQ(Sent()["workflow"], kWorkflow);
  EXPECT_EQ(Sent()["runs"],
            *ParseJson(R"([{"inputs":{"who":"all","n":1},"labels":{"team":"a"}},{"inputs":{"who":"Cy","n":2},"labels":{"team":"a"}}])"));
  terminal_.in = "{\"n\": 1}\n{\"n\": 2}";
  EXPECT_EQ(*ParseJson(Airun(&server_, {"workflow", "batch", file_, "-", "-o", "json"}, &terminal_).out),
            *ParseJson(R"([{"line":1,"id":"one"},{"line":2,"id":"two"}])"));
}

TEST_F(CliInputs, BatchMakesNothingIfALineIsWrong) {
  const std::string lines = folder_.Write("lines", "{\"n\": 1}\n{\"n\": \"x\"}\n[]\nnot json\n{\"m\": 1, \"n\": 1}\n");
  const Outcome outcome = Airun(&server_, {"workflow", "batch", file_, lines});
  EXPECT_EQ(outcome.code, kExitUsage);
  for (const char* part : {"no run was made:", "line 2: ", "line 3: a line is a JSON object", "line 4: ", "line 5: "})
    EXPECT_THAT(outcome.err, HasSubstr(part));
  EXPECT_EQ(Airun(&server_, {"workflow", "batch", file_, folder_.Write("empty", "\n \n")}).code, kExitUsage);
  EXPECT_TRUE(server_.asked.empty());
}

TEST_F(CliInputs, BatchOfManyGoesInRequestsOfAThousand) {
  Json thousand = {{"runs", Json::array()}}, rest = {{"runs", Json::array()}};
  for (int n = 0; n < 1000; ++n) thousand["runs"].push_back({{"id", "a" + std::to_string(n)}});
  rest["runs"] = Json::array({{{"id", "b"}}, {{"error", {{"message", "no room"}}}}});
  server_.On("POST /v1/workflows/batch", 201, thousand);
  server_.On("POST /v1/workflows/batch", 201, rest);
  std::string text;
  for (int n = 0; n < 1002; ++n) text += "{\"n\": " + std::to_string(n) + "}\n";
  const Outcome outcome = Airun(&server_, {"workflow", "batch", file_, folder_.Write("lines", text)});
  EXPECT_EQ(outcome.code, kExitFailure) << "one was not made";
  EXPECT_EQ(outcome.err, "airun: line 1002: no room\n");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1001);
  ASSERT_EQ(server_.asked.size(), 2u);
  EXPECT_EQ(Sent()["runs"].size(), 2u);
}

TEST_F(CliInputs, BatchWaitsForAllAndTellsWhichFailed) {
  server_.On("POST /v1/workflows/batch", 201, {{"runs", Json::array({{{"id", "one"}}, {{"id", "two"}}})}});
  server_.On("GET /v1/workflows/one", 200, {{"id", "one"}, {"status", "COMPLETED"}, {"closed", true}});
  server_.On("GET /v1/workflows/two", 200, {{"id", "two"}, {"status", "FAILED"}, {"closed", true}, {"error", "why"}});
  const std::string lines = folder_.Write("lines", "{\"n\": 1}\n{\"n\": 2}\n");
  const Outcome outcome = Airun(&server_, {"workflow", "batch", file_, lines, "--wait"});
  EXPECT_EQ(outcome.code, kExitFailure);
  EXPECT_EQ(outcome.out, "one  COMPLETED\ntwo  FAILED\n");
  EXPECT_EQ(outcome.err, "airun: line 2: the run ended FAILED: why\n");
}

TEST_F(CliInputs, SignalsCarryAPayload) {
  const std::string signal = "/v1/workflows/" + kId + "/signal";
  server_.On("POST " + signal, 202, {{"id", kId}, {"accepted", "signal"}});
  EXPECT_EQ(Airun(&server_, {"workflow", "signal", kId, "go"}).code, kExitOk);
  EXPECT_EQ(Sent(), (Json{{"name", "go"}}));
  EXPECT_FALSE(server_.asked.back().headers["Idempotency-Key"].empty());
  EXPECT_EQ(Airun(&server_, {"workflow", "signal", kId, "go", "--payload", "{\"a\": [1]}", "--idempotency-key", "k"}).code, kExitOk);
  EXPECT_EQ(Sent()["payload"], *ParseJson(R"({"a":[1]})"));
  EXPECT_EQ(server_.asked.back().headers["Idempotency-Key"], "k");
  terminal_.in = "\"text\"";
  EXPECT_EQ(Airun(&server_, {"workflow", "signal", kId, "go", "--payload", "@-"}, &terminal_).code, kExitOk);
  EXPECT_EQ(Sent()["payload"], "text");
  EXPECT_EQ(Airun(&server_, {"workflow", "signal", kId, "go", "--payload", "text"}).code, kExitUsage);
}

TEST_F(CliInputs, AScheduleKeepsWhatIsNotGiven) {
  const Json now = {{"name", "nightly"},      {"workflow", kWorkflow},      {"inputs", {{"n", 1}, {"who", "Ada"}}},
                    {"labels", {{"a", "1"}}}, {"cron", "0 2 * * *"},        {"zone", "UTC"},
                    {"overlap", "skip"},      {"catchup_seconds", 60},      {"version", 7},
                    {"paused", false},        {"next_fires", Json::array()}};
  server_.On("GET /v1/schedules/nightly", 200, now);
  server_.On("PUT /v1/schedules/nightly", 200, now);
  EXPECT_EQ(Airun(&server_, {"schedule", "update", "nightly", "--cron", "0 3 * * *", "-i", "n=2", "--label", "b=2"}).code, kExitOk);
  Json wanted = {{"workflow", kWorkflow},
                 {"inputs", {{"n", 2}, {"who", "Ada"}}},
                 {"labels", {{"a", "1"}, {"b", "2"}}},
                 {"name", "nightly"},
                 {"cron", "0 3 * * *"},
                 {"zone", "UTC"},
                 {"overlap", "skip"},
                 {"catchup_seconds", 60},
                 {"version", 7}};
  EXPECT_EQ(Sent(), wanted) << "with the version it was read at, so that nobody else's change is undone";
  const std::string other = folder_.Write("o.yaml", "name: other\nsteps: [{name: b, capability: test.echo}]\n");
  EXPECT_EQ(Airun(&server_, {"schedule", "update", "nightly", "--file", other}).code, kExitOk);
  EXPECT_THAT(Sent()["workflow"].get<std::string>(), HasSubstr("name: other"));
  EXPECT_EQ(Airun(&server_, {"schedule", "update", "nightly", "-i", "n=x"}).code, kExitUsage);
  server_.answers["PUT /v1/schedules/nightly"] = {{412, R"({"code":"version-mismatch","detail":"read it again"})"}};
  EXPECT_EQ(Airun(&server_, {"schedule", "update", "nightly", "--zone", "UTC"}).code, kExitConflict);
}

}  // namespace
}  // namespace acl::cli::test
