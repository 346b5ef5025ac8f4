// Subjects as people see them: one line each, with why it does not run and what would wake it.
#include "shared/postgres/pg_queries.h"

#include <algorithm>

#include "shared/kernel/subject_part.h"
#include "shared/kernel/suspicion.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Rows;
using pg::Statement;

constexpr const char* kView = R"(
SELECT s.subject_id, s.project_id, s.kind, s.queue, s.priority, y.name, y.version, y.owner, y.status, coalesce(s.definition_text, x.text, y.definition_text), y.labels, y.error_message,
       s.created_at, greatest(y.updated_at, h.last_timestamp), y.started_at, y.completed_at, h.head_seq, h.chain, h.state_root, h.journal_id,
       h.last_timestamp, l.token, l.session_id, w.worker_name, l.state, l.acquired_at, l.waiting_reason, l.waiting_since,
       coalesce((SELECT min(t.fire_at) FROM timers t WHERE t.subject_id = s.subject_id), l.next_wake),
       (SELECT min(r.ready_at) FROM ready r WHERE r.queue = s.queue AND r.priority = s.priority AND r.shard = ready_shard(s.subject_id)
                                              AND r.subject_id = s.subject_id),
       (SELECT q.at FROM quarantine q WHERE q.subject_id = s.subject_id AND q.released_at IS NULL),
       CASE WHEN l.session_id IS NOT NULL THEN l.deaths
            ELSE coalesce((SELECT max(r.deaths) FROM ready r WHERE r.queue = s.queue AND r.priority = s.priority AND r.shard = ready_shard(s.subject_id)
                                                               AND r.subject_id = s.subject_id), 0) END,
       coalesce(h.journal_first, 1)
FROM subjects s JOIN leases l USING (subject_id) JOIN subject_head h USING (subject_id)
LEFT JOIN listings y ON y.subject_id = s.subject_id LEFT JOIN worker_sessions w ON w.session_id = l.session_id
LEFT JOIN definition_texts x ON x.hash = s.definition_hash
)";
enum Column {
  kSubject,
  kProject,
  kKind,
  kQueue,
  kPriority,
  kName,
  kVersion,
  kOwner,
  kStatus,
  kDefinition,
  kLabels,
  kError,
  kCreated,
  kUpdated,
  kStarted,
  kCompleted,
  kHeadSeq,
  kChain,
  kRoot,
  kJournal,
  kLastAt,
  kToken,
  kSession,
  kWorker,
  kState,
  kAcquired,
  kReason,
  kSince,
  kNextWake,
  kReadyAt,
  kQuarantinedAt,
  kDeaths,
  kJournalFirst
};

const Statement kGet("query.subject", Statement::Kind::kRead, std::string(kView) + "WHERE s.subject_id = $subject::uuid", true);
const Statement kList("query.list", Statement::Kind::kRead, std::string(kView) + R"(
WHERE y.project_id = $project::uuid AND (cardinality($before::uuid[]) = 0 OR y.subject_id < ($before::uuid[])[1])
  AND (cardinality($status::text[]) = 0 OR y.status = ($status::text[])[1]) AND (cardinality($name::text[]) = 0 OR y.name = ($name::text[])[1])
  AND (cardinality($kind::text[]) = 0 OR y.kind = ($kind::text[])[1])
  AND ($labels::text = '{}' OR y.labels::jsonb @> $labels::jsonb)
  AND ($error::text = '' OR starts_with(y.error_message, $error::text))
  AND (NOT $person::boolean OR y.subject_id IN (SELECT p.subject_id FROM leases p
                                                WHERE p.state = 2 OR (p.state = 0 AND p.session_id IS NULL AND p.waiting_reason IN ('uncertain', 'memory'))))
ORDER BY y.subject_id DESC LIMIT $limit::int)");
const Statement kEnds("query.ends", Statement::Kind::kRead, R"(
SELECT l.subject_id, l.state = 1, coalesce(y.status, ''), coalesce(y.error_message, '')
FROM unnest($subjects::uuid[]) AS i(subject) JOIN leases l ON l.subject_id = i.subject LEFT JOIN listings y ON y.subject_id = i.subject)",
                      true);
// Whole ids need no look-up (query.subject), so nothing but people pays for reading them all.
const Statement kPart("query.part", Statement::Kind::kRead, R"(
SELECT subject_id FROM subjects WHERE replace(subject_id::text, '-', '') LIKE '%' || $part::text || '%'
ORDER BY subject_id DESC LIMIT $most::int)",
                      true);
