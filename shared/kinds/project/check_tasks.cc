#include "shared/kinds/project/check_tasks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "shared/kinds/project/active_work.h"

namespace acl::project {

namespace {

// "airun task edit t3 --depends-on t1": what t3 depends on, without `gone`.
std::string DropDependency(const Task& task, const std::string& gone) {
  std::string command = "airun task edit " + task.id;
  std::size_t left = 0;
  for (const std::string& id : task.depends_on) {
    if (id == gone) continue;
    command += " --depends-on " + id;
    ++left;
  }
  return left > 0 ? command : command + " --depends-on \"\"";
}

void OfTask(const Work& work, const Task& task, std::vector<TaskFinding>& found) {
  if (task.status == TaskStatus::kDoing && !task.claim) {
    found.push_back({"DOING_WITHOUT_CLAIM", task.id, fmt::format("task {} is doing, and nobody holds it", task.id),
                     fmt::format("airun task pause {}", task.id)});
  }
  if (task.claim && !task.claim->expires) {
    found.push_back(
        {"CLAIM_WITHOUT_END", task.id,
         fmt::format("{} holds task {} since {}, without an end", task.claim->holder, task.id, FormatWallTime(task.claim->since)),
         fmt::format("airun task claim {} --as {}", task.id, task.claim->holder)});
  }
  if (task.status == TaskStatus::kBlocked && task.blockers.empty()) {
    found.push_back({"BLOCKED_WITHOUT_BLOCKER", task.id, fmt::format("task {} is blocked, and each of its blockers is resolved", task.id),
                     fmt::format("airun task unblock {}", task.id)});
  }
  for (const std::string& id : task.depends_on) {
    const auto dependency = work.tasks.find(id);
    const bool open = task.status != TaskStatus::kDone;
    if (dependency == work.tasks.end()) {
      found.push_back(
          {"DEPENDENCY_MISSING", task.id, fmt::format("task {} depends on {}, which is not there", task.id, id), DropDependency(task, id)});
    } else if (dependency->second.withdrawn) {
      if (open) {
        found.push_back({"DEPENDENCY_WITHDRAWN", task.id, fmt::format("task {} depends on {}, which was withdrawn", task.id, id),
                         DropDependency(task, id)});
      }
    } else if (dependency->second.status != TaskStatus::kDone && (!open || task.status == TaskStatus::kDoing)) {
      found.push_back({"DEPENDENCY_REOPENED", task.id,
                       fmt::format("task {} is {}, and {}, on which it depends, is {} again", task.id, NameOf(task.status), id,
                                   NameOf(dependency->second.status)),
                       open ? fmt::format("airun task pause {}", task.id)
                            : fmt::format("airun task complete {}, or airun task reopen {}", id, task.id)});
    }
  }
}

// Cycles of depends_on, each once. Without recursion: the graph is a user's.
class CycleFinder {
 public:
  CycleFinder(const Work& work, std::vector<TaskFinding>& found) : work_(work), found_(found) {}

  void From(const Task& start) {
    if (!seen_.insert(start.id).second) return;
    way_.push_back({&start, 0});
    on_the_way_.insert(start.id);
    while (!way_.empty()) {
      auto& [task, at] = way_.back();
      if (at == task->depends_on.size()) {
        on_the_way_.erase(task->id);
        way_.pop_back();
        continue;
      }
      const std::string& id = task->depends_on[at++];
      const auto next = work_.tasks.find(id);
      if (next == work_.tasks.end()) continue;
      if (on_the_way_.contains(id)) {
        Say(*task, id);
      } else if (seen_.insert(id).second) {
        on_the_way_.insert(id);
        way_.push_back({&next->second, 0});
      }
    }
  }

 private:
  void Say(const Task& last, const std::string& first) {
    std::vector<std::string> path;
    for (const auto& [task, at] : way_) {
      if (!path.empty() || task->id == first) path.push_back(task->id);
    }
    path.push_back(first);
    found_.push_back(
        {"CYCLE", last.id, fmt::format("these tasks wait for each other: {}", fmt::join(path, " -> ")), DropDependency(last, first)});
  }

  const Work& work_;
  std::vector<TaskFinding>& found_;
  std::vector<std::pair<const Task*, std::size_t>> way_;  // each with its dependency that is looked at next
  std::set<std::string> seen_, on_the_way_;
};

}  // namespace

std::vector<TaskFinding> CheckTasks(const Work& work) {
  std::vector<TaskFinding> found;
  std::vector<const Goal*> goals = GoalsInOrder(work);
  std::sort(goals.begin(), goals.end(), [](const Goal* a, const Goal* b) { return a->created_order < b->created_order; });
  for (const Goal* goal : goals) {
    if (goal->status != GoalStatus::kDone || goal->open_tasks == 0) continue;
    found.push_back(
        {"GOAL_DONE_WITH_OPEN_TASKS", goal->id,
         fmt::format("goal {} is done, and {} of its tasks {} open", goal->id, goal->open_tasks, goal->open_tasks == 1 ? "is" : "are"),
         fmt::format("airun goal resume {}", goal->id)});
  }
  const std::vector<const Task*> tasks = TasksInOrder(work);
  for (const Task* task : tasks) OfTask(work, *task, found);
  CycleFinder cycles(work, found);
  for (const Task* task : tasks) cycles.From(*task);
  return found;
}

Json ToJson(const TaskFinding& finding) {
  return {{"code", finding.code}, {"subject", finding.subject}, {"text", finding.text}, {"fix", finding.fix}};
}

}  // namespace acl::project
