#include "shared/postgres/commit_statement.h"

#include <algorithm>
#include <set>

#include "shared/base/mutant.h"
#include "shared/postgres/claim_rows.h"

namespace acl::pg {
namespace {

// What comes in arrays is taken out of them by number: unnest of many arrays makes a tuple store of each, set up and torn down for every
// batch.
//
// 1. Proofs. A keeping item locks its lease row FOR KEY SHARE: a raise of the token (claim, reap) waits for it, a wake-up does not.
//    SKIP LOCKED: what somebody holds is `busy`, and nothing here ever waits for a lease. The row's values are those of its newest
//    version, so `mine` is the truth under the lock. The hold marks are where tests stop a session to force an interleaving.
constexpr const char* kItems = R"(
WITH item AS MATERIALIZED (
  SELECT i.n, ($subject::uuid[])[i.n] AS subject, ($session::uuid[])[i.n] AS session, ($token::bigint[])[i.n] AS token, ($base::bigint[])[i.n] AS base,
         ($head::bigint[])[i.n] AS head, ($chain::bytea[])[i.n] AS chain, ($root::bytea[])[i.n] AS root, ($at::timestamptz[])[i.n] AS at,
         ($disposition::int[])[i.n] AS disposition, ($wake::bigint[])[i.n] AS wake
  FROM generate_subscripts($subject::uuid[], 1) AS i(n)
  WHERE true -- hold: commit_snapshot_taken
),
kept AS MATERIALIZED (
  SELECT i.n, i.subject, i.base, i.head, i.chain, i.root, i.at, l.wake AS now_wake,
         l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine
  FROM item i JOIN leases l ON l.subject_id = i.subject WHERE i.disposition = 0 ORDER BY l.subject_id FOR KEY SHARE OF l SKIP LOCKED),)";

// 2. A releasing or closing item proves with an UPDATE of the lease row itself, wake-up counter included: testing the counter under
//    KEY SHARE loses the signal that comes in beside it. The row is locked before (SKIP LOCKED), then the head, so that the UPDATE
//    neither waits nor stands without the head's compare-and-set.
constexpr const char* kGive = R"(
given AS MATERIALIZED (
  SELECT i.*, l.wake AS now_wake, l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine
  FROM item i JOIN leases l ON l.subject_id = i.subject WHERE i.disposition > 0 ORDER BY l.subject_id FOR NO KEY UPDATE OF l SKIP LOCKED),
headed AS MATERIALIZED (
  SELECT g.* FROM given g JOIN subject_head h ON h.subject_id = g.subject
  WHERE g.mine AND g.now_wake = g.wake AND h.head_seq = g.base FOR UPDATE OF h),
gave AS (
  UPDATE leases l SET session_id = NULL, state = CASE WHEN g.disposition = 2 THEN 1 ELSE 0 END, last_end = 0, acquired_at = NULL,
    required_version = coalesce(($required::int[])[g.n], l.required_version), not_before = ($not_before::timestamptz[])[g.n],
    waiting_reason = ($reason::text[])[g.n], waiting_since = CASE WHEN ($reason::text[])[g.n] IS NOT NULL THEN clock_timestamp() END,
    next_wake = ($next_wake::timestamptz[])[g.n]
  FROM headed g
  WHERE l.subject_id = g.subject AND l.session_id = g.session AND l.token = g.token AND l.wake = g.wake
  RETURNING g.n, g.subject, g.base, g.head, g.chain, g.root, g.at),
proved AS (
  SELECT n, subject, base, head, chain, root, at FROM kept WHERE mine -- hold: commit_proved
  UNION ALL SELECT n, subject, base, head, chain, root, at FROM gave),)";
constexpr const char* kKeepOnly = R"(
proved AS (
  SELECT n, subject, base, head, chain, root, at FROM kept WHERE mine -- hold: commit_proved
),)";

// 3. The head's compare-and-set; everything else is fed from what it moved.
constexpr const char* kWrites = R"(
moved AS (
  UPDATE subject_head h SET head_seq = p.head, chain = p.chain, state_root = p.root, last_timestamp = greatest(h.last_timestamp, p.at)
  FROM proved p WHERE h.subject_id = p.subject AND h.head_seq = p.base RETURNING p.n),
done AS MATERIALIZED (
  SELECT array_agg(u.ok ORDER BY u.n) AS ok
  FROM (SELECT x.n, bool_or(x.ok) AS ok FROM (SELECT n, false AS ok FROM item UNION ALL SELECT n, true FROM moved) x GROUP BY x.n) u),
