#include "shared/workflow/beside.h"

namespace acl::workflow {

namespace {

// Steps that have ended before the one begins, or begin when it has ended.
class Ordered {
 public:
  Ordered(const CompiledSpec& spec, int step) : spec_(spec), ordered_(std::size_t(spec.steps())) {
    std::vector<std::vector<int>> before(ordered_.size()), after(ordered_.size());
    for (int index = 0; index < spec.steps(); ++index) {
      for (const int dependent : spec.dependents(index)) {
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
      if (spec_.parent(at) >= 0) left.push_back(spec_.parent(at));
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
      below.insert(below.end(), spec_.children(at).begin(), spec_.children(at).end());
    }
  }

  const CompiledSpec& spec_;
  std::vector<bool> ordered_;
};

std::vector<int> Around(const CompiledSpec& spec, int step) {
  std::vector<int> chain = {step};
  while (spec.parent(chain.back()) >= 0) chain.push_back(spec.parent(chain.back()));
  return chain;
}

// In two cases of one CONDITION: at most one of them runs.
bool ExcludeEachOther(const CompiledSpec& spec, const std::vector<int>& around, int other) {
  for (int inner = other, at = spec.parent(other); at >= 0; inner = at, at = spec.parent(at)) {
    for (std::size_t n = 1; n < around.size(); ++n)
      if (around[n] == at) return !spec.step(at).cases.empty() && spec.step(inner).branch != spec.step(around[n - 1]).branch;
  }
  return false;
}

}  // namespace

bool MayBeWrittenBeside(const CompiledSpec& spec, int step) {
  if (spec.RegionOf(step).foreach >= 0) return true;
  const Ordered ordered(spec, step);
  const std::vector<int> around = Around(spec, step);
  for (int other = 0; other < spec.steps(); ++other)
    if (spec.Calls(other) && other != step && !ordered.Has(other) && !ExcludeEachOther(spec, around, other)) return true;
  return false;
}

}  // namespace acl::workflow
