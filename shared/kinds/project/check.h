#pragma once
// Whether a document is a project's state: what holds between its entries whatever was commanded. For `airun verify` and for whoever takes
// in a history from elsewhere.

#include "shared/kinds/project/model.h"

namespace acl::project {

// kCorrupt, with the entry and what is wrong: ids and counters, both sides of each dependency, cycles, the open tasks of each goal, claims
// and checkpoints of tasks.
Status CheckState(const Document& state);

}  // namespace acl::project