// Not counted: it is asked after every batch of timers and freed leases, which may be many.
const Statement kReadyQueues("query.ready_queues", Statement::Kind::kRead, "SELECT DISTINCT queue FROM ready_lanes() ORDER BY queue");
// The last row is the outbox's; its first message is found by the primary key.
const Statement kBacklog("query.backlog", Statement::Kind::kRead, R"(
WITH each AS (SELECT r.queue, r.subject_id, count(*) AS row_count, min(r.ready_at) AS ready_at, min(r.kind) AS kind FROM ready r GROUP BY r.queue, r.subject_id),
seen AS (SELECT e.queue, e.row_count, e.ready_at,
    e.ready_at <= clock_timestamp() AND (e.kind = 'dispatch' OR (SELECT l.session_id FROM leases l WHERE l.subject_id = e.subject_id) IS NULL) AS is_ready FROM each e)
SELECT queue, sum(row_count)::bigint, greatest(extract(epoch FROM clock_timestamp() - min(ready_at) FILTER (WHERE is_ready)) * 1000, 0)::bigint,
    count(*) FILTER (WHERE is_ready), (SELECT count(*) FROM worker_sessions w WHERE w.dead_at IS NULL AND seen.queue = ANY (w.queues)) FROM seen GROUP BY queue
UNION ALL
SELECT NULL, 0, greatest(extract(epoch FROM clock_timestamp() - created_at) * 1000, 0)::bigint, 0, 0
  FROM (SELECT created_at FROM outbox ORDER BY outbox_id LIMIT 1) AS first
UNION ALL
SELECT NULL, -1 - (SELECT count(*) FROM ready WHERE deaths > 0),
       (SELECT count(*) FROM leases WHERE deaths >= 2 AND session_id IS NOT NULL) + (SELECT count(*) FROM dispatches WHERE state = 'started' AND deaths >= 2), 0, 0)");

// First of invariant 6 that holds.
void FillState(const Rows& rows, int i, SubjectView& view) {
  int state = int(rows.Int(i, kState));
  auto ready_at = rows.MaybeTime(i, kReadyAt);
  if (state == 1) {
    view.state = OpenState::kClosed;
    view.since = rows.MaybeTime(i, kCompleted) ? rows.MaybeTime(i, kCompleted) : rows.MaybeTime(i, kLastAt);
  } else if (state == 2) {
    view.state = OpenState::kQuarantined;
    view.since = rows.MaybeTime(i, kQuarantinedAt);
  } else if (view.holder) {
    view.state = OpenState::kLeased;
    view.since = rows.MaybeTime(i, kAcquired);
  } else if (view.waiting_reason == "paused") {
    view.state = OpenState::kPaused;
    view.since = rows.MaybeTime(i, kSince);
  } else if (view.waiting_reason == "memory") {
    view.state = OpenState::kWaiting;
    view.since = rows.MaybeTime(i, kSince);
    if (ready_at) view.next_wake = ready_at;
  } else if (ready_at) {
    view.state = OpenState::kReady;
    view.since = ready_at;
  } else if (view.next_wake || !view.waiting_reason.empty()) {
    view.state = OpenState::kWaiting;
    view.since = rows.MaybeTime(i, kSince);
  } else if (IsCommanded(view.queue)) {
    view.state = OpenState::kWaiting;
    view.waiting_reason = "command";
    view.since = rows.MaybeTime(i, kLastAt);
  }
}

SubjectView ReadView(const Rows& rows, int i) {
  SubjectView view;
  view.subject = SubjectId{rows.Id(i, kSubject)};
  view.project = ProjectId{rows.Id(i, kProject)};
  view.kind = rows.Text(i, kKind);
  view.queue = rows.Text(i, kQueue);
  view.priority = int(rows.Int(i, kPriority));
  if (!rows.IsNull(i, kName)) {
    view.listing = ListingRow{rows.Text(i, kName),   rows.Text(i, kVersion),    rows.Text(i, kOwner),
                              rows.Text(i, kStatus), rows.Text(i, kDefinition), rows.Text(i, kLabels)};
  }
  view.error_message = rows.MaybeText(i, kError).value_or("");
  view.created_at = rows.MaybeTime(i, kCreated);
  view.updated_at = rows.MaybeTime(i, kUpdated);
  view.started_at = rows.MaybeTime(i, kStarted);
  view.completed_at = rows.MaybeTime(i, kCompleted);
  view.head = Head{rows.Int(i, kHeadSeq),           rows.Hash(i, kChain),  rows.Hash(i, kRoot),
                   JournalId{rows.Id(i, kJournal)}, rows.Time(i, kLastAt), rows.Int(i, kJournalFirst)};
  view.token = Token{rows.Int(i, kToken)};
  if (!rows.IsNull(i, kSession)) view.holder = WorkerSessionId{rows.Id(i, kSession)};
  view.holder_name = rows.MaybeText(i, kWorker).value_or("");
  view.waiting_reason = rows.MaybeText(i, kReason).value_or("");
  view.next_wake = rows.MaybeTime(i, kNextWake);
  view.worker_deaths = rows.Int(i, kDeaths) >= kSuspectFrom ? int(rows.Int(i, kDeaths)) : 0;
  FillState(rows, i, view);
  return view;
}

