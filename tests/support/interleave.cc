#include "tests/support/interleave.h"

#include <fmt/format.h>

#include <regex>

#include "shared/postgres/connection.h"
#include "tests/support/wait.h"

namespace acl::test {

namespace {

// The lock a Gate holds and an actor at the mark waits for. One 32-bit key space of our own (classid 4711).
constexpr const char* kHold = R"(
CREATE FUNCTION test_hold(p_mark text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE v_key int := hashtext(p_mark || '/' || regexp_replace(current_setting('application_name'), '-commit$', ''));
BEGIN
  PERFORM pg_advisory_lock_shared(4711, v_key);
  PERFORM pg_advisory_unlock_shared(4711, v_key);
  RETURN true;
END $$)";

int ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size(), ++count) text.replace(at, from.size(), to);
  return count;
}

// "-- hold: name" to the end of the line.
int ReplaceMarks(std::string& text, const std::string& format) {
  static const std::regex mark("-- hold: ([a-z_]+)");
  auto count = int(std::distance(std::sregex_iterator(text.begin(), text.end(), mark), std::sregex_iterator()));
  text = std::regex_replace(text, mark, format);
  return count;
}

void Apply(const std::vector<Stage::Edit>& edits, const std::string& where, std::string& text) {
  for (const Stage::Edit& edit : edits) {
    if (edit.where != where) continue;
    EXPECT_GT(ReplaceAll(text, edit.from, edit.to), 0) << where << " does not contain what is to be edited:\n" << edit.from;
  }
}

}  // namespace

Result<std::unique_ptr<Stage>> Stage::Make(const std::vector<Edit>& edits) {
  auto database = TestDatabase::Create();
  if (!database) return database.error();
  std::unique_ptr<Stage> stage(new Stage(*std::move(database)));
  stage->db().Exec(kHold);
  stage->EditFunctions(edits);
  stage->EditStatements(edits);
  return stage;
}

void Stage::EditFunctions(const std::vector<Edit>& edits) {
  auto functions = db().Query(
      "SELECT p.proname, pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
      "WHERE n.nspname = 'public' AND p.prokind = 'f' AND p.proname <> 'test_hold'");
  for (const auto& row : functions) {
    const std::string &name = row[0].value(), &before = row[1].value();
    std::string text = before;
    Apply(edits, name, text);
    marks_ += ReplaceMarks(text, "PERFORM test_hold('$1');");
    if (text != before) db().Exec(text);
  }
}

void Stage::EditStatements(const std::vector<Edit>& edits) {
  for (const pg::Statement* statement : pg::Statement::All()) {
    std::string text = statement->text();
    Apply(edits, statement->name(), text);
    marks_ += ReplaceMarks(text, "AND test_hold('$1')");
    // A closing or releasing item has its lease row now; the keeping ones stop at commit_proved.
    if (statement->name().starts_with("commit.") && text.find("RETURNING g.n, g.subject") != std::string::npos) {
      EXPECT_EQ(ReplaceAll(text, "RETURNING g.n, g.subject", "RETURNING CASE WHEN test_hold('commit_given') THEN g.n END AS n, g.subject"),
                1);
    }
    if (text != statement->text()) statements_[statement->name()] = text;
  }
}

void MoveTimesBack(TestDatabase& database, milliseconds by) {
  std::string back = fmt::format("- {} * interval '1 millisecond'", by.count());
  database.Exec("UPDATE worker_sessions SET expires_at = expires_at " + back + ", heartbeat_at = heartbeat_at " + back +
                ", started_at = started_at " + back);
  database.Exec("UPDATE worker_sessions SET dead_at = dead_at " + back + " WHERE dead_at IS NOT NULL");
  database.Exec("UPDATE request_keys SET created_at = created_at " + back);
  database.Exec("UPDATE outbox SET created_at = created_at " + back);
  database.Exec("UPDATE contents SET used_at = used_at " + back + " WHERE used_at IS NOT NULL");
  database.Exec("UPDATE object_marks SET marked_at = marked_at " + back);
  database.Exec("UPDATE timers SET fire_at = fire_at " + back);
  database.Exec("UPDATE ready SET ready_at = ready_at " + back);
  database.Exec("UPDATE leader_leases SET expires_at = expires_at " + back);
  database.Exec("UPDATE dispatches SET started_at = started_at " + back + " WHERE started_at IS NOT NULL");
  database.Exec("UPDATE dispatches SET ended_at = ended_at " + back + " WHERE ended_at IS NOT NULL");
  database.Exec("UPDATE leases SET acquired_at = acquired_at " + back + " WHERE acquired_at IS NOT NULL");
  // Its rows are written once, also for a superuser.
  database.Exec("SET session_replication_role = replica; UPDATE journal_segments SET began_at = began_at " + back +
                "; SET session_replication_role = origin");
}

