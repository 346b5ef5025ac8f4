// Who waits for whom, and the order that follows.
#include <map>
#include <queue>

#include "shared/definition/workflow_definition.h"

namespace acl {

namespace {

using Waits = std::vector<std::vector<int>>;

// What a step without `depends_on` waits for, in a list of steps that go one after the other: the step before it. PARALLEL steps with a
// call of their own that stand side by side go together (docs/reference/other-runtimes.md#k4).
class Followed {
 public:
  // `stated`: the step has `depends_on`.
  const std::vector<int>& Next(const StepDefinition& step, int index, bool stated) {
    const bool together = step.type == StepType::kParallel && !IsScope(step);
    if (together && in_group_) {
      before_.push_back(index);
    } else {
      before_group_ = std::exchange(before_, {index});
      in_group_ = together;
    }
    return stated ? none_ : before_group_;
  }

 private:
  bool in_group_ = false;
  std::vector<int> before_group_, before_, none_;
};

Waits Stated(const WorkflowDefinition& definition) {
  std::map<std::string_view, int> names;
  for (std::size_t i = 0; i < definition.steps.size(); ++i) names.emplace(definition.steps[i].name, static_cast<int>(i));
  Waits waits(definition.steps.size());
  for (std::size_t i = 0; i < definition.steps.size(); ++i) {
    for (const std::string& on : definition.steps[i].depends_on) {
      const auto it = names.find(on);
      waits[i].push_back(it == names.end() ? -1 : it->second);  // -1: nobody's, so never
    }
  }
  return waits;
}

// A step begins when those it waits for have ended and the scope that it stands in has begun; a scope ends when all that it holds have
// ended. Nodes: 2i is the beginning of step i, 2i + 1 its end.
std::vector<int> OrderOf(const WorkflowDefinition& definition, const Waits& waits) {
  const std::size_t count = definition.steps.size();
  std::vector<std::vector<int>> followers(2 * count);
  std::vector<int> missing(2 * count, 0);
  const auto edge = [&](int from, int to) {
    ++missing[static_cast<std::size_t>(to)];
    if (from >= 0) followers[static_cast<std::size_t>(from)].push_back(to);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const int begins = 2 * static_cast<int>(i), ends = begins + 1, parent = definition.steps[i].parent;
    edge(begins, ends);
    for (int on : waits[i]) edge(on < 0 ? -1 : 2 * on + 1, begins);
    if (parent < 0) continue;
    edge(2 * parent, begins);
    edge(ends, 2 * parent + 1);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (missing[2 * i] == 0) ready.push(2 * static_cast<int>(i));
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    if (node % 2 == 0) order.push_back(node / 2);
    for (int follower : followers[static_cast<std::size_t>(node)])
      if (--missing[static_cast<std::size_t>(follower)] == 0) ready.push(follower);
  }
  return order;
}

Waits AllWaits(const WorkflowDefinition& definition) {
  const Waits stated = Stated(definition);
  Waits waits = stated;
  std::map<std::pair<int, int>, Followed> lists;  // by scope and case
  for (const int index : OrderOf(definition, stated)) {
    const StepDefinition& step = definition.steps[static_cast<std::size_t>(index)];
    auto& own = waits[static_cast<std::size_t>(index)];
    if (step.parent >= 0 && definition.steps[static_cast<std::size_t>(step.parent)].type == StepType::kParallel) continue;
    const auto& before = lists[{step.parent, step.branch}].Next(step, index, !step.depends_on.empty());
    own.insert(own.end(), before.begin(), before.end());
  }
  return waits;
}

}  // namespace

std::vector<int> PlanOrder(const WorkflowDefinition& definition) { return OrderOf(definition, AllWaits(definition)); }

std::vector<std::vector<int>> EffectiveDependencies(const WorkflowDefinition& definition) {
  Waits waits = AllWaits(definition);
  for (auto& own : waits) std::erase(own, -1);
  return waits;
}

}  // namespace acl
