// Document 000's success criteria (section 14) on real processes: work is paused and resumed days later without loss, the same state gives
// the same next step, nothing is inferred; and a command that its coordinator dies in is done once or not at all.
#include <gtest/gtest.h>

#include <csignal>

#include "shared/postgres/chaos_mark.h"
#include "tests/support/fleet.h"

namespace acl::test {
namespace {

class Continuity : public ::testing::Test {
 protected:
  // Of one project, through one coordinator.
  HttpAnswer Say(const std::string& operation, Json arguments, const std::string& by = "ann", const std::string& key = "", int at = 0) {
    arguments["by"] = by;
    std::map<std::string, std::string> headers;
    if (!key.empty()) headers["Idempotency-Key"] = key;
    return fleet_->Api("POST", "/v1/projects/book/" + operation, arguments, headers, at);
  }
  Json Must(const std::string& operation, Json arguments, const std::string& by = "ann") {
    const HttpAnswer answer = Say(operation, std::move(arguments), by);
    EXPECT_EQ(answer.status / 100, 2) << operation << ": " << answer.body << fleet_->Logs();
    return answer.status / 100 == 2 ? answer.json() : Json::object();
  }
  Json Ask(const std::string& what, int at = 0) {
    const HttpAnswer answer = fleet_->Api("GET", "/v1/projects/book/" + what, Json(), {}, at);
    EXPECT_EQ(answer.status, 200) << what << ": " << answer.body;
    return answer.status == 200 ? answer.json() : Json::object();
  }
  void MakeBook() {
    ASSERT_EQ(fleet_->Api("POST", "/v1/projects", {{"name", "book"}, {"by", "ann"}}).status / 100, 2) << fleet_->Logs();
    Must("create_goal", {{"text", "Write the book"}, {"priority", 1}});
    for (const char* title : {"Outline", "First chapter", "Second chapter"}) Must("add_task", {{"goal_id", "g1"}, {"title", title}});
    Must("start_task", {{"task_id", "t2"}});
    Must("update_checkpoint", {{"task_id", "t2"},
                               {"where_we_left_off", "The first page is written. The hero has no name yet."},
                               {"next_step", "Name the hero"},
                               {"needed_context_refs", {"file:chapters/1.md@sha256:" + std::string(64, 'a')}}});
  }
  std::int64_t Count(const std::string& sql) { return std::stoll(Psql(fleet_->database_url(), sql)); }

