// Queues that nobody serves, and what of their subjects can be decided without a worker.
#include "shared/journal/event.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

const Statement kServed("query.served", Statement::Kind::kRead,
                        "SELECT DISTINCT unnest(w.queues) FROM worker_sessions w WHERE w.dead_at IS NULL ORDER BY 1");

// Begins at the inbox, which is short; of those that have not begun, at the oldest ready rows of each lane. A subject's ready rows are
// named by their keys, which only a scan of its queue knows: it is read once, and only if something was found. What a claim would not be
// given is passed over, and whoever was put off comes last: none of them takes the place of one that can be decided.
const Statement kUndecided("query.undecided", Statement::Kind::kRead, R"(
WITH asked AS MATERIALIZED (
  SELECT i.subject_id FROM inbox i
  JOIN subjects s ON s.subject_id = i.subject_id JOIN leases l ON l.subject_id = i.subject_id JOIN subject_head h ON h.subject_id = i.subject_id
  WHERE s.queue = ANY ($queues::text[]) AND s.kind = $kind::text AND l.session_id IS NULL AND l.state = 0 AND (i.kind = 'cancel' OR h.head_seq > 1)
    AND l.required_version <= $version::int AND (l.not_before IS NULL OR l.not_before <= clock_timestamp())
    AND NOT EXISTS (SELECT FROM ready x WHERE x.deaths > 0 AND x.subject_id = i.subject_id)
  GROUP BY i.subject_id, l.not_before ORDER BY l.not_before NULLS FIRST, min(i.arrival) LIMIT $max::int),
late AS MATERIALIZED (
  SELECT r.subject_id
  FROM ready_lanes() lane CROSS JOIN generate_series(0, 3) AS s(shard)
  CROSS JOIN LATERAL (
    SELECT * FROM ready r WHERE r.queue = lane.queue AND r.priority = lane.priority AND r.shard = s.shard AND r.kind = $kind::text
      AND r.required_version <= $version::int AND r.deaths = 0 AND r.ready_at <= clock_timestamp()
    ORDER BY r.ready_at, r.subject_id LIMIT 5000) r
  JOIN subject_head h ON h.subject_id = r.subject_id JOIN leases l ON l.subject_id = r.subject_id
  WHERE lane.queue = ANY ($queues::text[]) AND h.head_seq = 1 AND h.run_deadline <= clock_timestamp() AND l.session_id IS NULL AND l.state = 0
  GROUP BY r.subject_id ORDER BY min(r.ready_at) LIMIT $max::int)
SELECT r.subject_id, r.queue, r.priority, r.shard, r.ready_at, r.subject_id IN (SELECT subject_id FROM late) FROM ready r
WHERE r.queue = ANY ($queues::text[]) AND r.ready_at <= clock_timestamp() AND r.required_version <= $version::int AND r.deaths = 0
  AND r.subject_id = ANY (ARRAY(SELECT subject_id FROM asked UNION SELECT subject_id FROM late))
ORDER BY r.subject_id, r.ready_at)");

}  // namespace

Result<std::vector<std::string>> PgQueries::ServedQueues() {
  Params none;
  auto rows = pg::RunOne(pool_, kServed, none);
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<std::string>>("query.served", [&] {
    std::vector<std::string> queues;
    for (int i = 0; i < rows->size(); ++i) queues.push_back(rows->Text(i, 0));
    return queues;
  });
}

Result<std::vector<Undecided>> PgQueries::FindUndecided(std::span<const std::string> queues, const std::string& kind, int max) {
  pg::Array names(pg::Oid::kText);
  for (const std::string& queue : queues) names.Text(queue);
  Params params;
  auto rows = pg::RunOne(pool_, kUndecided,
                         params.List("queues", names).Text("kind", kind).Int32("max", max).Int32("version", EventSchemaVersion()));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<Undecided>>("query.undecided", [&] {
    std::vector<Undecided> found;
    for (int i = 0; i < rows->size(); ++i) {
      const SubjectId subject{rows->Id(i, 0)};
      if (found.empty() || found.back().subject != subject) found.push_back({subject, {}, rows->Bool(i, 5)});
      found.back().rows.push_back({rows->Text(i, 1), int(rows->Int(i, 2)), int(rows->Int(i, 3)), rows->Time(i, 4), subject});
    }
    return found;
  });
}

}  // namespace acl
