// Functions and views: applied again when their version grows, never put over newer ones, made again when they are gone.
#include "shared/postgres/schema_objects.h"

#include <thread>

#include "shared/postgres/connection.h"
#include "shared/postgres/migrate.h"
#include "tests/support/test_database.h"

namespace acl {
namespace {

using pg::Migrate;
using pg::Schema;
using pg::SchemaObject;
using test::TestDatabase;

SchemaObject Answering(int number, int version) {
  return {"functions/probe",
          "CREATE OR REPLACE FUNCTION probe() RETURNS int LANGUAGE sql AS $$ SELECT " + std::to_string(number) + " $$;\n", version};
}

// The schema of a program that has these, too.
Schema With(const std::vector<SchemaObject>& more) {
  Schema schema = pg::EmbeddedSchema();
  schema.objects.insert(schema.objects.end(), more.begin(), more.end());
  return schema;
}

class SchemaObjectsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TestDatabase::Create();
    ASSERT_TRUE(made.ok()) << made.message();
    db_ = std::move(*made);
  }
  pg::MigrationReport Applied(const Schema& schema) {
    auto report = Migrate(db_->conninfo(), schema);
    EXPECT_TRUE(report.ok()) << report.message();
    return report.ok() ? *report : pg::MigrationReport{};
  }
  TestDatabase& db() { return *db_; }

 private:
  std::unique_ptr<TestDatabase> db_;
};

TEST_F(SchemaObjectsTest, AHigherVersionIsAppliedAndNothingElse) {
  const auto probe = std::vector<std::string>{"functions/probe.sql"};
  EXPECT_EQ(Applied(With({Answering(1, 1)})).objects_now, probe);
  EXPECT_EQ(db().Value("SELECT probe()"), "1");
  EXPECT_TRUE(Applied(With({Answering(1, 1)})).objects_now.empty());
  EXPECT_EQ(Applied(With({Answering(2, 2)})).objects_now, probe);
  EXPECT_EQ(db().Value("SELECT probe()"), "2");
  EXPECT_EQ(db().Value("SELECT proowner::regrole FROM pg_proc WHERE proname = 'probe'"), "acl_owner");
}

TEST_F(SchemaObjectsTest, AnOlderProgramLeavesNewerOnesAndWorksWithThem) {
  Applied(With({Answering(2, 2)}));
  const Schema older = With({Answering(1, 1)});
  auto report = Applied(older);
  EXPECT_TRUE(report.objects_now.empty());
  EXPECT_EQ(report.newer_objects, std::vector<std::string>{"functions/probe.sql"});
  EXPECT_EQ(db().Value("SELECT probe()"), "2");
  auto status = pg::ReadDatabaseStatus(db().conninfo(), older);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(status->ready()) << status->Problem();
  EXPECT_EQ(status->newer_objects, std::vector<std::string>{"functions/probe.sql"});
  auto unknown = pg::ReadDatabaseStatus(db().conninfo());  // a program that has no such function at all
  ASSERT_TRUE(unknown.ok()) << unknown.message();
  EXPECT_TRUE(unknown->ready()) << unknown->Problem();
}

TEST_F(SchemaObjectsTest, ANewerProgramIsNotReadyBeforeItsFunctionsAreThere) {
  Applied(With({Answering(1, 1)}));
  auto status = pg::ReadDatabaseStatus(db().conninfo(), With({Answering(2, 2)}));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(status->ready());
  EXPECT_NE(status->Problem().find("functions/probe.sql): run `airun db migrate`"), std::string::npos) << status->Problem();
}

