// Whatever a run, a file or a server says, a terminal is never told to do something: every text of a person's goes out escaped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Clears the screen, sets the title, one byte CSI (U+009B), turns text round, rubs out.
const std::string kBad =
    "\033[2J\033]0;x\a\xC2\x9B"
    "31m\xE2\x80\xAE\rgone\x7F";

Json BadRun() {
  return {{"id", kId},
          {"name", "n" + kBad},
          {"version", kBad},
          {"status", "FAILED"},
          {"closed", true},
          {"reason", "cancelled"},
          {"error", "cancelled: " + kBad},
          {"state", {{"name", "closed"}, {"holder", kBad}, {"blocked_on", kBad}}},
          {"created_at", kBad},
          {"trace_id", kBad},
          {"outputs", {{kBad, kBad}}},
          {"warnings", Json::array({kBad})},
          {"uncertain", Json::array({kBad})},
          {"tasks", Json::array({{{"step_id", kBad}, {"queue", kBad}, {"state", "queued"}}})},
          {"steps", Json::array({{{"step_id", kBad}, {"name", kBad}, {"status", "FAILED"}, {"capability", kBad}, {"error", kBad}}})}};
}

// ESC as a colour of ours is all that may be left.
std::string WithoutOurColours(std::string text) {
  for (const char* code : {"\033[31m", "\033[32m", "\033[33m", "\033[34m", "\033[2m", "\033[0m"})
    for (std::size_t at; (at = text.find(code)) != std::string::npos;) text.erase(at, std::string(code).size());
  return text;
}

void ExpectHarmless(const Outcome& outcome) {
  for (const std::string& text : {WithoutOurColours(outcome.out), WithoutOurColours(outcome.err)}) {
    for (const char* bad : {"\033", "\xC2\x9B", "\xE2\x80\xAE", "\a", "\r", "\x7F"}) EXPECT_THAT(text, Not(HasSubstr(bad)));
  }
}

TEST(CliTerminal, NothingOfARunReachesItRaw) {
  FakeServer server;
  const Json event = {{"event_seq", 1}, {"event_type", kBad}, {"timestamp", kBad}, {"payload", {{"step_id", kBad}, {"error", kBad}}}};
  Json step = BadRun()["steps"][0];
  step.update({{"history", Json::array({{{"event_type", "step.failed"}, {"at", kBad}, {"error", kBad}, {"worker", kBad}}})},
               {"outputs", {{"a", kBad}}},
               {"workflow_id", kId},
               {"activity", {{"name", kBad}, {"holder", kBad}}}});
  const std::string run = "/v1/workflows/" + kId;
  server.On("GET " + run, 200, BadRun());
  server.On("GET " + run + "/steps/a", 200, step);
  server.On("GET " + run + "/events", 200, {{"events", Json::array({event})}});
  server.On("GET " + run + "/files", 200, {{"files", Json::array({{{"path", kBad}, {"hash", kBad}, {"mode", 420}}})}});
  server.On("GET " + run + "/files/f", 200, kBad);
  server.On("POST " + run + "/cancel", 409, {{"code", "x"}, {"detail", kBad}, {"errors", Json::array({{{"message", kBad}}})}});
  server.On("GET /v1/workflows", 200, {{"workflows", Json::array({BadRun()})}});
  server.On("GET /v1/workers", 200, {{"workers", Json::array({{{"worker_name", kBad}, {"host", kBad}, {"queues", Json::array({kBad})}}})}});
  server.On("GET /v1/leases", 200, {{"leases", Json::array({{{"workflow_id", kBad}, {"worker_name", kBad}}})}});
  server.On("GET /v1/quarantine", 200, {{"quarantined", Json::array({{{"workflow_id", kId}, {"reason", kBad}, {"detail", kBad}}})}});
  server.On("GET /v1/schedules", 200, {{"schedules", Json::array({{{"name", kBad}, {"cron", kBad}}})}});
  server.On("GET /v1/schedules/x", 200, {{"name", kBad}, {"cron", kBad}, {"paused", true}, {"pause_reason", kBad}, {"zone", kBad}});
  Folder folder;
  const std::string file = folder.Write("w.yaml", "name: \"\\e[2J\\x9b\"\nsteps: [{name: a, capability: \"\\e[2J\"}, {nme: \"\\e[2J\"}]\n");
  Terminal terminal;
  terminal.is_terminal = true;
  const std::vector<std::vector<std::string>> commands = {{"workflow", "status", kId},
                                                          {"workflow", "result", kId},
                                                          {"workflow", "list"},
                                                          {"workflow", "list", "--needs-person"},
                                                          {"workflow", "events", kId, "--payload"},
                                                          {"workflow", "files", kId},
                                                          {"workflow", "files", kId, "f"},
                                                          {"workflow", "cancel", kId},
                                                          {"workflow", "quarantine", "list"},
                                                          {"workflow", "quarantine", "inspect", kId},
                                                          {"workflow", "validate", file},
                                                          {"workflow", "validate", kBad},
                                                          {"workflow", "run", file},
                                                          {"workflow", kBad},
                                                          {"workflow", "list", "--" + kBad},
                                                          {"workflow", "list", "--limit", kBad},
                                                          {"workflow", "status", kBad},
                                                          {"step", "show", kId, "a"},
                                                          {"worker", "list"},
                                                          {"lease", "list"},
                                                          {"schedule", "list"},
                                                          {"schedule", "show", "x"},
                                                          {"capability", "show", kBad}};
  for (const auto& command : commands) {
    const Outcome outcome = Airun(&server, command, &terminal);
    ExpectHarmless(outcome);
    EXPECT_FALSE(outcome.out.empty() && outcome.err.empty()) << command.back();
  }
  EXPECT_THAT(Airun(&server, {"workflow", "status", kId}).out,
              HasSubstr("cancelled: \\x1b[2J\\x1b]0;x\\x07\\u009b31m\\u202e\\x0dgone\\x7f"));
}

TEST(CliTerminal, JsonIsTheSameValueInEscapes) {
  FakeServer server;
  server.On("GET /v1/workflows/" + kId, 200, BadRun());
  const Outcome outcome = Airun(&server, {"workflow", "status", kId, "-o", "json"});
  ExpectHarmless(outcome);
  EXPECT_EQ(*ParseJson(outcome.out), BadRun());
}

// A file's bytes are data: a pipe gets them as they are.
TEST(CliTerminal, AFileGoesIntoAPipeUnchanged) {
  FakeServer server;
  const std::string bytes = kBad + std::string("\0\xFF", 2);
  server.On("GET /v1/workflows/" + kId + "/files/f", 200, bytes);
  EXPECT_EQ(Airun(&server, {"workflow", "files", kId, "f"}).out, bytes);
}

TEST(CliTerminal, ATextOfManyLinesDoesNotPassForOurs) {
  FakeServer server;
  Json run = BadRun();
  run["error"] = "why\nstatus      COMPLETED";
  server.On("GET /v1/workflows/" + kId, 200, run);
  EXPECT_THAT(Airun(&server, {"workflow", "status", kId}).out, Not(HasSubstr("\nstatus      COMPLETED")));
}

}  // namespace
}  // namespace acl::cli::test
