// i01 .. i14: the journal, tokens, attempts and completions.
#include "chaos/checkers/question.h"

namespace acl::chaos {
namespace {

using Needs = Question::Needs;

const Question kTokenRises("i01", "tokens of a subject rise in the order of the WAL, and the head with them", Needs::kDatabase, R"(
SELECT h.subject_id || '/' || h.token,
       CASE WHEN lag(h.token) OVER wal >= h.token THEN 'granted after token ' || lag(h.token) OVER wal
            WHEN lag(h.head_seq) OVER rising > h.head_seq THEN 'read head ' || h.head_seq || ' after a lower token had read ' || lag(h.head_seq) OVER rising END
FROM lease_history h
WINDOW wal AS (PARTITION BY h.subject_id, h.token >> 32 ORDER BY h.lsn), rising AS (PARTITION BY h.subject_id ORDER BY h.token))");

const Question kTokenOnce("i02", "no token is granted twice", Needs::kDatabase, R"(
SELECT h.subject_id || '/' || h.token, CASE WHEN count(*) > 1 THEN count(*) || ' grants' END FROM lease_history h GROUP BY h.subject_id, h.token
UNION ALL
SELECT t.subject_id || '/' || t.step_id || '/' || t.token, CASE WHEN count(*) > 1 THEN count(*) || ' dispatches' END
FROM dispatches t WHERE t.token IS NOT NULL GROUP BY t.subject_id, t.step_id, t.token)");

// The head that a grant read is the order: whatever stands behind it was committed after the grant.
const Question kFence("i03", "no event under a token after a higher one was granted (the fence)", Needs::kDatabase, R"(
SELECT e.subject_id || '/' || e.seq, 'token ' || e.token || ', though ' || h.token || ' was granted at event ' || h.head_seq
FROM event_rows e LEFT JOIN LATERAL (
  SELECT g.token, g.head_seq FROM lease_history g WHERE g.subject_id = e.subject_id AND g.token > e.token AND g.head_seq < e.seq
  ORDER BY g.token LIMIT 1) h ON true)");

const Question kGranted("i04", "everything was written under a token that was granted", Needs::kDatabase, R"(
SELECT w.what || ' ' || w.key, CASE WHEN g.token IS NULL THEN 'token ' || w.token || ' was never granted' END
FROM (SELECT 'event' AS what, subject_id, token, subject_id || '/' || seq AS key FROM event_rows
      UNION ALL SELECT 'attempt', subject_id, token, subject_id || '/' || step_id || '/' || attempt_id FROM attempt_rows
      UNION ALL SELECT 'completion', subject_id, token, subject_id || '/' || step_id FROM completion_rows
      UNION ALL SELECT 'snapshot', subject_id, token, subject_id || '/' || last_event_seq FROM snapshot_rows) w
LEFT JOIN (SELECT subject_id, token FROM lease_history UNION SELECT subject_id, token FROM event_rows WHERE seq = 1) g
  ON g.subject_id = w.subject_id AND g.token = w.token)");

const Question kStepOnce("i05", "a step completes at most once in its journal", Needs::kDatabase, R"(
SELECT f.subject_id || '/' || f.step, CASE WHEN count(*) > 1 THEN 'completed by events ' || string_agg(f.seq::text, ', ' ORDER BY f.seq) END
FROM fact f WHERE f.type = 'step.completed' AND f.step IS NOT NULL GROUP BY f.subject_id, f.step)");

// An event whose content was removed is known by its number and token only.
const Question kCompletionEvent("i06", "completion rows and completing events are one to one, under the same token", Needs::kDatabase, R"(
SELECT coalesce(c.subject_id || '/' || c.step_id, f.subject_id || '/' || f.seq),
       CASE WHEN c.subject_id IS NULL AND f.p IS NOT NULL THEN 'event ' || f.seq || ' completes step ' || f.step || ' without a row'
            WHEN f.subject_id IS NULL AND c.event_seq >= coalesce((SELECT k.first FROM kept k WHERE k.subject_id = c.subject_id), 1)
              THEN 'no event ' || c.event_seq || ' completes it'
            WHEN f.token <> c.token THEN 'token ' || c.token || ', its event has ' || f.token END
FROM completion_rows c
FULL JOIN (SELECT * FROM fact WHERE type IN ('step.completed', 'compensation.completed') AND (type = 'step.completed' OR attempt IS NOT NULL OR p IS NULL)) f
  ON f.subject_id = c.subject_id AND f.seq = c.event_seq AND coalesce(f.step, c.step_id) = c.step_id)");

const Question kNoGap("i07", "events of a subject are 1 .. n, or n of its kept journals", Needs::kDatabase, R"(
SELECT e.subject_id::text, CASE WHEN min(e.seq) <> coalesce((SELECT k.first FROM kept k WHERE k.subject_id = e.subject_id), 1)
                                     OR max(e.seq) - min(e.seq) + 1 <> count(*) OR count(DISTINCT e.seq) <> count(*)
                                THEN count(*) || ' events from ' || min(e.seq) || ' to ' || max(e.seq) END
FROM event_rows e GROUP BY e.subject_id)");

const Question kHead("i08", "the head is the last event", Needs::kDatabase, R"(
SELECT h.subject_id::text, CASE WHEN e.seq IS DISTINCT FROM h.head_seq THEN 'head ' || h.head_seq || ', last event ' || coalesce(e.seq::text, 'none')
                                WHEN e.chain <> h.chain THEN 'another chain than event ' || e.seq END
FROM subject_head h LEFT JOIN LATERAL (
  SELECT x.seq, x.chain FROM event_rows x WHERE x.subject_id = h.subject_id ORDER BY x.seq DESC LIMIT 1) e ON true)");

const Question kTokenFalls("i09", "tokens never fall along a journal", Needs::kDatabase, R"(
SELECT e.subject_id || '/' || e.seq, CASE WHEN lag(e.token) OVER w > e.token THEN 'token ' || e.token || ' after ' || lag(e.token) OVER w END
FROM event_rows e WINDOW w AS (PARTITION BY e.subject_id ORDER BY e.seq))");

// Computed here once more, from docs/reference/journal-format.md, not by the code that wrote it.
const Question kChain("i10", "every event's content hash and chain are what the format says", Needs::kDatabase, R"(
SELECT e.subject_id || '/' || e.seq,
       CASE WHEN e.payload IS NOT NULL AND NOT e.offloaded AND sha256(convert_to(e.payload, 'UTF8')) <> e.content_hash THEN 'another content hash'
            WHEN sha256(coalesce(lag(e.chain) OVER w, (SELECT s.chain FROM snapshot_rows s WHERE s.subject_id = e.subject_id AND s.last_event_seq = e.seq - 1 AND s.closing), sha256('acl-journal-v1'::bytea || uuid_send(e.subject_id)))
              || 'ACLE'::bytea || '\x01'::bytea || uuid_send(e.subject_id) || int8send(e.seq)
              || set_byte('\x00'::bytea, 0, octet_length(e.type)) || convert_to(e.type, 'UTF8')
              || decode(repeat('00', 50 - octet_length(e.type)), 'hex') || int4send(e.schema_version)
              || set_byte('\x00'::bytea, 0, octet_length(e.producer_version)) || convert_to(e.producer_version, 'UTF8')
              || decode(repeat('00', 20 - octet_length(e.producer_version)), 'hex') || int8send(e.token)
              || int8send((extract(epoch FROM e.at) * 1000000)::bigint) || e.checksum || e.content_hash) <> e.chain THEN 'another chain' END
FROM event_rows e WINDOW w AS (PARTITION BY e.subject_id ORDER BY e.seq))");

// What comes in while the end is being committed is refused by events behind it.
const Question kTerminal("i11", "a run ends by one event, its last, and is then closed", Needs::kDatabase, R"(
SELECT s.subject_id::text,
       CASE WHEN t.n > 1 THEN t.n || ' events end it' WHEN t.n = 1 AND t.at <> t.last THEN 'event ' || t.at || ' ends it, and ' || t.last || ' is the last'
            WHEN t.n = 1 AND l.state <> 1 THEN 'ended, and its lease is not closed' WHEN t.n = 0 AND l.state = 1 THEN 'closed without an end' END
FROM subjects s JOIN leases l USING (subject_id) CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE x.ends) AS n, max(x.seq) FILTER (WHERE x.ends) AS at, max(x.seq) FILTER (WHERE x.type NOT IN ('input.refused', 'journal.rolled')) AS last
  FROM (SELECT e.seq, e.type, e.type IN ('workflow.completed', 'workflow.rolled_back', 'workflow.ended') AS ends FROM event_rows e
        WHERE e.subject_id = s.subject_id) x) t
WHERE s.kind = 'workflow')");

