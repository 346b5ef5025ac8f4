#pragma once
// A run that takes back what another did: it begins with that one's state, stopping, and so goes through its compensations, each in its
// place, with all that a rollback has (retries, people, children, files). It ends ROLLED_BACK, or FAILED with what is left.

#include "shared/workflow/create_run.h"

namespace acl::workflow {

// `ended`: the state of a run that completed. Of the request subject, project, parent and trace are taken. kInvalid: it is not such a run.
Result<CreateItem> MakeUndoItem(const SubjectKind& kind, const Document& ended, CreateRequest request);

}  // namespace acl::workflow