w_events AS (
  INSERT INTO event_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload,
                          apart)
  SELECT ($subject::uuid[])[($e_item::int[])[e.n]], ($e_seq::bigint[])[e.n], ($e_journal::uuid[])[e.n], ($e_type::text[])[e.n], ($e_schema::int[])[e.n],
         ($e_producer::text[])[e.n], ($token::bigint[])[($e_item::int[])[e.n]], ($e_at::timestamptz[])[e.n], ($e_checksum::bytea[])[e.n],
         ($e_content::bytea[])[e.n], ($e_chain::bytea[])[e.n], ($e_payload::text[])[e.n], ($e_apart::boolean[])[e.n]
  FROM generate_subscripts($e_item::int[], 1) AS e(n)
  WHERE ((SELECT ok FROM done))[($e_item::int[])[e.n]]),
w_attempts AS (
  INSERT INTO attempt_rows (subject_id, step_id, attempt_id, token, started_at)
  SELECT ($subject::uuid[])[($a_item::int[])[a.n]], ($a_step::text[])[a.n], ($a_attempt::int[])[a.n], ($token::bigint[])[($a_item::int[])[a.n]],
         ($a_at::timestamptz[])[a.n]
  FROM generate_subscripts($a_item::int[], 1) AS a(n)
  WHERE ((SELECT ok FROM done))[($a_item::int[])[a.n]]),
w_completions AS (
  -- Instead of a foreign key: an attempt that is neither in the item nor in the table becomes 0, which the row's check refuses. A scalar
  -- subquery: EXISTS has a hashed form, which reads the whole table, and a generic plan took it.
  INSERT INTO completion_rows (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum)
  SELECT ($subject::uuid[])[($c_item::int[])[c.n]], ($c_step::text[])[c.n],
         CASE WHEN ($c_fused::boolean[])[c.n] THEN ($c_attempt::int[])[c.n]
              ELSE coalesce((SELECT r.attempt_id FROM attempt_rows r WHERE r.subject_id = ($subject::uuid[])[($c_item::int[])[c.n]]
                             AND r.step_id = ($c_step::text[])[c.n] AND r.attempt_id = ($c_attempt::int[])[c.n]), 0) END,
         ($token::bigint[])[($c_item::int[])[c.n]], ($c_seq::bigint[])[c.n], ($c_at::timestamptz[])[c.n], ($c_checksum::bytea[])[c.n]
  FROM generate_subscripts($c_item::int[], 1) AS c(n)
  WHERE ((SELECT ok FROM done))[($c_item::int[])[c.n]]))";

// What the start and the end of most runs need besides.
constexpr const char* kUsualWrites = R"(,
w_timers_cleared AS (
  DELETE FROM timers t USING unnest($tc_item::int[], $tc_id::text[]) AS c(item, id)
  WHERE t.subject_id = ($subject::uuid[])[c.item] AND (c.id IS NULL OR t.timer_id = c.id) AND ((SELECT ok FROM done))[c.item]),
w_timers AS (
  INSERT INTO timers (subject_id, timer_id, fire_at)
  SELECT ($subject::uuid[])[t.item], t.id, t.at FROM unnest($t_item::int[], $t_id::text[], $t_at::timestamptz[]) AS t(item, id, at)
  WHERE ((SELECT ok FROM done))[t.item]
  ON CONFLICT (subject_id, timer_id) DO UPDATE SET fire_at = excluded.fire_at),
w_listing AS (
  UPDATE listings l SET status = y.status, error_message = coalesce(y.error, l.error_message), started_at = coalesce(y.started, l.started_at),
    completed_at = coalesce(y.completed, l.completed_at), updated_at = greatest(l.updated_at, ($at::timestamptz[])[y.item])
  FROM unnest($l_item::int[], $l_status::text[], $l_error::text[], $l_started::timestamptz[], $l_completed::timestamptz[])
    AS y(item, status, error, started, completed)
  WHERE l.subject_id = ($subject::uuid[])[y.item] AND ((SELECT ok FROM done))[y.item]))";

constexpr const char* kOtherWrites = R"(,
w_inbox AS (
  DELETE FROM inbox i USING unnest($i_item::int[], $i_id::uuid[]) AS c(item, id)
  WHERE i.subject_id = ($subject::uuid[])[c.item] AND i.inbox_id = c.id AND ((SELECT ok FROM done))[c.item]),