bool Stage::AwaitBlocked(const std::string& application, const std::string& lock_type) {
  return WaitUntil([&] {
    return db().Count(fmt::format("SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid AND NOT l.granted "
                                  "WHERE a.datname = current_database() AND a.application_name IN ('{0}', '{0}-commit') AND ('{1}' = '' OR "
                                  "l.locktype = '{1}')",
                                  application, lock_type)) > 0;
  });
}

std::vector<std::string> Stage::Violations() {
  const std::pair<const char*, const char*> rules[] = {
      {"an event was not written by the last grant before it (one writer per token)",
       "SELECT e.subject_id, e.seq, e.token FROM event_rows e WHERE e.token IS DISTINCT FROM coalesce("
       "(SELECT h.token FROM lease_history h WHERE h.subject_id = e.subject_id AND h.head_seq < e.seq ORDER BY h.token DESC LIMIT 1),"
       "(SELECT f.token FROM event_rows f WHERE f.subject_id = e.subject_id AND f.seq = 1))"},
      {"an attempt's token was never granted",
       "SELECT a.subject_id, a.step_id, a.token FROM attempt_rows a WHERE NOT EXISTS "
       "(SELECT FROM lease_history h WHERE h.subject_id = a.subject_id AND h.token = a.token)"},
      {"the head is not the last event, or there is a gap",
       "SELECT h.subject_id, h.head_seq, x.n FROM subject_head h, LATERAL (SELECT count(*) AS n, max(seq) AS top FROM event_rows e "
       "WHERE e.subject_id = h.subject_id) x, LATERAL (SELECT coalesce(max(g.first_seq), 1) AS first FROM journal_segments g "
       "WHERE g.subject_id = h.subject_id AND g.dropped_at IS NOT NULL) k WHERE h.head_seq <> x.n + k.first - 1 OR h.head_seq <> x.top"},
      {"a closed subject has an acknowledged input that nobody read",
       "SELECT i.subject_id, i.inbox_id, i.kind FROM inbox i JOIN leases l USING (subject_id) WHERE l.state = 1"},
      {"a free, open subject has an unread input and is not ready: nothing wakes it",
       "SELECT l.subject_id, l.wake, l.token FROM leases l WHERE l.state = 0 AND l.session_id IS NULL "
       "AND EXISTS (SELECT FROM inbox i WHERE i.subject_id = l.subject_id) AND NOT EXISTS (SELECT FROM ready r WHERE r.subject_id = "
       "l.subject_id)"},
      {"a lease names a session that was reaped: nobody frees it",
       "SELECT l.subject_id, l.session_id, l.token FROM leases l LEFT JOIN worker_sessions s USING (session_id) "
       "WHERE l.session_id IS NOT NULL AND (s.session_id IS NULL OR s.reaped)"},
      {"a dispatch is queued, wanted, and not ready: nobody takes it",
       "SELECT t.subject_id, t.step_id, t.attempt_id FROM dispatches t WHERE t.state = 'queued' AND NOT t.cancel_requested "
       "AND NOT EXISTS (SELECT FROM ready r WHERE r.subject_id = t.dispatch_id)"},
      {"a dispatch runs in a session that was reaped: nobody ends it",
       "SELECT t.subject_id, t.step_id, t.session_id FROM dispatches t LEFT JOIN worker_sessions s USING (session_id) "
       "WHERE t.state = 'started' AND (s.session_id IS NULL OR s.reaped)"},
      {"a dispatch's unread result does not say what became of it",
       "SELECT t.subject_id, t.step_id, t.state FROM dispatches t JOIN inbox i ON i.subject_id = t.subject_id AND i.inbox_id = "
       "t.dispatch_id "
       "WHERE t.state IN ('queued', 'started') OR (t.state = 'lost') <> (i.payload::json ->> 'outcome' = 'lost')"},
      {"a closed subject has a dispatch that may still end",
       "SELECT t.subject_id, t.step_id, t.state FROM dispatches t JOIN leases l USING (subject_id) WHERE l.state = 1 AND t.state IN "
       "('queued', "
       "'started')"},
      {"a closed subject has timers",
       "SELECT t.subject_id, t.timer_id, '' FROM timers t JOIN leases l USING (subject_id) WHERE l.state = 1"},
      {"a subject refers to a content that is not there",
       "SELECT r.subject_id, encode(r.hash, 'hex'), '' FROM content_refs r WHERE NOT EXISTS (SELECT FROM contents c WHERE c.hash = "
       "r.hash)"},
      {"a step is completed more than once",
       "SELECT subject_id, step_id, count(*) FROM completion_rows GROUP BY subject_id, step_id HAVING count(*) > 1"},
      {"a completion names no attempt",
       "SELECT c.subject_id, c.step_id, c.attempt_id FROM completion_rows c WHERE NOT EXISTS (SELECT FROM attempt_rows a "
       "WHERE a.subject_id = c.subject_id AND a.step_id = c.step_id AND a.attempt_id = c.attempt_id)"},
  };
  std::vector<std::string> found;
  for (const auto& [what, sql] : rules) {
    for (const auto& row : db().Query(sql)) {
      found.push_back(fmt::format("{}: subject {}, {}, {}", what, row[0].value_or(""), row[1].value_or(""), row[2].value_or("")));
    }
  }
  return found;
}

