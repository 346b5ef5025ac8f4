#include "shared/postgres/pg_delivery_store.h"

#include "shared/postgres/store_calls.h"

namespace acl::delivery {
namespace {

using pg::Array;
using pg::Oid;
using pg::Params;
using pg::Rows;
using pg::Statement;

#define ACL_DELIVERY                                                                                                             \
  "d.position, d.message_id, d.project_id, d.subject_id, d.channel, d.endpoint, d.event, d.body, d.about, d.state, d.attempts, " \
  "d.failures, "                                                                                                                 \
  "d.created_at, d.next_attempt_at, d.held_until, d.ended_at, d.last_error"

// What an idle fleet asks every few seconds. The counts are of before it, and exact up to what is worth counting.
const Statement kClaimDeliveries("delivery.claim", Statement::Kind::kWrite,
                                 R"(
SELECT )" ACL_DELIVERY R"(, clock_timestamp(), (SELECT count(*) FROM (SELECT FROM deliveries p WHERE p.state = 'pending' LIMIT 10000) c),
       (SELECT count(*) FROM (SELECT FROM deliveries p WHERE p.state = 'dead' LIMIT 10000) c),
       coalesce((SELECT (extract(epoch FROM clock_timestamp() - min(p.created_at)) * 1000)::bigint FROM deliveries p WHERE p.state = 'pending'), 0)
FROM (VALUES (1)) AS one LEFT JOIN claim_deliveries($max::int, $each::int, $full::text[], $lease::bigint) d ON true)");
const Statement kRecordDelivery("delivery.record", Statement::Kind::kWrite, R"(
WITH known AS (SELECT d.message_id FROM deliveries d WHERE d.message_id = $id::text FOR UPDATE),
moved AS (
  UPDATE deliveries d SET state = $state::text, failures = $failures::int, held_until = NULL, last_error = $error::text,
         next_attempt_at = clock_timestamp() + $again::bigint * interval '1 millisecond',
         ended_at = CASE WHEN $state::text <> 'pending' THEN clock_timestamp() END
  FROM known k WHERE d.message_id = k.message_id
    AND ((d.state = 'pending' AND d.attempts = $attempt::int) OR ($state::text = 'delivered' AND d.state <> 'delivered')) RETURNING 1),
logged AS (
  INSERT INTO delivery_attempts (message_id, attempt, at, took_ms, status, error)
  SELECT k.message_id, $attempt::int, clock_timestamp(), $took::bigint, $status::int, $error::text FROM known k ON CONFLICT DO NOTHING RETURNING 1),
cut AS (DELETE FROM delivery_attempts a WHERE a.message_id = $id::text AND a.attempt <= $attempt::int - $kept::int RETURNING 1)
SELECT EXISTS (SELECT FROM moved), (SELECT count(*) FROM logged), (SELECT count(*) FROM cut))");
const Statement kListDeliveries("delivery.list", Statement::Kind::kRead, "SELECT " ACL_DELIVERY R"(
FROM deliveries d WHERE d.project_id = $project::uuid AND ($state::text = '' OR d.state = $state::text)
  AND ($before::bigint = 0 OR d.position < $before::bigint) ORDER BY d.position DESC LIMIT $limit::int)");
const Statement kGetDelivery("delivery.get", Statement::Kind::kRead, "SELECT " ACL_DELIVERY R"(
FROM deliveries d WHERE d.project_id = $project::uuid AND d.message_id = $id::text)");
const Statement kDeliveryAttempts("delivery.attempts", Statement::Kind::kRead, R"(
SELECT attempt, at, took_ms, status, error FROM delivery_attempts WHERE message_id = $id::text ORDER BY attempt)");
// One that somebody sends just now is left to him.
const Statement kRetryDelivery("delivery.retry", Statement::Kind::kWrite, R"(
UPDATE deliveries d SET state = 'pending', failures = 0, ended_at = NULL,
       next_attempt_at = CASE WHEN d.state = 'pending' AND d.held_until > clock_timestamp() THEN d.next_attempt_at ELSE clock_timestamp() END
WHERE d.project_id = $project::uuid AND d.message_id = $id::text AND d.state <> 'delivered' RETURNING )" ACL_DELIVERY);
const Statement kDiscardDelivery("delivery.discard", Statement::Kind::kWrite, R"(
UPDATE deliveries d SET state = 'discarded', ended_at = coalesce(d.ended_at, clock_timestamp()), held_until = NULL
WHERE d.project_id = $project::uuid AND d.message_id = $id::text AND d.state <> 'delivered' RETURNING )" ACL_DELIVERY);
const Statement kPruneDeliveries("delivery.prune", Statement::Kind::kWrite, R"(
WITH old AS (SELECT d.position FROM deliveries d WHERE d.state IN ('delivered', 'discarded')
               AND d.ended_at < clock_timestamp() - $age::bigint * interval '1 millisecond' ORDER BY d.ended_at LIMIT $max::int),
gone AS (DELETE FROM deliveries d USING old WHERE d.position = old.position RETURNING 1)
SELECT count(*) FROM gone)");
#undef ACL_DELIVERY
constexpr int kDeliveryColumns = 17;

Delivery ReadDelivery(const Rows& rows, int i) {
  Delivery d;
  d.position = rows.Int(i, 0);
  d.message_id = rows.Text(i, 1);
  d.project = ProjectId{rows.Id(i, 2)};
  d.subject = SubjectId{rows.Id(i, 3)};
  d.channel = ParseChannel(rows.View(i, 4)).value_or(Channel::kWebhook);
  d.endpoint = rows.Text(i, 5);
  d.event = rows.Text(i, 6);
  d.body = rows.Text(i, 7);
  d.about = rows.Text(i, 8);
  d.state = ParseState(rows.View(i, 9)).value_or(State::kPending);
  d.attempts = int(rows.Int(i, 10));
  d.failures = int(rows.Int(i, 11));
  d.created_at = rows.Time(i, 12);
  d.next_attempt_at = rows.Time(i, 13);
  d.held_until = rows.MaybeTime(i, 14);
  d.ended_at = rows.MaybeTime(i, 15);
  d.last_error = rows.Text(i, 16);
  return d;
}

Error NoDelivery(const std::string& id) { return {Code::kNotFound, "there is no delivery '" + id + "'"}; }

Result<Delivery> ChangeDelivery(pg::Pool& pool, PgDeliveryStore& store, const Statement& statement, const ProjectId& project,
                                const std::string& id) {
  Params params;
  auto rows = pg::RunOne(pool, statement, params.Id("project", project).Text("id", id));
  if (!rows) return rows.error();
  if (rows->size() == 1) return pg::Decoded<Delivery>("deliveries", [&] { return ReadDelivery(*rows, 0); });
  auto there = store.Get(project, id);
  if (!there) return there;
  return Error{Code::kConflict, "message '" + id + "' is delivered: it cannot be sent again or discarded"};
}

}  // namespace

Result<ClaimAnswer> PgDeliveryStore::Claim(const ClaimRequest& request) {
  Params params;
  Array full(Oid::kText);
  for (const std::string& endpoint : request.full_endpoints) full.Text(endpoint);
  params.Int32("max", request.max).Int32("each", request.each).List("full", full).Int64("lease", request.lease.count());
  auto rows = pg::RunOne(pool_, kClaimDeliveries, params);
  if (!rows) return rows.error();
  return pg::Decoded<ClaimAnswer>("delivery.claim", [&] {
    ClaimAnswer answer;
    answer.now = rows->Time(0, kDeliveryColumns);
    answer.pending = rows->Int(0, kDeliveryColumns + 1);
    answer.dead = rows->Int(0, kDeliveryColumns + 2);
    answer.oldest = milliseconds(rows->Int(0, kDeliveryColumns + 3));
    for (int i = 0; i < rows->size(); ++i) {
      if (!rows->IsNull(i, 0)) answer.due.push_back(ReadDelivery(*rows, i));
    }
    return answer;
  });
}

Result<bool> PgDeliveryStore::Record(const Outcome& outcome) {
  Params params;
  params.Text("id", outcome.message_id).Text("state", StateName(outcome.state)).Int32("failures", outcome.failures);
  params.Int64("again", outcome.again_in.count()).Int32("attempt", outcome.attempt.number).Int64("took", outcome.attempt.took.count());
  params.Int32("status", outcome.attempt.status).Text("error", outcome.attempt.error).Int32("kept", kAttemptsKept);
  auto rows = pg::RunOne(pool_, kRecordDelivery, params);
  if (!rows) return rows.error();
  return pg::Decoded<bool>("delivery.record", [&] { return rows->Bool(0, 0); });
}

Result<std::vector<Delivery>> PgDeliveryStore::List(const ProjectId& project, std::optional<State> state, std::int64_t before, int limit) {
  Params params;
  params.Id("project", project).Text("state", state ? StateName(*state) : "").Int64("before", before).Int32("limit", limit);
  auto rows = pg::RunOne(pool_, kListDeliveries, params);
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<Delivery>>("delivery.list", [&] {
    std::vector<Delivery> out;
    for (int i = 0; i < rows->size(); ++i) out.push_back(ReadDelivery(*rows, i));
    return out;
  });
}

Result<Delivery> PgDeliveryStore::Get(const ProjectId& project, const std::string& message_id) {
  Params params;
  auto rows = pg::RunOne(pool_, kGetDelivery, params.Id("project", project).Text("id", message_id));
  if (!rows) return rows.error();
  if (rows->size() == 0) return NoDelivery(message_id);
  return pg::Decoded<Delivery>("delivery.get", [&] { return ReadDelivery(*rows, 0); });
}

Result<std::vector<Attempt>> PgDeliveryStore::Attempts(const std::string& message_id) {
  Params params;
  auto rows = pg::RunOne(pool_, kDeliveryAttempts, params.Text("id", message_id));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<Attempt>>("delivery.attempts", [&] {
    std::vector<Attempt> out;
    for (int i = 0; i < rows->size(); ++i)
      out.push_back({int(rows->Int(i, 0)), rows->Time(i, 1), milliseconds(rows->Int(i, 2)), int(rows->Int(i, 3)), rows->Text(i, 4)});
    return out;
  });
}

Result<Delivery> PgDeliveryStore::Retry(const ProjectId& project, const std::string& message_id) {
  return ChangeDelivery(pool_, *this, kRetryDelivery, project, message_id);
}

Result<Delivery> PgDeliveryStore::Discard(const ProjectId& project, const std::string& message_id) {
  return ChangeDelivery(pool_, *this, kDiscardDelivery, project, message_id);
}

Result<int> PgDeliveryStore::Prune(milliseconds older_than, int max) {
  Params params;
  auto rows = pg::RunOne(pool_, kPruneDeliveries, params.Int64("age", older_than.count()).Int32("max", max));
  if (!rows) return rows.error();
  return pg::Decoded<int>("delivery.prune", [&] { return int(rows->Int(0, 0)); });
}

}  // namespace acl::delivery
