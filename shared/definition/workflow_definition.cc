#include "shared/definition/workflow_definition.h"

#include <unordered_set>

namespace acl {

std::string_view StepTypeName(StepType type) {
  switch (type) {
    case StepType::kAction: return "ACTION";
    case StepType::kHumanApproval: return "HUMAN_APPROVAL";
    case StepType::kParallel: return "PARALLEL";
    case StepType::kCondition: return "CONDITION";
    case StepType::kCompensation: return "COMPENSATION";
    case StepType::kForeach: return "FOREACH";
    case StepType::kChild: return "CHILD";
    case StepType::kWait: return "WAIT";
    case StepType::kSequence: return "SEQUENCE";
    case StepType::kSignal: return "SIGNAL";
    case StepType::kPublish: return "PUBLISH";
    case StepType::kContinue: return "CONTINUE_AS_NEW";
  }
  return "?";
}

std::string CaseNameOf(const StepDefinition& step, int branch) {
  if (branch < 0 || branch >= static_cast<int>(step.cases.size())) return "none";
  if (branch == 0) return "then";
  return step.cases[static_cast<std::size_t>(branch)].empty() ? "else" : "else_if[" + std::to_string(branch - 1) + "]";
}

std::vector<std::string> QueuesOf(const WorkflowDefinition& definition) {
  std::vector<std::string> queues = {definition.queue};
  std::unordered_set<std::string_view> known = {definition.queue};
  for (const StepDefinition& step : definition.steps) {
    if (step.queue && known.insert(*step.queue).second) queues.push_back(*step.queue);
  }
  return queues;
}

const StepDefinition* WorkflowDefinition::FindStep(std::string_view step_name) const {
  for (const StepDefinition& step : steps)
    if (step.name == step_name) return &step;
  return nullptr;
}

bool IsPlainBody(const StepDefinition& step) { return step.name.ends_with("[]"); }

bool IsScope(const StepDefinition& step) {
  switch (step.type) {
    case StepType::kSequence:
    case StepType::kForeach: return true;
    case StepType::kCondition: return !step.cases.empty();
    case StepType::kParallel: return step.capability.empty();
    default: return false;
  }
}

}  // namespace acl
