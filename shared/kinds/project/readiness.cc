#include "shared/kinds/project/readiness.h"

#include <fmt/format.h>

#include <set>

namespace acl::project {

namespace {

template <class T>
const T* In(const std::map<std::string, T>& all, std::string_view id) {
  const auto found = all.find(std::string(id));
  return found == all.end() ? nullptr : &found->second;
}

class Explainer {
 public:
  Explainer(const WorkSource& work, std::string_view actor) : work_(work), actor_(actor) {}

  std::vector<Reason> Of(const Task& task, int deep) {
    on_the_way_.insert(task.id);
    std::vector<Reason> reasons;
    if (task.withdrawn) reasons.push_back({"WITHDRAWN", task.id, "it was withdrawn", {}});
    if (task.status == TaskStatus::kDone) reasons.push_back({"DONE", task.id, "it is done", {}});
    OfGoal(task, reasons);
    if (task.status != TaskStatus::kDone) OfDependencies(task, deep, reasons);
    for (const Blocker& blocker : task.blockers) {
      reasons.push_back(
          {"BLOCKED", task.id, fmt::format("blocked since {} by {}: {}", FormatWallTime(blocker.since), blocker.id, blocker.text), {}});
    }
    if (task.claim && task.claim->holder != actor_) {
      reasons.push_back({"CLAIMED", task.id, fmt::format("{} has it since {}", task.claim->holder, FormatWallTime(task.claim->since)), {}});
    }
    on_the_way_.erase(task.id);
    return reasons;
  }

 private:
  void OfGoal(const Task& task, std::vector<Reason>& reasons) const {
    const Goal* goal = work_.GoalOf(task.goal);
    if (goal == nullptr || goal->withdrawn) {
      reasons.push_back({"GOAL_WITHDRAWN", task.goal, "its goal was withdrawn", {}});
    } else if (goal->status != GoalStatus::kActive) {
      const bool paused = goal->status == GoalStatus::kPaused;
      reasons.push_back({paused ? "GOAL_PAUSED" : "GOAL_DONE", goal->id, paused ? "its goal is paused" : "its goal is done", {}});
    }
  }

  void OfDependencies(const Task& task, int deep, std::vector<Reason>& reasons) {
    for (const std::string& id : task.depends_on) {
      const Task* dependency = work_.TaskOf(id);
      if (dependency == nullptr) {
        reasons.push_back({"DEPENDENCY_MISSING", id, "it depends on " + id + ", which is not there", {}});
      } else if (dependency->withdrawn) {
        reasons.push_back(
            {"DEPENDENCY_WITHDRAWN", id, fmt::format("it depends on {} ({}), which was withdrawn", id, dependency->title), {}});
      } else if (dependency->status != TaskStatus::kDone) {
        Reason open{"DEPENDENCY_OPEN",
                    id,
                    fmt::format("it depends on {} ({}), which is {}", id, dependency->title, NameOf(dependency->status)),
                    {}};
        if (on_the_way_.contains(id)) {
          open = {"CYCLE", id, "it depends on itself by way of " + id, {}};
        } else if (deep > 0 && explained_.insert(id).second) {
          open.because = Of(*dependency, deep - 1);
        }
        reasons.push_back(std::move(open));
      }
    }
  }

  const WorkSource& work_;
  const std::string_view actor_;
  std::set<std::string> on_the_way_, explained_;
};

}  // namespace

const Goal* AllWork::GoalOf(std::string_view id) const { return In(work_.goals, id); }
const Task* AllWork::TaskOf(std::string_view id) const { return In(work_.tasks, id); }

const Goal* StateWork::GoalOf(std::string_view id) const {
  auto found = goals_.find(id);
  if (found == goals_.end()) found = goals_.emplace(std::string(id), FindGoal(state_, id)).first;
  return found->second ? &*found->second : nullptr;
}

const Task* StateWork::TaskOf(std::string_view id) const {
  auto found = tasks_.find(id);
  if (found == tasks_.end()) found = tasks_.emplace(std::string(id), FindTask(state_, id)).first;
  return found->second ? &*found->second : nullptr;
}

Json ToJson(const Reason& reason) {
  Json object = {{"code", reason.code}, {"subject", reason.subject}, {"text", reason.text}};
  for (const Reason& one : reason.because) object["because"].push_back(ToJson(one));
  return object;
}

std::vector<Reason> ReasonsAgainst(const WorkSource& work, const Task& task, std::string_view actor, int deep) {
  return Explainer(work, actor).Of(task, deep);
}

std::vector<std::string> DependencyPath(const WorkSource& work, const std::string& from, const std::string& to) {
  // Without recursion: the graph is a user's.
  std::map<std::string, std::string> came_from{{from, ""}};
  std::vector<std::string> open{from};
  while (!open.empty()) {
    const std::string id = std::move(open.back());
    open.pop_back();
    if (id == to) {
      std::vector<std::string> path;
      for (std::string at = to; !at.empty(); at = came_from.at(at)) path.insert(path.begin(), at);
      return path;
    }
    const Task* task = work.TaskOf(id);
    if (task == nullptr) continue;
    for (const std::string& next : task->depends_on) {
      if (came_from.emplace(next, id).second) open.push_back(next);
    }
  }
  return {};
}

}  // namespace acl::project
