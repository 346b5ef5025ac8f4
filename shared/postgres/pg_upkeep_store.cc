// Reap, reconciliation, quarantine (migrations/functions).
#include "shared/base/fail_point.h"
#include "shared/kernel/roll.h"
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

// Whether any died now, and whether there were some before whose leases are not all freed yet: else the second transaction has nothing to
// do. And in how many milliseconds the next will have died, of those that lived when the question was asked.
const Statement kReapSessions("reap.sessions", Statement::Kind::kWrite, R"(
SELECT reap_sessions(), EXISTS (SELECT FROM worker_sessions s WHERE s.dead_at IS NOT NULL AND NOT s.reaped),
       EXISTS (SELECT FROM dispatches t WHERE t.state = 'queued' AND t.cancel_requested),
       (SELECT ceil(extract(epoch FROM greatest(min(s.expires_at) - clock_timestamp(), interval '0')) * 1000)::bigint
        FROM worker_sessions s WHERE s.dead_at IS NULL HAVING min(s.expires_at) IS NOT NULL))",
                              true);
const Statement kReapDispatches("dispatches.reap", Statement::Kind::kWrite,
                                "SELECT lost, withdrawn, more FROM reap_dispatches(($subject::uuid[])[1], $max::int)", true);
const Statement kReapLeases("reap.leases", Statement::Kind::kWrite, "SELECT freed, more FROM reap_leases($max::int)", true);
const Statement kHeldBy("lease.held_by", Statement::Kind::kRead, R"(
SELECT subject_id, token FROM leases
WHERE session_id = $session::uuid AND acquired_at <= clock_timestamp() - $older_ms::bigint * interval '1 millisecond' ORDER BY subject_id)",
                        true);
const Statement kReleaseLease("lease.release", Statement::Kind::kWrite,
                              "SELECT release_lease($subject::uuid, $session::uuid, $token::bigint)", true);
const Statement kQuarantine("quarantine.put", Statement::Kind::kWrite,
                            "SELECT quarantine_subject($subject::uuid, $session::uuid, $token::bigint, $reason::text, $detail::text)");
const Statement kRetain("retain", Statement::Kind::kWrite,
                        "SELECT r.sessions, r.keys, retain_dispatches($sessions_ms::bigint, $max::int)\n"
                        "FROM retain($sessions_ms::bigint, $keys_ms::bigint, $max::int) r");
// A subject that was long before its journals rolled has a first one of any length, which goes as a whole.
const Statement kTimeToDrop("journals.drop_time", Statement::Kind::kWrite, "SELECT set_config('statement_timeout', '60000', true)");
const Statement kDropSegments("journals.drop", Statement::Kind::kWrite,
                              "SELECT d.segments, d.events, d.more FROM drop_segments($keep_ms::bigint, $max::int) d");
const Statement kReleaseQuarantine("quarantine.release", Statement::Kind::kWrite, "SELECT release_quarantine($subject::uuid, $by::text)");

}  // namespace

Result<ReapAnswer> PgStore::Reap(int max_leases) {
  Params none, limit;
  auto died = pg::RunOne(*pool_, kReapSessions, none);
  if (!died) return died.error();
  const auto next_death = died->IsNull(0, 3) ? std::nullopt : std::optional(milliseconds(died->Int(0, 3)));
  if (died->Int(0, 0) == 0 && !died->Bool(0, 1) && !died->Bool(0, 2)) return ReapAnswer{.next_death = next_death};
  if (died->Int(0, 0) > 0) FailPoint("reaper.after_select");
  // Dispatches first: a session is done with once neither a lease nor a dispatch names it.
  auto settled = ReapDispatches(std::nullopt, max_leases);
  if (!settled) return settled.error();
  auto freed = pg::RunOne(*pool_, kReapLeases, limit.Int32("max", max_leases));
  if (!freed) return freed.error();
  return pg::Decoded<ReapAnswer>("reap", [&] {
    return ReapAnswer{
        int(died->Int(0, 0)), int(freed->Int(0, 0)), settled->lost, settled->withdrawn, freed->Bool(0, 1) || settled->more, next_death};
  });
}

