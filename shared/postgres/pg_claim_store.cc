// Claim: one round trip; the functions raise the token first and read in later statements (migrations/functions/grant_rows.sql).
#include "shared/postgres/claim_rows.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Statement;

#define ACL_CLAIM_COLUMNS \
  "SELECT r.part, r.subject, r.n1, r.n2, r.n3, r.n4, r.u1, r.u2, r.t1, r.t2, r.b1, r.b2, r.b3, r.at1, r.n5, r.n6, r.t3, r.t4, r.b4"
const Statement kClaim(
    "claim", Statement::Kind::kWrite,
    ACL_CLAIM_COLUMNS
    " FROM grant_waiting($session::uuid, $queues::text[], $max::int, $version::int, $kinds::text[], $min_age_ms::bigint, "
    "$dispatches::int) g CROSS JOIN LATERAL read_granted(g, $later::boolean) r",
    true);
const Statement kClaimBegun("claim.begun", Statement::Kind::kWrite,
                            ACL_CLAIM_COLUMNS
                            " FROM grant_begun($session::uuid, $queues::text[], $max::int, $version::int, $kinds::text[], "
                            "$min_age_ms::bigint, $dispatches::int) g CROSS JOIN LATERAL read_granted(g, $later::boolean) r",
                            true);
const Statement kClaimKeys(
    "claim.keys", Statement::Kind::kWrite,
    ACL_CLAIM_COLUMNS
    ", (SELECT begun_waits($queues::text[], clock_timestamp() - $min_age_ms::bigint * interval '1 millisecond')) FROM "
    "grant_named($session::uuid, $queue::text[], $priority::int[], $shard::int[], $at::timestamptz[], $subject::uuid[], "
    "$version::int, $kinds::text[], $dispatches::int, $released::bigint[]) g CROSS JOIN LATERAL read_granted(g, "
    "$later::boolean) r",
    true);
const Statement kReadClaimed(
    "claim.contents", Statement::Kind::kRead,
    ACL_CLAIM_COLUMNS
    " FROM read_granted(ROW(clock_timestamp(), $subject::uuid[], $token::bigint[], $wake::bigint[], $takeovers_without_progress::int[], "
    "$sticky::boolean[], '{}'::uuid[], 0, 0, NULL)::granted) r",
    true);
#undef ACL_CLAIM_COLUMNS
const Statement kDue("ready.due", Statement::Kind::kRead, R"(
SELECT queue, priority, ready_at, subject_id, kind, required_version, head_seq, token, db_now, traceparent, shard
FROM due_ready($shards::int[], $shard::int[], $queue::text[], $priority::int[], $at::timestamptz[], $subject::uuid[], $max::int))",
                     true);

// Granted as it was made, and nothing written since: the head is where the grant found it, and the first events are of the lease's token.
// So no snapshot, attempt or timer can be there; an inbox row has raised the wake-up counter. Each lease by its key (LIMIT): a plan made
// while there were few took all of the session's instead, with all that the index had not yet forgotten.
const Statement kGrantsHeard("grants", Statement::Kind::kRead, R"(
SELECT l.subject_id, l.token, l.wake, h.head_seq, s.priority, s.project_id, h.journal_id, s.kind, s.queue, h.chain, h.state_root,
       h.last_timestamp, clock_timestamp(), e.seq, e.schema_version, e.producer_version, e.type, e.payload, e.checksum,
       coalesce(e.content_hash, e.checksum), e.chain, e.at, e.offloaded, e.root, e.completed, e.begun
FROM unnest($subject::uuid[]) WITH ORDINALITY AS i(subject, n)
CROSS JOIN LATERAL (SELECT * FROM leases x WHERE x.subject_id = i.subject LIMIT 1) l
JOIN lease_history g ON g.subject_id = l.subject_id AND g.token = l.token
JOIN subject_head h ON h.subject_id = l.subject_id AND h.head_seq = g.head_seq
JOIN subjects s ON s.subject_id = l.subject_id
JOIN journal_rows e ON e.subject_id = l.subject_id AND e.token = l.token
WHERE l.session_id = $session::uuid AND l.state = 0
ORDER BY i.n, e.seq)",
                             true);

