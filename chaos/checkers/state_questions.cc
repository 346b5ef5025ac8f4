// i21, i27, i28, i29, i31, i34: what waits, contents, timers, decisions, secrets, what is left when all is done.
#include "chaos/checkers/question.h"

namespace acl::chaos {
namespace {

using Needs = Question::Needs;

// What is open is held by a session that lives (or that somebody will still reap), or something will wake it. After a drain nothing may be
// held or due any more: what is still open waits, and says for what. A subject that is commanded (its queue begins with "acl.") waits for a
// command if for nothing else.
const Question kStuck("i21", "what is open is held, ready, or waits for something", Needs::kDatabase, R"(
SELECT l.subject_id::text,
       CASE WHEN l.session_id IS NOT NULL AND w.session_id IS NULL THEN 'held by a session that does not exist'
            WHEN l.session_id IS NOT NULL AND w.reaped THEN 'held by a dead session that nobody reaps any more'
            WHEN l.session_id IS NOT NULL AND $drained::boolean THEN 'still held after the drain'
            WHEN l.session_id IS NULL AND l.waiting_reason IS NULL AND r.n IS NULL AND i.n IS NULL AND t.n IS NULL AND k.n IS NULL AND NOT coalesce(starts_with(s.queue, 'acl.'), false)
              THEN 'nothing will ever wake it'
            WHEN l.session_id IS NULL AND i.n > 0 AND r.n IS NULL THEN 'unread inputs and no ready row'
            WHEN l.session_id IS NULL AND r.n IS NULL AND l.waiting_reason = 'dispatch' AND k.n IS NULL THEN 'waits for a dispatch, and none is open'
            WHEN l.session_id IS NULL AND r.n IS NULL AND l.next_wake IS NOT NULL AND (t.first IS NULL OR t.first > l.next_wake)
              THEN 'waits (' || l.waiting_reason || ') until ' || l.next_wake || ', the first timer is ' || coalesce('at ' || t.first, 'none')
            WHEN r.n > 0 AND $drained::boolean THEN 'still ready after the drain' END
FROM leases l LEFT JOIN subjects s ON s.subject_id = l.subject_id LEFT JOIN worker_sessions w ON w.session_id = l.session_id
LEFT JOIN (SELECT x.subject_id, count(*) AS n FROM ready x GROUP BY x.subject_id) r ON r.subject_id = l.subject_id
LEFT JOIN (SELECT x.subject_id, count(*) AS n FROM inbox x GROUP BY x.subject_id) i ON i.subject_id = l.subject_id
LEFT JOIN (SELECT x.subject_id, count(*) AS n, min(x.fire_at) AS first FROM timers x GROUP BY x.subject_id) t ON t.subject_id = l.subject_id
LEFT JOIN (SELECT x.subject_id, count(*) AS n FROM dispatches x WHERE x.state IN ('queued', 'started') GROUP BY x.subject_id) k ON k.subject_id = l.subject_id
WHERE l.state = 0)");

// Contents that lie with us are hashed here; of those in an object store the row is there, and `airun verify --all` reads them.
const Question kContents("i27", "what a journal or snapshot refers to is there, and hashes to its name", Needs::kDatabase, R"(
SELECT encode(x.hash, 'hex') || ' of ' || x.subject_id,
       CASE WHEN c.hash IS NULL THEN 'no such content'
            WHEN c.object_key IS NULL AND sha256(coalesce(b.bytes, '')) <> x.hash THEN 'its bytes hash to something else' END
FROM (SELECT r.hash, r.subject_id FROM content_refs r
      UNION SELECT h, s.subject_id FROM snapshot_rows s CROSS JOIN LATERAL chunk_hashes(s.chunks) h
      UNION SELECT e.content_hash, e.subject_id FROM event_rows e WHERE e.offloaded AND EXISTS (SELECT FROM subject_head h WHERE h.subject_id = e.subject_id)) x
LEFT JOIN contents c ON c.hash = x.hash
LEFT JOIN LATERAL (SELECT string_agg(k.bytes, ''::bytea ORDER BY k.number) AS bytes FROM content_chunks k WHERE k.hash = x.hash) b ON c.object_key IS NULL)");

// By the database's clock; the writer's count of it may be behind by less than a second.
const Question kTimers("i28", "a timer fires once, and not before its time", Needs::kDatabase, R"(
SELECT f.subject_id || '/' || f.seq, CASE WHEN (f.p ->> 'due_at')::timestamptz > f.at + interval '1 second' THEN 'at ' || f.at || ', due at ' || (f.p ->> 'due_at') END
FROM fact f WHERE f.type = 'step.completed' AND f.p ->> 'due_at' IS NOT NULL
UNION ALL
SELECT f.subject_id || '/' || f.seq,
       CASE WHEN f.before IS NOT NULL AND f.due IS NULL THEN 'no retry was waited for'
            WHEN f.due > f.at + interval '1 second' THEN 'at ' || f.at || ', due at ' || f.due END
FROM (SELECT x.subject_id, x.seq, x.at, x.type, lag(x.type) OVER w AS before, (lag(x.p ->> 'retry_at') OVER w)::timestamptz AS due
      FROM fact x WHERE x.step IS NOT NULL WINDOW w AS (PARTITION BY x.subject_id, x.step ORDER BY x.seq)) f
WHERE f.type = 'step.retry_due'
UNION ALL
SELECT 'inbox ' || i.inbox_id, CASE WHEN (i.payload::json ->> 'fire_at')::timestamptz > i.created_at THEN 'fired at ' || i.created_at || ', due at ' || (i.payload::json ->> 'fire_at') END
FROM inbox i WHERE i.kind = 'timer')");

// Our approvals are decisions on uncertain steps, until the others come.
const Question kDecisions("i29", "a person's decision is used once, and only where one was asked for", Needs::kDatabase, R"(
SELECT f.subject_id || '/' || f.seq,
       CASE WHEN count(*) OVER (PARTITION BY f.subject_id, f.p ->> 'inbox_id') > 1 THEN 'decision ' || (f.p ->> 'inbox_id') || ' was used more than once'
            WHEN (u.seq IS NULL OR u.seq > f.seq) AND n.subject_id IS NULL THEN 'step ' || f.step || ' was not uncertain' END
FROM fact f JOIN subjects s ON s.subject_id = f.subject_id
LEFT JOIN (SELECT x.subject_id, x.step, min(x.seq) AS seq FROM fact x WHERE x.type = 'step.uncertain' GROUP BY x.subject_id, x.step) u
  ON u.subject_id = f.subject_id AND u.step = f.step
LEFT JOIN unreadable n ON n.subject_id = f.subject_id
WHERE f.type = 'step.resolved' AND f.p IS NOT NULL AND s.kind = 'workflow')");

const Question kSecrets("i31", "a canary secret stands nowhere", Needs::kCanaries, R"(
SELECT t.key, CASE WHEN EXISTS (SELECT FROM unnest($canaries::text[]) c WHERE position(c IN t.cell) > 0) THEN 'holds it' END
FROM (SELECT 'event ' || subject_id || '/' || seq AS key, payload_text(payload, offloaded, content_hash) AS cell FROM event_rows
      UNION ALL SELECT 'snapshot ' || subject_id || '/' || last_event_seq, inline_state FROM snapshot_rows
      UNION ALL SELECT 'inbox ' || inbox_id, payload FROM inbox
      UNION ALL SELECT 'outbox ' || outbox_id, payload FROM outbox
      UNION ALL SELECT 'dispatch ' || dispatch_id, payload FROM dispatches
      UNION ALL SELECT 'listing ' || subject_id, concat_ws(' ', definition_text, labels, error_message) FROM listings
      UNION ALL SELECT 'subject ' || subject_id, definition_text FROM subjects
      UNION ALL SELECT 'workflow ' || encode(hash, 'hex'), text FROM definition_texts
      UNION ALL SELECT 'compensation ' || compensation_id, concat_ws(' ', inputs_json, error) FROM compensation_rows
      UNION ALL SELECT 'quarantine ' || quarantine_id, detail FROM quarantine
      UNION ALL SELECT 'schedule ' || schedule_id, concat_ws(' ', definition_text, inputs, labels) FROM schedules
      UNION ALL SELECT 'history', $history_text::text
      UNION ALL SELECT 'ledger', $ledger_text::text) t
UNION ALL
SELECT 'content ' || encode(k.hash, 'hex') || '/' || k.number,
       CASE WHEN EXISTS (SELECT FROM unnest($canaries::text[]) c WHERE position(convert_to(c, 'UTF8') IN k.bytes) > 0) THEN 'holds it' END
FROM content_chunks k)");

const Question kLeft("i34", "after the drain nothing is left: messages, inputs, dispatches, locks, open transactions", Needs::kDrained, R"(
SELECT 'outbox ' || o.outbox_id, 'not sent' FROM outbox o
UNION ALL SELECT 'inbox ' || i.inbox_id, 'unread, of an open subject' FROM inbox i JOIN leases l USING (subject_id) WHERE l.state = 0
UNION ALL SELECT 'dispatch ' || t.dispatch_id, CASE WHEN t.state IN ('queued', 'started') THEN t.state END FROM dispatches t
UNION ALL SELECT 'session ' || a.pid, CASE WHEN a.state LIKE 'idle in transaction%' THEN a.state || ' since ' || a.state_change END
          FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
UNION ALL SELECT 'lock of ' || k.pid, 'an advisory lock' FROM pg_locks k JOIN pg_database d ON d.oid = k.database
          WHERE k.locktype = 'advisory' AND d.datname = current_database())");

const Question* const kOfState[] = {&kStuck, &kContents, &kTimers, &kDecisions, &kSecrets, &kLeft};

}  // namespace

std::span<const Question* const> StateQuestions() { return kOfState; }

}  // namespace acl::chaos
