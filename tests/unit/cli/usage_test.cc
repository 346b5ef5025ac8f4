// What is wrong with a command line: the exit code is 2, and the message names the command, the word and what would fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kPlainWorkflow = "name: hello\nsteps: [{name: a, capability: test.echo}]\n";

struct Case {
  std::vector<std::string> line;
  const char* says;
};

void ExpectUsage(const std::vector<Case>& cases) {
  FakeServer server;
  for (const Case& one : cases) {
    const Outcome outcome = Airun(&server, one.line);
    EXPECT_EQ(outcome.code, kExitUsage) << one.line.back() << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(one.says)) << one.line.back();
    EXPECT_LT(outcome.err.size(), 1200u) << outcome.err;
    EXPECT_TRUE(outcome.out.empty());
  }
  EXPECT_TRUE(server.asked.empty());
}

TEST(CliUsage, AWrongCommandIsNamedAndTheNearestSaid) {
  ExpectUsage({{{}, "airun needs a command: workflow, schedule"},
               {{"workflow"}, "airun workflow needs a command: run, "},
               {{"worklfow", "list"}, "airun has no command 'worklfow'; did you mean 'workflow'?"},
               {{"workflow", "lits"}, "airun workflow has no command 'lits'; did you mean 'list'?"},
               {{"-o", "json", "workflow", "lits"}, "airun workflow has no command 'lits'; did you mean 'list'?"},
               {{"result", kId}, "airun has no command 'result'; did you mean airun workflow result?"},
               {{"status", kId}, "did you mean airun workflow status"},
               {{"workflow", "xyzzyx"}, "airun workflow has no command 'xyzzyx'; there are run, "},
               {{"workflow", "quarantine", "relaese", kId}, "airun workflow quarantine has no command 'relaese'; did you mean 'release'?"},
               {{"workflow", "list", "--limt", "5"}, "airun workflow list has no option '--limt'; did you mean '--limit'?"},
               {{"workflow", "list", "--sever=x"}, "did you mean '--server'?"},
               {{"workflow", "run", "--wiat"}, "airun workflow run has no option '--wiat'; did you mean '--wait'?"},
               {{"workflow", "status", kId, "more"}, "airun workflow status takes no further argument: 'more'"},
               {{"workflow", "status"}, "airun workflow status: id is required"}});
}

TEST(CliUsage, NumbersSayTheirRange) {
  std::vector<Case> cases = {
      {{"workflow", "events", kId, "--after", "-1"}, "--after: takes a whole number from 0 to 9007199254740991, not '-1'"},
      {{"workflow", "events", kId, "--after", "1e3"}, "not '1e3'"},
      {{"workflow", "events", kId, "--after", "99999999999999999999"}, "not '99999999999999999999'"},
      {{"workflow", "list", "--limit", "0"}, "from 1 to 100000, not '0'"},
      {{"workflow", "list", "--limit", "0x10"}, "not '0x10'"},
      {{"workflow", "list", "--limit", "5.5"}, "not '5.5'"},
      {{"schedule", "next", "* * * * *", "-n", "1001"}, "from 1 to 1000, not '1001'"},
      {{"schedule", "create", "f", "--name", "n", "--cron", "* * * * *", "--catchup", "-1"}, "--catchup: takes a whole number from 0 to "},
      {{"schedule", "update", "n", "--catchup", "x"}, "--catchup: takes a whole number from 0 to "},
      {{"db", "new-epoch", "--above", "-5"}, "--above: takes a whole number from 0"},
      {{"dev", "--port", "65535"}, "--port: takes a whole number from 1 to 65534"},
      {{"dev", "--workers", "nan"}, "--workers: takes a whole number from 1 to 64"},
      {{"chaos", "run", "--minutes", "inf"}, "--minutes: takes a number of minutes from 0 to 10080, not 'inf'"},
      {{"chaos", "run", "--seed", "-1"}, "--seed: takes a whole number from 1"},
      {{"queue", "init", "--partitions", "0"}, "--partitions: takes a whole number from 1 to 10000"}};
  for (const char* command : {"run", "result"})
    for (const char* bad : {"-1", "1y", "nan", "", "1e300", "2 m"})
      cases.push_back({{"workflow", command, kId, "--wait", "--timeout", bad}, "--timeout: takes seconds or a length of time"});
  ExpectUsage(cases);
}

