#include "shared/postgres/pg_approval_store.h"

#include "shared/journal/document.h"
#include "shared/postgres/store_calls.h"

namespace acl::approval {
namespace {

using pg::Params;
using pg::Rows;
using pg::Statement;

const Statement kListApprovals("approval.list", Statement::Kind::kRead, R"(
SELECT a.position, a.subject_id, (a.request::jsonb - 'arguments')::text FROM approvals a
WHERE a.project_id = $project::uuid AND ($state::text = '' OR a.state = $state::text) AND ($before::bigint = 0 OR a.position < $before::bigint)
ORDER BY a.position DESC LIMIT $limit::int)");
const Statement kPendingApprovals("approval.pending", Statement::Kind::kRead, R"(
SELECT a.position, a.subject_id, (a.request::jsonb - 'arguments')::text FROM approvals a JOIN subjects s ON s.project_id = a.project_id
WHERE s.subject_id = $run::uuid AND a.subject_id = s.subject_id AND a.state = 'PENDING' ORDER BY a.position LIMIT 1000)");
const Statement kGetApproval("approval.get", Statement::Kind::kRead, R"(
SELECT a.position, a.subject_id, a.request FROM approvals a WHERE a.approval_id = $id::text AND a.project_id = $project::uuid)");

Result<ShownApproval> ReadShown(const Rows& rows, int i) {
  ShownApproval shown;
  shown.position = rows.Int(i, 0);
  shown.run = SubjectId{rows.Id(i, 1)};
  auto json = ParseJson(rows.View(i, 2), kStoredJson);
  if (!json) return Error{Code::kCorrupt, "a row of approvals is no JSON: " + json.message()};
  auto request = RequestFrom(*json);
  if (!request) return request.error();
  shown.request = std::move(*request);
  return shown;
}

Result<std::vector<ShownApproval>> ReadAll(const Result<Rows>& rows) {
  if (!rows) return rows.error();
  std::vector<ShownApproval> all;
  for (int i = 0; i < rows->size(); ++i) {
    auto shown = pg::Decoded<ShownApproval>("approvals", [&] { return ReadShown(*rows, i); });
    if (!shown) return shown.error();
    all.push_back(std::move(*shown));
  }
  return all;
}

}  // namespace

Result<std::vector<ShownApproval>> PgApprovalStore::List(const ProjectId& project, const std::optional<std::string>& state,
                                                         std::int64_t before, int limit) {
  Params params;
  params.Id("project", project).Text("state", state.value_or("")).Int64("before", before).Int32("limit", limit);
  return ReadAll(pg::RunOne(pool_, kListApprovals, params));
}

Result<std::vector<ShownApproval>> PgApprovalStore::PendingOf(const SubjectId& run) {
  Params params;
  return ReadAll(pg::RunOne(pool_, kPendingApprovals, params.Id("run", run)));
}

Result<ShownApproval> PgApprovalStore::Get(const ProjectId& project, const std::string& approval_id) {
  Params params;
  auto all = ReadAll(pg::RunOne(pool_, kGetApproval, params.Id("project", project).Text("id", approval_id)));
  if (!all) return all.error();
  if (all->empty()) return Error{Code::kNotFound, "there is no approval '" + approval_id.substr(0, 400) + "'"};
  return std::move(all->front());
}

}  // namespace acl::approval
