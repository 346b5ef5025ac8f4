#pragma once
// What an event changes: the one place that writes a run's state, as a delta (docs/reference/events.md, "State").

#include "shared/journal/event.h"
#include "shared/workflow/compiled_definition.h"

namespace acl::workflow {

// The patch of `draft` on `state`. A draft that the tables of status_machine.h do not allow gives a patch that does not apply, with the
// reason in its path: the kernel reports it and quarantines the run, nothing of it is written.
Delta EvolveRun(const DefinitionCache& definitions, const Document& state, const EventDraft& draft);

}  // namespace acl::workflow