// Of a step that ran with the lease, attempt and completion are one holder's; a dispatch's result and a person's decision may come to a
// later one, and so does the end of an agent's action whose attempt was lost and may not be repeated.
const Question kAttempt("i12", "a completion has its attempt, of the same token if it ran with the lease", Needs::kDatabase, R"(
SELECT c.subject_id || '/' || c.step_id,
       CASE WHEN a.subject_id IS NULL THEN 'no attempt ' || c.attempt_id
            WHEN a.token > c.token THEN 'its attempt has the higher token ' || a.token
            WHEN a.token < c.token AND NOT coalesce(x.anybodys OR c.attempt_id = ANY (x.sent), false) AND w.seq IS NULL AND u.subject_id IS NULL
              THEN 'token ' || c.token || ', its attempt has ' || a.token END
FROM completion_rows c LEFT JOIN attempt_rows a ON a.subject_id = c.subject_id AND a.step_id = c.step_id AND a.attempt_id = c.attempt_id
LEFT JOIN (SELECT f.subject_id, f.step, bool_or(f.type IN ('step.resolved', 'step.waiting')) AS anybodys,
                  coalesce(array_agg(f.attempt) FILTER (WHERE f.type IN ('step.dispatched', 'attempt.lost')), '{}') AS sent
           FROM fact f WHERE f.type IN ('step.resolved', 'step.waiting', 'step.dispatched', 'attempt.lost') GROUP BY f.subject_id, f.step) x
  ON x.subject_id = c.subject_id AND x.step = c.step_id
LEFT JOIN (SELECT f.subject_id, f.seq FROM fact f WHERE f.type = 'step.completed' AND f.p ->> 'due_at' IS NOT NULL) w
  ON w.subject_id = c.subject_id AND w.seq = c.event_seq
LEFT JOIN unreadable u ON u.subject_id = c.subject_id)");

