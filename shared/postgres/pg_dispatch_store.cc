// Dispatched steps (migrations/0007_dispatches.sql); they are queued by the commit, taken by the claim, lost and withdrawn by the reaper.
#include "shared/postgres/pg_store.h"
#include "shared/postgres/store_calls.h"

namespace acl {
namespace {

using pg::Params;
using pg::Statement;

const Statement kFinish(
    "dispatch.finish", Statement::Kind::kWrite,
    "SELECT replayed, holder, queue FROM finish_dispatch($dispatch::uuid, $token::bigint, $state::text, $payload::text)", true);
const Statement kDispatchesOf("dispatch.held_by", Statement::Kind::kRead, R"(
SELECT t.dispatch_id, t.token, t.step_id, t.attempt_id
FROM (SELECT * FROM dispatches WHERE session_id = $session::uuid AND state = 'started' OFFSET 0) t
WHERE t.started_at <= clock_timestamp() - $older_ms::bigint * interval '1 millisecond'
ORDER BY t.dispatch_id)",
                              true);

}  // namespace

Result<PostAnswer> PgStore::FinishDispatch(const DispatchReport& report) {
  Params params;
  params.Id("dispatch", report.dispatch).Int64("token", report.token.value).Text("state", report.state).Text("payload", report.payload);
  auto rows = pg::RunOne(*pool_, kFinish, params);
  if (!rows) return rows.error();
  return pg::Decoded<PostAnswer>("dispatch.finish", [&] {
    PostAnswer answer;
    answer.replayed = rows->Bool(0, 0);
    if (!rows->IsNull(0, 1)) answer.holder = WorkerSessionId{rows->Id(0, 1)};
    answer.queue = rows->Text(0, 2);
    return answer;
  });
}

Result<std::vector<HeldDispatch>> PgStore::DispatchesOf(const WorkerSessionId& session, milliseconds older_than) {
  Params params;
  auto rows = pg::RunOne(*pool_, kDispatchesOf, params.Id("session", session).Int64("older_ms", older_than.count()));
  if (!rows) return rows.error();
  return pg::Decoded<std::vector<HeldDispatch>>("dispatch.held_by", [&] {
    std::vector<HeldDispatch> held;
    for (int i = 0; i < rows->size(); ++i)
      held.push_back({DispatchId{rows->Id(i, 0)}, Token{rows->Int(i, 1)}, {rows->Text(i, 2), int(rows->Int(i, 3))}});
    return held;
  });
}

}  // namespace acl
