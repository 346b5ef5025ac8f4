#pragma once
// What most of a fleet's commits say (shared/kernel/fast_path.h): a run begins and with it the one step that may; a step completes and the
// one that waits for it alone begins, or is left to whoever holds the run next, where it begins; the last one completes and with it the
// run. What decide_attempts.cc, decide_completion.cc, decide_run.cc, evolve.cc and what_next.cc say of it, at once.

#include "shared/kernel/fast_path.h"
#include "shared/workflow/compiled_definition.h"

namespace acl::workflow {

// False unless steps run one after the other, no attempt has failed, nothing is waited for, sent elsewhere, to be undone or failed, there
// are no files, and what the next step's templates ask for is there: then nothing is changed, and the long way says what follows.
bool FastPathOf(const DefinitionCache& definitions, const Document& state, Input& input, WallTime at, bool goes_on,
                std::shared_ptr<FastPathCursor>& cursor, FastPathResult& fast_path);

}  // namespace acl::workflow
