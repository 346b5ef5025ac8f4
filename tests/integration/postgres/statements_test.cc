// Every named statement is prepared against the migrated schema; the hot ones never scan a table or build a hash.
#include "shared/postgres/statement.h"

#include <algorithm>
#include <set>

#include "shared/postgres/connection.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/pg_schedule_store.h"
#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

// What reads more than it is asked for: a sequential scan, a hash of a table, or an index read from end to end, as the hashed form of an
// EXISTS does. Below a Limit an index without a condition is an order; a partial index (`small`) is as short as what it is for.
void FindScans(const Json& node, bool limited, const std::set<std::string>& small, std::string& found) {
  const std::string type = node.value("Node Type", "");
  const bool by_index = type == "Index Scan" || type == "Index Only Scan" || type == "Bitmap Index Scan";
  const bool whole = by_index && !limited && !node.contains("Index Cond") && !small.contains(node.value("Index Name", ""));
  if (type == "Seq Scan" || type == "Hash Join" || whole) {
    found += type + " of " + node.value("Relation Name", node.value("Index Name", "?")) + "\n";
  }
  for (const Json& below : node.value("Plans", Json::array())) FindScans(below, limited || type == "Limit", small, found);
}

class StatementsTest : public test::PgStoreTest {
 protected:
  StatementsTest() {
    pg::ConnectionSettings settings;
    settings.conninfo = db().conninfo();
    settings.role = "acl_service";
    settings.pinned_plans = true;
    auto connection = pg::Connection::Open(settings);
    EXPECT_TRUE(connection.ok()) << connection.message();
    connection_ = std::move(*connection);
  }
  void Prepare(const std::string& name, const pg::NumberedSql& numbered) {
    auto prepared = connection_->RunScript("PREPARE " + name + " AS " + numbered.sql);
    ASSERT_TRUE(prepared.ok()) << name << ": " << prepared.message();
  }
  std::string PlanOf(const std::string& name, const pg::NumberedSql& numbered) {
    std::string nulls;
    for (std::size_t i = 0; i < numbered.parameters.size(); ++i) nulls += i == 0 ? "(NULL" : ", NULL";
    if (!nulls.empty()) nulls += ")";
    auto plan = connection_->RunScript("EXPLAIN (FORMAT JSON) EXECUTE " + name + nulls);
    EXPECT_TRUE(plan.ok()) << name << ": " << plan.message();
    std::string text;
    for (int i = 0; plan && i < plan->size(); ++i) text += plan->Text(i, 0) + "\n";
    return text;
  }
  std::string ScansOf(const std::string& name, const pg::NumberedSql& numbered) {
    const std::string text = PlanOf(name, numbered);
    std::string found;
    std::set<std::string> partial;
    for (const auto& row : db().Query("SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NOT NULL")) partial.insert(*row[0]);
    FindScans(Json::parse(text).at(0).at("Plan"), false, partial, found);
    return found;
  }

  std::unique_ptr<pg::Connection> connection_;
};

TEST_F(StatementsTest, AllPrepareAndHotOnesUseTheirKeys) {
  PgQueries queries(store());  // so that its statements are linked in
  schedule::PgScheduleStore schedules(store().pool());
  ASSERT_GE(pg::Statement::All().size(), 30u);
  int number = 0;
  for (const pg::Statement* statement : pg::Statement::All()) {
    std::string name = "p" + std::to_string(++number);
    Prepare(name, statement->numbered());
    if (statement->hot()) {
      EXPECT_EQ(ScansOf(name, statement->numbered()), "") << statement->name();
    }
  }
}

// What reading grants once did: it was told which runs, and went through all that the session holds, and once held.
TEST_F(StatementsTest, WhatNamesItsSubjectsDoesNotGoThroughASession) {
  int asked = 0;
  const auto goes_through = [&](const std::string& name, const pg::NumberedSql& numbered) {
    Prepare(name, numbered);
    return PlanOf(name, numbered).find("leases_by_session") != std::string::npos;
  };
  for (const pg::Statement* statement : pg::Statement::All()) {
    const auto& parameters = statement->numbered().parameters;
    if (!statement->hot() || std::find(parameters.begin(), parameters.end(), "subject") == parameters.end()) continue;
    EXPECT_FALSE(goes_through("q" + std::to_string(++asked), statement->numbered())) << statement->name();
  }
  EXPECT_GT(asked, 2);
  EXPECT_TRUE(goes_through("as_before", pg::NumberParameters("SELECT l.token FROM generate_subscripts($subject::uuid[], 1) AS i(n) "
                                                             "JOIN leases l ON l.subject_id = ($subject::uuid[])[i.n] "
                                                             "AND l.session_id = $session::uuid AND l.state = 0")));
}

