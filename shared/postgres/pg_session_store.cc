// Worker sessions and loop leases: only the database's clock decides, and it is read after the lock.
#include "shared/base/random.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

const Statement kOpen("session.open", Statement::Kind::kWrite, R"(
INSERT INTO worker_sessions (session_id, worker_name, host, pid, slots, queues, version, started_at, heartbeat_at, expires_at)
SELECT $session::uuid, $name::text, $host::text, $pid::int, $slots::int, $queues::text[], $version::text, n, n, n + $ttl_ms::bigint * interval '1 millisecond'
FROM clock_timestamp() n
RETURNING heartbeat_at)",
                      true);
const Statement kHeartbeat("session.heartbeat", Statement::Kind::kWrite,
                           "SELECT db_now, woken, unwanted FROM heartbeat_session($session::uuid, $ttl_ms::bigint)", true);
const Statement kClose("session.close", Statement::Kind::kWrite, "SELECT close_session($session::uuid)", true);
const Statement kHoldLeaderLeases(
    "loop.hold", Statement::Kind::kWrite,
    "SELECT job_name, held_token, held_until FROM hold_leader_leases($names::text[], $session::uuid, $ttl_ms::bigint)", true);

// Random, never a name: version 4.
WorkerSessionId NewIncarnation() {
  SystemRandom random;
  Uuid uuid;
  for (int half = 0; half < 2; ++half) {
    std::uint64_t bits = random.Next();
    std::memcpy(uuid.bytes.data() + 8 * half, &bits, 8);
  }
  uuid.bytes[6] = std::uint8_t((uuid.bytes[6] & 0x0f) | 0x40);
  uuid.bytes[8] = std::uint8_t((uuid.bytes[8] & 0x3f) | 0x80);
  return WorkerSessionId{uuid};
}

}  // namespace

Result<SessionGrant> PgStore::OpenSession(const SessionRequest& request) {
  WorkerSessionId session = NewIncarnation();
  pg::Array queues(pg::Oid::kText);
  for (const std::string& queue : request.queues) queues.Text(queue);
  Params params;
  params.Id("session", session).Text("name", request.worker_name).Text("host", request.host).Int32("pid", request.pid);
  params.Int32("slots", request.slots).List("queues", queues).Text("version", request.version).Int64("ttl_ms", request.ttl.count());
  auto rows = pg::RunOne(*session_pool_, kOpen, params);
  if (!rows) return rows.error();
  return pg::Decoded<SessionGrant>("session.open", [&] { return SessionGrant{session, rows->Time(0, 0)}; });
}

Result<HeartbeatAnswer> PgStore::Heartbeat(const WorkerSessionId& session, milliseconds ttl) {
  Params params;
  auto rows = pg::RunOne(*session_pool_, kHeartbeat, params.Id("session", session).Int64("ttl_ms", ttl.count()));
  if (!rows) return rows.error();
  return pg::Decoded<HeartbeatAnswer>("session.heartbeat", [&] {
    HeartbeatAnswer answer;
    answer.db_now = rows->Time(0, 0);
    for (int i = 1; i < rows->size(); ++i) {
      if (rows->IsNull(i, 1)) {
        answer.unwanted.push_back(DispatchId{rows->Id(i, 2)});
      } else {
        answer.woken.push_back(SubjectId{rows->Id(i, 1)});
      }
    }
    return answer;
  });
}

Status PgStore::CloseSession(const WorkerSessionId& session) {
  Params params;
  auto rows = pg::RunOne(*session_pool_, kClose, params.Id("session", session));
  return rows ? Status() : Status(rows.error());
}

Result<std::vector<std::optional<LeaderLease>>> PgStore::HoldLeaderLeases(std::span<const std::string> names,
                                                                          const WorkerSessionId& session, milliseconds ttl) {
  using Held = std::vector<std::optional<LeaderLease>>;
  pg::Array list(pg::Oid::kText);
  for (const std::string& name : names) list.Text(name);
  Params params;
  auto rows = pg::RunOne(*pool_, kHoldLeaderLeases, params.List("names", list).Id("session", session).Int64("ttl_ms", ttl.count()));
  if (!rows) return rows.error();
  return pg::Decoded<Held>("loop.hold", [&] {
    Held held(names.size());
    for (int i = 0; i < rows->size(); ++i) {
      const std::string name = rows->Text(i, 0);
      for (std::size_t n = 0; n < names.size(); ++n) {
        if (names[n] == name) held[n] = LeaderLease{name, Token{rows->Int(i, 1)}, rows->Time(i, 2)};
      }
    }
    return held;
  });
}

}  // namespace acl
