#pragma once
// ApprovalStore on PostgreSQL (migrations/0011_approvals_and_deliveries.sql).

#include "shared/approval/store.h"
#include "shared/postgres/pool.h"

namespace acl::approval {

class PgApprovalStore final : public ApprovalStore {
 public:
  explicit PgApprovalStore(pg::Pool& pool) : pool_(pool) {}  // outlives it

  Result<std::vector<ShownApproval>> List(const ProjectId& project, const std::optional<std::string>& state, std::int64_t before,
                                          int limit) override;
  Result<std::vector<ShownApproval>> PendingOf(const SubjectId& run) override;
  Result<ShownApproval> Get(const ProjectId& project, const std::string& approval_id) override;

 private:
  pg::Pool& pool_;
};

}  // namespace acl::approval