Result<ReapedDispatches> PgStore::ReapDispatches(const std::optional<SubjectId>& subject, int max) {
  Params params;
  pg::Array one(pg::Oid::kUuid);  // or none: of all
  if (subject) one.Id(subject->uuid);
  auto rows = pg::RunOne(*pool_, kReapDispatches, params.List("subject", one).Int32("max", max));
  if (!rows) return rows.error();
  return pg::Decoded<ReapedDispatches>("dispatches.reap", [&] {
    return ReapedDispatches{int(rows->Int(0, 0)), int(rows->Int(0, 1)), rows->Bool(0, 2)};
  });
}

Result<std::vector<std::pair<SubjectId, Token>>> PgStore::HeldBy(const WorkerSessionId& session, milliseconds older_than) {
  Params params;
  auto rows = pg::RunOne(*pool_, kHeldBy, params.Id("session", session).Int64("older_ms", older_than.count()));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<std::pair<SubjectId, Token>>>("lease.held_by", [&] {
    std::vector<std::pair<SubjectId, Token>> held;
    for (int i = 0; i < rows->size(); ++i) held.emplace_back(SubjectId{rows->Id(i, 0)}, Token{rows->Int(i, 1)});
    return held;
  });
}

Status PgStore::ReleaseLease(const SubjectId& subject, const WorkerSessionId& session, Token token) {
  Params params;
  auto rows = pg::RunOne(*pool_, kReleaseLease, params.Id("subject", subject).Id("session", session).Int64("token", token.value));
  return rows ? Status() : Status(rows.error());
}

Result<RetainAnswer> PgStore::Retain(milliseconds sessions, milliseconds request_keys, int max) {
  Params params;
  params.Int64("sessions_ms", sessions.count()).Int64("keys_ms", request_keys.count()).Int32("max", max);
  auto rows = pg::RunOne(*pool_, kRetain, params);
  if (!rows) return rows.error();
  return pg::Decoded<RetainAnswer>("retain", [&] { return RetainAnswer{rows->Int(0, 0), rows->Int(0, 1), rows->Int(0, 2)}; });
}

Result<DropAnswer> PgStore::DropSegments(milliseconds keep, int max) {
  if (keep < kLeastJournalRetention) return TooYoungToDrop(keep);
  auto taken = pool_->Take();
  if (!taken) return taken.error();
  pg::Connection& connection = **taken;
  if (Status begun = connection.Begin(); !begun) return begun.error();
  if (auto longer = connection.Run(kTimeToDrop); !longer) return longer.error();
  Params params;
  auto rows = connection.Run(kDropSegments, params.Int64("keep_ms", keep.count()).Int32("max", max));
  if (!rows) return rows.error();
  if (Status committed = connection.Commit(); !committed) return committed.error();
  return pg::Decoded<DropAnswer>("journals.drop", [&] { return DropAnswer{rows->Int(0, 0), rows->Int(0, 1), rows->Bool(0, 2)}; });
}

Status PgStore::Quarantine(const SubjectId& subject, const WorkerSessionId& session, Token token, const std::string& reason,
                           const std::string& detail) {
  Params params;
  params.Id("subject", subject).Id("session", session).Int64("token", token.value).Text("reason", reason).Text("detail", detail);
  auto rows = pg::RunOne(*pool_, kQuarantine, params);
  return rows ? Status() : Status(rows.error());
}

Status PgStore::ReleaseQuarantine(const SubjectId& subject, const std::string& by) {
  Params params;
  auto rows = pg::RunOne(*pool_, kReleaseQuarantine, params.Id("subject", subject).Text("by", by));
  return rows ? Status() : Status(rows.error());
}

}  // namespace acl