TEST(CliUsage, AFileThatCannotBeReadIsSaidByNameAndReason) {
  Folder folder;
  const std::string good = folder.Write("w.yaml", kPlainWorkflow), none = folder.Path("none"), dir = folder.Path();
  std::vector<Case> cases;
  for (const auto& [file, why] : std::vector<std::pair<std::string, const char*>>{{none, "none: No such file or directory"},
                                                                                  {dir, ": it is a folder; name a file"},
                                                                                  {"/dev/zero", "/dev/zero: it is larger than "}}) {
    cases.push_back({{"workflow", "run", file}, why});
    cases.push_back({{"workflow", "batch", file, good}, why});
    cases.push_back({{"schedule", "create", file, "--name", "n", "--cron", "* * * * *"}, why});
    cases.push_back({{"workflow", "run", good, "--inputs", file}, why});
    cases.push_back({{"workflow", "run", good, "-i", "x=@" + file}, why});
    cases.push_back({{"workflow", "signal", kId, "n", "--payload", "@" + file}, why});
    cases.push_back({{"workflow", "validate", file}, why});
    cases.push_back({{"lease", "list", "--api-key-file", file}, why});
    cases.push_back({{"chaos", "check", file}, file == "/dev/zero" ? "/dev/zero: it is " : why});
    if (file == "/dev/zero") cases.pop_back();  // four gigabytes are allowed
  }
  cases.push_back({{"workflow", "batch", good, dir}, "it is a folder"});
  cases.push_back({{"workflow", "run", good, "--files", none}, "is no folder"});
  ExpectUsage(cases);
}

TEST(CliUsage, WhatDoesNotFitIsUsageAndAFileWithErrorsIsNot) {
  Folder folder;
  const std::string good = folder.Write("w.yaml", "name: hello\ninputs: {n: integer}\nsteps: [{name: a, capability: test.echo}]\n");
  ExpectUsage({{{"workflow", "run", good}, "'n'"},
               {{"workflow", "run", good, "-i", "n=x"}, "must be"},
               {{"workflow", "run", good, "-i", "n"}, "-i takes NAME=VALUE or NAME=@FILE, not 'n'"},
               {{"workflow", "run", good, "-i", "n=1", "--label", "x"}, "--label takes NAME=VALUE"},
               {{"workflow", "run", good, "-i", "n=1", "--label", "x=1", "--label", "x=2"}, "gives 'x' twice"},
               {{"workflow", "list", "--server", "localhost:8733"}, "is no URL"},
               {{"workflow", "status", "zz"}, "'zz' is no run id"},
               {{"workflow", "status", "0193a"}, "at least 6 hex digits"},
               {{"schedule", "update", "n"}, "nothing to change was given"},
               {{"schedule", "update", "n", "--cron", "99 * * * *"}, "--cron: "}});
  FakeServer server;
  const Outcome outcome = Airun(&server, {"workflow", "run", folder.Write("bad.yaml", "name: x\n")});
  EXPECT_EQ(outcome.code, kExitFailure) << outcome.err;
  server.On("POST /v1/workflows", 422, {{"code", "invalid-workflow"}, {"detail", "w.yaml has 1 error"}});
  EXPECT_EQ(Airun(&server, {"workflow", "run", good, "-i", "n=1"}).code, kExitFailure) << "the server finds more in it";
}

// One text for an id that no run has, whatever the command, and it is the server's.
TEST(CliUsage, AnUnknownIdIsSaidTheSameEverywhere) {
  FakeServer server;
  const Json problem = {{"code", "not-found"}, {"detail", "there is no workflow run '" + kId + "'"}};
  for (const char* path : {"", "/steps/a", "/events", "/files"}) server.On("GET /v1/workflows/" + kId + path, 404, problem);
  for (const char* path : {"/cancel", "/pause", "/resume", "/signal"}) server.On("POST /v1/workflows/" + kId + path, 404, problem);
  server.On("POST /v1/quarantine/" + kId + "/release", 404, problem);
  server.On("GET /v1/quarantine", 200, {{"quarantined", Json::array()}});
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{{"workflow", "status", kId},
                                                                                    {"workflow", "result", kId},
                                                                                    {"workflow", "events", kId},
                                                                                    {"workflow", "files", kId},
                                                                                    {"workflow", "cancel", kId},
                                                                                    {"workflow", "pause", kId},
                                                                                    {"workflow", "resume", kId},
                                                                                    {"workflow", "signal", kId, "go"},
                                                                                    {"workflow", "quarantine", "inspect", kId},
                                                                                    {"workflow", "quarantine", "release", kId},
                                                                                    {"step", "show", kId, "a"}}) {
    const Outcome outcome = Airun(&server, line);
    EXPECT_EQ(outcome.code, kExitNotFound) << line[1];
    EXPECT_EQ(outcome.err, "airun: there is no workflow run '" + kId + "'\n") << line[1];
  }
}

}  // namespace
}  // namespace acl::cli::test
