#include "shared/verify/pg_verify_store.h"

#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/postgres/claim_rows.h"
#include "shared/postgres/store_calls.h"
#include "shared/verify/shown_rows.h"

namespace acl::verify {

const pg::Statement kShownRows("verify.shown", pg::Statement::Kind::kRead,
                               "SELECT subject_id, tab, id, shown FROM shown_rows($first::uuid, $last::uuid)");

namespace {

using pg::Params;
using pg::Rows;
using pg::Statement;

constexpr auto kRead = Statement::Kind::kRead;
constexpr int kBatchSubjects = 1'000, kBatchEvents = 20'000, kPageEvents = 256, kPageChunks = 32;

const Statement kCount("verify.count", kRead, "SELECT count(*) FROM subjects");
const Statement kBatch("verify.batch", kRead, R"(
SELECT subject_id FROM (
  SELECT s.subject_id, sum(coalesce(h.head_seq, 0)) OVER (ORDER BY s.subject_id) AS events, row_number() OVER (ORDER BY s.subject_id) AS n
  FROM (SELECT subject_id FROM subjects WHERE cardinality($after::uuid[]) = 0 OR subject_id > ($after::uuid[])[1] ORDER BY subject_id
        LIMIT $subjects::int) s
  LEFT JOIN subject_head h USING (subject_id)) b
WHERE b.n = 1 OR b.events <= $events::int ORDER BY subject_id)");
const Statement kExists("verify.exists", kRead, "SELECT 1 FROM subjects WHERE subject_id = $subject::uuid");
const Statement kSubjects("verify.subjects", kRead, R"(
SELECT s.subject_id, s.kind, h.head_seq, h.chain, h.state_root, h.journal_id, h.last_timestamp,
       l.token, l.session_id, l.state, l.waiting_reason, l.next_wake, l.wake, y.status,
       (SELECT count(*) FROM timers t WHERE t.subject_id = s.subject_id), (SELECT count(*) FROM inbox i WHERE i.subject_id = s.subject_id),
       (SELECT count(*) FROM dispatches k WHERE k.subject_id = s.subject_id AND k.state IN ('queued', 'started')),
       (SELECT count(*) FROM quarantine q WHERE q.subject_id = s.subject_id AND q.released_at IS NULL),
       (SELECT min(t.fire_at) FROM timers t WHERE t.subject_id = s.subject_id), coalesce(h.journal_first, 1)
FROM subjects s LEFT JOIN subject_head h USING (subject_id) LEFT JOIN leases l USING (subject_id) LEFT JOIN listings y USING (subject_id)
WHERE s.subject_id BETWEEN $first::uuid AND $last::uuid ORDER BY s.subject_id)");
// Those that a claim would find: in the queue, priority and shard of the subject.
const Statement kReady("verify.ready", kRead, R"(
SELECT r.subject_id, count(*) FROM ready r JOIN subjects s ON s.subject_id = r.subject_id
WHERE r.subject_id BETWEEN $first::uuid AND $last::uuid AND r.queue = s.queue AND r.priority = s.priority AND r.shard = ready_shard(s.subject_id)
  AND r.kind = s.kind GROUP BY r.subject_id)");
const Statement kAttempts("verify.attempts", kRead, R"(
SELECT subject_id, step_id, attempt_id, token, started_at FROM attempt_rows
WHERE subject_id BETWEEN $first::uuid AND $last::uuid ORDER BY subject_id, step_id, attempt_id)");
const Statement kCompletions("verify.completions", kRead, R"(
SELECT subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum FROM completion_rows
WHERE subject_id BETWEEN $first::uuid AND $last::uuid ORDER BY subject_id, step_id)");
const Statement kGrants("verify.grants", kRead, R"(
SELECT subject_id, token, head_seq, session_id FROM lease_history
WHERE subject_id BETWEEN $first::uuid AND $last::uuid ORDER BY subject_id, token)");
const Statement kSnapshots("verify.snapshots", kRead, R"(
SELECT subject_id, snapshot_id, last_event_seq, schema_version, state_root, chain, inline_state, chunks, created_at, token FROM snapshot_rows
WHERE subject_id BETWEEN $first::uuid AND $last::uuid ORDER BY subject_id, last_event_seq)");
const Statement kSegments("verify.segments", kRead, R"(
SELECT subject_id, first_seq, journal_id, token, dropped_at IS NOT NULL FROM journal_segments
WHERE subject_id BETWEEN $first::uuid AND $last::uuid ORDER BY subject_id, first_seq)");
const Statement kCompensations("verify.compensations", kRead, R"(
SELECT subject_id, step_id, capability, coalesce(inputs_json, ''), status, coalesce(error, ''), at FROM compensation_rows
WHERE subject_id BETWEEN $first::uuid AND $last::uuid ORDER BY subject_id, compensation_id)");
const Statement kApprovals("verify.approvals", kRead, R"(
SELECT subject_id, 'approvals', approval_id, json_build_object('state', state, 'request', request::json)::text
FROM approvals WHERE subject_id BETWEEN $first::uuid AND $last::uuid)");
const Statement kAnswers("verify.answers", kRead, R"(
SELECT subject_id, request_key, event_seq FROM command_answers WHERE subject_id BETWEEN $first::uuid AND $last::uuid)");
const Statement kEvents("verify.events", kRead, R"(
SELECT subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded
FROM event_rows WHERE (subject_id, seq) > ($subject::uuid, $seq::bigint) AND subject_id <= $last::uuid
ORDER BY subject_id, seq LIMIT $limit::int)");
const Statement kContent("verify.content", kRead, "SELECT size, object_key FROM contents WHERE hash = $hash::bytea");
const Statement kChunks("verify.content_chunks", kRead, R"(
SELECT bytes, number FROM content_chunks WHERE hash = $hash::bytea AND number > $after::int ORDER BY number LIMIT $limit::int)");

Params Range(const SubjectId& first, const SubjectId& last) {
  Params params;
  params.Id("first", first).Id("last", last);
  return params;
}

SubjectRows ReadSubject(const Rows& r, int i) {
  SubjectRows rows;
  rows.subject = SubjectId{r.Id(i, 0)};
  rows.kind = r.Text(i, 1);
  if (!r.IsNull(i, 2)) rows.head = Head{r.Int(i, 2), r.Hash(i, 3), r.Hash(i, 4), JournalId{r.Id(i, 5)}, r.Time(i, 6), r.Int(i, 19)};
  if (!r.IsNull(i, 7)) {
    LeaseRow lease;
    lease.token = Token{r.Int(i, 7)};
    if (!r.IsNull(i, 8)) lease.session = WorkerSessionId{r.Id(i, 8)};
    lease.state = LeaseRow::State(r.Int(i, 9));
    lease.waiting_reason = r.MaybeText(i, 10).value_or("");
    lease.next_wake = r.MaybeTime(i, 11);
    lease.wake = r.Int(i, 12);
    rows.lease = lease;
  }
  rows.listed_status = r.MaybeText(i, 13);
  rows.timers = r.Int(i, 14);
  rows.unread_inbox = r.Int(i, 15);
  rows.open_dispatches = r.Int(i, 16);
  rows.open_quarantines = r.Int(i, 17);
  rows.first_timer = r.MaybeTime(i, 18);
  return rows;
}

Event ReadEvent(const Rows& r, int i) {
  Event event;
  event.subject = SubjectId{r.Id(i, 0)};
  event.seq = r.Int(i, 1);
  event.journal = JournalId{r.Id(i, 2)};
  event.type = r.Text(i, 3);
  event.schema_version = int(r.Int(i, 4));
  event.producer_version = r.Text(i, 5);
  event.token = Token{r.Int(i, 6)};
  event.timestamp = r.Time(i, 7);
  event.checksum = r.Hash(i, 8);
  event.content_hash = r.Hash(i, 9);
  event.chain = r.Hash(i, 10);
  event.payload = r.MaybeText(i, 11);
  event.offloaded = r.Bool(i, 12);
  return event;
}

void ReadSnapshot(const Rows& r, int i, SubjectRows& rows) {
  Snapshot snapshot;
  snapshot.id = r.Id(i, 1);
  snapshot.last_event_seq = r.Int(i, 2);
  snapshot.schema_version = int(r.Int(i, 3));
  snapshot.state_root = r.Hash(i, 4);
  snapshot.chain = r.Hash(i, 5);
  snapshot.inline_state = r.MaybeText(i, 6);
  if (!r.IsNull(i, 7)) snapshot.chunks = pg::SplitHashes(r.Bytes(i, 7));
  snapshot.created_at = r.Time(i, 8);
  rows.snapshots.push_back(std::move(snapshot));
  rows.snapshot_tokens.push_back(Token{r.Int(i, 9)});
}

}  // namespace

Result<PgVerifyStore> PgVerifyStore::Open(const std::string& conninfo, const std::string& role, std::shared_ptr<ObjectStore> objects) {
  pg::ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "acl-verify";
  settings.role = role;
  // Whole tables are read, and pages are checked between statements.
  settings.statement_timeout = std::chrono::hours(1);
  settings.idle_in_transaction_timeout = std::chrono::minutes(10);
  auto connection = pg::Connection::Open(settings);
  if (!connection) return connection.error();
  return PgVerifyStore(std::move(*connection), std::move(objects));
}

Status PgVerifyStore::InSnapshot(const std::function<Status()>& work) {
  if (Status begun = connection_->Begin(); !begun) return begun;
  auto mode = connection_->RunScript("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  Status done = mode ? work() : Status(mode.error());
  connection_->Rollback();  // there is nothing to keep
  return done;
}

Result<std::int64_t> PgVerifyStore::CountSubjects() {
  auto rows = connection_->Run(kCount);
  if (!rows) return rows.error();
  return rows->Int(0, 0);
}

Result<std::vector<SubjectId>> PgVerifyStore::NextBatch(const std::optional<SubjectId>& after) {
  pg::Array list(pg::Oid::kUuid);
  if (after) list.Id(after->uuid);
  Params params;
  auto rows = connection_->Run(kBatch, params.List("after", list).Int32("subjects", kBatchSubjects).Int32("events", kBatchEvents));
  if (!rows) return rows.error();
  std::vector<SubjectId> subjects;
  for (int i = 0; i < rows->size(); ++i) subjects.push_back(SubjectId{rows->Id(i, 0)});
  return subjects;
}

Result<bool> PgVerifyStore::Exists(const SubjectId& subject) {
  Params params;
  auto rows = connection_->Run(kExists, params.Id("subject", subject));
  if (!rows) return rows.error();
  return rows->size() == 1;
}

Result<std::vector<SubjectRows>> PgVerifyStore::ReadRows(const SubjectId& first, const SubjectId& last) {
  auto rows = connection_->Run(kSubjects, Range(first, last));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<SubjectRows>>("verify.subjects", [&]() -> Result<std::vector<SubjectRows>> {
    std::vector<SubjectRows> all;
    for (int i = 0; i < rows->size(); ++i) all.push_back(ReadSubject(*rows, i));
    if (Status side = ReadSide(first, last, all); !side) return side.error();
    return all;
  });
}

// The rows beside the journal, put to their subjects. Rows of subjects that do not exist are the tables' check.
Status PgVerifyStore::ReadSide(const SubjectId& first, const SubjectId& last, std::vector<SubjectRows>& all) {
  auto each = [&](const Statement& statement, auto read) -> Status {
    auto rows = connection_->Run(statement, Range(first, last));
    if (!rows) return rows.error();
    for (int i = 0; i < rows->size(); ++i) {
      const SubjectId subject{rows->Id(i, 0)};
      auto it = std::lower_bound(all.begin(), all.end(), subject, [](const SubjectRows& s, const SubjectId& id) { return s.subject < id; });
      if (it != all.end() && it->subject == subject) read(*rows, i, *it);
    }
    return {};
  };
  Status ok = each(kReady, [](const Rows& r, int i, SubjectRows& s) { s.ready_rows = r.Int(i, 1); });
  if (ok)
    ok = each(kAttempts, [](const Rows& r, int i, SubjectRows& s) {
      s.attempts.push_back({r.Text(i, 1), int(r.Int(i, 2)), Token{r.Int(i, 3)}, r.Time(i, 4)});
    });
  if (ok)
    ok = each(kCompletions, [](const Rows& r, int i, SubjectRows& s) {
      s.completions.push_back({{r.Text(i, 1), int(r.Int(i, 2)), r.Time(i, 5), r.Hash(i, 6), r.Int(i, 4)}, Token{r.Int(i, 3)}});
    });
  if (ok)
    ok = each(kGrants, [](const Rows& r, int i, SubjectRows& s) {
      GrantRow grant{Token{r.Int(i, 1)}, r.Int(i, 2), std::nullopt};
      if (!r.IsNull(i, 3)) grant.session = WorkerSessionId{r.Id(i, 3)};
      s.grants.push_back(grant);
    });
  if (ok) ok = each(kSnapshots, [](const Rows& r, int i, SubjectRows& s) { ReadSnapshot(r, i, s); });
  if (ok)
    ok = each(kSegments, [](const Rows& r, int i, SubjectRows& s) {
      s.segments.push_back({r.Int(i, 1), JournalId{r.Id(i, 2)}, Token{r.Int(i, 3)}, r.Bool(i, 4)});
    });
  if (ok)
    ok = each(kCompensations, [](const Rows& r, int i, SubjectRows& s) {
      s.compensations.push_back({r.Text(i, 1), r.Text(i, 2), r.Text(i, 3), r.Text(i, 4), r.Text(i, 5), r.Time(i, 6)});
    });
  if (ok)
    ok = each(kShownRows, [](const Rows& r, int i, SubjectRows& s) { s.shown.push_back({r.Text(i, 1), r.Text(i, 2), r.Text(i, 3)}); });
  if (ok)
    ok = each(kApprovals, [](const Rows& r, int i, SubjectRows& s) { s.shown.push_back({r.Text(i, 1), r.Text(i, 2), r.Text(i, 3)}); });
  if (ok) ok = each(kAnswers, [](const Rows& r, int i, SubjectRows& s) { s.answers.push_back({r.Text(i, 1), {}, r.Int(i, 2), {}}); });
  return ok;
}

Status PgVerifyStore::ReadEvents(const SubjectId& first, const SubjectId& last, const std::function<void(const Event&)>& each) {
  SubjectId subject = first;
  std::int64_t seq = std::numeric_limits<std::int64_t>::min();
  for (int got = kPageEvents; got == kPageEvents;) {
    Params params;
    params.Id("subject", subject).Int64("seq", seq).Id("last", last).Int32("limit", kPageEvents);
    auto rows = connection_->Run(kEvents, params);
    if (!rows) return rows.error();
    got = rows->size();
    auto read = pg::Decoded<std::vector<Event>>("verify.events", [&] {
      std::vector<Event> events;
      for (int i = 0; i < got; ++i) events.push_back(ReadEvent(*rows, i));
      return events;
    });
    if (!read) return read.error();
    for (Event& event : *read) {
      subject = event.subject, seq = event.seq;
      if (event.offloaded) {
        auto payload = ReadContent(event.content_hash);
        if (!payload && payload.code() != Code::kNotFound && payload.code() != Code::kCorrupt) return payload.error();
        if (payload) event.payload = std::move(*payload);
      }
      each(event);
    }
  }
  return {};
}

Status PgVerifyStore::HasContent(const Hash256& hash) {
  Params params;
  auto head = connection_->Run(kContent, params.Bytes("hash", hash));
  if (!head) return head.error();
  return head->size() == 1 ? Status() : Status(Error{Code::kNotFound, "no content " + ToHex(hash)});
}

// Returns how many bytes there were.
Result<std::int64_t> PgVerifyStore::ReadChunks(const Hash256& hash, const std::function<void(std::string_view)>& each) {
  Params which;
  auto head = connection_->Run(kContent, which.Bytes("hash", hash));
  if (!head) return head.error();
  if (head->size() == 0) return Error{Code::kNotFound, "no content " + ToHex(hash)};
  if (!head->IsNull(0, 1)) {
    if (!objects_)
      return Error{Code::kUnavailable, "content " + ToHex(hash) + " lies in an object store: set ACL_S3_ENDPOINT and what belongs to it"};
    auto object = objects_->Get(head->Text(0, 1), head->Int(0, 0));
    if (!object && object.code() == Code::kNotFound) return Error{Code::kCorrupt, "content " + ToHex(hash) + ": its object is gone"};
    if (!object) return object.error();
    each(*object);
    return std::int64_t(object->size());
  }
  std::int64_t number = -1, bytes = 0;
  for (int got = kPageChunks; got == kPageChunks;) {
    Params params;
    auto rows = connection_->Run(kChunks, params.Bytes("hash", hash).Int32("after", int(number)).Int32("limit", kPageChunks));
    if (!rows) return rows.error();
    got = rows->size();
    for (int i = 0; i < got; ++i) {
      const std::string chunk = rows->Bytes(i, 0);
      each(chunk);
      bytes += std::int64_t(chunk.size());
      number = rows->Int(i, 1);
    }
  }
  return bytes;
}

Result<std::string> PgVerifyStore::ReadContent(const Hash256& hash) {
  std::string bytes;
  auto read = ReadChunks(hash, [&](std::string_view chunk) { bytes += chunk; });
  if (!read) return read.error();
  if (Sha256(bytes) != hash) return Error{Code::kCorrupt, "content " + ToHex(hash) + " does not have its hash any more"};
  return bytes;
}

Status PgVerifyStore::CheckContent(const Hash256& hash) {
  Sha256Stream stream;
  auto read = ReadChunks(hash, [&](std::string_view chunk) { stream.Add(chunk); });
  if (!read) return read.error();
  if (stream.Finish() != hash) return Error{Code::kCorrupt, "content " + ToHex(hash) + " does not have its hash any more"};
  return {};
}

}  // namespace acl::verify
