// A subject's journal, attempts, grants; and the fleet's leases, sessions and quarantine.
#include <fmt/format.h>

#include "shared/postgres/claim_rows.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Rows;
using pg::Statement;

constexpr auto kRead = Statement::Kind::kRead;

const Statement kEvents("query.events", kRead, R"(
SELECT seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded
FROM event_rows WHERE subject_id = $subject::uuid AND seq > $after::bigint ORDER BY seq LIMIT $limit::int)",
                        true);
const Statement kSnapshot("query.snapshot", kRead, R"(
SELECT snapshot_id, last_event_seq, schema_version, state_root, chain, inline_state, chunks, created_at
FROM snapshot_rows WHERE subject_id = $subject::uuid AND last_event_seq <= $seq::bigint ORDER BY last_event_seq DESC LIMIT 1)",
                          true);
const Statement kAttempts("query.attempts", kRead, R"(
-- Put together by sorting, not by a join: with the plans that sessions have a join of two views is a loop in a loop.
SELECT b.step_id, b.attempt_id, b.token, b.started_at, b.completed_at
FROM (SELECT e.step_id, e.attempt_id, max(e.token) AS token, max(e.started_at) AS started_at, max(e.completed_at) AS completed_at
      FROM (SELECT a.step_id, a.attempt_id, a.token, a.started_at, NULL::timestamptz AS completed_at FROM attempt_rows a WHERE a.subject_id = $subject::uuid
            UNION ALL
            SELECT c.step_id, c.attempt_id, NULL, NULL, c.completed_at FROM completion_rows c WHERE c.subject_id = $subject::uuid) e
      GROUP BY e.step_id, e.attempt_id) b
WHERE b.started_at IS NOT NULL ORDER BY b.started_at, b.step_id, b.attempt_id)",
                          true);
const Statement kDispatches("query.dispatches", kRead, R"(
SELECT t.dispatch_id, t.step_id, t.attempt_id, t.queue, t.priority, t.state, t.cancel_requested, coalesce(t.token, 0), t.session_id,
       coalesce(w.worker_name, ''), t.created_at, t.deadline, t.started_at, t.ended_at
FROM dispatches t LEFT JOIN worker_sessions w ON w.session_id = t.session_id WHERE t.subject_id = $subject::uuid
ORDER BY t.created_at, t.step_id, t.attempt_id)",
                            true);
const Statement kCompensations("query.compensations", kRead, R"(
SELECT step_id, capability, coalesce(inputs_json, ''), status, coalesce(error, ''), at
FROM compensation_rows WHERE subject_id = $subject::uuid ORDER BY compensation_id)",
                               true);
const Statement kGrants("query.grants", kRead, R"(
SELECT g.token, g.session_id, coalesce(w.worker_name, ''), g.head_seq, g.takeovers_without_progress, g.granted_at, g.alone
FROM (SELECT * FROM lease_history WHERE subject_id = $subject::uuid ORDER BY token DESC LIMIT $limit::int) g
LEFT JOIN worker_sessions w ON w.session_id = g.session_id ORDER BY g.token)",
                        true);
const Statement kLeases("query.leases", kRead, R"(
SELECT l.subject_id, l.session_id, w.worker_name, l.token, l.acquired_at, w.expires_at
FROM leases l JOIN worker_sessions w ON w.session_id = l.session_id WHERE l.session_id IS NOT NULL ORDER BY l.subject_id LIMIT $limit::int)");
const Statement kSessions("query.sessions", kRead, R"(
SELECT s.session_id, s.worker_name, s.host, s.version, s.pid, s.slots, array_to_json(s.queues)::text, s.started_at, s.heartbeat_at, s.expires_at,
       s.dead_at IS NOT NULL, (SELECT count(*) FROM leases l WHERE l.session_id = s.session_id)
FROM worker_sessions s WHERE s.dead_at IS NULL OR $dead::boolean ORDER BY s.started_at, s.session_id)");
const Statement kQuarantined("query.quarantined", kRead, R"(
SELECT subject_id, reason, detail, at, released_at, coalesce(released_by, '')
FROM quarantine WHERE released_at IS NULL OR $released::boolean ORDER BY quarantine_id)");
const Statement kTimers(
    "query.timers", kRead,
    "SELECT t.timer_id, t.fire_at FROM (SELECT timer_id, fire_at FROM timers WHERE subject_id = $subject::uuid OFFSET 0) t "
    "ORDER BY t.fire_at, t.timer_id",
    true);

