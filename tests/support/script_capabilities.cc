#include "tests/support/script_capabilities.h"

namespace acl::test {

std::shared_ptr<CapabilityRegistry> ScriptCapabilities() {
  auto registry = std::make_shared<CapabilityRegistry>();
  const auto add = [&](const std::string& id, EffectClass effect, bool honours_key) {
    CapabilityDefinition definition;
    definition.id = id;
    definition.summary = "scripted";
    definition.parameters = {{"text", "string", "what to say", false, Json(""), {}, {}}};
    definition.results = {{"said", "string", "what was said", false, std::nullopt, {}, {}}};
    definition.effect = effect;
    definition.honours_key = honours_key;
    registry->Add(std::move(definition), [](const Json&, CallContext&) { return StepResult{}; });
  };
  add("sim.pure", EffectClass::kPure, false);
  add("sim.read", EffectClass::kRead, false);
  add("sim.idempotent", EffectClass::kIdempotent, true);
  add("sim.keyed", EffectClass::kNonIdempotent, true);
  add("sim.unkeyed", EffectClass::kNonIdempotent, false);
  add("sim.repeated", EffectClass::kNonIdempotent, false);
  return registry;
}

}  // namespace acl::test