Claimed ReadGrant(const pg::Rows& rows, int i) {
  Claimed claimed;
  claimed.subject = SubjectId{rows.Id(i, 0)};
  claimed.token = Token{rows.Int(i, 1)};
  claimed.inbox_left = rows.Int(i, 2) > 0;
  claimed.head.seq = rows.Int(i, 3);
  claimed.priority = int(rows.Int(i, 4));
  claimed.project = ProjectId{rows.Id(i, 5)};
  claimed.head.journal = JournalId{rows.Id(i, 6)};
  claimed.kind = rows.Text(i, 7);
  claimed.queue = rows.Text(i, 8);
  claimed.head.chain = rows.Hash(i, 9);
  claimed.head.state_root = rows.Hash(i, 10);
  claimed.head.last_timestamp = rows.Time(i, 11);
  claimed.db_now = rows.Time(i, 12);
  return claimed;
}

Event GrantedEvent(const pg::Rows& rows, int i, const Claimed& claimed) {
  Event event;
  event.subject = claimed.subject;
  event.token = claimed.token;
  event.journal = claimed.head.journal;
  event.seq = rows.Int(i, 13);
  event.schema_version = int(rows.Int(i, 14));
  event.producer_version = rows.Text(i, 15);
  event.type = rows.Text(i, 16);
  event.checksum = rows.Hash(i, 18);
  event.content_hash = rows.Hash(i, 19);
  event.chain = rows.Hash(i, 20);
  event.timestamp = rows.Time(i, 21);
  event.offloaded = rows.Bool(i, 22);
  if (!rows.IsNull(i, 17)) event.payload = pg::PayloadOf(rows, i, rows.View(i, 17), {23, event.timestamp, 24, 25});
  return event;
}

// Keys as one array a column.
struct KeyArrays {
  explicit KeyArrays(std::span<const ReadyKey> keys) {
    for (const ReadyKey& key : keys) {
      queue.Text(key.queue);
      priority.Int32(key.priority);
      shard.Int32(key.shard);
      at.Time(key.ready_at);
      subject.Id(key.subject.uuid);
    }
  }
  pg::Params& BindTo(pg::Params& params) const {
    return params.List("queue", queue).List("priority", priority).List("shard", shard).List("at", at).List("subject", subject);
  }
  pg::Array queue{pg::Oid::kText}, priority{pg::Oid::kInt4}, shard{pg::Oid::kInt4}, at{pg::Oid::kTimestamptz}, subject{pg::Oid::kUuid};
};

}  // namespace

Result<ClaimAnswer> PgStore::Claim(const ClaimRequest& request) {
  if (request.max <= 0 && !request.keys) return Error{Code::kInvalid, "claim: max must be at least 1"};
  pg::Array queues(pg::Oid::kText), kinds(pg::Oid::kText);
  for (const std::string& queue : request.queues) queues.Text(queue);
  for (const std::string& kind : request.kinds) kinds.Text(kind);
  pg::Params params;
  params.Id("session", request.session)
      .Int32("version", request.known_version)
      .List("kinds", kinds)
      .Int32("dispatches", request.max_dispatches);
  params.Bool("later", request.contents_later);
  if (request.keys) {
    const KeyArrays keys(*request.keys);
    pg::Array released(pg::Oid::kInt8);
    for (const ReadyKey& key : *request.keys) {
      const Token token = request.released_token ? request.released_token(key.subject) : Token{};
      if (token.value > 0) {
        released.Int64(token.value);
      } else {
        released.Null();
      }
    }
    keys.BindTo(params).List("released", released);
  } else {
    params.Int32("max", request.max);
  }
  params.List("queues", queues).Int64("min_age_ms", request.min_age.count());
  auto rows = pg::RunOne(*pool_, request.keys ? kClaimKeys : request.begun_only ? kClaimBegun : kClaim, params);
  if (!rows) return rows.error();
  return pg::Decoded<ClaimAnswer>("claim", [&] { return pg::DecodeClaim(*rows); });
}

