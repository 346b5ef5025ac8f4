// Schedules on real processes, made of the example that docs/guides/workflows.md shows: fire times come, a coordinator is killed and comes
// back, no fire time starts two runs, a pause holds.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

class Schedule : public ::testing::Test {
 protected:
  std::string Ask(const std::string& sql) { return Psql(fleet.database_url(), sql); }
  std::int64_t Count(const std::string& sql) { return std::stoll(Ask("SELECT count(*) FROM " + sql)); }
  std::int64_t Started() { return Count("schedule_fires WHERE outcome = 'started'"); }
  static std::string File() { return ACL_SOURCE_DIR "/examples/nightly.yaml"; }

  Fleet fleet;
};

TEST_F(Schedule, FiresThroughACrashOfTheCoordinatorAndHoldsWhenPaused) {
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto made =
      fleet.Cli({"schedule", "create", File(), "--name", "each-second", "--cron", "* * * * * *", "--overlap", "allow", "--catchup", "600"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (int crash = 0; crash < 2; ++crash) {
    const auto before = Started();
    ASSERT_TRUE(WaitUntil([&] { return Started() >= before + 2; })) << fleet.Logs();
    fleet.coordinator().Kill();
    const auto at_crash = Ask("SELECT extract(epoch FROM clock_timestamp())::bigint");
    // Two fire times pass while nobody is there: they are made up.
    ASSERT_TRUE(WaitUntil([&] { return Ask("SELECT extract(epoch FROM clock_timestamp())::bigint >= " + at_crash + " + 3") == "t"; }));
    fleet.StartCoordinator();
    ASSERT_TRUE(fleet.AwaitReady());
    ASSERT_TRUE(WaitUntil([&] { return Count("schedule_fires WHERE nominal_at > to_timestamp(" + at_crash + " + 3)") > 0; }))
        << fleet.Logs();
  }
  const auto paused = fleet.Cli({"schedule", "pause", "each-second", "--reason", "enough"});
  ASSERT_EQ(paused.exit_code, 0) << paused.err;
  const auto after_pause = Started();
  // The job looked again after a fire time had passed.
  const auto at_pause = Ask("SELECT extract(epoch FROM clock_timestamp())::bigint");
  ASSERT_TRUE(WaitUntil([&] { return Ask("SELECT extract(epoch FROM clock_timestamp())::bigint >= " + at_pause + " + 3") == "t"; }));
  EXPECT_LE(Started(), after_pause + 1) << "one may have been under way";
  // Each second from the first to the last fire time has its run, and one only.
  EXPECT_EQ(Ask("SELECT extract(epoch FROM max(nominal_at) - min(nominal_at))::bigint + 1 - count(*) FROM schedule_fires"), "0");
  EXPECT_EQ(Count("schedule_fires WHERE outcome <> 'started'"), 0);
  EXPECT_EQ(Count("request_keys WHERE request_key LIKE 'schedule:%'"), Started());
  EXPECT_EQ(Count("listings WHERE labels::jsonb ->> 'schedule' = 'each-second'"), Started());
  EXPECT_EQ(Ask("SELECT count(*) - count(DISTINCT subject_id) FROM schedule_fires"), "0");
  ASSERT_TRUE(WaitUntil([&] { return Count("listings WHERE status = 'COMPLETED'") == Started(); })) << fleet.Logs();
  const auto run = Ask("SELECT subject_id FROM schedule_fires ORDER BY nominal_at LIMIT 1");
  const auto nominal = Ask("SELECT to_char(min(nominal_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') FROM schedule_fires");
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + run + "/files/at.txt").body, nominal);
  fleet.ExpectVerified();
}

TEST_F(Schedule, ALateFireTimeIsMissedAndAnOpenRunIsNotOvertaken) {
  fleet.StartCoordinator();  // no worker: the first run stays open
  ASSERT_TRUE(fleet.AwaitReady());
  ASSERT_EQ(fleet.Cli({"schedule", "create", File(), "--name", "s", "--cron", "* * * * * *", "--catchup", "0"}).exit_code, 0);
  ASSERT_TRUE(WaitUntil([&] { return Count("schedule_fires WHERE outcome = 'skipped_overlap'") >= 2; })) << fleet.Logs();
  EXPECT_EQ(Started(), 1);
  fleet.coordinator().Kill();
  Ask("UPDATE schedules SET next_fire_at = date_trunc('second', clock_timestamp()) - interval '50 seconds'");
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  ASSERT_TRUE(WaitUntil([&] { return Ask("SELECT missed_count >= 49 FROM schedules") == "t"; })) << fleet.Logs();
  EXPECT_EQ(Started(), 1);
  const auto shown = fleet.Cli({"schedule", "show", "s"});
  EXPECT_NE(shown.out.find("missed"), std::string::npos) << shown.out << shown.err;
  // Deleted, it fires no more; what it started stays.
  ASSERT_EQ(fleet.Cli({"schedule", "delete", "s"}).exit_code, 0);
  EXPECT_EQ(Count("schedules"), 0);
  EXPECT_EQ(Count("listings"), 1);
}

// The lines of docs/guides/workflows.md, "Schedules", as they stand there.
TEST_F(Schedule, TheGuidesLinesRun) {
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  std::ifstream guide(ACL_SOURCE_DIR "/docs/guides/workflows.md");
  int lines = 0;
  for (std::string line; std::getline(guide, line);) {
    if (!line.starts_with("airun schedule ")) continue;
    ++lines;
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    line.resize(std::min(line.size(), line.find(" #")));
    line += ' ';
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ' ' && !quoted) {
        if (!word.empty()) words.push_back(std::exchange(word, ""));
      } else {
        word += c;
      }
    }
    words.erase(words.begin());
    for (auto& one : words) {
      if (one.starts_with("examples/")) one.insert(0, ACL_SOURCE_DIR "/");
    }
    const auto result = fleet.Cli(words);
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
  }
  EXPECT_EQ(lines, 3);
}

}  // namespace
}  // namespace acl::test
