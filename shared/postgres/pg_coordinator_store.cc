#include "shared/postgres/pg_coordinator_store.h"

#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

const Statement kAnnounce("coordinators.announce", Statement::Kind::kWrite, R"(
WITH gone AS (DELETE FROM coordinators WHERE seen_at < clock_timestamp() - interval '1 hour' AND coordinator_id <> $id::uuid)
INSERT INTO coordinators (coordinator_id, doorbell, host) VALUES ($id::uuid, $doorbell::text, $host::text)
ON CONFLICT (coordinator_id) DO UPDATE SET doorbell = excluded.doorbell, host = excluded.host, seen_at = clock_timestamp())");
const Statement kLeave("coordinators.leave", Statement::Kind::kWrite, "DELETE FROM coordinators WHERE coordinator_id = $id::uuid");
const Statement kLiving("coordinators.living", Statement::Kind::kRead, R"(
SELECT doorbell, host FROM coordinators WHERE seen_at > clock_timestamp() - $silent::bigint * interval '1 millisecond' ORDER BY doorbell, host)");

}  // namespace

Status PgCoordinatorStore::Announce(const WorkerSessionId& session, const LivingCoordinator& coordinator) {
  Params params;
  params.Id("id", session).Text("doorbell", coordinator.doorbell).Text("host", coordinator.host);
  auto done = pg::RunOne(pool_, kAnnounce, params);
  return done ? Status{} : Status{done.error()};
}

Status PgCoordinatorStore::Leave(const WorkerSessionId& session) {
  Params params;
  auto done = pg::RunOne(pool_, kLeave, params.Id("id", session));
  return done ? Status{} : Status{done.error()};
}

Result<std::vector<LivingCoordinator>> PgCoordinatorStore::Living(std::chrono::milliseconds silent) {
  Params params;
  auto rows = pg::RunOne(pool_, kLiving, params.Int64("silent", silent.count()));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<LivingCoordinator>>("coordinators.living", [&] {
    std::vector<LivingCoordinator> living;
    for (int i = 0; i < rows->size(); ++i) living.push_back({rows->Text(i, 0), rows->Text(i, 1)});
    return living;
  });
}

}  // namespace acl
