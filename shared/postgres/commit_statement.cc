#include "shared/postgres/commit_statement.h"

#include <algorithm>
#include <stdexcept>

#include "shared/base/mutant.h"
#include "shared/kernel/roll.h"
#include "shared/postgres/claim_rows.h"

namespace acl::pg {
namespace {

// The group commit in SQL. A batch arrives as rows of composite types (`commit_item`, `packed_entry`), because binding one array for each
// column is slower; parts that few batches have arrive as arrays. A set of items is a bit string with bit n for item n ($none is the empty
// set), because PostgreSQL joins items with items by a nested loop.
//
// 1. Proofs. An item that keeps its lease locks the lease row FOR KEY SHARE: a claim or reap, which raises the token, waits for this lock;
// a
//    wake-up does not. (The token is in a unique index of `leases` for this purpose alone: only a key column's change waits for KEY SHARE.)
//    SKIP LOCKED makes an item `busy` if another session holds its lease row, so a commit never waits for a lease. The caller sorts the
//    items by subject; every committer therefore locks heads in the same order, and no deadlock is possible. A locked row shows its newest
//    version, so `mine` is true only if the lease is still the worker's. The hold marks are sync points of the tests.
constexpr const char* kItems = R"(
WITH item AS MATERIALIZED (
  SELECT * FROM unnest($items::commit_item[]) AS i
  WHERE true -- hold: commit_snapshot_taken
),
kept AS MATERIALIZED (
  SELECT i.n, i.subject, i.base, i.head, i.chain, i.root, i.at, l.wake AS now_wake,
         l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine
  FROM item i JOIN leases l ON l.subject_id = i.subject WHERE i.disposition = 0 FOR KEY SHARE OF l SKIP LOCKED),)";

// 2. An item that releases or closes proves its lease by an UPDATE of the lease row that also compares the wake-up counter. A comparison
//    under KEY SHARE would lose a signal that arrives at the same time. The statement locks the lease row (SKIP LOCKED) and then the head,
//    so the UPDATE never waits and never happens without the head's compare-and-set. A release without events sets last_end 2: it neither
//    acquits the subject of a worker's death nor counts against it, because nothing of the subject ran.
constexpr const char* kGive = R"(
given AS MATERIALIZED (
  SELECT i.*, l.wake AS now_wake, l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine
  FROM item i JOIN leases l ON l.subject_id = i.subject WHERE i.disposition > 0 FOR NO KEY UPDATE OF l SKIP LOCKED),
headed AS MATERIALIZED (
  SELECT g.* FROM given g JOIN subject_head h ON h.subject_id = g.subject
  WHERE g.mine AND g.now_wake = g.wake AND h.head_seq = g.base FOR UPDATE OF h),
gave AS (
  UPDATE leases l SET session_id = NULL, state = CASE WHEN g.disposition = 2 THEN 1 ELSE 0 END, last_end = CASE WHEN g.head = g.base AND g.disposition = 1 THEN 2 ELSE 0 END,
    acquired_at = NULL, required_version = coalesce(g.required, l.required_version), not_before = g.not_before, waiting_reason = g.reason,
    waiting_since = CASE WHEN g.reason IS NOT NULL THEN clock_timestamp() END, next_wake = g.next_wake
  FROM headed g
  WHERE l.subject_id = g.subject AND l.session_id = g.session AND l.token = g.token AND l.wake = g.wake
  RETURNING g.n, g.subject, g.base, g.head, g.chain, g.root, g.at),
proved AS (
  SELECT n, subject, base, head, chain, root, at FROM kept WHERE mine -- hold: commit_proved
  UNION ALL SELECT n, subject, base, head, chain, root, at FROM gave),
held AS (SELECT n, mine, now_wake FROM kept UNION ALL SELECT n, mine, now_wake FROM given),)";
constexpr const char* kKeepOnly = R"(
proved AS (
  SELECT n, subject, base, head, chain, root, at FROM kept WHERE mine -- hold: commit_proved
),)";

// 3. The head's compare-and-set. Every later part takes its rows from `moved`, so an item whose head has moved on writes nothing.
constexpr const char* kMoved = R"(
moved AS (
  UPDATE subject_head h SET head_seq = p.head, chain = p.chain, state_root = p.root, last_timestamp = greatest(h.last_timestamp, p.at)
  FROM proved p WHERE h.subject_id = p.subject AND h.head_seq = p.base RETURNING p.n),)";