// Runs the statement and reads every row of it.
template <class Row, class F>
Result<std::vector<Row>> ReadAll(pg::Pool& pool, const Statement& statement, const Params& params, F read) {
  auto rows = pg::RunOne(pool, statement, params);
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<Row>>(statement.name().c_str(), [&] {
    std::vector<Row> all;
    for (int i = 0; i < rows->size(); ++i) all.push_back(read(*rows, i));
    return all;
  });
}

Params Of(const SubjectId& subject) {
  Params params;
  params.Id("subject", subject);
  return params;
}

}  // namespace

Result<std::vector<Event>> PgQueries::ReadEvents(const SubjectId& subject, std::int64_t after_seq, int limit) {
  return ReadAll<Event>(pool_, kEvents, Of(subject).Int64("after", after_seq).Int32("limit", limit), [&](const Rows& r, int i) {
    Event event;
    event.subject = subject;
    event.seq = r.Int(i, 0);
    event.journal = JournalId{r.Id(i, 1)};
    event.type = r.Text(i, 2);
    event.schema_version = int(r.Int(i, 3));
    event.producer_version = r.Text(i, 4);
    event.token = Token{r.Int(i, 5)};
    event.timestamp = r.Time(i, 6);
    event.checksum = r.Hash(i, 7);
    event.content_hash = r.Hash(i, 8);
    event.chain = r.Hash(i, 9);
    event.payload = r.MaybeText(i, 10);
    event.offloaded = r.Bool(i, 11);
    return event;
  });
}

Result<std::vector<Event>> PgQueries::Events(const SubjectId& subject, std::int64_t after_seq, int limit, std::size_t most_bytes) {
  // Payloads in rows are bounded, so a few rows tell what the next ones may be.
  constexpr int kFirst = 64;
  std::vector<Event> page;
  std::size_t bytes = 0;
  bool more = true;
  while (more && int(page.size()) < limit && bytes <= most_bytes) {
    int wanted = limit - int(page.size());
    if (most_bytes != kAnyBytes) {
      const std::size_t each = page.empty() ? 0 : bytes / page.size() + 1;
      const std::size_t fit = page.empty() ? std::size_t(kFirst) : (most_bytes - bytes) / each + 1;
      wanted = int(std::min<std::size_t>(std::size_t(wanted), fit));
    }
    auto events = ReadEvents(subject, page.empty() ? after_seq : page.back().seq, wanted);
    if (!events) return events.error();
    more = int(events->size()) == wanted;
    for (Event& event : *events) {
      if (bytes > most_bytes) break;
      if (event.offloaded) {
        auto payload = store_.GetContent(event.content_hash);
        if (!payload) return Error{payload.code(), fmt::format("event {} of {}: {}", event.seq, subject.ToString(), payload.message())};
        event.payload = std::move(*payload);
      }
      bytes += event.payload ? event.payload->size() : 0;
      page.push_back(std::move(event));
    }
  }
  if (page.empty()) {
    if (Status exists = Exists(subject); !exists) return exists.error();
  }
  return page;
}

Result<std::optional<Snapshot>> PgQueries::SnapshotUpTo(const SubjectId& subject, std::int64_t seq) {
  auto found = ReadAll<Snapshot>(pool_, kSnapshot, Of(subject).Int64("seq", seq), [](const Rows& r, int i) {
    Snapshot snapshot;
    snapshot.id = r.Id(i, 0);
    snapshot.last_event_seq = r.Int(i, 1);
    snapshot.schema_version = int(r.Int(i, 2));
    snapshot.state_root = r.Hash(i, 3);
    snapshot.chain = r.Hash(i, 4);
    snapshot.inline_state = r.MaybeText(i, 5);
    if (!r.IsNull(i, 6)) snapshot.chunks = pg::SplitHashes(r.Bytes(i, 6));
    snapshot.created_at = r.Time(i, 7);
    return snapshot;
  });
  if (!found) return found.error();
  if (!found->empty()) return std::optional<Snapshot>(std::move(found->front()));
  if (Status exists = Exists(subject); !exists) return exists.error();
  return std::optional<Snapshot>();
}

Result<std::vector<AttemptView>> PgQueries::Attempts(const SubjectId& subject) {
  if (Status exists = Exists(subject); !exists) return exists.error();
  return ReadAll<AttemptView>(pool_, kAttempts, Of(subject), [](const Rows& r, int i) {
    return AttemptView{r.Text(i, 0), int(r.Int(i, 1)), Token{r.Int(i, 2)}, r.Time(i, 3), r.MaybeTime(i, 4)};
  });
}

