#pragma once
// What else of a run may go on while one step waits.

#include "shared/workflow/compiled_definition.h"

namespace acl::workflow {

// Whether a call of the same run, which may write files, can begin or end between the beginning of the step and its end. Steps that it
// waits for, steps that wait for it and those of another case of a CONDITION cannot; items of a FOREACH go on beside each other.
bool MayBeWrittenBeside(const CompiledDefinition& definition, int step);

}  // namespace acl::workflow