constexpr const char* kDone = R"(
done AS MATERIALIZED (SELECT bit_or(set_bit($none::varbit, n, 1)) AS ok FROM moved),)";
// The same for a batch in which some item begins the subject's next journal: its head moves to that journal.
constexpr const char* kMovedOn = R"(
moved AS (
  UPDATE subject_head h SET head_seq = p.head, chain = p.chain, state_root = p.root, last_timestamp = greatest(h.last_timestamp, p.at),
    journal_id = coalesce(p.journal, h.journal_id), journal_first = CASE WHEN p.journal IS NULL THEN h.journal_first ELSE p.base + 1 END
  FROM (SELECT q.*, (SELECT j.id FROM unnest($j_item::int[], $j_id::uuid[]) AS j(item, id) WHERE j.item = q.n) AS journal FROM proved q) p
  WHERE h.subject_id = p.subject AND h.head_seq = p.base RETURNING p.n),)";

// `from`: rows of packed_entry. `landed`: whether the item of one was moved.
std::string Events(const std::string& from, const std::string& landed) {
  // Instead of a foreign key: an attempt that is neither in the item nor in a table becomes 0, which the row's check refuses; so does one
  // of a step whose completion stands in the table of before. Scalar subqueries: EXISTS has a hashed form, which reads the whole table, and
  // a generic plan took it.
  return R"(
w_events AS (
  INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain,
                            payload, root, offloaded, completed, completed_attempt, result_checksum, begun, begun_attempt, begun_at)
  SELECT e.subject, e.seq, e.journal, e.type, e.schema, e.producer, e.token, e.at, e.checksum, e.content, e.chain, e.payload,
         e.root, e.offloaded, e.completed,
         CASE WHEN e.completed IS NULL THEN e.attempt
              WHEN (SELECT c.attempt_id FROM other_completions c WHERE c.subject_id = e.subject AND c.step_id = e.completed) IS NOT NULL THEN 0
              WHEN e.held THEN e.attempt
              ELSE coalesce((SELECT r.begun_attempt FROM journal_rows r
                             WHERE r.subject_id = e.subject AND r.begun = e.completed AND r.begun_attempt = e.attempt),
                            attempt_beside(e.subject, e.completed, e.attempt), 0) END,
         e.result, e.begun, e.begun_attempt, e.begun_at
  FROM )" +
         from + " AS e WHERE " + landed + ")";
}
// `landed`: whether the item of a row was moved.
std::string TimersSet(const std::string& landed) {
  return R"(,
w_timers AS (
  INSERT INTO timers (subject_id, timer_id, fire_at)
  SELECT t.subject, t.id, t.at FROM unnest($timers::commit_timer[]) AS t WHERE )" +
         landed + R"(
  ON CONFLICT (subject_id, timer_id) DO UPDATE SET fire_at = excluded.fire_at))";
}
std::string Listings(const std::string& landed) {
  return R"(,
w_listing AS (
  UPDATE listings l SET status = y.status, error_message = coalesce(y.error, l.error_message), started_at = coalesce(y.started, l.started_at),
    completed_at = coalesce(y.completed, l.completed_at), updated_at = greatest(l.updated_at, y.at)
  FROM unnest($listings::commit_listing[]) AS y
  WHERE l.subject_id = y.subject AND )" +
         landed + ")";
}
const std::string kItsRows = kDone + Events("unnest($events::packed_entry[])", "get_bit((SELECT ok FROM done), e.item) = 1");
const std::string kWrites = kMoved + kItsRows;

// One item, as values instead of arrays of rows: the commits of a run that nobody runs beside. The same proofs and the same writes for a
// fifth to a quarter less CPU.
constexpr const char* kOneKept = R"(
WITH kept AS MATERIALIZED (
  SELECT l.wake AS now_wake, l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine
  FROM (SELECT $subject::uuid AS subject, $session::uuid AS session, $token::bigint AS token) AS i JOIN leases l ON l.subject_id = i.subject
  WHERE true -- hold: commit_snapshot_taken
  FOR KEY SHARE OF l SKIP LOCKED),
