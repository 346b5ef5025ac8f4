// The `continue_as_new` of a CONTINUE_AS_NEW step: the inputs of the run that goes on in this one's place.
#include "shared/definition/draft.h"

namespace acl {

void ReadContinue(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step) {
  Json& inputs = step->next_inputs.emplace(Json::object());
  const SourceNode* node = fields.Get("continue_as_new");
  const std::string what = fields.What("continue_as_new");
  if (!node)
    reader->Error(
        fields.map().mark, "missing-continue",
        owner + " is CONTINUE_AS_NEW and has no 'continue_as_new': a map of the next run's inputs, {} if they are to be as declared");
  else if (!node->is_map())
    reader->Error(node->mark, "bad-continue", what + " must be a map of the next run's inputs, {} if they are to be as declared");
  else
    inputs = ToJson(*node);
  DropCallKeys(reader, fields, "a step that continues as a new run", step);
}

// One that goes on in this run's place: what would not fit is said before the first of them runs for a month.
void CheckContinues(Reader* reader, const WorkflowDefinition& definition) {
  std::vector<std::string_view> names;
  for (const InputDefinition& input : definition.inputs) names.push_back(input.name);
  for (const StepDefinition& step : definition.steps) {
    if (!step.next_inputs) continue;
    const std::string owner = "step '" + step.name.substr(0, 80) + "'";
    for (int at = step.parent; at >= 0; at = definition.steps[static_cast<std::size_t>(at)].parent) {
      const StepDefinition& scope = definition.steps[static_cast<std::size_t>(at)];
      if (scope.type == StepType::kCondition || scope.type == StepType::kSequence) continue;
      reader->Error(step.mark, "misplaced-continue",
                    owner + " stands in '" + scope.name.substr(0, 80) + "', which is " + std::string(StepTypeName(scope.type)) +
                        ": a run continues once, so let it stand behind that, alone or in a CONDITION");
      break;
    }
    if (definition.inputs.empty()) continue;
    for (const auto& [name, value] : step.next_inputs->items()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      reader->Error(step.mark, "unknown-input",
                    owner + " gives the next run an input '" + name.substr(0, 80) + "' that the file does not declare" +
                        reader->DidYouMean(name, names));
    }
    for (const InputDefinition& input : definition.inputs) {
      if (input.required && !input.default_value && !step.next_inputs->contains(input.name))
        reader->Error(step.mark, "missing-input",
                      owner + " does not give the next run its input '" + input.name + "'; add '" + input.name + ": \"{{" + input.name +
                          "}}\"' if it is to stay");
    }
  }
}

}  // namespace acl
