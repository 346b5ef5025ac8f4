// The checkers of projects on what the production code leaves: silent; one violation of each kind, made by a superuser with the triggers
// off, is found by its own. What agents were told is told by the desk of a coordinator here, without HTTP.
#include "chaos/checkers/continuity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "chaos/checkers/project_rows.h"
#include "coordinator/projects/store_desk.h"
#include "shared/base/random.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/postgres/pg_project_names.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/pg_store.h"
#include "tests/support/test_database.h"

namespace acl::chaos {
namespace {

using coordinator::ProjectDesk;
using coordinator::StoreDesk;

// A project on which ann and bob worked, and what they were told.
class Told {
 public:
  explicit Told(const std::string& conninfo) : store_(OptionsOf(conninfo)), queries_(store_), names_(store_.pool()) {
    Add({{"type", "run"}, {"agents", 2}});
  }

  void Tell() {
    auto made = desk_.Create({{"create_project", {{"name", "chaos-1-0"}}, "ann"}, "k0", std::nullopt, std::nullopt});
    ASSERT_TRUE(made) << made.error();
    project_ = made->project;
    Say("ann", "k1", "create_goal", {{"text", "k1"}});
    Say("ann", "k2", "add_task", {{"goal_id", "g1"}, {"title", "k2"}});
    Say("ann", "k3", "add_task", {{"goal_id", "g1"}, {"title", "k3"}});
    Say("bob", "k4", "take_next", {{"claim_seconds", 600}});
    Say("ann", "k5", "complete_task", {{"task_id", "t1"}, {"evidence", {{{"kind", "person"}, {"by", "ann"}, {"said", "k5"}}}}});  // bob's
    Say("bob", "k6", "update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Said under k6."}, {"next_step", "Go on"}});
    Say("bob", "k6", "update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Said under k6."}, {"next_step", "Go on"}});
    Say("bob", "k7", "renew_claim", {{"task_id", "t1"}, {"claim_seconds", 700}});
    Say("bob", "k8", "complete_task", {{"task_id", "t1"}, {"evidence", {{{"kind", "person"}, {"by", "bob"}, {"said", "k8"}}}}});
    Say("ann", "k9", "start_task", {{"task_id", "t2"}, {"claim_seconds", 600}});
    Say("ann", "k10", "block_task", {{"task_id", "t2"}, {"blocker", "k10"}});
  }
  const std::vector<Json>& lines() const { return lines_; }

 private:
  static PgStoreOptions OptionsOf(const std::string& conninfo) {
    PgStoreOptions options;
    options.conninfo = conninfo;
    return options;
  }
  void Add(Json line) {
    line["t"] = lines_.size();
    lines_.push_back(std::move(line));
  }
  void Say(const std::string& by, const std::string& key, const std::string& name, Json arguments) {
    const auto op = lines_.size();
    const Json args = {{"key", key}, {"project", project_.ToString()}, {"by", by}, {"arguments", arguments}};
    Add({{"type", "invoke"}, {"op", op}, {"f", name}, {"args", args}});
    auto done = desk_.Execute(project_, {{name, std::move(arguments), by}, key, std::nullopt, std::nullopt});
    ASSERT_TRUE(done) << name << ": " << done.error();
    EXPECT_EQ(done->refused.has_value(), key == "k5") << name;
    Json value = {{"event_seq", done->head_seq}};
    if (done->refused) value["refused"] = done->refused->reason;
    if (!done->refused) value["answer"] = done->answer;
    Add({{"type", "ok"}, {"op", op}, {"f", name}, {"value", value}});
  }

  SystemClock clock_;
  SystemRandom random_;
  Uuid7Maker ids_{clock_, random_};
  PgStore store_;
  PgQueries queries_;
  PgProjectNames names_;
  std::shared_ptr<const CommandKind> kind_ = project::MakeProjectKind();
  StoreDesk desk_{store_, queries_, names_, *kind_, ids_};
  ProjectId project_;
  std::vector<Json> lines_;
};

class ContinuityRowsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto database = test::TestDatabase::Create();
    ASSERT_TRUE(database.ok()) << database.message();
    database_ = std::move(*database);
    Told told(database_->conninfo());
    told.Tell();
    told_ = told.lines();
  }
  static void TearDownTestSuite() { database_.reset(); }

  // What was told, and what this database holds.
  static std::vector<InvariantResult> Check(const test::TestDatabase& database) {
    auto rows = ReadProjectRows(database.conninfo(), "chaos-1-");
    EXPECT_TRUE(rows) << rows.error();
    std::vector<Json> lines = told_;
    for (Json& row : *rows) {
      row["t"] = lines.size();
      lines.push_back(std::move(row));
    }
    return CheckContinuity(lines);
  }

  static std::unique_ptr<test::TestDatabase> database_;
  static std::vector<Json> told_;
};

