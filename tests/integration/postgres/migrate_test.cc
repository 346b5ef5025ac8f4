// Migrations: applied once, verified afterwards, refused when the database is newer; roles and triggers (issue 3, section 2).
#include "shared/postgres/migrate.h"

#include <fstream>
#include <sstream>
#include <thread>

#include "shared/postgres/connection.h"
#include "tests/support/test_database.h"

namespace acl {
namespace {

using pg::EmbeddedSchema;
using pg::Migrate;
using pg::Migration;
using pg::Schema;
using test::TestDatabase;

const std::vector<Migration>& EmbeddedMigrations() { return EmbeddedSchema().migrations; }

// The schema of a program that has this migration, too.
Schema AndThen(const Migration& migration) {
  Schema schema = EmbeddedSchema();
  schema.migrations.push_back(migration);
  return schema;
}

std::unique_ptr<TestDatabase> Empty() {
  auto made = TestDatabase::Create(false);
  EXPECT_TRUE(made.ok()) << made.message();
  return made.ok() ? std::move(*made) : nullptr;
}

TEST(MigrateTest, EmbeddedFilesAreTheOnesInTheFolder) {
  ASSERT_GE(EmbeddedMigrations().size(), 10u);
  for (const Migration& migration : EmbeddedMigrations()) {
    std::ifstream in(std::string(ACL_SOURCE_DIR) + "/migrations/" + migration.file);
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_EQ(text.str(), migration.text) << migration.file;
    EXPECT_EQ(migration.text.rfind("-- migrate:up", 0), 0u) << migration.file << ": dbmate reads from '-- migrate:up' on";
    EXPECT_NE(migration.text.find("\n-- migrate:down\nDO $$ BEGIN RAISE EXCEPTION 'migrations go forward only"), std::string::npos)
        << migration.file << ": dbmate wants a part for the way back, which must say that there is none";
  }
}

TEST(MigrateTest, AppliesAllThenNothing) {
  auto db = Empty();
  ASSERT_NE(db, nullptr);
  auto before = pg::ReadDatabaseStatus(db->conninfo());
  ASSERT_TRUE(before.ok()) << before.message();
  EXPECT_EQ(before->pending.size(), EmbeddedMigrations().size());
  EXPECT_FALSE(before->ready());

  auto first = Migrate(db->conninfo());
  ASSERT_TRUE(first.ok()) << first.message();
  EXPECT_EQ(first->applied_now.size(), EmbeddedMigrations().size());
  EXPECT_EQ(first->objects_now.size(), EmbeddedSchema().objects.size());
  auto second = Migrate(db->conninfo());
  ASSERT_TRUE(second.ok()) << second.message();
  EXPECT_TRUE(second->applied_now.empty());
  EXPECT_TRUE(second->objects_now.empty());
  EXPECT_EQ(second->already_applied, int(EmbeddedMigrations().size()));

  auto after = pg::ReadDatabaseStatus(db->conninfo());
  ASSERT_TRUE(after.ok()) << after.message();
  EXPECT_TRUE(after->ready());
  EXPECT_GE(after->epoch, 1);
  EXPECT_GE(after->server_version_number, 150000);
}

TEST(MigrateTest, ADatabaseThatTakesNoWritesIsNotReady) {
  auto made = TestDatabase::Create();
  ASSERT_TRUE(made) << made.message();
  auto& db = **made;
  db.Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$");
  const auto status = pg::ReadDatabaseStatus(db.conninfo());
  ASSERT_TRUE(status) << status.message();
  EXPECT_FALSE(status->ready());
  EXPECT_NE(status->Problem().find("takes no writes"), std::string::npos) << status->Problem();
}

TEST(MigrateTest, TwoAtOnceApplyEachFileOnce) {
  auto db = Empty();
  ASSERT_NE(db, nullptr);
  std::optional<Result<pg::MigrationReport>> one, two;
  std::thread other([&] { two = Migrate(db->conninfo()); });
  one = Migrate(db->conninfo());
  other.join();
  ASSERT_TRUE(one->ok()) << one->message();
  ASSERT_TRUE(two->ok()) << two->message();
  EXPECT_EQ((*one)->applied_now.size() + (*two)->applied_now.size(), EmbeddedMigrations().size());
}

TEST(MigrateTest, ChangedFileIsRefused) {
  auto db = Empty();
  ASSERT_NE(db, nullptr);
  ASSERT_TRUE(Migrate(db->conninfo()).ok());
  Schema changed = EmbeddedSchema();
  changed.migrations[1].text += "\n-- an afterthought\n";
  auto refused = Migrate(db->conninfo(), changed);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::kConflict);
  EXPECT_NE(refused.message().find(changed.migrations[1].file), std::string::npos) << refused.message();
}

TEST(MigrateTest, NewerDatabaseIsRefused) {
  auto db = Empty();
  ASSERT_NE(db, nullptr);
  ASSERT_TRUE(Migrate(db->conninfo()).ok());
  Schema older = EmbeddedSchema();
  std::string last = older.migrations.back().Version();
  older.migrations.pop_back();
  auto refused = Migrate(db->conninfo(), older);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::kConflict);
  EXPECT_NE(refused.message().find(last), std::string::npos) << refused.message();
}