const Question kNoLaterAttempt("i13", "no attempt of a step after its completion", Needs::kDatabase, R"(
SELECT a.subject_id || '/' || a.step_id || '/' || a.attempt_id,
       CASE WHEN a.attempt_id > c.attempt_id THEN 'attempt ' || c.attempt_id || ' had completed it' WHEN f.seq > c.event_seq THEN 'promised by event ' || f.seq END
FROM attempt_rows a JOIN completion_rows c ON c.subject_id = a.subject_id AND c.step_id = a.step_id
LEFT JOIN (SELECT x.subject_id, x.step, max(x.seq) AS seq FROM fact x WHERE x.type IN ('step.started', 'step.dispatched') GROUP BY x.subject_id, x.step) f
  ON f.subject_id = c.subject_id AND f.step = c.step_id)");

// Our outbox is for other messages: what carries a step is its dispatch and the dispatch's ready row. The row of a dispatch that ended goes
// some time later.
const Question kDispatched("i14", "a dispatched step has one dispatch, and a queued dispatch one ready row", Needs::kDatabase, R"(
SELECT f.subject_id || '/' || f.step || '/' || f.attempt,
       CASE WHEN f.times > 1 THEN 'dispatched ' || f.times || ' times'
            WHEN t.dispatch_id IS NULL AND l.state <> 1 AND c.subject_id IS NULL AND f.attempt = f.last THEN 'no dispatch' END
FROM (SELECT x.subject_id, x.step, x.attempt, count(*) AS times, max(x.attempt) OVER (PARTITION BY x.subject_id, x.step) AS last
      FROM fact x WHERE x.type = 'step.dispatched' GROUP BY x.subject_id, x.step, x.attempt) f
LEFT JOIN dispatches t ON t.subject_id = f.subject_id AND t.step_id = f.step AND t.attempt_id = f.attempt
LEFT JOIN leases l ON l.subject_id = f.subject_id
LEFT JOIN completion_rows c ON c.subject_id = f.subject_id AND c.step_id = f.step
UNION ALL
SELECT 'dispatch ' || t.dispatch_id, CASE WHEN coalesce(r.n, 0) <> 1 THEN coalesce(r.n, 0) || ' ready rows' END
FROM dispatches t LEFT JOIN (SELECT x.subject_id, count(*) AS n FROM ready x GROUP BY x.subject_id) r ON r.subject_id = t.dispatch_id
WHERE t.state = 'queued' AND NOT t.cancel_requested)");

const Question* const kOfJournal[] = {&kTokenRises, &kTokenOnce,  &kFence, &kGranted,  &kStepOnce, &kCompletionEvent, &kNoGap,
                                      &kHead,       &kTokenFalls, &kChain, &kTerminal, &kAttempt,  &kNoLaterAttempt,  &kDispatched};

}  // namespace

std::span<const Question* const> JournalQuestions() { return kOfJournal; }

}  // namespace acl::chaos
