#pragma once
// What a project's workers may do with external memory, in the form of the table of operations (operations.h): HTTP, airun and OpenAPI are
// made from it. None of it is in the journal: memory is no state.

#include "shared/kinds/project/operations.h"

namespace acl::project {

// learn, search_memory, revoke_learning; each is a POST, so that its words stand in no access log.
const std::vector<Operation>& MemoryOperations();

}  // namespace acl::project