TEST(MigrateTest, FailingFileLeavesNothing) {
  auto db = Empty();
  ASSERT_NE(db, nullptr);
  const Schema broken = AndThen({"9999_broken.sql", "-- migrate:up\nCREATE TABLE half_done (a int);\nSELECT no_such_function();\n"});
  auto failed = Migrate(db->conninfo(), broken);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("9999_broken.sql"), std::string::npos) << failed.message();
  EXPECT_EQ(db->Value("SELECT to_regclass('half_done')"), "NULL");
  EXPECT_EQ(db->Count("SELECT count(*) FROM schema_migrations"), std::int64_t(EmbeddedMigrations().size()));
}

// Whoever wants a whole table has everybody else wait behind: it lets them pass between two tries.
TEST(MigrateTest, ATableThatIsReadForLongHoldsUpNobodyElse) {
  auto db = Empty();
  ASSERT_NE(db, nullptr);
  ASSERT_TRUE(Migrate(db->conninfo()).ok());
  const Schema more = AndThen({"9999_wants_all.sql", "-- migrate:up\nLOCK TABLE timers IN ACCESS EXCLUSIVE MODE;\n"});
  pg::ConnectionSettings settings;
  settings.conninfo = db->conninfo();
  auto reader = pg::Connection::Open(settings);
  ASSERT_TRUE(reader && (*reader)->Begin().ok());
  ASSERT_TRUE((*reader)->RunScript("SELECT count(*) FROM timers"));
  const pg::MigrateLimits few{std::chrono::milliseconds(20), std::chrono::milliseconds(1), 3};
  auto refused = Migrate(db->conninfo(), more, few);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), Code::kTimeout);
  EXPECT_NE(refused.message().find("migrate again"), std::string::npos) << refused.message();
  std::optional<Result<pg::MigrationReport>> done;
  std::thread other([&] { done = Migrate(db->conninfo(), more, {std::chrono::milliseconds(20), std::chrono::milliseconds(1), 100'000}); });
  for (int n = 0; n < 20; ++n) db->Count("SELECT count(*) FROM timers");  // behind it, each would wait as long as the reader reads
  (*reader)->Rollback();
  other.join();
  ASSERT_TRUE(done->ok()) << done->message();
  EXPECT_EQ((*done)->applied_now.size(), 1u);
}

TEST(MigrateTest, DbmatesOwnRunIsAdopted) {
  auto db = Empty();
  ASSERT_NE(db, nullptr);
  ASSERT_TRUE(Migrate(db->conninfo()).ok());
  db->Exec("DELETE FROM migration_checksums");  // as if dbmate had applied them
  auto adopted = Migrate(db->conninfo());
  ASSERT_TRUE(adopted.ok()) << adopted.message();
  EXPECT_TRUE(adopted->applied_now.empty());
  EXPECT_EQ(db->Count("SELECT count(*) FROM migration_checksums"), std::int64_t(EmbeddedMigrations().size()));
}

class GuardsTest : public test::DatabaseTest {};

TEST_F(GuardsTest, ServiceRoleMayNotChangeWhatIsWrittenOnce) {
  for (const char* table : {"journal_rows", "other_attempts", "other_completions", "lease_history", "compensation_rows"}) {
    for (std::string sql : {std::string("DELETE FROM ") + table, std::string("TRUNCATE ") + table,
                            std::string("UPDATE ") + table + " SET subject_id = subject_id"}) {
      EXPECT_EQ(db().Refusal(sql, "acl_service").code, Code::kDenied) << sql;
    }
  }
  for (const char* view : {"event_rows", "attempt_rows", "completion_rows"}) {
    for (std::string sql : {std::string("DELETE FROM ") + view, std::string("UPDATE ") + view + " SET subject_id = subject_id"}) {
      EXPECT_EQ(db().Refusal(sql, "acl_service").code, Code::kDenied) << sql;
    }
  }
  for (const char* sql :
       {"DELETE FROM leases", "DELETE FROM subjects", "UPDATE subjects SET queue = 'x'", "UPDATE fleet_epoch SET base = 0",
        "SELECT remove_contents(gen_random_uuid(), 1)", "SELECT new_epoch(0)", "CREATE TABLE mine (a int)"}) {
    EXPECT_EQ(db().Refusal(sql, "acl_service").code, Code::kDenied) << sql;
  }
}

// Whoever has the service's password but no lease, and a statement that forgot to compare.
TEST_F(GuardsTest, ServiceRoleWritesOnlyUnderTheTokenOfALease) {
  db().Exec(
      "INSERT INTO subjects (subject_id, project_id, kind, queue, priority, created_at) SELECT '00000000-0000-7000-8000-000000000001', "
      "project_id, "
      "'workflow', 'q', 1, now() FROM projects LIMIT 1; "
      "INSERT INTO leases (subject_id, token, required_version) VALUES ('00000000-0000-7000-8000-000000000001', 7, 1)");
  const auto event = [](const std::string& table, int seq, int token) {
    return "INSERT INTO " + table +
           " (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload) "
           "VALUES "
           "('00000000-0000-7000-8000-000000000001', " +
           std::to_string(seq) + ", gen_random_uuid(), 't', 1, 'p', " + std::to_string(token) +
           ", now(), sha256('a'), sha256('a'), sha256('a'), '{}')";
  };
  for (const char* table : {"journal_rows", "event_rows"}) {
    for (int token : {0, 6, 8}) EXPECT_EQ(db().Refusal(event(table, 2, token), "acl_service").code, Code::kDenied) << table << ' ' << token;
  }
  db().Exec(event("journal_rows", 2, 7), "acl_service");
  for (const char* row : {"attempt_rows (subject_id, step_id, attempt_id, token, started_at) VALUES "
                          "('00000000-0000-7000-8000-000000000001', 's', 1, 6, now())",
                          "other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum) VALUES "
                          "('00000000-0000-7000-8000-000000000001', 's', 1, 6, 2, now(), sha256('r'))"}) {
    EXPECT_EQ(db().Refusal(std::string("INSERT INTO ") + row, "acl_service").code, Code::kDenied) << row;
  }
}

TEST_F(GuardsTest, TriggersStopEvenTheOwner) {
  db().Exec(
      "INSERT INTO subjects VALUES ('00000000-0000-7000-8000-0000000000a1', gen_random_uuid(), 'counter', 'q', 1, now());"
      "INSERT INTO leases (subject_id, token) VALUES ('00000000-0000-7000-8000-0000000000a1', 100);"
      "INSERT INTO event_rows SELECT '00000000-0000-7000-8000-0000000000a1', 1, gen_random_uuid(), 't', 1, 'p', 1, now(), sha256('a'), "
      "sha256('a'), "
      "sha256('a'), '{}', false, 'e', 1, sha256('a'), 'f', 1, NULL;"
      "INSERT INTO attempt_rows VALUES ('00000000-0000-7000-8000-0000000000a1', 's', 1, 1, now());"
      "INSERT INTO completion_rows VALUES ('00000000-0000-7000-8000-0000000000a1', 's', 1, 1, 1, now(), sha256('a'));"
      "INSERT INTO lease_history (subject_id, token, head_seq, takeovers_without_progress, granted_at) VALUES "
      "('00000000-0000-7000-8000-0000000000a1', 1, 0, "
      "0, now())");
  const auto expect_refused = [&](const std::string& sql) {
    EXPECT_EQ(db().Refusal(sql).code, Code::kDenied) << sql;
    EXPECT_EQ(db().Refusal(sql, "acl_owner").code, Code::kDenied) << sql;
  };
  for (const std::string table : {"journal_rows", "other_attempts", "other_completions", "lease_history"}) {
    for (const std::string& sql : {"DELETE FROM " + table, "TRUNCATE " + table, "UPDATE " + table + " SET token = token + 1"})
      expect_refused(sql);
  }
  for (const std::string view : {"attempt_rows", "completion_rows"}) {
    EXPECT_EQ(db().Count("SELECT count(*) FROM " + view), 2) << "one of each form";
    for (const std::string& sql : {"DELETE FROM " + view, "UPDATE " + view + " SET token = token + 1"}) expect_refused(sql);
  }
  for (const std::string sql : {"DELETE FROM event_rows", "UPDATE event_rows SET token = token + 1"}) expect_refused(sql);
  EXPECT_EQ(db().Refusal("UPDATE journal_rows SET payload = NULL").code, Code::kDenied)
      << "a superuser by hand is not the maintenance function";
  EXPECT_EQ(db().Refusal("UPDATE journal_rows SET payload = NULL, seq = 9", "acl_owner").code, Code::kDenied);
  EXPECT_EQ(db().Refusal("DELETE FROM leases").code, Code::kDenied);
  EXPECT_EQ(db().Refusal("UPDATE leases SET token = 99").code, Code::kDenied);
  db().Exec("UPDATE leases SET state = 1 WHERE subject_id = '00000000-0000-7000-8000-0000000000a1'");
  EXPECT_EQ(db().Value("SELECT remove_contents('00000000-0000-7000-8000-0000000000a1', 1)"), "1");
  EXPECT_EQ(db().Count("SELECT count(*) FROM completion_rows"), 2) << "what an event completed stays when its content goes";
  EXPECT_EQ(db().Value("SELECT payload FROM event_rows WHERE subject_id = '00000000-0000-7000-8000-0000000000a1'"), "NULL");
}

TEST_F(GuardsTest, NoTableIsEmptiedAsAWhole) {
  auto tables = db().Value(
      "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
      "AND relname NOT IN ('schema_migrations', 'migration_checksums', 'schema_objects')");
  int count = 0;
  std::istringstream names(tables);
  for (std::string table; std::getline(names, table, ','); ++count) {
    for (const char* role : {"acl_owner", "acl_service"}) {
      EXPECT_EQ(db().Refusal("TRUNCATE " + table + " CASCADE", role).code, Code::kDenied) << table << " as " << role;
    }
    EXPECT_EQ(db().Refusal("TRUNCATE " + table + " CASCADE").code, Code::kDenied) << table;
  }
  EXPECT_GE(count, 20);
  db().Exec("INSERT INTO subjects VALUES ('00000000-0000-7000-8000-0000000000a3', gen_random_uuid(), 'counter', 'q', 1, now())");
  EXPECT_EQ(db().Refusal("UPDATE subjects SET queue = 'x'").code, Code::kDenied) << "its row never changes";
}

// What an open subject would be restored from keeps its contents; the rest of it, and all of a closed one, may go.
TEST_F(GuardsTest, ContentsAnOpenSubjectNeedsAreKept) {
  const std::string id = "'00000000-0000-7000-8000-0000000000a2'";
  db().Exec("INSERT INTO subjects VALUES (" + id + ", gen_random_uuid(), 'counter', 'q', 1, now());" +
            "INSERT INTO leases (subject_id, token) VALUES (" + id + ", 100);" + "INSERT INTO event_rows SELECT " + id +
            ", n, gen_random_uuid(), 't', 1, 'p', 1, now(), sha256('a'), sha256('a'), sha256('a'), '{}' FROM generate_series(1, 9) n");
  const auto remove = [&](int upto) { return "SELECT remove_contents(" + id + ", " + std::to_string(upto) + ")"; };
  auto refused = db().Refusal(remove(1), "acl_owner");
  EXPECT_NE(refused.message.find("AC002"), std::string::npos) << refused.message;
  EXPECT_NE(refused.message.find("it is open"), std::string::npos) << refused.message;
  const auto snapshot = [&](int seq) {
    db().Exec("INSERT INTO snapshot_rows SELECT " + id + ", " + std::to_string(seq) +
              ", gen_random_uuid(), 1, 1, sha256('a'), sha256('a'), '{}', NULL, now()");
  };
  snapshot(4);
  snapshot(8);
  refused = db().Refusal(remove(5), "acl_owner");
  EXPECT_NE(refused.message.find("snapshot (of event 4)"), std::string::npos) << refused.message;
  EXPECT_EQ(db().Value(remove(4)), "4") << "the older of both kept snapshots stands for them";
  EXPECT_EQ(db().Count("SELECT count(*) FROM event_rows WHERE payload IS NOT NULL AND subject_id = " + id), 5);
  EXPECT_NE(db().Refusal(remove(9), "acl_owner").message.find("AC002"), std::string::npos);
  db().Exec("UPDATE leases SET state = 2 WHERE subject_id = " + id);
  EXPECT_NE(db().Refusal(remove(9), "acl_owner").message.find("AC002"), std::string::npos) << "in quarantine it is open";
  db().Exec("UPDATE leases SET state = 1 WHERE subject_id = " + id);
  EXPECT_EQ(db().Value(remove(9)), "5") << "closed: nothing is needed to go on";
}

TEST_F(GuardsTest, DocumentedNamesAndColumns) {
  // Document 000, 11.7, and document 002, database schema: names and types.
  const std::map<std::string, std::string> shapes = {
      {"events",
       "event_id uuid,workflow_id uuid,event_seq bigint,event_type character varying(50),payload jsonb,timestamp timestamp with time "
       "zone,schema_version character varying(10),producer_version character varying(20),checksum character varying(64)"},
      {"workflow_leases",
       "workflow_id uuid,owner_id text,acquired_at timestamp with time zone,lease_expires_at timestamp with time "
       "zone,fencing_token bigint,heartbeat_at timestamp with time zone"},
      {"step_attempts",
       "workflow_id uuid,step_id character varying(100),attempt_id integer,started_at timestamp with time zone,fencing_token bigint"},
      {"completed_steps",
       "workflow_id uuid,step_id character varying(100),attempt_id integer,completed_at timestamp with time "
       "zone,result_snapshot_ref text,result_checksum character varying(64)"},
      {"snapshots",
       "snapshot_id uuid,workflow_id uuid,step_number integer,last_event_seq bigint,state_inline jsonb,state_s3_key "
       "text,state_checksum character varying(64),created_at timestamp with time zone"},
      {"workflows",
       "id uuid,name text,version text,owner text,status text,spec_yaml text,created_at timestamp with time zone,updated_at timestamp "
       "with time zone,completed_at timestamp with time zone,error_message text"},
      {"workflow_steps",
       "id bigint,workflow_id uuid,step_name text,status text,inputs_json text,outputs_json text,started_at timestamp with time "
       "zone,completed_at timestamp with time zone,error_message text"},
      {"compensation_log",
       "id bigint,workflow_id uuid,step_name text,compensation_action text,inputs_json text,executed_at timestamp with time "
       "zone,success boolean,error_message text"}};
  for (const auto& [name, shape] : shapes) {
    std::string have = db().Value(
        "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ',' ORDER BY attnum) FROM pg_attribute "
        "WHERE attrelid = '" +
        name + "'::regclass AND attnum > 0");
    EXPECT_EQ(have.rfind(shape, 0), 0u) << name << "\n have " << have << "\n want " << shape;
    EXPECT_NO_THROW(db().Exec("SELECT * FROM " + name, "acl_service"));
  }
}

TEST_F(GuardsTest, NewEpochRaisesEveryLaterToken) {
  auto before = pg::ReadDatabaseStatus(db().conninfo());
  ASSERT_TRUE(before.ok()) << before.message();
  Token above{(before->epoch + 300'000) << 32};
  auto epoch = pg::NewEpoch(db().conninfo(), above);
  ASSERT_TRUE(epoch.ok()) << epoch.message();
  EXPECT_GT(*epoch, above.epoch());
  EXPECT_GT(db().Count("SELECT (mint_tokens(ARRAY[0::bigint]))[1]"), above.value);
  EXPECT_EQ(db().Value("SELECT mint_tokens(ARRAY[0, 9007199254740990]::bigint[])"),
            "{" + std::to_string((*epoch << 32) + 1) + ",9007199254740991}");
  EXPECT_NE(db().Refusal("SELECT mint_tokens(ARRAY[9007199254740991]::bigint[])").message.find("AC006"), std::string::npos);

  db().Exec("SET ROLE acl_owner; UPDATE fleet_epoch SET system_identifier = 1");
  auto moved = pg::ReadDatabaseStatus(db().conninfo());
  ASSERT_TRUE(moved.ok()) << moved.message();
  EXPECT_FALSE(moved->right_cluster);
  EXPECT_NE(db().Refusal("SELECT mint_tokens(ARRAY[1]::bigint[])").message.find("AC004"), std::string::npos);
  ASSERT_TRUE(pg::NewEpoch(db().conninfo(), std::nullopt).ok());
  EXPECT_NO_THROW(db().Exec("SELECT mint_tokens(ARRAY[1]::bigint[])"));
}

}  // namespace
}  // namespace acl