proved AS (
  SELECT true AS ok FROM kept WHERE mine -- hold: commit_proved
),)";
constexpr const char* kOneClosed = R"(
WITH kept AS MATERIALIZED (
  SELECT i.wake, l.wake AS now_wake, l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine
  FROM (SELECT $subject::uuid AS subject, $session::uuid AS session, $token::bigint AS token, $wake::bigint AS wake) AS i
    JOIN leases l ON l.subject_id = i.subject
  WHERE true -- hold: commit_snapshot_taken
  FOR NO KEY UPDATE OF l SKIP LOCKED),
headed AS MATERIALIZED (
  SELECT g.wake FROM kept g JOIN subject_head h ON h.subject_id = $subject::uuid
  WHERE g.mine AND g.now_wake = g.wake AND h.head_seq = $base::bigint FOR UPDATE OF h),
gave AS (
  UPDATE leases l SET session_id = NULL, state = 1, last_end = 0, acquired_at = NULL, not_before = NULL, waiting_reason = NULL,
    waiting_since = NULL, next_wake = NULL
  FROM headed g
  WHERE l.subject_id = $subject::uuid AND l.session_id = $session::uuid AND l.token = $token::bigint AND l.wake = g.wake
  RETURNING true AS ok),
proved AS (
  SELECT ok FROM gave WHERE true -- hold: commit_given
),)";
constexpr const char* kOneMoved = R"(
moved AS (
  UPDATE subject_head h SET head_seq = $head::bigint, chain = $chain::bytea, state_root = $root::bytea,
    last_timestamp = greatest(h.last_timestamp, $at::timestamptz)
  WHERE h.subject_id = $subject::uuid AND h.head_seq = $base::bigint AND (SELECT ok FROM proved) RETURNING true AS ok),)";
constexpr const char* kNoTimers = R"(,
w_timers_cleared AS (DELETE FROM timers t WHERE t.subject_id = $subject::uuid AND (SELECT ok FROM moved)))";
constexpr const char* kOneAnswer = R"(
SELECT 1, coalesce((SELECT ok FROM moved), false), k.mine, k.now_wake, k.mine IS NULL AND has_lease($subject::uuid)
FROM (VALUES (true)) AS one LEFT JOIN kept k ON true)";
const std::string kOneEvent = kOneMoved + Events("(SELECT ($event::packed_entry).*)", "(SELECT ok FROM moved)");
const std::string kItsEvents = kOneMoved + Events("unnest($events::packed_entry[])", "(SELECT ok FROM moved)");
const std::string kItsTimers = TimersSet("(SELECT ok FROM moved)"), kItsListing = Listings("(SELECT ok FROM moved)");

// Attempts and completions that no event has room for. What stands in an event already becomes 0, too.
constexpr const char* kOtherRows = R"(,
w_attempts AS (
  INSERT INTO other_attempts (subject_id, step_id, attempt_id, token, started_at)
  SELECT a.subject, a.step,
         CASE WHEN (SELECT r.begun_attempt FROM journal_rows r
                    WHERE r.subject_id = a.subject AND r.begun = a.step AND r.begun_attempt = a.attempt) IS NULL THEN a.attempt ELSE 0 END,
         a.token, a.at
  FROM unnest($attempts::commit_attempt[]) AS a WHERE get_bit((SELECT ok FROM done), a.item) = 1),
w_completions AS (
  INSERT INTO other_completions (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
  SELECT c.subject, c.step,
         CASE WHEN (SELECT r.completed_attempt FROM journal_rows r WHERE r.subject_id = c.subject AND r.completed = c.step) IS NOT NULL THEN 0
              WHEN c.fused THEN c.attempt
              ELSE coalesce((SELECT r.begun_attempt FROM journal_rows r
                             WHERE r.subject_id = c.subject AND r.begun = c.step AND r.begun_attempt = c.attempt),
                            (SELECT r.attempt_id FROM other_attempts r
                             WHERE r.subject_id = c.subject AND r.step_id = c.step AND r.attempt_id = c.attempt),
                            attempt_beside(c.subject, c.step, c.attempt), 0) END,
         c.token, c.seq, c.at, c.checksum
  FROM unnest($completions::commit_completion[]) AS c WHERE get_bit((SELECT ok FROM done), c.item) = 1))";