w_tasks AS (
  INSERT INTO tasks (subject_id, step_id, attempt_id, task_id, queue, band, payload, deadline, cancel_requested, created_at)
  SELECT ($subject::uuid[])[k.item], k.step, k.attempt, k.task, k.queue, k.band, k.payload, k.deadline, k.unwanted, clock_timestamp()
  FROM unnest($k_item::int[], $k_step::text[], $k_attempt::int[], $k_task::uuid[], $k_queue::text[], $k_band::int[], $k_payload::text[],
              $k_deadline::timestamptz[], $k_unwanted::boolean[])
    AS k(item, step, attempt, task, queue, band, payload, deadline, unwanted)
  WHERE ((SELECT ok FROM done))[k.item]),
w_task_ready AS (  -- offered through the same table as subjects: both queue drivers carry it
  INSERT INTO ready (queue, band, shard, ready_at, subject_id, kind, required_version)
  SELECT k.queue, k.band, ready_shard(k.task), clock_timestamp(), k.task, 'task', $k_version::int
  FROM unnest($k_item::int[], $k_task::uuid[], $k_queue::text[], $k_band::int[], $k_unwanted::boolean[]) AS k(item, task, queue, band, unwanted)
  WHERE ((SELECT ok FROM done))[k.item] AND NOT k.unwanted),
w_tasks_unwanted AS (
  UPDATE tasks t SET cancel_requested = true
  FROM unnest($kc_item::int[], $kc_step::text[], $kc_attempt::int[]) AS c(item, step, attempt)
  WHERE t.subject_id = ($subject::uuid[])[c.item] AND t.step_id = c.step AND t.attempt_id = c.attempt AND t.state IN ('queued', 'started')
    AND ((SELECT ok FROM done))[c.item]),
w_outbox AS (
  INSERT INTO outbox (subject_id, topic, key, payload, created_at)
  SELECT ($subject::uuid[])[o.item], o.topic, o.key, o.payload, clock_timestamp()
  FROM unnest($o_item::int[], $o_topic::text[], $o_key::text[], $o_payload::text[]) AS o(item, topic, key, payload)
  WHERE ((SELECT ok FROM done))[o.item]),
w_compensations AS (
  INSERT INTO compensation_rows (subject_id, step_id, capability, inputs_json, status, error, at)
  SELECT ($subject::uuid[])[u.item], u.step, u.capability, u.inputs, u.status, nullif(u.error, ''), u.at
  FROM unnest($u_item::int[], $u_step::text[], $u_capability::text[], $u_inputs::text[], $u_status::text[], $u_error::text[], $u_at::timestamptz[])
    AS u(item, step, capability, inputs, status, error, at)
  WHERE ((SELECT ok FROM done))[u.item]),
w_snapshots AS (
  INSERT INTO snapshot_rows (subject_id, last_event_seq, snapshot_id, schema_version, token, state_root, chain, inline_state, chunks, created_at)
  SELECT ($subject::uuid[])[s.item], s.seq, s.id, s.schema, ($token::bigint[])[s.item], s.root, s.chain, s.state, s.chunks, s.at
  FROM unnest($s_item::int[], $s_seq::bigint[], $s_id::uuid[], $s_schema::int[], $s_root::bytea[], $s_chain::bytea[], $s_state::text[],
              $s_chunks::bytea[], $s_at::timestamptz[]) AS s(item, seq, id, schema, root, chain, state, chunks, at)
  WHERE ((SELECT ok FROM done))[s.item]),
w_refs AS (  -- the foreign key: what was collected meanwhile refuses the item
  INSERT INTO content_refs (hash, subject_id, snapshot)
  SELECT DISTINCT x.hash, ($subject::uuid[])[x.item], x.snapshot
  FROM unnest($x_item::int[], $x_hash::bytea[], $x_snapshot::boolean[]) AS x(item, hash, snapshot)
  WHERE ((SELECT ok FROM done))[x.item] ORDER BY x.hash ON CONFLICT DO NOTHING),
w_old_snapshots AS (  -- the newest of before and the new one stay; the others' chunks are released with them
  DELETE FROM snapshot_rows o USING unnest($s_item::int[]) AS s(item)
  WHERE o.subject_id = ($subject::uuid[])[s.item] AND ((SELECT ok FROM done))[s.item]
    AND o.last_event_seq < (SELECT max(n.last_event_seq) FROM snapshot_rows n WHERE n.subject_id = o.subject_id)),
w_ready AS (
  INSERT INTO ready (queue, band, shard, ready_at, subject_id, kind, required_version)
  SELECT s.queue, s.band, ready_shard(s.subject_id), greatest(clock_timestamp(), ($not_before::timestamptz[])[r.item]), s.subject_id, s.kind,
         coalesce(($required::int[])[r.item], l.required_version)
  FROM unnest($r_item::int[]) AS r(item) JOIN subjects s ON s.subject_id = ($subject::uuid[])[r.item] JOIN leases l ON l.subject_id = s.subject_id
  WHERE ((SELECT ok FROM done))[r.item] ON CONFLICT DO NOTHING))";

