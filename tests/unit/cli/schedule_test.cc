#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const Json kSchedule = {{"name", "nightly"},
                        {"cron", "30 2 * * *"},
                        {"zone", "Europe/Berlin"},
                        {"overlap", "skip"},
                        {"catchup_seconds", 60},
                        {"paused", false},
                        {"next_fire_at", "2026-11-23T01:30:00.000000Z"},
                        {"counts", {{"started", 3}, {"skipped_overlap", 2}, {"missed", 1}, {"failed", 0}}},
                        {"next_fires", Json::array({{{"at", "2026-11-23T01:30:00Z"}, {"local", "2026-11-23T02:30:00+01:00"}}})},
                        {"fires", Json::array({{{"scheduled_time", "2026-11-22T01:30:00.000000Z"},
                                                {"outcome", "skipped_overlap"},
                                                {"reason", "a run was still open"},
                                                {"recorded_at", "2026-11-22T01:30:00.000000Z"}}})}};

std::string TimedFile() {
  std::string folder = (std::filesystem::temp_directory_path() / "airun-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return "";
  const std::string path = folder + "/timed.yaml";
  std::ofstream(path) << "name: timed\ninputs:\n  scheduled_time: {type: string, required: true}\n  n: {type: integer}\n"
                         "steps:\n  - {name: a, capability: test.echo, inputs: {text: hi}}\n";
  return path;
}

TEST(CliSchedule, CreateSendsTheFileItsInputsAndTheTimes) {
  FakeServer server;
  server.On("POST /v1/schedules", 201, kSchedule);
  const Outcome outcome = Airun(&server, {"schedule", "create", TimedFile(), "--name", "nightly", "--cron", "30 2 * * *", "--zone",
                                          "Europe/Berlin", "--overlap", "buffer_one", "--catchup", "5", "-i", "n=3"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, "nightly\n");
  EXPECT_THAT(outcome.err, HasSubstr("2026-11-23 02:30:00 +01:00"));
  ASSERT_EQ(server.asked.size(), 1u);
  EXPECT_TRUE(server.asked[0].headers.contains("Idempotency-Key"));
  const Json body = Json::parse(server.asked[0].body);
  EXPECT_EQ(body["inputs"], (Json{{"n", 3}})) << "scheduled_time is the schedule's";
  EXPECT_EQ(body["overlap"], "buffer_one");
  EXPECT_EQ(body["catchup_seconds"], 5);
}

TEST(CliSchedule, ABadExpressionIsAUsageErrorBeforeAnythingIsSent) {
  FakeServer server;
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"schedule", "create", TimedFile(), "--name", "x", "--cron", "99 * * * *"},
        {"schedule", "next", "99 * * * *"}}) {
    const Outcome outcome = Airun(&server, line);
    EXPECT_EQ(outcome.code, kExitUsage);
    EXPECT_THAT(outcome.err, HasSubstr("minute (column 1): '99' does not fit"));
  }
  EXPECT_EQ(Airun(&server, {"schedule", "next", "* * * * *", "--zone", "Mars/Base"}).code, kExitUsage);
  EXPECT_TRUE(server.asked.empty());
}

TEST(CliSchedule, NextNeedsNoServer) {
  FakeServer server;
  server.down = true;
  const Outcome outcome =
      Airun(&server, {"schedule", "next", "30 2 * * *", "--zone", "Europe/Berlin", "-n", "2", "--after", "2026-03-28T00:00:00Z"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2026-03-28 02:30:00 +01:00"));
  EXPECT_THAT(outcome.out, HasSubstr("2026-03-30 02:30:00 +02:00"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("2026-03-29")));
  EXPECT_EQ(Json::parse(Airun(&server, {"schedule", "next", "@hourly", "-o", "json"}).out).size(), 10u);
}

TEST(CliSchedule, ShowListAndActs) {
  FakeServer server;
  server.On("GET /v1/schedules/nightly", 200, kSchedule);
  server.On("GET /v1/schedules", 200, {{"schedules", Json::array({kSchedule})}, {"next_after", "nightly"}});
  server.On("GET /v1/schedules", 200, {{"schedules", Json::array({kSchedule})}});
  for (const char* verb : {"pause", "resume"}) server.On(std::string("POST /v1/schedules/nightly/") + verb, 200, kSchedule);
  server.On("POST /v1/schedules/nightly/trigger", 201, {{"id", "run-1"}});
  server.On("DELETE /v1/schedules/nightly", 204, "");
  const Outcome shown = Airun(&server, {"schedule", "show", "nightly"});
  EXPECT_THAT(shown.out, HasSubstr("3 started, 2 skipped, 1 missed"));
  EXPECT_THAT(shown.out, HasSubstr("a run was still open"));
  EXPECT_THAT(shown.out, HasSubstr("2026-11-23 01:30:00Z"));
  EXPECT_EQ(Json::parse(Airun(&server, {"schedule", "list", "-o", "json"}).out).size(), 2u) << "both pages";
  EXPECT_EQ(Airun(&server, {"schedule", "pause", "nightly", "--reason", "why"}).code, kExitOk);
  EXPECT_EQ(server.asked.back().body, R"({"reason":"why"})");
  EXPECT_EQ(Airun(&server, {"schedule", "resume", "nightly"}).code, kExitOk);
  EXPECT_EQ(Airun(&server, {"schedule", "trigger", "nightly"}).out, "run-1\n");
  EXPECT_EQ(Airun(&server, {"schedule", "delete", "nightly"}).code, kExitOk);
  EXPECT_EQ(server.asked.back().method, "DELETE");
  EXPECT_EQ(Airun(&server, {"schedule", "show", "nobody"}).code, kExitNotFound);
}

}  // namespace
}  // namespace acl::cli::test
