// Who waits for whom, and the order that follows.
#include <map>
#include <queue>

#include "shared/spec/workflow_spec.h"

namespace acl {

namespace {

using Waits = std::vector<std::vector<int>>;

// What a step without `depends_on` waits for, in a list of steps that go one after the other: the step before it. PARALLEL steps with a
// call of their own that stand side by side go together (docs/reference/other-runtimes.md#k4).
class Followed {
 public:
  // `stated`: the step has `depends_on`.
  const std::vector<int>& Next(const StepSpec& step, int index, bool stated) {
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

Waits Stated(const WorkflowSpec& spec) {
  std::map<std::string_view, int> names;
  for (std::size_t i = 0; i < spec.steps.size(); ++i) names.emplace(spec.steps[i].name, static_cast<int>(i));
  Waits waits(spec.steps.size());
  for (std::size_t i = 0; i < spec.steps.size(); ++i) {
    for (const std::string& on : spec.steps[i].depends_on) {
      const auto it = names.find(on);
      waits[i].push_back(it == names.end() ? -1 : it->second);  // -1: nobody's, so never
    }
  }
  return waits;
}

// A step begins when those it waits for have ended and the scope that it stands in has begun; a scope ends when all that it holds have
// ended. Nodes: 2i is the beginning of step i, 2i + 1 its end.
std::vector<int> OrderOf(const WorkflowSpec& spec, const Waits& waits) {
  const std::size_t count = spec.steps.size();
  std::vector<std::vector<int>> followers(2 * count);
  std::vector<int> missing(2 * count, 0);
  const auto edge = [&](int from, int to) {
    ++missing[static_cast<std::size_t>(to)];
    if (from >= 0) followers[static_cast<std::size_t>(from)].push_back(to);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const int begins = 2 * static_cast<int>(i), ends = begins + 1, parent = spec.steps[i].parent;
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

Waits AllWaits(const WorkflowSpec& spec) {
  const Waits stated = Stated(spec);
  Waits waits = stated;
  std::map<std::pair<int, int>, Followed> lists;  // by scope and case
  for (const int index : OrderOf(spec, stated)) {
    const StepSpec& step = spec.steps[static_cast<std::size_t>(index)];
    auto& own = waits[static_cast<std::size_t>(index)];
    if (step.parent >= 0 && spec.steps[static_cast<std::size_t>(step.parent)].type == StepType::kParallel) continue;
    const auto& before = lists[{step.parent, step.branch}].Next(step, index, !step.depends_on.empty());
    own.insert(own.end(), before.begin(), before.end());
  }
  return waits;
}

}  // namespace

std::vector<int> PlanOrder(const WorkflowSpec& spec) { return OrderOf(spec, AllWaits(spec)); }

std::vector<std::vector<int>> EffectiveDependencies(const WorkflowSpec& spec) {
  Waits waits = AllWaits(spec);
  for (auto& own : waits) std::erase(own, -1);
  return waits;
}

}  // namespace acl
