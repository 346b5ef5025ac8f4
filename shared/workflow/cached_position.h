#pragma once
// What a fast path must know of a run, and nothing more: read from the state once, kept from one fast path to the next.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/kernel/fast_path.h"
#include "shared/workflow/compiled_definition.h"

namespace acl::workflow {

// A run of one step at a time, in which nothing else is to be seen to: nothing failed, waits, is to be undone or is out.
struct CachedPosition final : FastPathCursor {
  std::shared_ptr<const CompiledDefinition> definition;
  std::string run_id;
  int step = -1;  // the one that runs, or that may begin
  int attempt = 1;
  std::int64_t began = 0;            // microseconds since 1970, of the step
  std::int64_t done = 0;             // steps
  std::vector<std::string> unnamed;  // names of outputs that no variable of the run has: some that were asked for
};

// Of a run that runs this attempt, of whose step none before has an outcome. Null: not as usual.
std::shared_ptr<CachedPosition> CachedPositionOf(const DefinitionCache& definitions, const Document& state, const StepFinishedInput& input);
// Of a run that is to begin, or of one in which nothing runs and one step may begin that never did. Null: not as usual.
std::shared_ptr<CachedPosition> BeginningOf(const DefinitionCache& definitions, const Document& state);
std::shared_ptr<CachedPosition> RestingOf(const DefinitionCache& definitions, const Document& state);

using Output = Json::object_t::value_type;  // name and value
// Those that become variables of their own beside that of the step, in order: a template mentions them, or they are there already. Nothing
// if the outputs are not as usual: not to be stored, a success that may be none, one with the name of a step.
std::optional<std::vector<const Output*>> NamedOutputs(const Document& state, const Json& outputs, CachedPosition& position);

}  // namespace acl::workflow
