#include "shared/verify/pg_checks.h"

#include "shared/postgres/store_calls.h"

namespace acl::verify {
namespace {

using pg::Statement;

// A check's statement answers first a row (0, how many rows were checked), then a row (1, key, expected, found) for each violation.
struct TableCheck {
  TableCheck(const char* check_name, const char* table_name, const char* statement_name, const std::string& count,
             const std::string& violations)
      : check(check_name),
        table(table_name),
        statement(statement_name, Statement::Kind::kRead,
                  "SELECT 0, (" + count + ")::text, '', '' UNION ALL (SELECT 1, " + violations + " LIMIT 10000) ORDER BY 1") {}
  const char *check, *table;
  Statement statement;
};

// Rows whose subject does not exist.
struct Orphans : TableCheck {
  Orphans(const char* table_name, const char* statement_name, const std::string& key)
      : TableCheck("subject.exists", table_name, statement_name, std::string("SELECT count(*) FROM ") + table_name,
                   key + ", 'a row of subjects', 'none' FROM " + table_name +
                       " x WHERE NOT EXISTS (SELECT FROM subjects s WHERE s.subject_id = x.subject_id)") {}
};

const Orphans kOrphanHead("subject_head", "verify.orphans.subject_head", "x.subject_id::text");
const Orphans kOrphanLeases("leases", "verify.orphans.leases", "x.subject_id::text");
const Orphans kOrphanHistory("lease_history", "verify.orphans.lease_history", "x.subject_id || '/' || x.token");
const Orphans kOrphanEvents("event_rows", "verify.orphans.event_rows", "x.subject_id || '/' || x.seq");
const Orphans kOrphanAttempts("attempt_rows", "verify.orphans.attempt_rows", "x.subject_id || '/' || x.step_id || '/' || x.attempt_id");
const Orphans kOrphanCompletions("completion_rows", "verify.orphans.completion_rows", "x.subject_id || '/' || x.step_id");
const Orphans kOrphanSnapshots("snapshot_rows", "verify.orphans.snapshot_rows", "x.subject_id || '/' || x.last_event_seq");
const Orphans kOrphanListings("listings", "verify.orphans.listings", "x.subject_id::text");
const Orphans kOrphanCompensations("compensation_rows", "verify.orphans.compensation_rows", "x.subject_id || '/' || x.compensation_id");
// A ready row's subject is a subject, or a dispatch.
const TableCheck kOrphanReadyRows("subject.exists", "ready", "verify.orphans.ready", "SELECT count(*) FROM ready", R"(
  x.subject_id::text, CASE WHEN x.kind = 'dispatch' THEN 'a row of dispatches' ELSE 'a row of subjects' END, 'none' FROM ready x
  WHERE NOT EXISTS (SELECT FROM subjects s WHERE x.kind <> 'dispatch' AND s.subject_id = x.subject_id)
    AND NOT EXISTS (SELECT FROM dispatches t WHERE x.kind = 'dispatch' AND t.dispatch_id = x.subject_id))");
const Orphans kOrphanTimers("timers", "verify.orphans.timers", "x.subject_id || '/' || x.timer_id");
const Orphans kOrphanInbox("inbox", "verify.orphans.inbox", "x.subject_id || '/' || x.inbox_id");
const Orphans kOrphanDispatches("dispatches", "verify.orphans.dispatches", "x.subject_id || '/' || x.step_id || '/' || x.attempt_id");
const Orphans kOrphanOutbox("outbox", "verify.orphans.outbox", "x.outbox_id::text");
const Orphans kOrphanQuarantine("quarantine", "verify.orphans.quarantine", "x.quarantine_id::text");
const Orphans kOrphanRequestKeys("request_keys", "verify.orphans.request_keys", "x.scope || '/' || x.request_key");

const Orphans kOrphanApprovals("approvals", "verify.orphans.approvals", "x.approval_id");
const Orphans kOrphanAnswers("command_answers", "verify.orphans.command_answers", "x.subject_id || '/' || x.request_key");

// Rows of what projects show whose project has no journal.
struct ShownOrphans : TableCheck {
  ShownOrphans(const char* table_name, const char* statement_name, const char* id)
      : TableCheck("subject.exists", table_name, statement_name, std::string("SELECT count(*) FROM ") + table_name,
                   std::string("x.project_id || '/' || x.") + id + ", 'a row of subjects, of a project', 'none' FROM " + table_name +
                       " x WHERE NOT EXISTS (SELECT FROM subjects s WHERE s.subject_id = x.project_id AND s.kind = 'project')") {}
};
const ShownOrphans kOrphanGoals("goals", "verify.orphans.goals", "goal_id");
const ShownOrphans kOrphanProjectTasks("tasks", "verify.orphans.tasks", "task_id");
const ShownOrphans kOrphanCheckpoints("checkpoints", "verify.orphans.checkpoints", "task_id");

// A request's key belongs to a project (create) or to the subject itself (inbox, direct command).
const TableCheck kRequestScope("request.scope", "request_keys", "verify.request_scope", "SELECT count(*) FROM request_keys", R"(
  x.scope || '/' || x.request_key, 'a project or the subject', 'neither' FROM request_keys x
  WHERE x.scope <> x.subject_id AND NOT EXISTS (SELECT FROM projects p WHERE p.project_id = x.scope))");
const TableCheck kProjects("subject.project", "subjects", "verify.projects", "SELECT count(*) FROM subjects", R"(
  x.subject_id::text, 'a project that exists', x.project_id::text FROM subjects x
  WHERE NOT EXISTS (SELECT FROM projects p WHERE p.project_id = x.project_id))");
const TableCheck kDefinitionTexts("subject.definition", "subjects", "verify.definition_texts",
                                  "SELECT count(*) FROM subjects WHERE definition_hash IS NOT NULL",
                                  R"(
  x.subject_id::text, 'a row of definition_texts with that hash', 'none, or another text' FROM subjects x
  WHERE x.definition_hash IS NOT NULL AND NOT EXISTS (SELECT FROM definition_texts t WHERE t.hash = x.definition_hash AND sha256(convert_to(t.text, 'UTF8')) = t.hash))");
const TableCheck kListed("listing.subject", "listings", "verify.listings", "SELECT count(*) FROM listings", R"(
  x.subject_id::text, s.project_id || ' ' || s.kind, x.project_id || ' ' || x.kind FROM listings x JOIN subjects s USING (subject_id)
  WHERE x.project_id <> s.project_id OR x.kind <> s.kind)");
// A lease that names a session nobody will reap is never free again.
const TableCheck kSessions("lease.session", "leases", "verify.sessions", "SELECT count(*) FROM leases WHERE session_id IS NOT NULL", R"(
  x.subject_id::text, 'a session that is alive or still to be reaped', CASE WHEN w.session_id IS NULL THEN 'session ' || x.session_id || ' does not exist'
  ELSE 'session ' || x.session_id || ' is dead and reaped' END
  FROM leases x LEFT JOIN worker_sessions w ON w.session_id = x.session_id WHERE x.session_id IS NOT NULL AND (w.session_id IS NULL OR w.reaped))");
// A claim looks by queue, priority, shard and kind: a row elsewhere is never found.
const TableCheck kReadyPlace("ready.place", "ready", "verify.ready_place", "SELECT count(*) FROM ready", R"(
  x.subject_id::text, format('queue %s, priority %s, shard %s, kind %s', s.queue, s.priority, ready_shard(s.subject_id), s.kind),
  format('queue %s, priority %s, shard %s, kind %s', x.queue, x.priority, x.shard, x.kind) FROM ready x
  JOIN (SELECT subject_id, queue, priority, kind FROM subjects UNION ALL SELECT dispatch_id, queue, priority, 'dispatch' FROM dispatches) s USING (subject_id)
  WHERE (x.queue, x.priority, x.shard, x.kind) IS DISTINCT FROM (s.queue, s.priority, ready_shard(s.subject_id), s.kind))");
const TableCheck kDispatchAttempts("dispatch.attempt", "dispatches", "verify.dispatch_attempts", "SELECT count(*) FROM dispatches", R"(
  x.subject_id || '/' || x.step_id || '/' || x.attempt_id, 'an attempt that exists', 'none' FROM dispatches x
  WHERE NOT EXISTS (SELECT FROM attempt_rows a WHERE (a.subject_id, a.step_id, a.attempt_id) = (x.subject_id, x.step_id, x.attempt_id)))");
// What nobody would ever take, or ever end.
const TableCheck kDispatchReady("dispatch.ready", "dispatches", "verify.dispatch_ready",
                                "SELECT count(*) FROM dispatches WHERE state = 'queued'", R"(
  x.subject_id || '/' || x.step_id || '/' || x.attempt_id, 'a ready row', 'none' FROM dispatches x
  WHERE x.state = 'queued' AND NOT x.cancel_requested AND NOT EXISTS (SELECT FROM ready r WHERE r.subject_id = x.dispatch_id))");
const TableCheck kDispatchSession("dispatch.session", "dispatches", "verify.dispatch_session",
                                  "SELECT count(*) FROM dispatches WHERE state = 'started'", R"(
  x.subject_id || '/' || x.step_id || '/' || x.attempt_id, 'a session that is alive or still to be reaped', CASE WHEN w.session_id IS NULL THEN 'session ' || x.session_id || ' does not exist'
  ELSE 'session ' || x.session_id || ' is dead and reaped' END
  FROM dispatches x LEFT JOIN worker_sessions w ON w.session_id = x.session_id WHERE x.state = 'started' AND (w.session_id IS NULL OR w.reaped))");
const TableCheck kDispatchClosed("dispatch.closed", "dispatches", "verify.dispatch_closed", "SELECT count(*) FROM dispatches", R"(
  x.subject_id || '/' || x.step_id || '/' || x.attempt_id, 'an end: its subject is closed', x.state FROM dispatches x JOIN leases l USING (subject_id)
  WHERE l.state = 1 AND x.state IN ('queued', 'started'))");
// The end of a dispatch is an unread input or an event, once; before its end it is neither. Of subjects whose events and payloads are all
// there.
const TableCheck kDispatchResult("dispatch.result", "dispatches", "verify.dispatch_result", "SELECT count(*) FROM dispatches", R"sql(
  x.subject_id || '/' || x.step_id || '/' || x.attempt_id, CASE WHEN x.state IN ('queued', 'started') THEN 'no result' ELSE 'one result' END, x.told || ' (it is ' || x.state || ')' FROM (
    SELECT t.subject_id, t.step_id, t.attempt_id, t.state,
           (SELECT count(*) FROM inbox i WHERE i.subject_id = t.subject_id AND i.inbox_id = t.dispatch_id) + coalesce(e.times, 0) AS told
    FROM dispatches t LEFT JOIN (
      SELECT r.subject_id, (regexp_match(r.payload, '"inbox_id": ?"([0-9a-f-]{36})"'))[1] AS id, count(*) AS times FROM event_rows r
      WHERE r.subject_id IN (SELECT subject_id FROM dispatches) AND r.payload LIKE '%"inbox_id"%' GROUP BY 1, 2) e
      ON e.subject_id = t.subject_id AND e.id = t.dispatch_id::text
    WHERE NOT EXISTS (SELECT FROM event_rows g WHERE g.subject_id = t.subject_id AND g.payload IS NULL)
      AND NOT EXISTS (SELECT FROM journal_segments g WHERE g.subject_id = t.subject_id AND g.dropped_at IS NOT NULL)) x
  WHERE x.told <> CASE WHEN x.state IN ('queued', 'started') THEN 0 ELSE 1 END)sql");
// Tokens are minted in the epoch of now or of before. A standby does not know its epoch.
const TableCheck kEpoch("token.epoch", "leases", "verify.epoch", "SELECT count(*) FROM leases", R"(
  x.subject_id::text, 'a token of epoch ' || e.epoch || ' or before', x.token || ' of epoch ' || (x.token >> 32)
  FROM leases x CROSS JOIN (
    SELECT f.base + CASE WHEN pg_is_in_recovery() THEN 4294967295
                         ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END AS epoch FROM fleet_epoch f) e
  WHERE x.token >> 32 > e.epoch)");
const TableCheck kCluster("epoch.cluster", "fleet_epoch", "verify.cluster", "SELECT 1", R"(
  'the row', 'one row of cluster ' || c.system_identifier, coalesce('cluster ' || f.system_identifier || ' (restored or copied: airun db new-epoch)', 'none')
  FROM pg_control_system() c LEFT JOIN fleet_epoch f ON true WHERE f.system_identifier IS DISTINCT FROM c.system_identifier)");

const TableCheck* const kAll[] = {&kOrphanHead,
                                  &kOrphanLeases,
                                  &kOrphanHistory,
                                  &kOrphanEvents,
                                  &kOrphanAttempts,
                                  &kOrphanCompletions,
                                  &kOrphanSnapshots,
                                  &kOrphanListings,
                                  &kOrphanCompensations,
                                  &kOrphanReadyRows,
                                  &kOrphanTimers,
                                  &kOrphanInbox,
                                  &kOrphanDispatches,
                                  &kOrphanOutbox,
                                  &kOrphanQuarantine,
                                  &kOrphanRequestKeys,
                                  &kRequestScope,
                                  &kProjects,
                                  &kListed,
                                  &kDefinitionTexts,
                                  &kSessions,
                                  &kReadyPlace,
                                  &kDispatchAttempts,
                                  &kDispatchReady,
                                  &kDispatchSession,
                                  &kDispatchClosed,
                                  &kDispatchResult,
                                  &kEpoch,
                                  &kCluster,
                                  &kOrphanAnswers,
                                  &kOrphanApprovals,
                                  &kOrphanGoals,
                                  &kOrphanProjectTasks,
                                  &kOrphanCheckpoints};

}  // namespace

Status CheckTables(PgVerifyStore& store, Report& report) {
  for (const TableCheck* check : kAll) {
    auto rows = store.Run(check->statement);
    if (!rows) return rows.error();
    report.checked[check->check] += std::stoll(rows->Text(0, 1));
    for (int i = 1; i < rows->size(); ++i) {
      report.Add({check->table, rows->Text(i, 1), check->check, rows->Text(i, 2), rows->Text(i, 3)});
    }
  }
  return {};
}

}  // namespace acl::verify