// What the start and the end of most runs need besides. Rows that go or change are named by values of their key and then by item (EXISTS):
// a join with the items is planned as if it began at the table, when PostgreSQL has last seen that one empty.
constexpr const char* kTimersCleared = R"(,
w_timers_cleared AS (
  DELETE FROM timers t
  WHERE t.subject_id = ANY (ARRAY(SELECT c.subject FROM unnest($cleared::commit_timer[]) AS c))
    AND EXISTS (SELECT FROM unnest($cleared::commit_timer[]) AS c
                WHERE c.subject = t.subject_id AND (c.id IS NULL OR c.id = t.timer_id) AND get_bit((SELECT ok FROM done), c.item) = 1)))";
const std::string kUsualWrites =
    kTimersCleared + TimersSet("get_bit((SELECT ok FROM done), t.item) = 1") + Listings("get_bit((SELECT ok FROM done), y.item) = 1");

// Released and ready at once: whoever takes the next step is another claim. The rows have one time, which the answer says too: who knows it
// knows their keys.
constexpr const char* kReady = R"(,
ready_time AS MATERIALIZED (SELECT clock_timestamp() AS at),
w_ready AS (
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version, begun)
  SELECT s.queue, s.priority, ready_shard(s.subject_id), greatest((SELECT at FROM ready_time), ($not_before::timestamptz[])[r.item]), s.subject_id, s.kind,
         coalesce(($required::int[])[r.item], l.required_version), r.begun
  FROM unnest($r_item::int[], $r_begun::boolean[]) AS r(item, begun) JOIN subjects s ON s.subject_id = ($subject::uuid[])[r.item] JOIN leases l ON l.subject_id = s.subject_id
  WHERE get_bit((SELECT ok FROM done), r.item) = 1 ON CONFLICT DO NOTHING))";

// `closing`: whether a snapshot is one that ends a journal.
std::string OtherWrites(const std::string& closing) {
  return R"(,
w_inbox AS (
  DELETE FROM inbox i
  WHERE i.subject_id = ANY ($subject::uuid[]) AND i.inbox_id = ANY ($i_id::uuid[])
    AND EXISTS (SELECT FROM unnest($i_item::int[], $i_id::uuid[]) AS c(item, id)
                WHERE i.subject_id = ($subject::uuid[])[c.item] AND i.inbox_id = c.id AND get_bit((SELECT ok FROM done), c.item) = 1)),
w_dispatches AS (
  INSERT INTO dispatches (subject_id, step_id, attempt_id, dispatch_id, queue, priority, payload, deadline, cancel_requested, created_at)
  SELECT ($subject::uuid[])[k.item], k.step, k.attempt, k.dispatch, k.queue, k.priority, k.payload, k.deadline, k.unwanted, clock_timestamp()
  FROM unnest($k_item::int[], $k_step::text[], $k_attempt::int[], $k_dispatch::uuid[], $k_queue::text[], $k_priority::int[], $k_payload::text[],
              $k_deadline::timestamptz[], $k_unwanted::boolean[])
    AS k(item, step, attempt, dispatch, queue, priority, payload, deadline, unwanted)
  WHERE get_bit((SELECT ok FROM done), k.item) = 1),
w_dispatch_ready AS (  -- offered through the same table as subjects: both queue drivers carry it
  INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version)
  SELECT k.queue, k.priority, ready_shard(k.dispatch), clock_timestamp(), k.dispatch, 'dispatch', $k_version::int
  FROM unnest($k_item::int[], $k_dispatch::uuid[], $k_queue::text[], $k_priority::int[], $k_unwanted::boolean[]) AS k(item, dispatch, queue, priority, unwanted)
  WHERE get_bit((SELECT ok FROM done), k.item) = 1 AND NOT k.unwanted),
w_dispatches_unwanted AS (
  UPDATE dispatches t SET cancel_requested = true
  WHERE t.subject_id = ANY ($subject::uuid[]) AND t.step_id = ANY ($kc_step::text[]) AND t.state IN ('queued', 'started')
    AND EXISTS (SELECT FROM unnest($kc_item::int[], $kc_step::text[], $kc_attempt::int[]) AS c(item, step, attempt)
                WHERE t.subject_id = ($subject::uuid[])[c.item] AND t.step_id = c.step AND t.attempt_id = c.attempt
                  AND get_bit((SELECT ok FROM done), c.item) = 1)),
