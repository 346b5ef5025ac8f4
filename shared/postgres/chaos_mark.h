#pragma once
// The mark of a fleet that may be hurt: a word in the comment of its database, which only the database's owner can set and which a copy
// made by pg_dump does not have.

#include <string>

#include "shared/base/result.h"

namespace acl::pg {

// kDenied, with what to do, if it is not marked.
Status IsMarkedForChaos(const std::string& conninfo);
// Sets the mark or takes it away; the rest of the comment stays.
Status MarkForChaos(const std::string& conninfo, bool marked);

// The setting `failpoints` of a process: nothing if it is empty, else its places are armed if the fleet is marked, and an error if it is
// not or cannot be asked: a process that was told to obey such orders does not start where they are not allowed.
Status ArmFailPoints(const std::string& folder, const std::string& conninfo);

}  // namespace acl::pg
