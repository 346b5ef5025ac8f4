#pragma once
// How a record of the state (an object of few, small members) is changed by a patch in few bytes: the journal keeps the patch of every
// step.

#include <string>
#include <string_view>

#include "shared/journal/delta.h"

namespace acl::workflow {

// One operation for every member that differs, so that the journal says what changed and not what is.
void PatchMembers(Delta& delta, std::string_view record, const Json& before, Json after);

// The same, but a small record of which much changed is said anew. `before`: nullptr if it is new.
void PatchRecord(Delta& delta, const std::string& record, const Json* before, Json after);

}  // namespace acl::workflow
