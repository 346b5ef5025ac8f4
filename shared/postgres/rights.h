#pragma once
// What the login of a conninfo may do, and whether the service role may do too much: for `airun doctor`.

#include <string>
#include <vector>

#include "shared/base/result.h"

namespace acl::pg {

struct Rights {
  std::string login;
  bool may_serve = false;             // is a member of acl_service: the processes can run as it
  bool may_migrate = false;           // is a member of acl_owner, or a superuser
  std::vector<std::string> too_much;  // "UPDATE on event_rows": what acl_service must not have, and has
};

// The database must be migrated; kInvalid with a plain word if the roles are not there.
Result<Rights> ReadRights(const std::string& conninfo);

}  // namespace acl::pg
