#include "shared/workflow/beside.h"

namespace acl::workflow {

namespace {

// Steps that have ended before the one begins, or begin when it has ended.
class Ordered {
 public:
  Ordered(const CompiledDefinition& definition, int step) : definition_(definition), ordered_(std::size_t(definition.steps())) {
    std::vector<std::vector<int>> before(ordered_.size()), after(ordered_.size());
    for (int index = 0; index < definition.steps(); ++index) {
      for (const int dependent : definition.dependents(index)) {
        before[std::size_t(dependent)].push_back(index);
        after[std::size_t(index)].push_back(dependent);
      }
    }
    Follow(step, before);
    Follow(step, after);
  }
  bool Has(int step) const { return ordered_[std::size_t(step)]; }

 private:
  // A scope begins before what it holds and ends behind it, so what holds for the scope holds for all in it; and the scopes around a step
  // are followed too.
  void Follow(int from, const std::vector<std::vector<int>>& edges) {
    std::vector<bool> seen(ordered_.size());
    std::vector<int> left = {from};
    while (!left.empty()) {
      const int at = left.back();
      left.pop_back();
      if (seen[std::size_t(at)]) continue;
      seen[std::size_t(at)] = true;
      if (definition_.parent(at) >= 0) left.push_back(definition_.parent(at));
      for (const int other : edges[std::size_t(at)]) MarkAll(other, left);
    }
  }
  void MarkAll(int step, std::vector<int>& left) {
    std::vector<int> below = {step};
    while (!below.empty()) {
      const int at = below.back();
      below.pop_back();
      left.push_back(at);
      if (ordered_[std::size_t(at)]) continue;
      ordered_[std::size_t(at)] = true;
      below.insert(below.end(), definition_.children(at).begin(), definition_.children(at).end());
    }
  }

  const CompiledDefinition& definition_;
  std::vector<bool> ordered_;
};

std::vector<int> Around(const CompiledDefinition& definition, int step) {
  std::vector<int> chain = {step};
  while (definition.parent(chain.back()) >= 0) chain.push_back(definition.parent(chain.back()));
  return chain;
}

// In two cases of one CONDITION: at most one of them runs.
bool ExcludeEachOther(const CompiledDefinition& definition, const std::vector<int>& around, int other) {
  for (int inner = other, at = definition.parent(other); at >= 0; inner = at, at = definition.parent(at)) {
    for (std::size_t n = 1; n < around.size(); ++n)
      if (around[n] == at)
        return !definition.step(at).cases.empty() && definition.step(inner).branch != definition.step(around[n - 1]).branch;
  }
  return false;
}

}  // namespace

bool MayBeWrittenBeside(const CompiledDefinition& definition, int step) {
  if (definition.RegionOf(step).foreach >= 0) return true;
  const Ordered ordered(definition, step);
  const std::vector<int> around = Around(definition, step);
  for (int other = 0; other < definition.steps(); ++other)
    if (definition.Calls(other) && other != step && !ordered.Has(other) && !ExcludeEachOther(definition, around, other)) return true;
  return false;
}

}  // namespace acl::workflow
