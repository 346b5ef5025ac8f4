// Claim: one round trip; the function raises the token first and reads in later statements (migrations/0108_claim_parts.sql).
#include "shared/postgres/claim_rows.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Statement;

#define ACL_CLAIM_COLUMNS "SELECT part, subject, n1, n2, n3, n4, u1, u2, t1, t2, b1, b2, b3, at1 FROM "
const Statement kClaim("claim", Statement::Kind::kWrite,
                       ACL_CLAIM_COLUMNS
                       "claim_subjects($session::uuid, $queues::text[], $max::int, $version::int, $kinds::text[], $min_age_ms::bigint, "
                       "$tasks::int)",
                       true);
const Statement kClaimKeys("claim.keys", Statement::Kind::kWrite,
                           ACL_CLAIM_COLUMNS
                           "claim_keys($session::uuid, $queue::text[], $band::int[], $shard::int[], $at::timestamptz[], $subject::uuid[], "
                           "$version::int, $kinds::text[], $tasks::int)",
                           true);
#undef ACL_CLAIM_COLUMNS
const Statement kDue("ready.due", Statement::Kind::kRead, R"(
SELECT queue, band, ready_at, subject_id, kind, required_version, head_seq, token, db_now, traceparent
FROM due_ready($shard::int, $queue::text[], $band::int[], $at::timestamptz[], $subject::uuid[], $max::int))",
                     true);

// Keys as one array a column.
struct KeyArrays {
  explicit KeyArrays(std::span<const ReadyKey> keys) {
    for (const ReadyKey& key : keys) {
      queue.Text(key.queue);
      band.Int32(key.band);
      shard.Int32(key.shard);
      at.Time(key.ready_at);
      subject.Id(key.subject.uuid);
    }
  }
  pg::Params& BindTo(pg::Params& params) const {
    return params.List("queue", queue).List("band", band).List("at", at).List("subject", subject);
  }
  pg::Array queue{pg::Oid::kText}, band{pg::Oid::kInt4}, shard{pg::Oid::kInt4}, at{pg::Oid::kTimestamptz}, subject{pg::Oid::kUuid};
};

}  // namespace

Result<ClaimAnswer> PgStore::Claim(const ClaimRequest& request) {
  if (request.max <= 0 && !request.keys) return Error{Code::kInvalid, "claim: max must be at least 1"};
  pg::Array queues(pg::Oid::kText), kinds(pg::Oid::kText);
  for (const std::string& queue : request.queues) queues.Text(queue);
  for (const std::string& kind : request.kinds) kinds.Text(kind);
  pg::Params params;
  params.Id("session", request.session).Int32("version", request.known_version).List("kinds", kinds).Int32("tasks", request.max_tasks);
  if (request.keys) {
    const KeyArrays keys(*request.keys);
    keys.BindTo(params).List("shard", keys.shard);
  } else {
    params.List("queues", queues).Int32("max", request.max).Int64("min_age_ms", request.min_age.count());
  }
  auto rows = pg::RunOne(*pool_, request.keys ? kClaimKeys : kClaim, params);
  if (!rows) return rows.error();
  return pg::Decoded<ClaimAnswer>("claim", [&] { return pg::DecodeClaim(*rows); });
}

Result<DueAnswer> PgStore::DueReady(int shard, std::span<const ReadyKey> marks, int max) {
  pg::Params params;
  const KeyArrays keys(marks);
  keys.BindTo(params).Int32("shard", shard).Int32("max", max);
  auto rows = pg::RunOne(*pool_, kDue, params);
  if (!rows) return rows.error();
  return pg::Decoded<DueAnswer>("ready.due", [&] {
    DueAnswer answer;
    for (int i = 0; i < rows->size(); ++i) {
      DueRow row;
      row.key = {rows->Text(i, 0), int(rows->Int(i, 1)), shard, rows->Time(i, 2), SubjectId{rows->Id(i, 3)}};
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
