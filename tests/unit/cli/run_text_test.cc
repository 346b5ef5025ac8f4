// status, result, step show, list: what they say of a run.
#include "cli/run_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

Json RunForm(const Json& more) {
  Json run = {{"id", kId},          {"name", "hello"},
              {"version", "1.0.0"}, {"status", "RUNNING"},
              {"closed", false},    {"state", {{"name", "leased"}, {"holder", "worker-1"}, {"since", "2026-11-22T01:02:03.000004Z"}}},
              {"head_seq", 5},      {"steps_completed", 1},
              {"steps_total", 2},   {"created_at", "2026-11-22T01:02:03.000000Z"}};
  run.update(more);
  return run;
}

Outcome StatusOf(const Json& run) {
  FakeServer server;
  server.On("GET /v1/workflows/" + kId, 200, run);
  return Airun(&server, {"workflow", "status", kId});
}

TEST(RunText, LengthsReadWell) {
  for (const auto& [ms, text] : std::vector<std::pair<std::int64_t, const char*>>{{0, "0 ms"},
                                                                                  {999, "999 ms"},
                                                                                  {1'000, "1.0 s"},
                                                                                  {59'999, "59.9 s"},
                                                                                  {60'000, "1 m 00 s"},
                                                                                  {3'600'000, "1 h 00 m"},
                                                                                  {90'000'000, "25 h 00 m"}})
    EXPECT_EQ(LengthText(ms), text);
  EXPECT_EQ(Took("2026-11-22T01:02:03.000000Z", "2026-11-22T01:02:05.250000Z"), "2.2 s");
  EXPECT_EQ(Took("", "2026-11-22T01:02:05.250000Z"), "");
  EXPECT_EQ(Took("2026-11-22T01:02:05.000000Z", "2026-11-22T01:02:03.000000Z"), "") << "clocks of two machines";
}

TEST(RunText, StepsSayWhatTheyDoNow) {
  const auto step = [](const char* name, const char* status, Json activity) {
    Json json = {{"step_id", name}, {"name", name}, {"status", status}, {"capability", "c"}, {"attempts", 0}};
    if (!activity.is_null()) json["activity"] = std::move(activity);
    return json;
  };
  const Outcome outcome = StatusOf(RunForm(
      {{"steps", Json::array({step("pure", "PENDING", {{"name", "running"}, {"holder", "worker-1"}, {"assumed", true}}),
                              step("away", "RUNNING", {{"name", "queued"}, {"queue", "gpu"}}), step("soon", "PENDING", {{"name", "ready"}}),
                              step("cut", "RUNNING", {{"name", "interrupted"}}), step("later", "PENDING", {})})}}));
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  for (const char* line : {"\npure   RUNNING", "\naway   QUEUED", "\nsoon   READY", "\ncut    INTERRUPTED", "\nlater  PENDING"})
    EXPECT_THAT(outcome.out, HasSubstr(line));
  EXPECT_THAT(outcome.err, HasSubstr("the journal shows its end")) << "what is assumed is said to be";
}

TEST(RunText, AnEndIsToldByItsKind) {
  const Json closed = {{"closed", true}, {"state", {{"name", "closed"}}}};
  const auto word = [](Json run, const Json& more) {
    run.update(more);
    return RunWord(run);
  };
  EXPECT_EQ(word(RunForm(closed), {{"status", "COMPLETED"}}), "COMPLETED");
  EXPECT_EQ(word(RunForm(closed), {{"status", "FAILED"}, {"reason", "step_failed"}}), "FAILED");
  EXPECT_EQ(word(RunForm(closed), {{"status", "FAILED"}, {"reason", "cancelled"}}), "CANCELLED");
  EXPECT_EQ(word(RunForm(closed), {{"status", "ROLLED_BACK"}, {"reason", "step_failed"}}), "ROLLED_BACK");
  EXPECT_EQ(word(RunForm(Json::object()), {{"status", "FAILED"}, {"rolling_back", true}}), "FAILED, COMPENSATING");
  EXPECT_EQ(word(RunForm(Json::object()), {{"status", "FAILED"}, {"reason", "cancelled"}, {"rolling_back", true}}),
            "CANCELLED, COMPENSATING");
  EXPECT_EQ(word(RunForm(Json::object()), {{"status", "FAILED"}, {"steps_total", 1}}), "FAILED, STOPPING");
  Json listed = RunForm({{"status", "FAILED"}});
  listed.erase("steps_total");
  EXPECT_EQ(RunWord(listed), "FAILED, ENDING") << "not STOPPING, which its status may contradict";
}

TEST(RunText, StatusShowsOutputsTimesWithTheirZoneAndLengths) {
  const Outcome outcome = StatusOf(RunForm({{"status", "COMPLETED"},
                                            {"closed", true},
                                            {"started_at", "2026-11-22T01:02:03.000000Z"},
                                            {"completed_at", "2026-11-22T01:02:05.500000Z"},
                                            {"outputs", {{"text", "hi"}}},
                                            {"steps", Json::array({{{"step_id", "a"},
                                                                    {"name", "a"},
                                                                    {"status", "COMPLETED"},
                                                                    {"started_at", "2026-11-22T01:02:04.000000Z"},
                                                                    {"completed_at", "2026-11-22T01:02:04.250000Z"}}})}}));
  for (const char* part : {"2026-11-22 01:02:05Z, after 2.5 s", "outputs     {\"text\":\"hi\"}", "250 ms", "2026-11-22 01:02:04Z"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
}

TEST(RunText, ResultIsTheOutputsAndTheExitCodeTheEnd) {
  const auto result = [](const Json& run, std::vector<std::string> more = {}) {
    FakeServer server;
    server.On("GET /v1/workflows/" + kId, 200, run);
    std::vector<std::string> line = {"workflow", "result", kId};
    line.insert(line.end(), more.begin(), more.end());
    return Airun(&server, line);
  };
  const Json done = RunForm({{"status", "COMPLETED"}, {"closed", true}, {"outputs", {{"n", 1}}}});
  EXPECT_EQ(*ParseJson(result(done).out), (Json{{"n", 1}}));
  EXPECT_EQ(result(done).code, kExitOk);
  EXPECT_EQ((*ParseJson(result(done, {"-o", "json"}).out))["outputs"], (Json{{"n", 1}}));
  const Json failed = RunForm({{"status", "FAILED"}, {"closed", true}, {"reason", "cancelled"}, {"error", "cancelled: enough"}});
  EXPECT_EQ(result(failed).code, kExitFailure);
  EXPECT_EQ(result(failed).out, "");
  EXPECT_EQ(result(failed).err, "airun: the run ended CANCELLED: cancelled: enough\n");
  EXPECT_EQ((*ParseJson(result(failed, {"-o", "json"}).out))["reason"], "cancelled");
  EXPECT_EQ(result(RunForm(Json::object())).code, kExitTimeout) << "it goes on";
  EXPECT_THAT(result(RunForm(Json::object())).err, HasSubstr("has not ended"));
}

// The view of a large run only names large outputs.
TEST(RunText, OutputsThatWereCutAreReadWhole) {
  const std::string url = "/v1/workflows/" + kId + "/steps/a/outputs";
  const Json cut = {{"truncated", true}, {"bytes", 100000}, {"url", url}}, whole = {{"text", "all of it"}};
  FakeServer server;
  server.On("GET /v1/workflows/" + kId, 200, RunForm({{"status", "COMPLETED"}, {"closed", true}, {"outputs", cut}}));
  server.On("GET /v1/workflows/" + kId + "/steps/a", 200, {{"step_id", "a"}, {"status", "COMPLETED"}, {"outputs", cut}});
  server.On("GET " + url, 200, whole);
  EXPECT_EQ(*ParseJson(Airun(&server, {"workflow", "result", kId}).out), whole);
  EXPECT_EQ((*ParseJson(Airun(&server, {"step", "show", kId, "a", "-o", "json"}).out))["outputs"], whole);
  server.answers["GET " + url] = {};
  server.On("GET " + url, 503, {{"detail", "too much at once"}});
  EXPECT_EQ(Airun(&server, {"workflow", "result", kId}).code, kExitFailure);
}

TEST(RunText, ResultWaitsIfAsked) {
  FakeServer server;
  server.On("GET /v1/workflows/" + kId, 200, RunForm(Json::object()));
  server.On("GET /v1/workflows/" + kId, 200, RunForm(Json::object()));
  server.On("GET /v1/workflows/" + kId, 200, RunForm({{"status", "COMPLETED"}, {"closed", true}, {"outputs", {{"n", 1}}}}));
  EXPECT_EQ(Airun(&server, {"workflow", "result", kId, "--wait", "--timeout", "1m"}).code, kExitOk);
}

TEST(RunText, StepShowTellsEachAttempt) {
  FakeServer server;
  server.On(
      "GET /v1/workflows/" + kId + "/steps/book%20it", 200,
      {{"workflow_id", kId},
       {"run_status", "FAILED"},
       {"step_id", "book it"},
       {"name", "book it"},
       {"capability", "net.http.post"},
       {"status", "COMPLETED"},
       {"attempts", 2},
       {"max_attempts", 3},
       {"outputs", {{"ok", true}}},
       {"history",
        Json::array({{{"event_type", "step.started"}, {"attempt", 1}, {"at", "2026-11-22T01:00:00.000000Z"}},
                     {{"event_type", "step.attempt_failed"},
                      {"attempt", 1},
                      {"at", "2026-11-22T01:00:02.000000Z"},
                      {"error", "first\nin full, and longer than what a column of a table of this kind can hold"}},
                     {{"event_type", "step.attempt_failed"},
                      {"attempt", 2},
                      {"at", "2026-11-22T01:00:08.000000Z"},
                      {"started_at", "2026-11-22T01:00:00.000000Z"},
                      {"error", "no start is known"}},
                     {{"event_type", "step.completed"}, {"at", "2026-11-22T01:00:09.000000Z"}, {"duration_ms", 350}, {"worker", "w-2"}}})},
       {"compensation",
        {{"step_id", "undo:book it"},
         {"capability", "net.http.delete"},
         {"status", "FAILED"},
         {"error", "gone"},
         {"history", Json::array({{{"event_type", "compensation.failed"}, {"at", "2026-11-22T01:01:00.000000Z"}, {"error", "gone"}}})}}}});
  const Outcome outcome = Airun(&server, {"step", "show", kId, "book it"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  for (const char* part : {"attempts    2 of 3", "failed     2.0 s", "completed  350 ms", "w-2", "  first\n  in full, and longer",
                           "compensation net.http.delete: FAILED: gone", "\"ok\": true"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_THAT(outcome.out, Not(HasSubstr("8.0 s"))) << "the waits between attempts are no attempt's";
}

TEST(RunText, ListsAreShortAndSayWhoNeedsAPerson) {
  FakeServer server;
  Json quarantined = RunForm({{"state", {{"name", "quarantined"}}}}), cancelled = RunForm({{"status", "FAILED"}, {"reason", "cancelled"}});
  cancelled["state"] = {{"name", "closed"}};
  cancelled.erase("closed");  // a list's rows have none
  server.On("GET /v1/workflows", 200, {{"workflows", Json::array({quarantined, cancelled})}});
  const Outcome list = Airun(&server, {"workflow", "list"});
  EXPECT_THAT(list.out, HasSubstr("\n000000000001  hello"));
  EXPECT_THAT(list.out, HasSubstr("CANCELLED"));
  EXPECT_THAT(list.out, Not(HasSubstr(kId)));
  EXPECT_THAT(Airun(&server, {"workflow", "list", "--full-ids"}).out, HasSubstr(kId));
  EXPECT_THAT(Airun(&server, {"workflow", "list", "--needs-person"}).out, HasSubstr("airun workflow quarantine inspect 000000000001"));
  EXPECT_THAT(server.asked.back().path, HasSubstr("needs_person=true"));
  const Json starved = RunForm({{"state", {{"name", "waiting"}, {"blocked_on", "memory"}}}});
  FakeServer other;
  other.On("GET /v1/workflows", 200, {{"workflows", Json::array({starved})}});
  EXPECT_THAT(Airun(&other, {"workflow", "list", "--needs-person"}).out, HasSubstr("does not fit into its worker's memory"));
  Airun(&server, {"workflow", "list", "--status", "cancelled"});
  EXPECT_THAT(server.asked.back().path, HasSubstr("status=FAILED&reason=cancelled"));
}

}  // namespace
}  // namespace acl::cli::test
