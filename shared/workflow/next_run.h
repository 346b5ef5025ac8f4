#pragma once
// The run that goes on in another's place (decide_continue.cc): the same workflow, with inputs of its own, the files that the other left
// and the signals that it did not take.

#include "shared/workflow/create_run.h"

namespace acl::workflow {

// `ended`: the state of a run that completed by going on as another; `asked`: what it asked for. `request`: id, project, labels and keys of
// the new one; all else is made here. kInvalid as MakeCreateItem.
Result<CreateItem> MakeNextItem(const SubjectKind& kind, const Document& ended, const Json& asked, CreateRequest request);

}  // namespace acl::workflow
