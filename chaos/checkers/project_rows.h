#pragma once
// The projects of a workload as the database holds them when all is over, as lines of a driver's history (README.md, "Projects").

#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::chaos {

// Of the projects whose names begin so: project_head, project_event, project_answer, project_task. In one snapshot.
Result<std::vector<Json>> ReadProjectRows(const std::string& conninfo, const std::string& name_prefix);

// Claims on their tasks that have not run out, and what was posted to them and not read.
Result<std::int64_t> CountOpenClaims(const std::string& conninfo, const std::string& name_prefix);

}  // namespace acl::chaos