// ---- Actor

Actor::Actor(Stage& stage, const std::string& name) : name_(name) {
  PgStoreOptions options;
  options.conninfo = stage.db().conninfo();
  options.application_name = name;
  options.override_sql = stage.statements();
  options.statement_timeout = options.lock_timeout = milliseconds(120'000);  // the test decides who waits how long
  store_ = std::make_unique<PgStore>(std::move(options));
}

// ---- Gate and HeldLock

namespace {

// A connection of the test's own, whose transaction or session holds what it locked.
std::unique_ptr<pg::Connection> Connect(const std::string& conninfo) {
  pg::ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "test gate";
  settings.statement_timeout = settings.lock_timeout = settings.idle_in_transaction_timeout = milliseconds(120'000);
  auto connection = pg::Connection::Open(settings);
  if (!connection) {
    ADD_FAILURE() << connection.error();
    return nullptr;
  }
  return *std::move(connection);
}

}  // namespace

Gate::Gate(Stage& stage, const std::string& mark, const Actor& actor)
    : stage_(stage), key_(mark + "/" + actor.name()), connection_(Connect(stage.db().conninfo())) {
  if (!connection_) return;
  auto locked = connection_->RunScript("SELECT pg_advisory_lock(4711, hashtext('" + key_ + "'))");
  EXPECT_TRUE(locked) << locked.error();
}

bool Gate::AwaitArrival() {
  return WaitUntil([&] {
    return stage_.db().Count(fmt::format("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = 4711 "
                                         "AND objid = (hashtext('{}')::bigint & 4294967295)::oid "
                                         "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
                                         key_)) > 0;
  });
}

void Gate::Open() { connection_.reset(); }  // ends the session, and with it the lock

HeldLock::HeldLock(const std::string& conninfo, const std::string& sql) : connection_(Connect(conninfo)) {
  if (!connection_) return;
  Status begun = connection_->Begin();
  EXPECT_TRUE(begun) << begun.error();
  auto locked = connection_->RunScript(sql);
  EXPECT_TRUE(locked) << locked.error();
}

HeldLock::~HeldLock() {
  if (connection_) connection_->Rollback();
}

}  // namespace acl::test