w_outbox AS (
  INSERT INTO outbox (subject_id, topic, key, payload, created_at)
  SELECT ($subject::uuid[])[o.item], o.topic, o.key, o.payload, clock_timestamp()
  FROM unnest($o_item::int[], $o_topic::text[], $o_key::text[], $o_payload::text[]) AS o(item, topic, key, payload)
  WHERE get_bit((SELECT ok FROM done), o.item) = 1),
w_compensations AS (
  INSERT INTO compensation_rows (subject_id, step_id, capability, inputs_json, status, error, at)
  SELECT ($subject::uuid[])[u.item], u.step, u.capability, u.inputs, u.status, nullif(u.error, ''), u.at
  FROM unnest($u_item::int[], $u_step::text[], $u_capability::text[], $u_inputs::text[], $u_status::text[], $u_error::text[], $u_at::timestamptz[])
    AS u(item, step, capability, inputs, status, error, at)
  WHERE get_bit((SELECT ok FROM done), u.item) = 1),
w_snapshots AS (
  INSERT INTO snapshot_rows (subject_id, last_event_seq, snapshot_id, schema_version, token, state_root, chain, inline_state, chunks, created_at, closing)
  SELECT ($subject::uuid[])[s.item], s.seq, s.id, s.schema, ($token::bigint[])[s.item], s.root, s.chain, s.state, s.chunks, s.at, )" +
         closing + R"(
  FROM unnest($s_item::int[], $s_seq::bigint[], $s_id::uuid[], $s_schema::int[], $s_root::bytea[], $s_chain::bytea[], $s_state::text[],
              $s_chunks::bytea[], $s_at::timestamptz[]) AS s(item, seq, id, schema, root, chain, state, chunks, at)
  WHERE get_bit((SELECT ok FROM done), s.item) = 1),
w_refs AS (  -- the foreign key: what was collected meanwhile refuses the item
  INSERT INTO content_refs (hash, subject_id, snapshot)
  SELECT DISTINCT x.hash, ($subject::uuid[])[x.item], x.snapshot
  FROM unnest($x_item::int[], $x_hash::bytea[], $x_snapshot::boolean[]) AS x(item, hash, snapshot)
  WHERE get_bit((SELECT ok FROM done), x.item) = 1 ORDER BY x.hash ON CONFLICT DO NOTHING),
w_old_snapshots AS (  -- the newest of before and the new one stay, and those that end journals; the others' chunks are released with them
  DELETE FROM snapshot_rows o USING unnest($s_item::int[]) AS s(item)
  WHERE o.subject_id = ($subject::uuid[])[s.item] AND NOT o.closing AND get_bit((SELECT ok FROM done), s.item) = 1
    AND o.last_event_seq = (SELECT n.last_event_seq FROM snapshot_rows n WHERE n.subject_id = ($subject::uuid[])[s.item]
                            ORDER BY n.last_event_seq DESC OFFSET 1 LIMIT 1)))";
}

// Each journal that begins, with the attempts that are open then, and its own hold on the chunks of the snapshot that it begins behind.
constexpr const char* kSegments = R"(,
w_segments AS (
  INSERT INTO journal_segments (subject_id, first_seq, journal_id, token, began_at, open_steps, open_attempts, open_tokens, open_since)
  SELECT i.subject, i.base + 1, j.id, i.token, j.at, coalesce(o.steps, '{}'), coalesce(o.attempts, '{}'), coalesce(o.tokens, '{}'), coalesce(o.since, '{}')
  FROM unnest($j_item::int[], $j_id::uuid[], $j_at::timestamptz[]) AS j(item, id, at) JOIN item i ON i.n = j.item
  CROSS JOIN LATERAL (
    SELECT array_agg(a.step_id) AS steps, array_agg(a.attempt_id) AS attempts, array_agg(a.token) AS tokens, array_agg(a.started_at) AS since
    FROM open_attempts(i.subject) a WHERE NOT a.beside) o
  WHERE get_bit((SELECT ok FROM done), j.item) = 1),
