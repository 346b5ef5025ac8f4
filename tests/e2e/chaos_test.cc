// airun chaos, as people run it: short runs of it, their history checked again, and the demonstration. Each makes a fleet of its own.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "shared/base/json.h"
#include "tests/support/fleet.h"

namespace acl::test {
namespace {

RunResult Chaos(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {Binary("airun"), "chaos"});
  return RunProgram(arguments);
}

// Passed, every fault of the profile seen and healed; the report, the page and the history are there and say the same.
void ExpectPassed(const std::string& profile, const std::string& seed, std::size_t kinds = 5) {
  TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0711));  // PostgreSQL's user, when root runs the tests
  const std::string run = folder / "run";
  const auto ran = Chaos({"run", "--profile", profile, "--seed", seed, "--folder", run, "-o", "json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err << ran.out.substr(0, 20'000);
  const auto report = ParseJson(ran.out);
  ASSERT_TRUE(report.ok()) << report.error();
  EXPECT_EQ((*report)["verdict"], "passed");
  ASSERT_GE((*report)["faults"].size(), kinds);
  for (const Json& fault : (*report)["faults"]) {
    EXPECT_GE(fault["injected"].get<int>(), 1) << fault;
    EXPECT_EQ(fault["observed"], fault["injected"]) << fault;
    EXPECT_EQ(fault["healed"], fault["injected"]) << fault;
  }
  EXPECT_GT((*report)["stale_commits_refused"].get<double>(), 0) << "the fence was exercised";
  EXPECT_GT((*report)["leases"]["stolen_from_the_living"].get<int>(), 0);
  bool fence = false;
  for (const Json& checker : (*report)["checkers"]) fence = fence || (checker["id"] == "i03" && checker["examined"].get<int>() > 0);
  EXPECT_TRUE(fence) << "the invariants were asked";
  EXPECT_NE(ReadFile(run + "/report.html").find("stale commits refused"), std::string::npos);
  const auto again = Chaos({"check", run + "/history.jsonl", "-o", "json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, ran.out) << "a report is a function of its history";

  // The same history with one acknowledged run taken out is found, and without its end it proves nothing.
  std::string history = ReadFile(run + "/history.jsonl");
  const auto final_line = history.find("{\"type\":\"final\"");
  ASSERT_NE(final_line, std::string::npos);
  const auto end_line = history.find("{\"type\":\"end\"");
  WriteFile(folder / "unended.jsonl", history.substr(0, end_line));
  EXPECT_EQ(Chaos({"check", folder / "unended.jsonl"}).exit_code, 7);
  WriteFile(folder / "lost.jsonl", history.erase(final_line, history.find('\n', final_line) + 1 - final_line));
  EXPECT_EQ(Chaos({"check", folder / "lost.jsonl"}).exit_code, 1);
}

TEST(Chaos, QuickPasses) { ExpectPassed("quick", "20261122"); }

TEST(Chaos, LeaseTheftPasses) { ExpectPassed("lease-theft", "20261123"); }

// A standby that has everything, one that has not, and a copy restored.
TEST(Chaos, FailoverPasses) { ExpectPassed("failover", "20261125", 4); }

// Agents that move or rest: each check looked at something, and an action that the receiver is made to have seen twice is found.
TEST(Chaos, AgentsStandFaults) {
  TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0711));
  const auto ran = Chaos({"run", "--profile", "agent-quick", "--seed", "20261128", "--folder", folder / "run", "-o", "json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err << ran.out.substr(0, 20'000);
  const auto report = ParseJson(ran.out);
  ASSERT_TRUE(report.ok()) << report.error();
  std::set<std::string> looked_at;
  for (const Json& checker : (*report)["checkers"])
    if (checker["examined"].get<int>() > 0) looked_at.insert(checker["id"].get<std::string>());
  for (const char* id : {"a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "i15", "verify state.root"})
    EXPECT_TRUE(looked_at.contains(id)) << id;
  EXPECT_GT((*report)["agents"]["attempts_lost"].get<int>(), 0);
  EXPECT_GT((*report)["agents"]["turns"].get<int>(), 24);
  std::string history = ReadFile(folder / "run/history.jsonl");
  const auto ended = history.find("\"event\":\"action.ended\"");
  ASSERT_NE(ended, std::string::npos);
  const auto begin = history.rfind('\n', ended) + 1;
  const std::string line = history.substr(begin, history.find('\n', ended) + 1 - begin);
  WriteFile(folder / "twice.jsonl", history.insert(begin, line));
  EXPECT_EQ(Chaos({"check", folder / "twice.jsonl"}).exit_code, 1);
}

// Agents on projects: every check looked at something, and an event that is taken out of the history is missed.
TEST(Chaos, ProjectsStandFaults) {
  TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0711));
  const auto ran = Chaos({"run", "--profile", "continuity-quick", "--seed", "20261127", "--folder", folder / "run", "-o", "json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err << ran.out.substr(0, 20'000);
  std::set<std::string> looked;
  const auto report = ParseJson(ran.out);
  ASSERT_TRUE(report.ok()) << report.error();
  for (const Json& checker : (*report)["checkers"]) {
    if (checker["examined"].get<int>() > 0) looked.insert(checker["id"].get<std::string>());
  }
  for (const char* id : {"c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08"}) EXPECT_TRUE(looked.contains(id)) << id;
  std::string history = ReadFile(folder / "run/history.jsonl");
  const auto event = history.find("\"event\":\"task.completed\"");
  ASSERT_NE(event, std::string::npos);
  const auto begin = history.rfind('\n', event) + 1;
  WriteFile(folder / "less.jsonl", history.erase(begin, history.find('\n', event) + 1 - begin));
  EXPECT_EQ(Chaos({"check", folder / "less.jsonl"}).exit_code, 1);
}

// Every place that a fleet without Kafka passes, with kill, pause, and reset where there is a connection to cut.
TEST(Chaos, EveryFailPointIsReached) { ExpectPassed("failpoints", "20261124"); }

TEST(Chaos, AProcessWithFailPointsDoesNotStartOnAFleetThatIsNotMarked) {
  Fleet fleet;
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  auto& worker = fleet.StartWorker(1, {{"ACL_FAILPOINTS", fleet.folder() / "orders"}});
  EXPECT_EQ(worker.Wait(), 1);
  EXPECT_NE(worker.Output().find("not marked for chaos"), std::string::npos) << worker.Output();
}

TEST(Chaos, AZombieIsRefusedTwice) {
  TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0711));
  const auto shown = Chaos({"zombie", "--folder", folder / "run"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err << shown.out;
  EXPECT_NE(shown.out.find("REFUSED by the receiver"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("REFUSED by the database"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("zombie: refused"), std::string::npos);
}

TEST(Chaos, AFleetThatIsNotMarkedIsLeftAlone) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto refused = fleet.Cli({"chaos", "run", "--against", fleet.ApiUrl(), "--folder", fleet.folder() / "chaos"});
  EXPECT_EQ(refused.exit_code, 4) << refused.err;
  EXPECT_NE(refused.err.find("not marked for chaos"), std::string::npos) << refused.err;
  EXPECT_EQ(Psql(fleet.database_url(), "select count(*) from subjects"), "0") << "not even a run was submitted";
  EXPECT_EQ(fleet.Cli({"chaos", "mark"}).exit_code, 2) << "not by accident";
}

// The page names no command line that does not work: the longer ones are the tests above.
TEST(Chaos, TheCommandsOfItsPageAreRunHere) {
  std::istringstream page(ReadFile(std::string(ACL_SOURCE_DIR) + "/docs/contribute/chaos.md"));
  const std::set<std::string> run_above = {
      "airun chaos zombie",
      "airun chaos run --profile quick --seed 20261122",
      "airun chaos run --profile lease-theft --seed 20261123",
      "airun chaos mark --yes",
      "airun chaos check run/history.jsonl",
      "airun chaos run --profile postgres --against http://coordinator:8733",
      "airun chaos unmark",
  };
  int seen = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("airun ")) continue;
    ++seen;
    if (line == "airun chaos run --list") {
      const auto listed = Chaos({"run", "--list"});
      EXPECT_EQ(listed.exit_code, 0) << listed.err;
      EXPECT_NE(listed.out.find("N2  late-commit"), std::string::npos) << listed.out;
      continue;
    }
    EXPECT_TRUE(run_above.contains(line)) << "no test runs it: " << line;
  }
  EXPECT_EQ(seen, 8);
}

// A fleet that this driver did not start: what can be done by its database and its API, and what cannot is named.
TEST(Chaos, AMarkedFleetElsewhereGetsWhatCanBeDoneThere) {
  TestPostgres postgres;  // of this test alone: connections and locks of others would be hit too
  FleetOptions options;
  options.database_url = postgres.url();
  Fleet fleet(options);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitReady());
  ASSERT_EQ(fleet.Cli({"chaos", "mark", "--yes"}).exit_code, 0);
  const auto ran = fleet.Cli({"chaos", "run", "--profile", "postgres", "--seed", "5", "--against", fleet.ApiUrl(), "--folder",
                              fleet.folder() / "chaos", "-o", "json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err << ran.out.substr(0, 20'000);
  const auto report = ParseJson(ran.out);
  ASSERT_TRUE(report.ok()) << report.error();
  EXPECT_EQ((*report)["faults"].size(), 3u) << "lock-sessions, terminate-backends, long-reader";
  bool named = false;
  for (const Json& one : (*report)["not_done"]) named = named || one["kind"] == "kill-backend";
  EXPECT_TRUE(named);
  EXPECT_EQ(fleet.Cli({"chaos", "unmark"}).exit_code, 0);
  EXPECT_EQ(fleet.Cli({"chaos", "run", "--against", fleet.ApiUrl()}).exit_code, 4);
}

}  // namespace
}  // namespace acl::test