constexpr const char* kAnswerFull = R"(
SELECT i.n, ((SELECT ok FROM done))[i.n], l.mine, l.now_wake, l.n IS NULL AND coalesce((SELECT true FROM leases x WHERE x.subject_id = i.subject), false)
FROM item i LEFT JOIN (SELECT n, mine, now_wake FROM kept UNION ALL SELECT n, mine, now_wake FROM given) l ON l.n = i.n ORDER BY i.n)";
constexpr const char* kAnswerKeep = R"(
SELECT i.n, ((SELECT ok FROM done))[i.n], l.mine, l.now_wake, l.n IS NULL AND coalesce((SELECT true FROM leases x WHERE x.subject_id = i.subject), false)
FROM item i LEFT JOIN kept l ON l.n = i.n ORDER BY i.n)";

// With the mistake that is chosen, in the build that has them.
std::string Text(std::string text) {
  const auto change = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  };
  if (Mutant("no_fence"))
    change("l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine", "true AS mine");
  if (Mutant("no_ready_row_with_the_commit")) change("WHERE ((SELECT ok FROM done))[r.item] ON CONFLICT", "WHERE false ON CONFLICT");
  return text;
}

const Statement kCommitFull("commit.full", Statement::Kind::kWrite,
                            Text(std::string(kItems) + kGive + kWrites + kUsualWrites + kOtherWrites + kAnswerFull), true);
const Statement kCommitRun("commit.run", Statement::Kind::kWrite, Text(std::string(kItems) + kGive + kWrites + kUsualWrites + kAnswerFull),
                           true);
const Statement kCommitKeep("commit.keep", Statement::Kind::kWrite, Text(std::string(kItems) + kKeepOnly + kWrites + kAnswerKeep), true);

}  // namespace

const Statement& CommitStatement(CommitForm form) {
  switch (form) {
    case CommitForm::kKeep: return kCommitKeep;
    case CommitForm::kRun: return kCommitRun;
    case CommitForm::kFull: break;
  }
  return kCommitFull;
}

CommitForm FormOf(std::span<const CommitItem> items) {
  CommitForm form = CommitForm::kKeep;
  for (const CommitItem& i : items) {
    if (i.requeue || !i.tasks.empty() || !i.tasks_cancelled.empty() || !i.outbox.empty() || !i.compensations.empty() ||
        !i.consumed_inbox.empty() || i.snapshot || !i.contents.empty() ||
        std::any_of(i.events.begin(), i.events.end(), [](const Event& e) { return e.apart; })) {
      return CommitForm::kFull;
    }
    if (i.disposition != Disposition::kKeep || !i.timers_set.empty() || !i.timers_cleared.empty() || i.listing) form = CommitForm::kRun;
  }
  return form;
}

std::optional<std::string> WhatIsWrong(const CommitItem& item) {
  std::int64_t seq = item.base_seq;
  for (const Event& event : item.events) {
    if (event.subject != item.subject || event.seq != ++seq || event.token != item.token) {
      return "event " + std::to_string(event.seq) + ": expected sequence " + std::to_string(seq) + " of " + item.subject.ToString() +
             " under token " + std::to_string(item.token.value);
    }
  }
  if (!item.events.empty() && item.events.back().chain != item.chain) return "the chain of the item is not that of its last event";
  return std::nullopt;
}

std::vector<CommitOutcome> DecodeCommit(const Rows& rows, std::span<const CommitItem> items) {
  using Kind = CommitOutcome::Kind;
  std::vector<CommitOutcome> outcomes;
  for (int i = 0; i < rows.size(); ++i) {
    const CommitItem& item = items[std::size_t(i)];
    CommitOutcome outcome;
    bool locked = !rows.IsNull(i, 2);
    bool mine = locked && rows.Bool(i, 2);
    if (locked && mine) outcome.wake = rows.Int(i, 3);
    if (rows.Bool(i, 1)) {
      outcome.kind = Kind::kCommitted;
    } else if (!locked) {
      outcome.kind = rows.Bool(i, 4) ? Kind::kBusy : Kind::kFenced;
    } else if (mine && item.disposition != Disposition::kKeep && outcome.wake != item.expected_wake) {
      outcome.kind = Kind::kMoved;
    } else {
      outcome.kind = Kind::kFenced;
      if (mine) outcome.error = "the head is not at event " + std::to_string(item.base_seq) + " any more";
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace acl::pg
