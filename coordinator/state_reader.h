#pragma once
// The state of a subject as it stands, restored from snapshot and events, and so verified by every reading.

#include <functional>

#include "shared/journal/document.h"
#include "shared/kernel/queries.h"
#include "shared/kernel/store.h"

namespace acl::coordinator {

// Snapshot first, then the events after it: a snapshot that a commit puts in between is only newer than needed, and events that came
// in between belong to the state. Nothing here is locked. Events go into the state a page at a time: what is held is the state and a page.
// `take`: asked before so many bytes more are held; `keep`: no more than so many are. kCorrupt: the journal does not verify.
Result<Document> ReadStateOf(Queries& queries, KernelStore& store, const SubjectId& id, const std::function<Status(std::size_t)>& take,
                             const std::function<void(std::size_t)>& keep);

}  // namespace acl::coordinator
