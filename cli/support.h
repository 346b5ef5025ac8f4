#pragma once
// What a support bundle holds of a page of the API: shapes, counts, states and times; nothing that a workflow was given, answered or said.
// Pure.

#include <string>

#include "shared/base/json.h"

namespace acl::cli {

// A list of runs, workers, queues, quarantined runs ... with the members that tell how the fleet stands; every text is redacted.
Json ForSupport(const Json& rows);

}  // namespace acl::cli