pg::Array MaybeList(const std::optional<std::string>& value) {
  pg::Array list(pg::Oid::kText);
  if (value) list.Text(*value);
  return list;
}

}  // namespace

Result<SubjectView> PgQueries::GetSubject(const SubjectId& subject) {
  Params params;
  auto rows = pg::RunOne(pool_, kGet, params.Id("subject", subject));
  if (!rows) return rows.error();
  if (rows->size() == 0) return Error{Code::kNotFound, NoSuchRun(subject.ToString())};
  return pg::Decoded<SubjectView>("query.subject", [&] { return ReadView(*rows, 0); });
}

Status PgQueries::Exists(const SubjectId& subject) {
  auto view = GetSubject(subject);
  return view ? Status() : Status(view.error());
}

Result<std::vector<SubjectId>> PgQueries::FindByPart(const std::string& text) {
  const auto part = SubjectPart(text);
  if (!part) return Error{Code::kInvalid, "'" + text + "' can be no part of an id"};
  Params params;
  auto rows = pg::RunOne(pool_, kPart, params.Text("part", *part).Int32("most", kMostIdCandidates));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<SubjectId>>("query.part", [&] {
    std::vector<SubjectId> found;
    for (int i = 0; i < rows->size(); ++i) found.push_back(SubjectId{rows->Id(i, 0)});
    return found;
  });
}

Result<std::vector<SubjectView>> PgQueries::List(const ListFilter& filter) {
  pg::Array before(pg::Oid::kUuid);
  if (filter.before) before.Id(filter.before->uuid);
  Params params;
  params.Id("project", filter.project).List("before", before).List("status", MaybeList(filter.status)).List("name", MaybeList(filter.name));
  Json labels = Json::object();
  for (const auto& [name, value] : filter.labels) labels[name] = value;
  params.Text("labels", DumpJson(labels)).List("kind", MaybeList(filter.kind)).Text("error", filter.error_prefix);
  params.Bool("person", filter.needs_person).Int32("limit", std::max(filter.limit, 0));
  auto rows = pg::RunOne(pool_, kList, params);
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<SubjectView>>("query.list", [&] {
    std::vector<SubjectView> found;
    for (int i = 0; i < rows->size(); ++i) found.push_back(ReadView(*rows, i));
    return found;
  });
}

Result<std::vector<EndView>> PgQueries::Ends(std::span<const SubjectId> subjects) {
  pg::Array ids(pg::Oid::kUuid);
  for (const SubjectId& subject : subjects) ids.Id(subject.uuid);
  Params params;
  auto rows = pg::RunOne(pool_, kEnds, params.List("subjects", ids));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<EndView>>("query.ends", [&] {
    std::vector<EndView> ends;
    for (int i = 0; i < rows->size(); ++i) {
      ends.push_back({SubjectId{rows->Id(i, 0)}, rows->Bool(i, 1), rows->Text(i, 2), rows->Text(i, 3)});
    }
    return ends;
  });
}

Result<std::vector<std::string>> PgQueries::ReadyQueues() {
  Params none;
  auto rows = pg::RunOne(pool_, kReadyQueues, none);
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<std::string>>("query.ready_queues", [&] {
    std::vector<std::string> queues;
    for (int i = 0; i < rows->size(); ++i) queues.push_back(rows->Text(i, 0));
    return queues;
  });
}

Result<Backlog> PgQueries::ReadBacklog() {
  Params none;
  auto rows = pg::RunOne(pool_, kBacklog, none);
  if (!rows) return rows.error();
  return pg::Decoded<Backlog>("query.backlog", [&] {
    Backlog backlog;
    for (int i = 0; i < rows->size(); ++i) {
      const milliseconds oldest(rows->Int(i, 2));
      if (auto queue = rows->MaybeText(i, 0)) {
        backlog.queues[*queue] = {rows->Int(i, 1), rows->Int(i, 3), oldest, int(rows->Int(i, 4))};
      } else if (rows->Int(i, 1) < 0) {
        backlog.suspects_waiting = -1 - rows->Int(i, 1);
        backlog.suspects_held = rows->Int(i, 2);
      } else {
        backlog.outbox_oldest = oldest;
      }
    }
    return backlog;
  });
}

}  // namespace acl