std::unique_ptr<test::TestDatabase> ContinuityRowsTest::database_;
std::vector<Json> ContinuityRowsTest::told_;

TEST_F(ContinuityRowsTest, AreSilentOnWhatTheProductionCodeLeaves) {
  std::set<std::string> looked;
  for (const InvariantResult& result : Check(*database_)) {
    EXPECT_EQ(result.found, 0) << result.id << ": "
                               << (result.anomalies.empty() ? "" : result.anomalies[0].key + ": " + result.anomalies[0].why);
    if (result.examined > 0) looked.insert(result.id);
  }
  EXPECT_EQ(looked, (std::set<std::string>{"c01", "c02", "c03", "c05", "c06", "c07"})) << "no claim ran out here";
  const auto open = CountOpenClaims(database_->conninfo(), "chaos-1-");
  ASSERT_TRUE(open) << open.error();
  EXPECT_EQ(*open, 0);
}

// The invariants hold for projects as for runs: nobody has to wake what is commanded.
TEST_F(ContinuityRowsTest, TheInvariantsHoldForProjects) {
  InvariantOptions options;
  options.conninfo = database_->conninfo();
  options.role = "";
  options.drained = true;
  const auto report = CheckInvariants(options);
  ASSERT_TRUE(report) << report.error();
  EXPECT_TRUE(report->clean()) << ToText(*report);
  EXPECT_GT(report->Find("i21")->examined, 0);
}

TEST_F(ContinuityRowsTest, AClaimThatIsHeldIsOpen) {
  auto copy = test::TestDatabase::Copy(*database_);
  ASSERT_TRUE(copy.ok()) << copy.message();
  (*copy)->Exec("INSERT INTO timers SELECT project_id, 'claim:t1', now() FROM projects WHERE name = 'chaos-1-0'");
  EXPECT_EQ(*CountOpenClaims((*copy)->conninfo(), "chaos-1-"), 1);
  EXPECT_EQ(*CountOpenClaims((*copy)->conninfo(), "chaos-2-"), 0) << "of another workload";
}

struct ProjectViolation {
  const char *id, *name, *sql;
};

const ProjectViolation kProjectViolations[] = {
    {"c01", "an acknowledged checkpoint is gone", "UPDATE journal_rows SET type = 'task.changed' WHERE type = 'checkpoint.updated'"},
    {"c01", "a command is there twice",
     "INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, "
     "chain, payload, offloaded, root) SELECT subject_id, (SELECT max(seq) + 1 FROM journal_rows x WHERE x.subject_id = j.subject_id), "
     "journal_id, "
     "type, schema_version, producer_version, "
     "token, at, checksum, content_hash, chain, payload, offloaded, root FROM journal_rows j WHERE type = 'goal.created'"},
    {"c01", "behind what was answered", "UPDATE journal_rows SET seq = 100 WHERE type = 'goal.created'"},
    {"c02", "an answer is forgotten", "DELETE FROM command_answers WHERE request_key = 'k2'"},
    {"c02", "another answer is kept", "UPDATE command_answers SET event_seq = event_seq + 1 WHERE request_key = 'k4'"},
    {"c03", "a task is given while it is held", "UPDATE journal_rows SET type = 'task.started' WHERE type = 'task.claim_renewed'"},
    {"c03", "a task is finished by one who does not hold it",
     "UPDATE journal_rows SET type = 'task.paused' WHERE type = 'task.started' AND seq < 6"},
    {"c04", "a claim never runs out", "DELETE FROM journal_rows WHERE type = 'task.blocked'"},
    {"c05", "another status is shown", "UPDATE tasks SET status = 'doing' WHERE task_id = 't1'"},
    {"c05", "a holder is shown who is none", "UPDATE tasks SET holder = 'bob' WHERE task_id = 't1'"},
    {"c05", "a task is not shown", "DELETE FROM tasks WHERE task_id = 't2'"},
    {"c06", "the head is ahead", "UPDATE subject_head SET head_seq = head_seq + 1"},
    {"c06", "the head is of another chain", "UPDATE subject_head SET chain = sha256('x')"},
    {"c06", "an event is gone", "DELETE FROM journal_rows WHERE type = 'command.refused'"},
};

TEST_F(ContinuityRowsTest, EachFindsItsOwnViolation) {
  for (const ProjectViolation& violation : kProjectViolations) {
    SCOPED_TRACE(fmt::format("{}: {}", violation.id, violation.name));
    auto copy = test::TestDatabase::Copy(*database_);
    ASSERT_TRUE(copy.ok()) << copy.message();
    (*copy)->Exec("SET session_replication_role = replica; " + test::AsTables(violation.sql) + violation.sql);
    std::string found;
    for (const InvariantResult& result : Check(**copy)) {
      if (result.found > 0) found += result.id + " ";
    }
    EXPECT_NE(found.find(violation.id), std::string::npos) << "found: " << found;
  }
}

}  // namespace
}  // namespace acl::chaos