Status PgStore::ReadClaimed(std::vector<Claimed>& granted) {
  pg::Array subject(pg::Oid::kUuid), token(pg::Oid::kInt8), wake(pg::Oid::kInt8), takeovers_without_progress(pg::Oid::kInt4),
      sticky(pg::Oid::kBool);
  std::map<SubjectId, Claimed*> of;
  for (Claimed& claimed : granted) {
    subject.Id(claimed.subject.uuid);
    token.Int64(claimed.token.value);
    wake.Int64(claimed.wake);
    takeovers_without_progress.Int32(claimed.takeovers_without_progress);
    sticky.Bool(claimed.sticky);
    of[claimed.subject] = &claimed;
  }
  pg::Params params;
  params.List("subject", subject)
      .List("token", token)
      .List("wake", wake)
      .List("takeovers_without_progress", takeovers_without_progress)
      .List("sticky", sticky);
  auto rows = pg::RunOne(*pool_, kReadClaimed, params);
  if (!rows) return rows.error();
  auto read = pg::Decoded<ClaimAnswer>("claim.contents", [&] { return pg::DecodeClaim(*rows); });
  if (!read) return read.error();
  for (Claimed& one : read->claimed) {
    Claimed& claimed = *of.at(one.subject);
    one.db_now = claimed.db_now;  // of the grant
    claimed = std::move(one);
  }
  return {};
}

Result<std::vector<Claimed>> PgStore::ReadGrants(const WorkerSessionId& session, std::span<const SubjectId> subjects) {
  pg::Array subject(pg::Oid::kUuid);
  for (const SubjectId& id : subjects) subject.Id(id.uuid);
  pg::Params params;
  auto rows = pg::RunOne(*pool_, kGrantsHeard, params.Id("session", session).List("subject", subject));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<Claimed>>("grants", [&] {
    std::vector<Claimed> granted;
    for (int i = 0; i < rows->size(); ++i) {
      if (granted.empty() || granted.back().subject != SubjectId{rows->Id(i, 0)}) granted.push_back(ReadGrant(*rows, i));
      granted.back().events.push_back(GrantedEvent(*rows, i, granted.back()));
    }
    return granted;
  });
}

Result<DueAnswer> PgStore::DueReady(std::span<const DueLook> looks, int max) {
  pg::Array shards(pg::Oid::kInt4);
  std::vector<ReadyKey> marks;
  for (const DueLook& look : looks) {
    shards.Int32(look.shard);
    for (ReadyKey mark : look.marks) {
      mark.shard = look.shard;
      marks.push_back(std::move(mark));
    }
  }
  pg::Params params;
  const KeyArrays keys(marks);
  keys.BindTo(params).List("shards", shards).Int32("max", max);
  auto rows = pg::RunOne(*pool_, kDue, params);
  if (!rows) return rows.error();
  return pg::Decoded<DueAnswer>("ready.due", [&] {
    DueAnswer answer;
    for (int i = 0; i < rows->size(); ++i) {
      DueRow row;
      row.key = {rows->Text(i, 0), int(rows->Int(i, 1)), int(rows->Int(i, 10)), rows->Time(i, 2), SubjectId{rows->Id(i, 3)}};
      row.kind = rows->Text(i, 4);
      row.required_version = int(rows->Int(i, 5));
      row.event_seq = rows->Int(i, 6);
      row.token = Token{rows->Int(i, 7)};
      answer.db_now = rows->Time(i, 8);
      row.traceparent = rows->MaybeText(i, 9).value_or("");
      answer.rows.push_back(std::move(row));
    }
    return answer;
  });
}

}  // namespace acl
