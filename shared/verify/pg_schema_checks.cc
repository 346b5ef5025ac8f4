#include <fmt/format.h>

#include <map>
#include <set>

#include "shared/postgres/store_calls.h"
#include "shared/verify/pg_checks.h"

namespace acl::verify {
namespace {

using pg::Statement;

const Statement kColumns("verify.columns", Statement::Kind::kRead, R"(
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname = 'public' AND c.relname = ANY ($names::text[]) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum)");
const Statement kTriggers("verify.triggers", Statement::Kind::kRead, R"(
SELECT c.relname, t.tgname, t.tgenabled IN ('O', 'A') FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND NOT t.tgisinternal)");
const Statement kRights("verify.rights", Statement::Kind::kRead, R"(
SELECT g.table_name, p.privilege, has_table_privilege('acl_service', to_regclass('public.' || g.table_name), p.privilege)
FROM unnest($names::text[]) AS g(table_name) CROSS JOIN unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS p(privilege)
WHERE to_regclass('public.' || g.table_name) IS NOT NULL)");
// Whether what a policy says of inserted rows holds: it is there, and no other lets more in.
const Statement kPolicies("verify.policies", Statement::Kind::kRead, R"(
SELECT c.relname, c.relrowsecurity,
       (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd IN ('a', '*') AND p.polpermissive),
       (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = 'a' AND p.polname = 'written_under_a_lease'
                                           AND pg_get_expr(p.polwithcheck, p.polrelid) LIKE '%leases%')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname = ANY ($names::text[]))");
// A view must show every row of the table it stands for.
const Statement kShown("verify.views_show_all", Statement::Kind::kRead, R"(
SELECT 'events', (SELECT count(*) FROM event_rows x JOIN subjects USING (subject_id)), (SELECT count(*) FROM events)
UNION ALL SELECT 'attempt_rows', (SELECT count(*) FROM other_attempts) + (SELECT count(begun) FROM event_rows) + (SELECT count(*) FROM past_attempts),
                 (SELECT count(*) FROM attempt_rows)
UNION ALL SELECT 'completion_rows', (SELECT count(*) FROM other_completions) + (SELECT count(completed) FROM event_rows),
                 (SELECT count(*) FROM completion_rows)
UNION ALL SELECT 'step_attempts', (SELECT count(*) FROM attempt_rows x JOIN subjects USING (subject_id)), (SELECT count(*) FROM step_attempts)
UNION ALL SELECT 'completed_steps', (SELECT count(*) FROM completion_rows x JOIN subjects USING (subject_id)), (SELECT count(*) FROM completed_steps)
UNION ALL SELECT 'snapshots', (SELECT count(*) FROM snapshot_rows x JOIN subjects USING (subject_id)), (SELECT count(*) FROM snapshots)
UNION ALL SELECT 'workflows', (SELECT count(*) FROM listings x WHERE x.kind = 'workflow'), (SELECT count(*) FROM workflows)
UNION ALL SELECT 'compensation_log', (SELECT count(*) FROM compensation_rows x JOIN subjects USING (subject_id) WHERE x.status <> 'pending'),
                 (SELECT count(*) FROM compensation_log)
UNION ALL SELECT 'workflow_leases', (SELECT count(*) FROM leases x JOIN worker_sessions USING (session_id) JOIN subjects USING (subject_id)),
                 (SELECT count(*) FROM workflow_leases))");

struct Column {
  const char *table, *name, *type;
};
// Document 000, 11.7, and document 002, "Database schema", in PostgreSQL's types. Our additions stand behind them.
constexpr Column kDocumented[] = {
    {"events", "event_id", "uuid"},
    {"events", "workflow_id", "uuid"},
    {"events", "event_seq", "bigint"},
    {"events", "event_type", "character varying(50)"},
    {"events", "payload", "jsonb"},
    {"events", "timestamp", "timestamp with time zone"},
    {"events", "schema_version", "character varying(10)"},
    {"events", "producer_version", "character varying(20)"},
    {"events", "checksum", "character varying(64)"},
    {"workflow_leases", "workflow_id", "uuid"},
    {"workflow_leases", "owner_id", "text"},
    {"workflow_leases", "acquired_at", "timestamp with time zone"},
    {"workflow_leases", "lease_expires_at", "timestamp with time zone"},
    {"workflow_leases", "fencing_token", "bigint"},
    {"workflow_leases", "heartbeat_at", "timestamp with time zone"},
    {"step_attempts", "workflow_id", "uuid"},
    {"step_attempts", "step_id", "character varying(100)"},
    {"step_attempts", "attempt_id", "integer"},
    {"step_attempts", "started_at", "timestamp with time zone"},
    {"completed_steps", "workflow_id", "uuid"},
    {"completed_steps", "step_id", "character varying(100)"},
    {"completed_steps", "attempt_id", "integer"},
    {"completed_steps", "completed_at", "timestamp with time zone"},
    {"completed_steps", "result_snapshot_ref", "text"},
    {"completed_steps", "result_checksum", "character varying(64)"},
    {"snapshots", "snapshot_id", "uuid"},
    {"snapshots", "workflow_id", "uuid"},
    {"snapshots", "step_number", "integer"},
    {"snapshots", "last_event_seq", "bigint"},
    {"snapshots", "state_inline", "jsonb"},
    {"snapshots", "state_s3_key", "text"},
    {"snapshots", "state_checksum", "character varying(64)"},
    {"snapshots", "created_at", "timestamp with time zone"},
    {"workflows", "id", "uuid"},
    {"workflows", "name", "text"},
    {"workflows", "version", "text"},
    {"workflows", "owner", "text"},
    {"workflows", "status", "text"},
    {"workflows", "spec_yaml", "text"},
    {"workflows", "created_at", "timestamp with time zone"},
    {"workflows", "updated_at", "timestamp with time zone"},
    {"workflows", "completed_at", "timestamp with time zone"},
    {"workflows", "error_message", "text"},
    {"workflow_steps", "id", "bigint"},
    {"workflow_steps", "workflow_id", "uuid"},
    {"workflow_steps", "step_name", "text"},
    {"workflow_steps", "status", "text"},
    {"workflow_steps", "inputs_json", "text"},
    {"workflow_steps", "outputs_json", "text"},
    {"workflow_steps", "started_at", "timestamp with time zone"},
    {"workflow_steps", "completed_at", "timestamp with time zone"},
    {"workflow_steps", "error_message", "text"},
    {"compensation_log", "id", "bigint"},
    {"compensation_log", "workflow_id", "uuid"},
    {"compensation_log", "step_name", "text"},
    {"compensation_log", "compensation_action", "text"},
    {"compensation_log", "inputs_json", "text"},
    {"compensation_log", "executed_at", "timestamp with time zone"},
    {"compensation_log", "success", "boolean"},
    {"compensation_log", "error_message", "text"},
};

// Written once: no right to change them, and a trigger as the second line.
constexpr const char* kImmutable[] = {"journal_rows",  "definition_texts",  "other_attempts", "other_completions",
                                      "lease_history", "compensation_rows", "past_attempts",  "journal_segments"};
constexpr const char* kUnderALease[] = {"journal_rows", "other_attempts", "other_completions",
                                        "journal_segments"};  // only with the token of the lease
constexpr const char* kImmutableViews[] = {"event_rows", "attempt_rows", "completion_rows"};
constexpr const char* kWrittenOnce[] = {"snapshot_rows", "contents", "content_chunks",
                                        "content_refs"};  // not changed; removed when nobody needs them
// What is written once and needed for ever, and what changes but is never emptied as a whole.
constexpr const char* kNotEmptied[] = {"leases",       "subjects",  "subject_head", "listings",      "quarantine",      "fleet_epoch",
                                       "projects",     "ready",     "timers",       "inbox",         "dispatches",      "outbox",
                                       "request_keys", "approvals", "api_keys",     "leader_leases", "worker_sessions", "object_marks"};

using Names = std::set<std::string>;

pg::Params NamesOf(const Names& names) {
  pg::Array list(pg::Oid::kText);
  for (const std::string& name : names) list.Text(name);
  pg::Params params;
  params.List("names", list);
  return params;
}

// True if the views can be asked.
Result<bool> CheckColumns(PgVerifyStore& store, Report& report) {
  Names names;
  for (const Column& column : kDocumented) names.insert(column.table);
  auto rows = store.Run(kColumns, NamesOf(names));
  if (!rows) return rows.error();
  std::map<std::pair<std::string, std::string>, std::string> found;
  Names there;
  for (int i = 0; i < rows->size(); ++i) {
    found[{rows->Text(i, 0), rows->Text(i, 1)}] = rows->Text(i, 2);
    there.insert(rows->Text(i, 0));
  }
  for (const Column& column : kDocumented) {
    auto it = found.find({column.table, column.name});
    const std::string type = it == found.end() ? "no such column" : it->second;
    report.Check("view.shape", type == column.type, column.table, column.name, column.type, type);
  }
  return there == names;
}

Status CheckGuards(PgVerifyStore& store, Report& report) {
  auto triggers = store.Run(kTriggers);
  if (!triggers) return triggers.error();
  std::map<std::pair<std::string, std::string>, bool> found;
  for (int i = 0; i < triggers->size(); ++i) found[{triggers->Text(i, 0), triggers->Text(i, 1)}] = triggers->Bool(i, 2);
  auto guarded = [&](const char* table, const char* trigger) {
    auto it = found.find({table, trigger});
    report.Check("guard.trigger", it != found.end() && it->second, table, trigger, "a trigger that is on",
                 it == found.end() ? "none" : "off");
  };
  Names names;
  for (const char* table : kImmutable) {
    guarded(table, "immutable"), guarded(table, "not_truncated");
    names.insert(table);
  }
  for (const char* view : kImmutableViews) guarded(view, "immutable"), names.insert(view);
  for (const char* table : kWrittenOnce) guarded(table, "immutable"), guarded(table, "not_truncated"), names.insert(table);
  for (const char* table : kNotEmptied) guarded(table, "not_truncated");
  guarded("subjects", "immutable");
  guarded("segment_refs", "immutable"), guarded("segment_refs", "not_truncated"), guarded("snapshot_rows", "closing_stays");
  guarded("leases", "lease_stays"), guarded("leases", "token_grows");
  auto rights = store.Run(kRights, NamesOf(names));
  if (!rights) return rights.error();
  const Names removable(std::begin(kWrittenOnce), std::end(kWrittenOnce));
  for (int i = 0; i < rights->size(); ++i) {
    const std::string table = rights->Text(i, 0), privilege = rights->Text(i, 1);
    if (privilege == "DELETE" && removable.contains(table)) continue;
    report.Check("guard.rights", !rights->Bool(i, 2), table, privilege, "acl_service has no such right", "it has");
  }
  auto policies = store.Run(kPolicies, NamesOf({std::begin(kUnderALease), std::end(kUnderALease)}));
  if (!policies) return policies.error();
  for (int i = 0; i < policies->size(); ++i) {
    const bool on = policies->Bool(i, 1), alone = policies->Int(i, 2) == 1 && policies->Int(i, 3) == 1;
    report.Check("guard.policy", on && alone, policies->Text(i, 0), "written_under_a_lease", "the only policy for rows that are inserted",
                 !on ? "row security is off" : "it is not there, or another lets more in");
  }
  return {};
}

}  // namespace

Status CheckSchema(PgVerifyStore& store, Report& report) {
  auto askable = CheckColumns(store, report);
  if (!askable) return askable.error();
  if (Status guards = CheckGuards(store, report); !guards) return guards;
  if (!*askable) return {};
  auto shown = store.Run(kShown);
  if (!shown) return shown.error();
  for (int i = 0; i < shown->size(); ++i) {
    report.Check("view.rows", shown->Int(i, 1) == shown->Int(i, 2), shown->Text(i, 0), "all rows", shown->Text(i, 1), shown->Text(i, 2));
  }
  return {};
}

}  // namespace acl::verify