w_segment_refs AS (
  INSERT INTO segment_refs (hash, subject_id, first_seq)
  SELECT DISTINCT x.hash, i.subject, i.base + 1
  FROM unnest($x_item::int[], $x_hash::bytea[], $x_snapshot::boolean[]) AS x(item, hash, snapshot)
    JOIN unnest($j_item::int[]) AS j(item) ON j.item = x.item JOIN item i ON i.n = x.item
  WHERE x.snapshot AND get_bit((SELECT ok FROM done), x.item) = 1 ORDER BY x.hash))";

// An item whose lease row is not among those that were locked is said with whether there is such a row.
// With ready rows it says their time.
std::string Answer(const std::string& held, bool ready = false) {
  return R"(
SELECT h.n, coalesce(get_bit((SELECT ok FROM done), h.n), 0) = 1, h.mine, h.now_wake, false)" +
         std::string(ready ? ", (SELECT at FROM ready_time)" : "") + " FROM " + held + R"( h
UNION ALL
SELECT i.n, false, NULL, NULL, has_lease(i.subject))" +
         std::string(ready ? ", NULL" : "") + R"( FROM item i
WHERE coalesce(get_bit((SELECT bit_or(set_bit($none::varbit, n, 1)) FROM )" +
         held + R"(), i.n), 0) = 0)";
}

// With the mistake that is chosen, in the build that has them.
std::string Text(std::string text) {
  const auto change = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  };
  if (Mutant("no_fence"))
    change("l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine", "true AS mine");
  if (Mutant("no_ready_row_with_the_commit"))
    change("WHERE get_bit((SELECT ok FROM done), r.item) = 1 ON CONFLICT", "WHERE false ON CONFLICT");
  return text;
}

const Statement kCommitFull("commit.full", Statement::Kind::kWrite,
                            Text(std::string(kItems) + kGive + kWrites + kUsualWrites + kReady + kOtherRows + OtherWrites("false") +
                                 Answer("held", true)),
                            true);
const Statement kCommitRolled("commit.rolled", Statement::Kind::kWrite,
                              Text(std::string(kItems) + kGive + kMovedOn + kItsRows + kUsualWrites + kReady + kOtherRows +
                                   OtherWrites("s.item = ANY ($j_item::int[])") + kSegments + Answer("held", true)),
                              true);
const Statement kCommitRows("commit.rows", Statement::Kind::kWrite,
                            Text(std::string(kItems) + kGive + kWrites + kUsualWrites + kReady + kOtherRows + Answer("held", true)), true);
const Statement kCommitReady("commit.ready", Statement::Kind::kWrite,
                             Text(std::string(kItems) + kGive + kWrites + kUsualWrites + kReady + Answer("held", true)), true);
const Statement kCommitRun("commit.run", Statement::Kind::kWrite,
                           Text(std::string(kItems) + kGive + kWrites + kUsualWrites + Answer("held")), true);
const Statement kCommitKeep("commit.keep", Statement::Kind::kWrite, Text(std::string(kItems) + kKeepOnly + kWrites + Answer("kept")), true);
const Statement kCommitOne("commit.one", Statement::Kind::kWrite, Text(kOneKept + kOneEvent + kOneAnswer), true);
const Statement kCommitFirst("commit.first", Statement::Kind::kWrite, Text(kOneKept + kOneEvent + kItsTimers + kItsListing + kOneAnswer),
                             true);
const Statement kCommitLast("commit.last", Statement::Kind::kWrite, Text(kOneClosed + kItsEvents + kNoTimers + kItsListing + kOneAnswer),
                            true);

// With a single run in flight a batch has one item: which of the statements for one item fits it, if any does.
std::optional<CommitForm> FormOfOne(const CommitItem& i) {
  if (i.disposition == Disposition::kClose) {
    const bool plain = !i.required_version && !i.not_before && !i.waiting;
    return plain ? std::optional(CommitForm::kLast) : std::nullopt;
  }
  if (i.disposition != Disposition::kKeep || i.events.size() != 1 || !i.timers_cleared.empty()) return std::nullopt;
  return i.timers_set.empty() && !i.listing ? CommitForm::kOne : CommitForm::kFirst;
}

}  // namespace

const Statement& CommitStatement(CommitForm form) {
  switch (form) {
    case CommitForm::kOne: return kCommitOne;
    case CommitForm::kFirst: return kCommitFirst;
    case CommitForm::kLast: return kCommitLast;
    case CommitForm::kKeep: return kCommitKeep;
    case CommitForm::kRun: return kCommitRun;
    case CommitForm::kReady: return kCommitReady;
    case CommitForm::kRows: return kCommitRows;
    case CommitForm::kRolled: return kCommitRolled;
    case CommitForm::kFull: break;
  }
  return kCommitFull;
}

