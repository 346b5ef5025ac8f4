#pragma once
// The agent sessions of a workload as the database holds them when all is over, as lines of a driver's history (README.md, "Agents").

#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::chaos {

// Of the sessions whose agents' names begin so: agent_session, agent_event, agent_move. In one snapshot.
Result<std::vector<Json>> ReadSessionRows(const std::string& conninfo, const std::string& name_prefix);

// Those of them that are held by a worker, are ready for one, or have something posted that nobody has read.
Result<std::int64_t> CountBusySessions(const std::string& conninfo, const std::string& name_prefix);

}  // namespace acl::chaos
