#pragma once
// A step of a run completed, and the one that waits for it alone begins: most of what a fleet does. What decide_completion.cc, evolve.cc
// and what_next.cc say of it, at once (shared/kernel/stride.h).

#include "shared/kernel/stride.h"
#include "shared/workflow/compiled_spec.h"

namespace acl::workflow {

// False unless the run is RUNNING with this attempt alone, nothing retried, waited for, to be undone or failed, no files, and what
// the next step's templates ask for is there: then nothing is changed, and the long way says what follows.
bool StrideOf(const SpecCache& specs, const Document& state, StepFinishedInput& input, WallTime at, std::shared_ptr<Footing>& footing,
              Stride& stride);

}  // namespace acl::workflow
