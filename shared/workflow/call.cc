#include "shared/workflow/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/mutant.h"
#include "shared/capability/command_line.h"
#include "shared/definition/template_words.h"
#include "shared/workflow/backoff.h"
#include "shared/workflow/step_id.h"

namespace acl::workflow {

using std::chrono::milliseconds;

TemplateScope ScopeOf(const Document& state) {
  return [&state](std::string_view name) -> const Json* {
    if (const Json* variable = Lookup(state, VarKey(name))) return variable;
    if (name == kInputsKey) return Lookup(state, kInputsKey);
    if (name != "workflow_id" && name != "run_id" && name != "session_id") return nullptr;
    const Json* run = Lookup(state, kRunKey);
    const Json* first = name != "session_id" ? MemberOf(MemberOf(run, "finishes"), "first") : nullptr;
    return first ? first : MemberOf(run, name);
  };
}

namespace {

// What one item answers to a name.
struct ItemScope {
  Instance beside;        // a step of its body
  std::string_view as;    // the item
  std::string number_as;  // its number
  Json number;
  const Json* list = nullptr;
};

std::vector<ItemScope> ItemScopesOf(const Document& state, const CompiledDefinition& definition, const Instance& instance) {
  std::vector<ItemScope> scopes;
  for (Instance in = instance; !in.item.empty();) {
    const Instance each = definition.EachOf(in);
    const std::string& as = definition.step(each.step).foreach->as;
    scopes.push_back({in, as, as + "_index", in.items.back(), Lookup(state, ItemsKey(each.step_id))});
    in = each;
  }
  return scopes;
}

const Json* ItemAnswer(const Document& state, const CompiledDefinition& definition, const ItemScope& item, std::string_view name) {
  const auto number = item.number.get<std::size_t>();
  if (name == item.as) return item.list && item.list->is_array() && number < item.list->size() ? &(*item.list)[number] : nullptr;
  if (name == item.number_as) return &item.number;
  if (!definition.IsStep(name)) return nullptr;
  for (const int step : definition.RegionOf(item.beside.step).order)
    if (definition.step(step).name == name) return Lookup(state, definition.OutputsKey(definition.Beside(item.beside, step)));
  return nullptr;
}

}  // namespace

TemplateScope ScopeOf(const Document& state, const CompiledDefinition& definition, const Instance& instance) {
  if (instance.item.empty()) return ScopeOf(state);
  return
      [&state, &definition, items = ItemScopesOf(state, definition, instance), run = ScopeOf(state)](std::string_view name) -> const Json* {
        for (const ItemScope& item : items)
          if (const Json* answer = ItemAnswer(state, definition, item, name)) return answer;
        return run(name);
      };
}

Unanswered UnansweredIn(const WorkflowDefinition& definition, const CapabilityDefinition* capability) {
  if (definition.strict_templates) return Unanswered::kFailsStrict;
  const bool effect = definition.effects_need_values && capability && NeedsRowFirst(capability->effect);
  return effect ? Unanswered::kFailsEffect : Unanswered::kStays;
}

CapabilityCall ResolveCall(const std::string& capability, const Json& inputs, const TemplateScope& scope, Unanswered unanswered,
                           std::vector<std::string>* missing) {
  CapabilityCall call;
  call.capability = capability;
  std::optional<Json> split;
  if (capability == kRunProgram) {
    auto words = WithWords(inputs);
    if (!words) {
      call.error = "inputs: " + words.message();
      return call;
    }
    split = std::move(*words);
  }
  auto expanded = ExpandTemplates(split ? *split : inputs, scope);
  if (!expanded) {
    call.error = "inputs: " + expanded.message();
    return call;
  }
  if (unanswered != Unanswered::kStays && !expanded->missing.empty()) {
    std::string names;
    for (const std::string& reference : expanded->missing) names += (names.empty() ? "{{" : ", {{") + reference + "}}";
    const std::string why = unanswered == Unanswered::kFailsStrict
                                ? "and the run was submitted with strict templates"
                                : "and " + capability + " has an effect, so it is not called with the braces as text";
    const std::string instead =
        unanswered == Unanswered::kFailsStrict ? "" : "; a file that means the braces as text says so: lenient_templates: true";
    call.error = "inputs: nothing answers " + names.substr(0, 500) + ", " + why +
                 "; name a value that is there by then, or give it a default: {{x | default('')}}" + instead;
    if (missing) *missing = std::move(expanded->missing);
    return call;
  }
  call.inputs = std::move(expanded->value);
  if (missing) *missing = std::move(expanded->missing);
  return call;
}

CallTraits TraitsOf(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance,
                    const Document& state) {
  CallTraits traits;
  const CapabilityDefinition* capability = nullptr;
  if (!instance.undo) {
    const StepDefinition& step = definition.step(instance.step);
    traits.capability = step.capability;
    capability = definition.capability(instance.step);
    traits.retry = step.retry;
    traits.on_unknown = step.on_unknown_outcome;
    traits.attempt_timeout = step.attempt_timeout;
    if (step.step_timeout) traits.step_timeout = *step.step_timeout;
  } else {
    if (instance.step >= 0) {
      traits.capability = TextOf(ReadStep(state, definition.ForwardOf(instance).step_id).undo, kCallCapability);
    } else {
      traits.capability = definition.definition().global_compensation_steps[std::size_t(instance.global)].capability;
    }
    capability = definitions.capabilities().Find(traits.capability);
    traits.retry = CompensationRetry();
    traits.attempt_timeout = capability ? capability->default_timeout : std::chrono::seconds(300);
    const CompensationDefinition* named = nullptr;
    if (instance.step < 0) named = &definition.definition().global_compensation_steps[std::size_t(instance.global)];
    if (instance.step >= 0 && definition.step(instance.step).compensation) named = &*definition.step(instance.step).compensation;
    if (named && named->max_attempts) traits.retry.max_attempts = *named->max_attempts;
    if (named && named->timeout) traits.attempt_timeout = *named->timeout;
    if (named) traits.on_unknown = named->on_unknown_outcome;
  }
  if (capability) {
    traits.known = true;
    traits.effect = capability->effect;
    traits.honours_key = capability->honours_key;
    traits.false_success = capability->false_success;
  }
  return traits;
}

namespace {

CapabilityCall CallOf(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance,
                      const Document& state, const StepRecord& record, const std::string& capability, std::vector<std::string>* missing) {
  if (const Json* inputs = MemberOf(record.call, kCallInputs)) return {capability, *inputs, ""};
  if (!instance.undo && definition.constant(instance.step)) return {capability, definition.step(instance.step).inputs, ""};
  if (!instance.undo) {
    const Unanswered unanswered = UnansweredIn(definition.definition(), definition.capability(instance.step));
    return ResolveCall(capability, definition.step(instance.step).inputs, ScopeOf(state, definition, instance), unanswered, missing);
  }
  if (instance.step < 0) {
    const CompensationDefinition& global = definition.definition().global_compensation_steps[std::size_t(instance.global)];
    const Unanswered unanswered = UnansweredIn(definition.definition(), definitions.capabilities().Find(capability));
    return ResolveCall(capability, global.inputs, ScopeOf(state), unanswered, missing);
  }
  return CallFromJson(*ReadStep(state, definition.ForwardOf(instance).step_id).undo);  // resolved when the step completed
}

StartStep StartFrom(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance,
                    const Document& state, const StepRecord& record, std::string_view run_id, WallTime now) {
  CallTraits traits = TraitsOf(definitions, definition, instance, state);
  StartStep start;
  start.step_id = instance.step_id;
  std::vector<std::string> missing;
  CapabilityCall call = CallOf(definitions, definition, instance, state, record, traits.capability, &missing);
  const bool called = call.error.empty();
  start.effect = called ? traits.effect : EffectClass::kPure;
  start.call = CallToJson(std::move(call));
  if (called) start.target = definition.TargetOf(instance);
  if (called && !missing.empty()) start.note = {{"missing", std::move(missing)}};
  start.idempotency_key = IdempotencyKeyOf(run_id, instance.step_id);
  if (Mutant("effect_without_key")) start.idempotency_key += fmt::format("#{}", record.attempt);
  start.timeout = traits.attempt_timeout;
  if (traits.step_timeout && record.started_at) {
    auto left = std::chrono::duration_cast<milliseconds>(*record.started_at + *traits.step_timeout - now);
    start.timeout = start.timeout.count() > 0 ? std::min(start.timeout, left) : left;
    start.timeout = std::max(start.timeout, milliseconds(1));
  } else if (traits.step_timeout && (start.timeout.count() == 0 || *traits.step_timeout < start.timeout)) {
    start.timeout = *traits.step_timeout;
  }
  return start;
}

}  // namespace

StartStep StartOf(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance, const Document& state,
                  const RunRecord& run, WallTime now) {
  return StartFrom(definitions, definition, instance, state, ReadStep(state, instance.step_id),
                   instance.undo ? RollbackOf(run) : run.run_id, now);
}

StartStep FirstStartOf(const DefinitionCache& definitions, const CompiledDefinition& definition, const Instance& instance,
                       const Document& state, std::string_view run_id) {
  return StartFrom(definitions, definition, instance, state, StepRecord(), run_id, WallTime());  // the time counts from its beginning
}

}  // namespace acl::workflow
