#pragma once
// What a subject decides when no worker is there: its inputs, and nothing that a step would have to run for. Pure.

#include "shared/journal/document.h"
#include "shared/kernel/kind.h"

namespace acl::coordinator {

// The item that the holder of `claimed`, whose state this is, commits; `inbox`: what was said to it (ReadInbox). It closes the subject if
// that is what the inputs lead to, else it releases it, ready for a worker or waiting. A subject that has not begun does not begin here.
// `out_of_time`: it has not, and its time limit is over. kInternal: a bug of the kind.
Result<CommitItem> DecideAlone(const SubjectKind& kind, const Claimed& claimed, std::vector<InboxInput> inbox, Document state,
                               const WorkerSessionId& session, bool out_of_time);

}  // namespace acl::coordinator
