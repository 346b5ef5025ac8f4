#pragma once
// The call of a step or compensation: capability, resolved inputs, effect, time allowed.

#include <optional>
#include <string>

#include "shared/definition/template.h"
#include "shared/kernel/call_format.h"
#include "shared/kernel/kind.h"
#include "shared/workflow/compiled_definition.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

// What a template sees: variables, then `inputs`, then the built-ins workflow_id, run_id and session_id.
TemplateScope ScopeOf(const Document& state);
// The same of a step in an item: before all, the item by the name that its FOREACH gives it, its number, and what the body's other steps
// gave out for that item; then the same of the items around it. All three must outlive the scope.
TemplateScope ScopeOf(const Document& state, const CompiledDefinition& definition, const Instance& instance);

// What a reference that nothing answers does: it stays as text, or the call is not made, because the run was submitted with strict
// templates or because the call has an effect, which literal braces would reach.
enum class Unanswered { kStays, kFailsEffect, kFailsStrict };
Unanswered UnansweredIn(const WorkflowDefinition& definition, const CapabilityDefinition* capability);

// The templates of `inputs` expanded. What is wrong with them stands in `error` of the call: such a step fails when it runs.
CapabilityCall ResolveCall(const std::string& capability, const Json& inputs, const TemplateScope& scope, Unanswered unanswered,
                           std::vector<std::string>* missing);

// What is known of an instance without its record: retries, effect, meaning of `success: false` ...
struct CallTraits {
  std::string capability;
  EffectClass effect = EffectClass::kPure;  // of an unknown capability: nothing is called, the step fails
  bool known = false;
  bool honours_key = false;
  FalseSuccess false_success = FalseSuccess::kFailure;
  RetryPolicy retry;
  UnknownOutcome on_unknown = UnknownOutcome::kAsk;
  std::chrono::milliseconds attempt_timeout{0};
  std::optional<std::chrono::milliseconds> step_timeout;

  // Its attempt row and its inputs are committed before anything is called.
  bool journaled() const { return NeedsRowFirst(effect); }
  bool repeatable() const { return effect != EffectClass::kNonIdempotent || honours_key; }
};
// A compensation's capability stands in the record of the step it undoes.
CallTraits TraitsOf(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance,
                    const Document& state);

// The attempt to start now, its inputs as journaled if there was an attempt before. Its note: {"missing": [references]} that nothing
// answers now and that stay literal.
StartStep StartOf(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance, const Document& state,
                  const RunRecord& run, WallTime now);
// The same of a step that has no record yet.
StartStep FirstStartOf(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance,
                       const Document& state, std::string_view run_id);

}  // namespace acl::workflow
