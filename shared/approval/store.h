#pragma once
// Approvals as rows, for whoever lists them (migrations/0011_approvals_and_deliveries.sql). What they say is written by the commits of the
// runs; nothing is decided by them. PostgreSQL in production (shared/postgres/pg_approval_store.h), in memory for unit tests
// (tests/support/memory_approvals.h).

#include <optional>
#include <string>
#include <vector>

#include "shared/approval/approval.h"
#include "shared/base/ids.h"

namespace acl::approval {

struct ShownApproval {
  std::int64_t position = 0;  // in the order in which they were asked
  SubjectId run;
  Request request;
};

// Lists leave out `arguments`, which may be large; Get has them.
class ApprovalStore {
 public:
  virtual ~ApprovalStore() = default;
  // Newest first, below `before` (a position; 0: from the newest). `state`: only those.
  virtual Result<std::vector<ShownApproval>> List(const ProjectId& project, const std::optional<std::string>& state, std::int64_t before,
                                                  int limit) = 0;
  // The pending ones of a run, oldest first.
  virtual Result<std::vector<ShownApproval>> PendingOf(const SubjectId& run) = 0;
  virtual Result<ShownApproval> Get(const ProjectId& project, const std::string& approval_id) = 0;  // kNotFound
};

}  // namespace acl::approval
