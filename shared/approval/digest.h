#pragma once
// The identity of what is approved: everything that would make it another thing, and nothing else. A decision is bound to it.

#include <string>

#include "shared/approval/approval.h"

namespace acl::approval {

// Lower-case hex of the SHA-256 of the canonical JSON of: run, step instance, arguments as resolved, message, risk, who asked, who may
// decide (also later, by escalation) and how many must, and the root of the run's files. Not of times, votes, descriptions, names of
// workflows or of what was escalated.
std::string DigestOf(const Request& request);

}  // namespace acl::approval
