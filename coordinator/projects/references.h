#pragma once
// What a checkpoint refers to, looked at again when the next step is given: what points into the system is checked, and said to be stale or
// gone, never left out. Files, commits, addresses and memories are not the system's: whoever reads them checks them (`airun next` does with
// files).

#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/kernel/queries.h"
#include "shared/kinds/project/readiness.h"

namespace acl::coordinator {

struct CheckedReference {
  std::string reference;
  std::string state;  // `ok`, `stale` (there, and not what it was), `gone`, `unchecked`
  std::string why;    // for people
};

// `project`: runs and events of others are not there for it; those of the default project, which are everybody's, are.
std::vector<CheckedReference> CheckReferences(Queries& queries, const ProjectId& project, const project::WorkSource& work,
                                              const std::vector<std::string>& references);
Json ToJson(const std::vector<CheckedReference>& checked);

}  // namespace acl::coordinator
