// The `child` of a CHILD step: the name of a workflow of the same file, or a map with `workflow` and `inputs`.
#include "shared/definition/draft.h"
#include "shared/definition/suggest.h"

namespace acl {

namespace {

constexpr std::string_view kChildForms = "must be the name of a workflow under 'workflows', or a map with 'workflow' and perhaps 'inputs'";

}  // namespace

void ReadChild(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step) {
  ChildDefinition& child = step->child.emplace();
  const SourceNode* node = fields.Get("child");
  const std::string what = fields.What("child");
  if (!node) {
    reader->Error(fields.map().mark, "missing-child", owner + " is CHILD and has no 'child', which " + std::string(kChildForms));
  } else if (node->is_map()) {
    Fields own(reader, *node, what, {"workflow", "inputs"});
    own.String("workflow", &child.workflow);
    own.Map("inputs", &child.inputs);
    if (!own.Get("workflow")) reader->Error(node->mark, "missing-child", what + " " + std::string(kChildForms));
  } else if (auto name = reader->String(*node, what)) {
    child.workflow = std::move(*name);
  }
  // It is undone by its own compensations, unless the step has one.
  const std::optional<CompensationDefinition> compensation = step->compensation;
  for (std::string_view key : {"capability", "capability_name", "inputs", "max_retries", "retry", "timeout_seconds", "step_timeout_seconds",
                               "on_unknown_outcome", "queue", "priority"}) {
    if (const SourceNode* ignored = fields.Get(key))
      reader->Warning(ignored->mark, "ignored-key", fields.What(key) + " has no effect on a CHILD step: its workflow says it; remove it");
  }
  step->capability.clear();
  step->inputs = Json::object();
  step->queue.reset();
  step->priority.reset();
  step->step_timeout.reset();
}

void CheckChildren(Reader* reader, const WorkflowDefinition& definition, const Json& workflows) {
  std::vector<std::string_view> names;
  for (const auto& [name, workflow] : workflows.items()) names.push_back(name);
  for (const StepDefinition& step : definition.steps) {
    if (!step.child || step.child->workflow.empty() || workflows.contains(step.child->workflow)) continue;
    reader->Error(step.mark, "unknown-workflow",
                  "step '" + step.name.substr(0, 80) + "' starts '" + step.child->workflow.substr(0, 80) +
                      "', and no workflow of that name stands under 'workflows' of the file" +
                      reader->DidYouMean(step.child->workflow, names));
  }
}

}  // namespace acl
