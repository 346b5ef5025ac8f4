#include "shared/spec/workflow_spec.h"

#include <unordered_set>

#include <algorithm>
#include <map>
#include <queue>

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
  }
  return "?";
}

std::vector<std::string> QueuesOf(const WorkflowSpec& spec) {
  std::vector<std::string> queues = {spec.queue};
  std::unordered_set<std::string_view> known = {spec.queue};
  for (const StepSpec& step : spec.steps) {
    if (step.queue && known.insert(*step.queue).second) queues.push_back(*step.queue);
  }
  return queues;
}

const StepSpec* WorkflowSpec::FindStep(std::string_view step_name) const {
  for (const StepSpec& step : steps)
    if (step.name == step_name) return &step;
  return nullptr;
}

namespace {

// Names of a nested PARALLEL step's children lead to the step that holds them.
void AddNames(const Json& children, int index, std::map<std::string, int, std::less<>>* names) {
  if (!children.is_array()) return;
  for (const Json& child : children) {
    if (!child.is_object()) continue;
    if (auto name = child.find("name"); name != child.end() && name->is_string()) names->emplace(name->get<std::string>(), index);
    if (auto nested = child.find("steps"); nested != child.end()) AddNames(*nested, index, names);
  }
}

std::map<std::string, int, std::less<>> NameIndex(const WorkflowSpec& spec) {
  std::map<std::string, int, std::less<>> names;
  for (int i = 0; i < static_cast<int>(spec.steps.size()); ++i) {
    const StepSpec& step = spec.steps[static_cast<std::size_t>(i)];
    names.emplace(step.name, i);
    if (auto children = step.extra.find("steps"); children != step.extra.end()) AddNames(*children, i, &names);
  }
  return names;
}

}  // namespace

std::vector<int> PlanOrder(const WorkflowSpec& spec) {
  const auto names = NameIndex(spec);
  const std::size_t count = spec.steps.size();
  std::vector<std::vector<int>> followers(count);
  std::vector<int> missing(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& on : spec.steps[i].depends_on) {
      ++missing[i];
      if (auto it = names.find(on); it != names.end()) followers[static_cast<std::size_t>(it->second)].push_back(static_cast<int>(i));
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  std::vector<int> order;
  while (!ready.empty()) {
    int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (int follower : followers[static_cast<std::size_t>(next)])
      if (--missing[static_cast<std::size_t>(follower)] == 0) ready.push(follower);
  }
  return order;
}

std::vector<std::vector<int>> EffectiveDependencies(const WorkflowSpec& spec) {
  const auto names = NameIndex(spec);
  std::vector<std::vector<int>> out(spec.steps.size());
  int before = -1;
  for (int index : PlanOrder(spec)) {
    const StepSpec& step = spec.steps[static_cast<std::size_t>(index)];
    auto& waits = out[static_cast<std::size_t>(index)];
    for (const std::string& on : step.depends_on)
      if (auto it = names.find(on); it != names.end()) waits.push_back(it->second);
    if (step.depends_on.empty() && before >= 0) waits.push_back(before);
    before = index;
  }
  return out;
}

}  // namespace acl