CommitForm FormOf(std::span<const CommitItem> items) {
  CommitForm form = CommitForm::kKeep;
  for (const CommitItem& i : items) {
    if (i.begins_journal) return CommitForm::kRolled;
    if (form == CommitForm::kFull) continue;
    if (!i.dispatches.empty() || !i.dispatches_cancelled.empty() || !i.outbox.empty() || !i.compensations.empty() ||
        !i.consumed_inbox.empty() || i.snapshot || !i.contents.empty() ||
        std::any_of(i.events.begin(), i.events.end(), [](const Event& e) { return e.offloaded; })) {
      form = CommitForm::kFull;
      continue;
    }
    const bool run = i.disposition != Disposition::kKeep || !i.timers_set.empty() || !i.timers_cleared.empty() || i.listing;
    form = std::max(form, !AllInEvents(i) ? CommitForm::kRows : i.requeue ? CommitForm::kReady : run ? CommitForm::kRun : form);
  }
  if (items.size() == 1 && form <= CommitForm::kRun) return FormOfOne(items.front()).value_or(form);
  return form;
}

std::optional<std::string> Validate(const CommitItem& item) {
  std::int64_t seq = item.base_seq;
  for (const Event& event : item.events) {
    if (event.subject != item.subject || event.seq != ++seq || event.token != item.token) {
      return "event " + std::to_string(event.seq) + ": expected sequence " + std::to_string(seq) + " of " + item.subject.ToString() +
             " under token " + std::to_string(item.token.value);
    }
  }
  const auto& attempts = item.attempts;
  for (auto a = attempts.begin(); a != attempts.end(); ++a) {
    const auto same = [&](const AttemptRow& b) { return b.step_id == a->step_id && b.attempt_id == a->attempt_id; };
    if (std::any_of(std::next(a), attempts.end(), same))
      return "attempt " + std::to_string(a->attempt_id) + " of '" + a->step_id + "' twice";
  }
  const auto& completions = item.completions;
  for (auto c = completions.begin(); c != completions.end(); ++c) {
    const auto same = [&](const CompletionRow& b) { return b.step_id == c->step_id; };
    if (std::any_of(std::next(c), completions.end(), same)) return "a completion of '" + c->step_id + "' twice";
  }
  if (!item.events.empty() && item.events.back().chain != item.chain) return "the chain of the item is not that of its last event";
  return WrongRoll(item);
}

std::vector<CommitOutcome> DecodeCommit(const Rows& rows, std::span<const CommitItem> items) {
  using Kind = CommitOutcome::Kind;
  std::vector<CommitOutcome> outcomes(items.size());
  std::vector<bool> told(items.size());
  for (int i = 0; i < rows.size(); ++i) {
    const auto n = std::size_t(rows.Int(i, 0)) - 1;
    if (n >= items.size() || told[n]) throw std::invalid_argument("an answer for an item that was not asked about");
    told[n] = true;
    const CommitItem& item = items[n];
    CommitOutcome& outcome = outcomes[n];
    bool locked = !rows.IsNull(i, 2);
    bool mine = locked && rows.Bool(i, 2);
    if (locked && mine) outcome.wake = rows.Int(i, 3);
    if (rows.Bool(i, 1)) {
      outcome.kind = Kind::kCommitted;
      if (item.requeue && !item.not_before && rows.columns() > 5 && !rows.IsNull(i, 5)) outcome.ready_at = rows.Time(i, 5);
    } else if (!locked) {
      outcome.kind = rows.Bool(i, 4) ? Kind::kBusy : Kind::kFenced;
    } else if (mine && item.disposition != Disposition::kKeep && outcome.wake != item.expected_wake) {
      outcome.kind = Kind::kMoved;
    } else {
      outcome.kind = Kind::kFenced;
      if (mine) outcome.error = "the head is not at event " + std::to_string(item.base_seq) + " any more";
    }
  }
  if (std::size_t(rows.size()) != items.size()) throw std::invalid_argument("not one answer for each item");
  return outcomes;
}

}  // namespace acl::pg
