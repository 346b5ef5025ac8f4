#pragma once
// May this task be worked on now, and if not, why: the one predicate behind the next step, starting, listing and showing.

#include <string>
#include <string_view>
#include <vector>

#include "shared/kinds/project/model.h"

namespace acl::project {

// Where goals and tasks are looked up: all of them, or those of a state that are asked for.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  virtual const Goal* GoalOf(std::string_view id) const = 0;  // nullptr: none
  virtual const Task* TaskOf(std::string_view id) const = 0;
};

class AllWork final : public WorkSource {
 public:
  explicit AllWork(const Work& work) : work_(work) {}
  const Goal* GoalOf(std::string_view id) const override;
  const Task* TaskOf(std::string_view id) const override;

 private:
  const Work& work_;
};

// Reads what is asked for, once.
class StateWork final : public WorkSource {
 public:
  explicit StateWork(const Document& state) : state_(state) {}
  const Goal* GoalOf(std::string_view id) const override;
  const Task* TaskOf(std::string_view id) const override;

 private:
  const Document state_;
  mutable std::map<std::string, std::optional<Goal>, std::less<>> goals_;
  mutable std::map<std::string, std::optional<Task>, std::less<>> tasks_;
};

// Why not. Codes: DONE, WITHDRAWN, GOAL_PAUSED, GOAL_DONE, GOAL_WITHDRAWN, DEPENDENCY_OPEN, DEPENDENCY_WITHDRAWN, DEPENDENCY_MISSING,
// CYCLE, BLOCKED, CLAIMED. `because`: the same of the dependency that it is about.
struct Reason {
  std::string code, subject, text;
  std::vector<Reason> because;
};
Json ToJson(const Reason& reason);

inline constexpr int kExplainedDeep = 8;  // dependencies of dependencies

// Everything that keeps `actor` (empty: anybody) from working on the task; empty if nothing does. Each dependency is explained once, and
// what keeps it open too, `deep` times; 0: only what is said of the task itself.
std::vector<Reason> ReasonsAgainst(const WorkSource& work, const Task& task, std::string_view actor, int deep = kExplainedDeep);

// A way from `from` to `to` along depends_on, both included; empty if there is none.
std::vector<std::string> DependencyPath(const WorkSource& work, const std::string& from, const std::string& to);

}  // namespace acl::project