  std::unique_ptr<Fleet> fleet_;
};

TEST_F(Continuity, ACoordinatorMayDieAtEveryBoundaryOfACommand) {
  fleet_ = std::make_unique<Fleet>();
  fleet_->StartCoordinator(1);
  ASSERT_TRUE(pg::MarkForChaos(fleet_->database_url(), true).ok());
  const auto orders = fleet_->folder() / "orders";
  std::filesystem::create_directories(orders);
  const auto start = [&] {
    setenv("ACL_FAILPOINTS", orders.c_str(), 1);  // of the one that is to die
    fleet_->StartCoordinator(0);
    unsetenv("ACL_FAILPOINTS");
    return fleet_->AwaitReady();
  };
  ASSERT_TRUE(start());
  MakeBook();
  int said = 0;
  for (const char* place : {"command.before", "command.opened", "command.written", "command.committed"}) {
    SCOPED_TRACE(place);
    WriteFile(orders / place, "kill");
    const std::string title = std::string("task of ") + place, key = std::string("key-of-") + place;
    const Json task = {{"goal_id", "g1"}, {"title", title}};
    EXPECT_NE(Say("add_task", task, "ann", key, 0).status / 100, 2) << "it was killed";
    EXPECT_EQ(fleet_->coordinator(0).Wait(), 128 + SIGKILL);
    const HttpAnswer again = Say("add_task", task, "ann", key, 1);
    EXPECT_EQ(again.status / 100, 2) << again.body;
    EXPECT_EQ(Say("add_task", task, "ann", key, 1).json()["answer"], again.json()["answer"]) << "asked once more";
    EXPECT_EQ(Count("SELECT count(*) FROM tasks WHERE title = '" + title + "'"), 1);
    EXPECT_EQ(Count("SELECT count(*) FROM events WHERE event_type = 'task.added' AND payload::json->>'title' = '" + title + "'"), 1);
    ASSERT_TRUE(start()) << fleet_->Logs();
    ++said;
  }
  EXPECT_EQ(Count("SELECT count(*) FROM tasks"), 3 + said);
  EXPECT_EQ(Ask("next", 0), Ask("next", 1));
  fleet_->ExpectVerified();
}

TEST_F(Continuity, PausedWorkIsResumedDaysLaterOnAnotherMachine) {
  FleetOptions here;
  fleet_ = std::make_unique<Fleet>(here);
  fleet_->StartCoordinator();
  ASSERT_TRUE(fleet_->AwaitReady());
  MakeBook();
  Must("pause_task", {{"task_id", "t2"}, {"reason", "the weekend"}});
  const Json next = Ask("next"), work = Ask("work");
  EXPECT_EQ(next["rule"], "todo") << next.dump();
  fleet_->Drain(fleet_->coordinator());

  // Dumped here, restored there: another cluster, whose tokens must be above every one that was given here.
  const auto dump = fleet_->folder() / "dump.sql";
  const RunResult dumped = RunProgram({"pg_dump", "--no-owner", "-f", dump, fleet_->database_url()});
  ASSERT_EQ(dumped.exit_code, 0) << dumped.err;
  TestPostgres machine;
  FleetOptions there;
  there.database_url = machine.url();
  there.migrate = false;
  for (const char* role : {"acl_owner", "acl_service"}) Psql(machine.url(), std::string("CREATE ROLE ") + role + " NOLOGIN");
  Psql(machine.url(), "GRANT acl_owner, acl_service TO CURRENT_USER");
  const RunResult restored = RunProgram({"psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, machine.url()});
  ASSERT_EQ(restored.exit_code, 0) << restored.err;
  const std::string events = Psql(machine.url(), "SELECT count(*) FROM events");
  Psql(machine.url(), "UPDATE timers SET fire_at = fire_at - interval '5 days'");  // days later
  const auto old_fleet = std::move(fleet_);
  fleet_ = std::make_unique<Fleet>(there);
  const RunResult epoch = RunProgram({Binary("airun"), "db", "new-epoch"}, {{"ACL_DATABASE_URL", machine.url()}});
  ASSERT_EQ(epoch.exit_code, 0) << epoch.out << epoch.err;
  fleet_->StartCoordinator();
  ASSERT_TRUE(fleet_->AwaitReady()) << fleet_->Logs();
  EXPECT_EQ(Ask("next"), next) << "the same digest, the same step";
  EXPECT_EQ(Ask("work"), work);
  EXPECT_EQ(Psql(machine.url(), "SELECT count(*) FROM events"), events) << "nothing was made up while nobody worked";
  const Json started = Must("start_task", {{"task_id", "t2"}}, "ben");
  EXPECT_EQ(started["answer"]["claim"]["holder"], "ben");
  EXPECT_EQ(Ask("next?actor=ben")["next_step"], "Name the hero") << Ask("next?actor=ben").dump();
  fleet_->ExpectVerified();
}

TEST_F(Continuity, NothingIsInferredFromReadingOrFromSilence) {
  fleet_ = std::make_unique<Fleet>();
  fleet_->StartCoordinator(0);
  fleet_->StartCoordinator(1);
  ASSERT_TRUE(fleet_->AwaitReady());
  MakeBook();
  const auto before = Count("SELECT count(*) FROM events");
  const Json first = Ask("next", 0);
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(Ask("next", round % 2), first);
    Ask("work", round % 2);
  }
  fleet_->coordinator(0).Kill();
  fleet_->StartCoordinator(0);
  ASSERT_TRUE(fleet_->AwaitReady());
  EXPECT_EQ(Ask("next", 0), first) << "after a restart";
  EXPECT_EQ(Count("SELECT count(*) FROM events"), before);
  EXPECT_EQ(Psql(fleet_->database_url(), "SELECT status FROM tasks WHERE task_id = 't2'"), "doing")
      << "nobody said that it ended, and its claim still holds";
  // The claim's time is over: that is an event, and the checkpoint is kept.
  Psql(fleet_->database_url(), "UPDATE timers SET fire_at = now() - interval '1 second'");
  ASSERT_TRUE(WaitUntil([&] { return Count("SELECT count(*) FROM events WHERE event_type = 'task.claim_expired'") == 1; }))
      << fleet_->Logs();
  EXPECT_EQ(Psql(fleet_->database_url(), "SELECT status FROM tasks WHERE task_id = 't2'"), "todo");
  EXPECT_EQ(Psql(fleet_->database_url(), "SELECT next_step FROM checkpoints WHERE task_id = 't2'"), "Name the hero");
}

TEST_F(Continuity, ATasksRunSaysHowItEndedAndProvesTheTask) {
  fleet_ = std::make_unique<Fleet>();
  fleet_->StartCoordinator();
  fleet_->StartWorker(1);
  ASSERT_TRUE(fleet_->AwaitReady());
  MakeBook();
  Must("add_task", {{"goal_id", "g1"}, {"title", "Print it"}, {"evidence", {"run"}}});
  const auto run_it = [&](const std::string& yaml, const std::string& key) {
    return fleet_->Api("POST", "/v1/projects/book/tasks/t4/runs", {{"workflow", yaml}, {"by", "ann"}}, {{"Idempotency-Key", key}});
  };
  const std::string good = "name: print\nsteps:\n  - {name: s, capability: test.echo, inputs: {outputs: {pages: 300}}}\n";
  const std::string bad = "name: print\nsteps:\n  - {name: s, capability: test.fail, inputs: {message: out of paper}}\n";
  EXPECT_EQ(run_it(good, "k0").status, 409) << "it is not being done";
  Must("start_task", {{"task_id", "t4"}});
  const HttpAnswer failing = run_it(bad, "k1");
  ASSERT_EQ(failing.status, 201) << failing.body;
  const HttpAnswer made = run_it(good, "k2");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string failed = failing.json()["id"], run = made.json()["id"];
  EXPECT_EQ(run_it(good, "k2").json()["id"], run) << "asked again under its key";
  ASSERT_TRUE(fleet_->AwaitStatus(run, "COMPLETED"));
  EXPECT_EQ(fleet_->Run(run)["task"]["task_id"], "t4") << "the run says of which task it is";
  ASSERT_TRUE(WaitUntil([&] { return Count("SELECT count(*) FROM events WHERE event_type = 'task.run_ended'") == 2; })) << fleet_->Logs();
  const auto evidence = [](const std::string& id) { return Json{{"task_id", "t4"}, {"evidence", {{{"kind", "run"}, {"run_id", id}}}}}; };
  EXPECT_EQ(Say("complete_task", {{"task_id", "t4"}}).status, 409) << "it asks for a run";
  EXPECT_EQ(Say("complete_task", evidence(failed)).status, 409) << "a run that failed proves nothing";
  EXPECT_EQ(Say("complete_task", evidence(run)).status / 100, 2);
  EXPECT_EQ(Count("SELECT count(*) FROM outbox"), 0);
  fleet_->ExpectVerified();
}

// The guide's five minutes, as they stand there, and the example.
TEST_F(Continuity, TheGuideAndItsExampleDoWhatTheySay) {
  fleet_ = std::make_unique<Fleet>();
  fleet_->StartCoordinator();
  ASSERT_TRUE(fleet_->AwaitReady());
  const auto bin = fleet_->folder() / "bin";
  std::filesystem::create_directories(bin);
  std::filesystem::create_symlink(Binary("airun"), bin / "airun");
  const std::map<std::string, std::string> environment = {{"PATH", bin.string() + ":" + std::getenv("PATH")},
                                                          {"ACL_SERVER", fleet_->ApiUrl()},
                                                          {"ACL_DATABASE_URL", fleet_->database_url()},
                                                          {"CONTINUITY_PAUSE", "0.3"}};
  const std::string guide = ReadFile(std::filesystem::path(ACL_SOURCE_DIR) / "docs/guides/continuity.md");
  std::string script = "set -e\n";
  for (std::size_t at = guide.find("```sh\n"); at != std::string::npos; at = guide.find("```sh\n", at + 1)) {
    script += guide.substr(at + 6, guide.find("```", at + 6) - at - 6);
  }
  const RunResult typed = RunProgram({"sh", "-c", script}, environment);
  EXPECT_EQ(typed.exit_code, 0) << typed.out << typed.err;
  EXPECT_NE(typed.out.find("Copy customers L to Z"), std::string::npos) << typed.out;
  const RunResult book =
      RunProgram({std::filesystem::path(ACL_SOURCE_DIR) / "examples/continuity/run.sh", fleet_->folder() / "book"}, environment);
  EXPECT_EQ(book.exit_code, 0) << book.out << book.err << fleet_->Logs();
  EXPECT_NE(book.out.find("book: ok"), std::string::npos) << book.out;
}

}  // namespace
}  // namespace acl::test