// The same when what comes and goes is taken for empty, as it is most of the time.
TEST_F(StatementsTest, HotOnesUseTheirKeysWhateverIsNotedOfATablesSize) {
  for (const char* table : {"ready", "inbox", "timers", "dispatches", "outbox"}) {
    db().Exec(std::string("ALTER TABLE ") + table + " SET (autovacuum_enabled = false)");
  }
  db().Exec("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relname IN ('ready', 'inbox', 'timers', 'dispatches', 'outbox')");
  for (const pg::Statement* statement : pg::Statement::All()) {
    if (!statement->hot()) continue;
    Prepare("s", statement->numbered());
    EXPECT_EQ(ScansOf("s", statement->numbered()), "") << statement->name();
    ASSERT_TRUE(connection_->RunScript("DEALLOCATE s").ok());
  }
}

// The attempt that completes is looked up by its key, never among all events of its subject, whatever is noted of the tables.
TEST_F(StatementsTest, ACompletionsAttemptIsFoundByItsKey) {
  for (const char* table : {"journal_rows", "other_attempts", "other_completions"}) {  // autovacuum would note what it finds
    db().Exec(std::string("ALTER TABLE ") + table + " SET (autovacuum_enabled = false)");
  }
  for (const char* how : {"reltuples = -1, relpages = 0", "reltuples = 0, relpages = 1", "reltuples = 1, relpages = 100000",
                          "reltuples = 1e8, relpages = 1e7"}) {
    db().Exec(std::string("UPDATE pg_class SET ") + how +
              " WHERE relname LIKE 'event_rows%' OR relname = 'journal_rows' OR relname LIKE 'other_%'");
    for (const pg::Statement* statement : pg::Statement::All()) {
      if (statement->name().rfind("commit.", 0) != 0 || statement->name() == "commit.read_back") continue;
      SCOPED_TRACE(statement->name() + " with " + how);
      Prepare("s", statement->numbered());
      const std::string plan = PlanOf("s", statement->numbered());
      EXPECT_NE(plan.find("journal_rows_begun"), std::string::npos) << plan;
      EXPECT_EQ(plan.find("journal_rows_pkey"), std::string::npos) << plan;
      ASSERT_TRUE(connection_->RunScript("DEALLOCATE s").ok());
    }
  }
}

// What the commit once did: every batch read all attempts there ever were.
TEST_F(StatementsTest, AHashedExistsIsSeen) {
  const auto numbered = pg::NumberParameters(
      "SELECT c.step, EXISTS (SELECT FROM other_attempts r WHERE r.subject_id = c.subject AND r.step_id = c.step) "
      "FROM unnest($subject::uuid[], $step::text[]) AS c(subject, step)");
  Prepare("hashed", numbered);
  EXPECT_NE(ScansOf("hashed", numbered), "");
  const auto scan = pg::NumberParameters("SELECT count(*) FROM attempt_rows WHERE token = $token::bigint");
  Prepare("scan", scan);
  EXPECT_NE(ScansOf("scan", scan), "");
}

TEST(NumberParametersTest, NamesBecomeNumbersOncePerName) {
  auto numbered = pg::NumberParameters("SELECT $b::int, $a::text, '$quoted', $b::int + 1, $a1_x::uuid -- $$ 5$");
  EXPECT_EQ(numbered.sql, "SELECT $1::int, $2::text, '$quoted', $1::int + 1, $3::uuid -- $$ 5$");
  EXPECT_EQ(numbered.parameters, (std::vector<std::string>{"b", "a", "a1_x"}));
}

TEST_F(StatementsTest, OverrideReplacesAStatementByName) {
  PgStoreOptions options;
  options.conninfo = db().conninfo();
  options.override_sql["reap.sessions"] = "SELECT 42::bigint, true, false, NULL::bigint";
  PgStore other(options);
  auto answer = other.Reap(1);
  ASSERT_TRUE(answer.ok()) << answer.error();
  EXPECT_EQ(answer->sessions_died, 42);
}

}  // namespace
}  // namespace acl
