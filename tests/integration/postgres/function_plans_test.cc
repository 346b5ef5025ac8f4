// The protocols that are SQL functions: what EXPLAIN does not show. Each is run on a filled database and leaves no sequential scan of a
// table that grows, by PostgreSQL's own count.
#include <gtest/gtest.h>

#include "shared/postgres/connection.h"
#include "tests/support/test_database.h"

namespace acl {
namespace {

struct Call {
  const char* name;
  std::string sql;
  int most = 1'000;  // rows it may read of one table
};

class FunctionPlansTest : public test::DatabaseTest {
 protected:
  void SetUp() override {
    test::DatabaseTest::SetUp();
    db().Exec("CREATE TABLE IF NOT EXISTS keys AS SELECT * FROM ready; GRANT SELECT ON keys TO acl_service");
  }
  // 4 000 subjects as uuids 1 .. 4000: a quarter of them held by sessions, half of those of dead ones; all with a history.
  void Fill() {
    db().Exec(R"(
SET session_replication_role = replica;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql AS $$ SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$;
INSERT INTO worker_sessions SELECT pg_temp.id(100000 + n), 'w', 'h', 1, 8, '{q}', '1', now(), now(), now() + interval '1 hour',
  CASE WHEN n % 2 = 0 THEN now() - interval '1 minute' END, CASE n % 2 WHEN 0 THEN 1 ELSE 0 END, n % 4 = 2 FROM generate_series(1, 400) n;
INSERT INTO subjects SELECT pg_temp.id(n), '00000000-0000-7000-8000-000000000001', 'counter', 'q', 1, now() FROM generate_series(1, 4000) n;
INSERT INTO subject_head SELECT pg_temp.id(n), 40, sha256('c'), sha256('r'), pg_temp.id(n), now() FROM generate_series(1, 4000) n;
INSERT INTO leases (subject_id, session_id, token, acquired_at) SELECT pg_temp.id(n),
  CASE WHEN n % 4 = 0 THEN pg_temp.id(100000 + CASE n % 8 WHEN 0 THEN 4 * (n % 100) + 4 ELSE 4 * (n % 100) + 1 END) END, 5, now() FROM generate_series(1, 4000) n;
INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, granted_at)
  SELECT pg_temp.id(n), t, pg_temp.id(100001), 1, 0, now() FROM generate_series(1, 4000) n, generate_series(1, 5) t;
INSERT INTO journal_rows SELECT pg_temp.id(n), s, pg_temp.id(n), 't', 1, 'p', 5, now(), sha256('a'), sha256('a'), sha256('a'), '{}', false,
  CASE WHEN s > 1 THEN 'e' || s - 1 END, CASE WHEN s > 1 THEN 1 END, CASE WHEN s > 1 THEN sha256('a') END, 'e' || s, 1
  FROM generate_series(1, 4000) n, generate_series(1, 40) s WHERE n <= 1000;
INSERT INTO snapshot_rows SELECT pg_temp.id(n), 35, pg_temp.id(n), 1, 5, sha256('r'), sha256('c'), '{}', NULL, now() FROM generate_series(1, 4000) n;
INSERT INTO other_attempts SELECT pg_temp.id(n), 's' || s, 1, 5, now() FROM generate_series(1, 4000) n, generate_series(1, 4) s;
INSERT INTO other_completions SELECT pg_temp.id(n), 's' || s, 1, 5, s, now(), sha256('a') FROM generate_series(1, 4000) n, generate_series(1, 3) s;
INSERT INTO ready SELECT 'q', 1, ready_shard(pg_temp.id(n)), now() - interval '1 s', pg_temp.id(n), 'counter', 1 FROM generate_series(1, 4000) n WHERE n % 4 = 1;
UPDATE ready SET begun = false WHERE ('x' || right(subject_id::text, 4))::bit(16)::int % 8 = 1;
INSERT INTO timers SELECT pg_temp.id(n), 't', now() + (n - 50) * interval '1 minute' FROM generate_series(1, 4000) n;
INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at, session_id)
  SELECT l.subject_id, gen_random_uuid(), 'signal', '{}', now(), l.session_id FROM leases l;
INSERT INTO request_keys SELECT pg_temp.id(n), 'k', sha256('h'), pg_temp.id(n), now() FROM generate_series(1, 4000) n;
INSERT INTO quarantine (subject_id, reason, detail, at) SELECT pg_temp.id(n), 'r', 'd', now() FROM generate_series(1, 4000) n WHERE n % 4 = 3;
UPDATE leases SET state = 2 WHERE subject_id IN (SELECT subject_id FROM quarantine);
INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, created_at, state, token, session_id, ended_at)
  SELECT pg_temp.id(n), 't', 1, 'q', 1, '{}', now(), CASE WHEN n < 50 THEN 'started' ELSE 'done' END, 1, pg_temp.id(100001), CASE WHEN n < 50 THEN NULL ELSE now() END
  FROM generate_series(1, 4000) n;
INSERT INTO leader_leases SELECT 'loop' || n, pg_temp.id(100001), 1, now(), now() + interval '1 hour' FROM generate_series(1, 3) n;)");
    db().Exec("INSERT INTO keys SELECT * FROM ready ORDER BY subject_id LIMIT 8");
  }
  struct Seen {
    std::string scans;  // tables scanned, or read by an index as if they were; rows read
    std::int64_t index_scans = 0;
  };
  // Runs it in a transaction that is taken back. The counts are those of the connection, told to nobody for a second: what it added.
  static Seen Run(pg::Connection& connection, const std::string& sql, int most = 1'000) {
    const std::string counts =
        "SELECT relname, coalesce(seq_scan, 0), coalesce(seq_tup_read + idx_tup_fetch, 0), coalesce(idx_scan, 0) "
        "FROM pg_stat_xact_user_tables WHERE relname NOT IN ('fleet_epoch', 'keys') ORDER BY relname";
    EXPECT_TRUE(connection.Begin().ok());
    const auto before = connection.RunScript(counts);
    auto done = connection.RunScript(sql);
    EXPECT_TRUE(done.ok()) << sql << ": " << done.message();
    const auto after = connection.RunScript(counts);
    connection.Rollback();
    Seen seen;
    EXPECT_TRUE(before.ok() && after.ok());
    if (!before || !after) return seen;
    for (int i = 0; i < after->size(); ++i) {
      const auto more = [&](int column) { return after->Int(i, column) - before->Int(i, column); };
      seen.index_scans += more(3);
      if (more(1) > 0 || more(2) > most) seen.scans += after->Text(i, 0) + " " + std::to_string(more(2)) + " ";
    }
    return seen;
  }
  static std::string Id(int number) {
    char text[40];
    std::snprintf(text, sizeof text, "'00000000-0000-7000-8000-%012x'", unsigned(number));
    return text;
  }
  // What the store's connections ask.
  static std::vector<Call> Calls() {
    const std::string living = Id(100'001), held = Id(4 * 25 + 4), free = Id(2);
    const std::string by_keys =
        ", (SELECT array_agg(queue) FROM keys), (SELECT array_agg(priority::int) FROM keys), (SELECT array_agg(shard::int) FROM keys), "
        "(SELECT array_agg(ready_at) FROM keys), (SELECT array_agg(subject_id) FROM keys), 1, '{}', 0, (SELECT array_agg(5::bigint) FROM "
        "keys)";
    const std::string holder = "(SELECT session_id FROM leases WHERE subject_id = " + held + ")";
    return {
        {"claim", "SELECT count(*) FROM grant_waiting(" + living + ", '{q}', 8, 1, '{}', 0, 0) g CROSS JOIN LATERAL read_granted(g) r"},
        {"claim of what has begun",
         "SELECT count(*) FROM grant_begun(" + living + ", '{q}', 8, 1, '{}', 0, 0) g CROSS JOIN LATERAL read_granted(g) r"},
        {"whether something begun waits", "SELECT begun_waits('{q}', now())"},
        {"claim by keys", "SELECT count(*) FROM grant_named(" + living + by_keys + ") g CROSS JOIN LATERAL read_granted(g) r"},
        {"due",
         "SELECT count(*) FROM due_ready('{0,1,3}', '{1}', '{q}', '{1}', ARRAY[now() - interval '1 h'], ARRAY[" + free + "]::uuid[], 100)"},
        {"heartbeat", "SELECT count(*) FROM heartbeat_session(" + living + ", 1000)"},
        {"post", "SELECT * FROM post_inbox(" + free + ", gen_random_uuid(), 'signal', '{}', 'new', sha256('h'))"},
        {"post again", "SELECT * FROM post_inbox(" + free + ", gen_random_uuid(), 'signal', '{}', 'k', sha256('h'))"},
        {"fire_timers", "SELECT * FROM fire_timers(256)"},
        {"reap_dispatches", "SELECT * FROM reap_dispatches(NULL, 64)"},
        {"reap_dispatches of one", "SELECT * FROM reap_dispatches(" + Id(9) + ", 64)"},
        {"finish_dispatch",
         "SELECT * FROM finish_dispatch((SELECT dispatch_id FROM dispatches WHERE subject_id = " + Id(9) + "), 1, 'done', '{}')"},
        {"reap_sessions", "SELECT reap_sessions()"},
        {"reap_leases", "SELECT * FROM reap_leases(64)",
         10'000},  // at this size it merges its batch with all leases, in the order of the key
        {"release_lease", "SELECT release_lease(" + held + ", " + holder + ", 5)"},
        {"quarantine", "SELECT quarantine_subject(" + held + ", " + holder + ", 5, 'r', 'd')"},
        {"release_quarantine", "SELECT release_quarantine(" + Id(3) + ", 'anna')"},
        {"close_session", "SELECT close_session(" + living + ")"},
        {"has_lease", "SELECT has_lease(" + free + ")"},
        {"attempt_beside", "SELECT attempt_beside(" + free + ", 's4', 1)"},
        {"hold_leader_leases", "SELECT count(*) FROM hold_leader_leases('{loop1,loop2}', " + living + ", 1000)"},
    };
  }
  std::unique_ptr<pg::Connection> Open() {
    pg::ConnectionSettings settings;
    settings.conninfo = db().conninfo();
    settings.role = "acl_service";
    settings.pinned_plans = true;  // as the store's own connections
    settings.statement_timeout = std::chrono::milliseconds(60'000);
    auto opened = pg::Connection::Open(settings);
    EXPECT_TRUE(opened.ok()) << opened.message();
    return std::move(*opened);
  }
  static void ExpectNoScan(pg::Connection& connection) {
    for (const Call& call : Calls()) {
      const Seen seen = Run(connection, call.sql, call.most);
      EXPECT_EQ(seen.scans, "") << call.name << " reads whole tables";
      EXPECT_GT(seen.index_scans, 0) << call.name << " met no index: does it do anything here?";
    }
  }
};

TEST_F(FunctionPlansTest, NoFunctionScansATableThatGrows) {
  Fill();
  db().Exec("ANALYZE");
  const auto connection = Open();
  ExpectNoScan(*connection);
  // The count notices: without its index the same call is found out.
  db().Exec("DROP INDEX inbox_by_session");
  const auto calls = Calls();
  const auto heartbeat = std::find_if(calls.begin(), calls.end(), [](const Call& c) { return std::string_view(c.name) == "heartbeat"; });
  EXPECT_NE(Run(*connection, heartbeat->sql).scans.find("inbox"), std::string::npos);
}

// What ANALYZE reads of the tables that grow with every step and run is what their columns ask for: one column without a target, and it
// reads 30 000 rows of the journal with their payloads.
class AnalyzeTest : public FunctionPlansTest {};

TEST_F(AnalyzeTest, ReadsFewRowsOfTheJournal) {
  const char* unlimited = R"(
SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a
WHERE a.attrelid IN ('journal_rows'::regclass, 'subjects'::regclass, 'subject_head'::regclass)
  AND a.attnum > 0 AND NOT a.attisdropped AND a.attstattarget NOT BETWEEN 0 AND 10)";
  EXPECT_TRUE(db().Query(unlimited).empty()) << db().Query(unlimited).front().at(0).value();
  Fill();
  db().Exec("ANALYZE journal_rows");
  EXPECT_EQ(db().Value("SELECT count(*) FROM pg_stats WHERE tablename = 'journal_rows' AND attname IN ('payload', 'checksum', 'chain')"),
            "0");
  EXPECT_EQ(db().Value("SELECT count(*) FROM pg_stats WHERE tablename = 'journal_rows' AND attname IN ('subject_id', 'seq', 'begun')"),
            "3");
  db().Exec("ALTER TABLE journal_rows ADD COLUMN another int");  // seen
  EXPECT_EQ(db().Query(unlimited).size(), 1U);
}

// Tables like `ready` and `inbox` are empty most of the time, and that is what PostgreSQL has noted of them: what it plans then must do
// when a hundred thousand rows have come. (A claim once took the ready table for one row, and read all of it.)
class FunctionPlansOfEmptyTablesTest : public FunctionPlansTest {
 protected:
  void Note(const std::string& how, const std::string& which = "true") {
    db().Exec("UPDATE pg_class SET reltuples = was_tuples, relpages = was_pages FROM noted WHERE oid = noted.id");
    db().Exec("UPDATE pg_class SET " + how + " FROM noted WHERE oid = noted.id AND " + which);
  }
};

TEST_F(FunctionPlansOfEmptyTablesTest, NoFunctionScansThem) {
  Fill();
  db().Exec("ANALYZE");
  db().Exec(R"(CREATE TABLE noted AS
SELECT oid AS id, relname::text AS name, reltuples AS was_tuples, relpages AS was_pages FROM pg_class
WHERE relkind = 'r' AND relname <> 'keys' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE relname = 'ready'))");
  const auto connection = Open();
  // Empty at the last look; empty pages; never looked at; one row.
  for (const char* how :
       {"reltuples = 0", "reltuples = 0, relpages = 100000", "reltuples = -1, relpages = 0", "reltuples = 1, relpages = 1"}) {
    SCOPED_TRACE(how);
    Note(how);
    ExpectNoScan(*connection);
  }
  // One of them alone: a plan may win only then. (reap_dispatches was found out at times with all, each time with `worker_sessions`.)
  for (const auto& row : db().Query("SELECT name FROM noted ORDER BY name")) {
    SCOPED_TRACE(row.at(0).value());
    Note("reltuples = 0", "name = '" + row.at(0).value() + "'");
    ExpectNoScan(*connection);
  }
}

}  // namespace
}  // namespace acl
