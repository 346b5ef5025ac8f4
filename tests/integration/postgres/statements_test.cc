// Every named statement is prepared against the migrated schema; the hot ones never scan a table or build a hash.
#include "shared/postgres/statement.h"

#include "shared/postgres/connection.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/pg_schedule_store.h"
#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

class StatementsTest : public test::PgStoreTest {};

TEST_F(StatementsTest, AllPrepareAndHotOnesUseTheirKeys) {
  PgQueries queries(store());  // so that its statements are linked in
  schedule::PgScheduleStore schedules(store().pool());
  pg::ConnectionSettings settings;
  settings.conninfo = db().conninfo();
  settings.role = "acl_service";
  settings.pinned_plans = true;
  auto connection = pg::Connection::Open(settings);
  ASSERT_TRUE(connection.ok()) << connection.message();
  ASSERT_GE(pg::Statement::All().size(), 30u);
  int number = 0;
  for (const pg::Statement* statement : pg::Statement::All()) {
    std::string name = "p" + std::to_string(++number);
    auto prepared = (*connection)->RunScript("PREPARE " + name + " AS " + statement->numbered().sql);
    ASSERT_TRUE(prepared.ok()) << statement->name() << ": " << prepared.message();
    if (!statement->hot()) continue;
    std::string nulls;
    for (std::size_t i = 0; i < statement->numbered().parameters.size(); ++i) nulls += i == 0 ? "(NULL" : ", NULL";
    if (!nulls.empty()) nulls += ")";
    auto plan = (*connection)->RunScript("EXPLAIN EXECUTE " + name + nulls);
    ASSERT_TRUE(plan.ok()) << statement->name() << ": " << plan.message();
    std::string text;
    for (int i = 0; i < plan->size(); ++i) text += plan->Text(i, 0) + "\n";
    EXPECT_EQ(text.find("Seq Scan"), std::string::npos) << statement->name() << "\n" << text;
    EXPECT_EQ(text.find("Hash Join"), std::string::npos) << statement->name() << "\n" << text;
  }
}

TEST(NumberParametersTest, NamesBecomeNumbersOncePerName) {
  auto numbered = pg::NumberParameters("SELECT $b::int, $a::text, '$quoted', $b::int + 1, $a1_x::uuid -- $$ 5$");
  EXPECT_EQ(numbered.sql, "SELECT $1::int, $2::text, '$quoted', $1::int + 1, $3::uuid -- $$ 5$");
  EXPECT_EQ(numbered.parameters, (std::vector<std::string>{"b", "a", "a1_x"}));
}

TEST_F(StatementsTest, OverrideReplacesAStatementByName) {
  PgStoreOptions options;
  options.conninfo = db().conninfo();
  options.override_sql["reap.sessions"] = "SELECT 42::bigint, true";
  PgStore other(options);
  auto answer = other.Reap(1);
  ASSERT_TRUE(answer.ok()) << answer.error();
  EXPECT_EQ(answer->sessions_died, 42);
}

}  // namespace
}  // namespace acl
