#pragma once
// The subject kind "workflow": document 002's runs as a pure state machine over a Document (kernel/kind.h). State keys and events:
// docs/reference/events.md. What a step's capability is and does to the outside is asked of the registry given at construction.
//
//   create --> PENDING --> RUNNING <--> PAUSED
//                             |            |
//                             v            v
//                         COMPLETED     FAILED --(every compensation succeeded)--> ROLLED_BACK
//
// A FAILED run is open until its running attempts have ended and its compensations are done (run record: phase).

#include <memory>

#include "shared/capability/capability.h"
#include "shared/kernel/kind.h"

namespace acl::workflow {

// Thread-safe. Definitions are compiled once and kept by content hash.
std::shared_ptr<const SubjectKind> MakeWorkflowKind(std::shared_ptr<const CapabilityRegistry> capabilities);

}  // namespace acl::workflow