Result<std::vector<DispatchView>> PgQueries::Dispatches(const SubjectId& subject) {
  if (Status exists = Exists(subject); !exists) return exists.error();
  return ReadAll<DispatchView>(pool_, kDispatches, Of(subject), [](const Rows& r, int i) {
    DispatchView view;
    view.id = DispatchId{r.Id(i, 0)};
    view.step_id = r.Text(i, 1);
    view.attempt_id = int(r.Int(i, 2));
    view.queue = r.Text(i, 3);
    view.priority = int(r.Int(i, 4));
    view.state = r.Text(i, 5);
    view.cancel_requested = r.Bool(i, 6);
    view.token = Token{r.Int(i, 7)};
    if (!r.IsNull(i, 8)) view.session = WorkerSessionId{r.Id(i, 8)};
    view.worker_name = r.Text(i, 9);
    view.created_at = r.Time(i, 10);
    view.deadline = r.MaybeTime(i, 11);
    view.started_at = r.MaybeTime(i, 12);
    view.ended_at = r.MaybeTime(i, 13);
    return view;
  });
}

Result<std::vector<CompensationRow>> PgQueries::Compensations(const SubjectId& subject) {
  if (Status exists = Exists(subject); !exists) return exists.error();
  return ReadAll<CompensationRow>(pool_, kCompensations, Of(subject), [](const Rows& r, int i) {
    return CompensationRow{r.Text(i, 0), r.Text(i, 1), r.Text(i, 2), r.Text(i, 3), r.Text(i, 4), r.Time(i, 5)};
  });
}

Result<std::vector<GrantView>> PgQueries::Grants(const SubjectId& subject) {
  if (Status exists = Exists(subject); !exists) return exists.error();
  return ReadAll<GrantView>(pool_, kGrants, Of(subject).Int32("limit", kMaxGrants), [](const Rows& r, int i) {
    WorkerSessionId session;  // nil: a direct command
    if (!r.IsNull(i, 1)) session = WorkerSessionId{r.Id(i, 1)};
    return GrantView{Token{r.Int(i, 0)}, session, r.Text(i, 2), r.Int(i, 3), int(r.Int(i, 4)), r.Time(i, 5), int(r.Int(i, 6))};
  });
}

Result<std::vector<LeaseView>> PgQueries::Leases(int limit) {
  Params params;
  return ReadAll<LeaseView>(pool_, kLeases, params.Int32("limit", limit), [](const Rows& r, int i) {
    return LeaseView{SubjectId{r.Id(i, 0)}, WorkerSessionId{r.Id(i, 1)}, r.Text(i, 2), Token{r.Int(i, 3)}, r.Time(i, 4), r.Time(i, 5)};
  });
}

Result<std::vector<SessionRow>> PgQueries::Sessions(bool include_dead) {
  Params params;
  return ReadAll<SessionRow>(pool_, kSessions, params.Bool("dead", include_dead), [](const Rows& r, int i) {
    SessionRow row;
    row.session = WorkerSessionId{r.Id(i, 0)};
    row.worker_name = r.Text(i, 1);
    row.host = r.Text(i, 2);
    row.version = r.Text(i, 3);
    row.pid = int(r.Int(i, 4));
    row.slots = int(r.Int(i, 5));
    for (const auto& queue : Json::parse(r.Text(i, 6))) row.queues.push_back(queue.get<std::string>());
    row.started_at = r.Time(i, 7);
    row.heartbeat_at = r.Time(i, 8);
    row.expires_at = r.Time(i, 9);
    row.dead = r.Bool(i, 10);
    row.leases_held = r.Int(i, 11);
    return row;
  });
}

Result<std::vector<QuarantineView>> PgQueries::Quarantined(bool include_released) {
  Params params;
  return ReadAll<QuarantineView>(pool_, kQuarantined, params.Bool("released", include_released), [](const Rows& r, int i) {
    return QuarantineView{SubjectId{r.Id(i, 0)}, r.Text(i, 1), r.Text(i, 2), r.Time(i, 3), r.MaybeTime(i, 4), r.Text(i, 5)};
  });
}

Result<std::vector<TimerRow>> PgQueries::Timers(const SubjectId& subject) {
  if (Status exists = Exists(subject); !exists) return exists.error();
  return ReadAll<TimerRow>(pool_, kTimers, Of(subject), [](const Rows& r, int i) { return TimerRow{r.Text(i, 0), r.Time(i, 1)}; });
}

}  // namespace acl