TEST_F(SchemaObjectsTest, TwoTextsOfOneVersionAreRefused) {
  Applied(With({Answering(1, 1)}));
  auto refused = Migrate(db().conninfo(), With({Answering(2, 1)}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::kConflict);
  EXPECT_NE(refused.message().find("functions/probe.sql"), std::string::npos) << refused.message();
  EXPECT_EQ(db().Value("SELECT probe()"), "1");
  auto status = pg::ReadDatabaseStatus(db().conninfo(), With({Answering(2, 1)}));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(status->ready());
  EXPECT_NE(status->Problem().find("functions/probe.sql"), std::string::npos) << status->Problem();
}

TEST_F(SchemaObjectsTest, WhatIsGoneIsMadeAgain) {
  db().Exec("DROP FUNCTION first_token()");
  auto status = pg::ReadDatabaseStatus(db().conninfo());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(status->pending_objects, std::vector<std::string>{"functions/first_token.sql"});
  EXPECT_EQ(Applied(pg::EmbeddedSchema()).objects_now, std::vector<std::string>{"functions/first_token.sql"});
  EXPECT_GT(db().Count("SELECT first_token()"), 0);
}

// A migration that takes a column away drops the views that show it first: they are made again behind it.
TEST_F(SchemaObjectsTest, WhatAMigrationDropsIsMadeAgainInTheSameRun) {
  Schema schema = pg::EmbeddedSchema();
  schema.migrations.push_back({"9999_drops.sql", "-- migrate:up\nDROP VIEW move;\n"});
  EXPECT_EQ(Applied(schema).objects_now, std::vector<std::string>{"views/move.sql"});
  EXPECT_EQ(db().Count("SELECT count(*) FROM move"), 0);
}

TEST_F(SchemaObjectsTest, WhatIsInNeitherIsForgotten) {
  Applied(With({Answering(1, 1)}));
  db().Exec("DROP FUNCTION probe()");
  EXPECT_TRUE(Applied(pg::EmbeddedSchema()).newer_objects.empty());
  EXPECT_EQ(db().Count("SELECT count(*) FROM schema_objects WHERE name = 'functions/probe'"), 0);
}

TEST_F(SchemaObjectsTest, AFunctionThatFailsLeavesAllFunctionsAsTheyWere) {
  Applied(With({Answering(1, 1)}));
  const SchemaObject broken{"functions/zebra", "CREATE OR REPLACE FUNCTION zebra() RETURNS no_such_type LANGUAGE sql AS $$ SELECT 1 $$;",
                            1};
  auto failed = Migrate(db().conninfo(), With({Answering(2, 2), broken}));
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("functions/zebra.sql failed and was rolled back"), std::string::npos) << failed.message();
  EXPECT_EQ(db().Value("SELECT probe()"), "1");
  EXPECT_EQ(db().Value("SELECT version FROM schema_objects WHERE name = 'functions/probe'"), "1");
}

TEST_F(SchemaObjectsTest, AReaderOfAViewIsWaitedForInShortTurns) {
  Schema next = pg::EmbeddedSchema();
  for (SchemaObject& object : next.objects) {
    if (object.name == "views/move") object.version++, object.text += "-- once more\n";
  }
  pg::ConnectionSettings settings;
  settings.conninfo = db().conninfo();
  auto reader = pg::Connection::Open(settings);
  ASSERT_TRUE(reader && (*reader)->Begin().ok());
  ASSERT_TRUE((*reader)->RunScript("SELECT count(*) FROM move"));
  auto refused = Migrate(db().conninfo(), next, {std::chrono::milliseconds(20), std::chrono::milliseconds(1), 3});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::kTimeout);
  EXPECT_NE(refused.message().find("views/move.sql"), std::string::npos) << refused.message();
  (*reader)->Rollback();
  EXPECT_EQ(Applied(next).objects_now, std::vector<std::string>{"views/move.sql"});
}

// Until the functions are there, a trigger refuses what it guards.
TEST(SchemaWithoutFunctions, TakesNoWriteThatNothingGuards) {
  auto made = TestDatabase::Create(false);
  ASSERT_TRUE(made.ok()) << made.message();
  Schema tables = pg::EmbeddedSchema();
  tables.objects.clear();
  ASSERT_TRUE(Migrate((*made)->conninfo(), tables).ok());
  (*made)->Exec(
      "INSERT INTO subjects (subject_id, project_id, kind, queue, priority, created_at) VALUES (gen_random_uuid(), gen_random_uuid(), 'k', "
      "'q', "
      "0, now())");
  const Error refused = (*made)->Refusal("UPDATE subjects SET queue = 'other'");
  EXPECT_NE(refused.message.find("the functions of this database are missing"), std::string::npos) << refused.message;
}

TEST(SchemaObjects, ViewsComeBehindThoseThatTheyRead) {
  const std::vector<SchemaObject> files{{"views/a", "-- What a is.\n-- reads: c, b\nSELECT"},
                                        {"functions/z", "SELECT"},
                                        {"views/b", "-- reads: c\nSELECT"},
                                        {"views/c", "SELECT -- reads: a\n"}};
  std::vector<std::string> order;
  for (const SchemaObject& object : pg::ObjectsInOrder(files, "views/b 3 hash\nviews/c 2 hash\n")) {
    order.push_back(object.name + " " + std::to_string(object.version));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"functions/z 0", "views/c 2", "views/b 3", "views/a 0"}));
}

}  // namespace
}  // namespace acl
