#include "shared/kinds/project/active_work.h"

#include <algorithm>
#include <tuple>

namespace acl::project {

namespace {

constexpr std::size_t kMostReasonsListed = 5, kMostDoneShown = 10;

// The first `most` of a list; how many were left out is put into `cut` under `name`.
template <class T>
void Shorten(std::vector<T>& list, std::size_t most, const char* name, Json& cut) {
  if (list.size() <= most) return;
  cut[name] = list.size() - most;
  list.resize(most);
}

// Ids of open tasks, of which a next step lists only the first.
void PutOpenTasks(const NextStep& next, std::size_t most, Json& answer, Json& cut) {
  std::vector<std::string> open = next.open_tasks;
  open.resize(std::min(open.size(), most));
  if (const auto left = std::size_t(next.counts.open) - open.size(); left > 0) cut["open_tasks"] = left;
  answer["open_tasks"] = std::move(open);
}

bool IsOpen(const Task& task) { return !task.withdrawn && task.status != TaskStatus::kDone; }

Json BlockerToJson(const Task& task, const Blocker& one) {
  return {{"task_id", task.id}, {"id", one.id}, {"text", one.text}, {"by", one.by}, {"since", FormatWallTime(one.since)}};
}

// Open tasks of one status, the ones that come first where there is no room for all: as the next step is chosen.
std::vector<const Task*> OpenOf(const Work& work, const AllWork& source, TaskStatus status, std::string_view actor) {
  std::vector<std::pair<std::tuple<bool, std::int64_t, int, int, std::int64_t>, const Task*>> sorted;
  for (const auto& [id, task] : work.tasks) {
    if (task.withdrawn || task.status != status) continue;
    const Goal* goal = source.GoalOf(task.goal);
    const bool waits = status == TaskStatus::kTodo && !ReasonsAgainst(source, task, actor, 0).empty();
    sorted.push_back({{waits, status == TaskStatus::kBlocked ? -task.blocked_order : 0, task.priority,
                       goal == nullptr ? kLeastUrgent : goal->priority, task.created_order},
                      &task});
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<const Task*> tasks;
  for (const auto& [order, task] : sorted) tasks.push_back(task);
  return tasks;
}

std::vector<const Task*> LastDone(const Work& work) {
  std::vector<const Task*> done;
  for (const auto& [id, task] : work.tasks) {
    if (!task.withdrawn && task.status == TaskStatus::kDone) done.push_back(&task);
  }
  std::sort(done.begin(), done.end(), [](const Task* a, const Task* b) {
    return std::tie(a->updated_at, a->created_order) > std::tie(b->updated_at, b->created_order);
  });
  return done;
}

const Checkpoint* LatestCheckpoint(const Work& work) {
  const Checkpoint* latest = nullptr;
  for (const auto& [id, one] : work.checkpoints) {
    const auto task = work.tasks.find(id);
    if (task == work.tasks.end() || !IsOpen(task->second)) continue;
    if (latest == nullptr || one.order > latest->order) latest = &one;
  }
  return latest;
}

Json ProjectToJson(const Project& project) {
  Json object = {{"name", project.name}, {"created_at", FormatWallTime(project.created_at)}};
  if (project.independent) object["verify"] = "independent";
  return object;
}

}  // namespace

Json TaskItem(const AllWork& source, const Task& task, std::string_view actor) {
  Json item = ToJson(task);
  for (const char* member : {"acceptance_criteria", "needed_by", "evidence", "runs", "blockers_made", "claims", "created_order",
                             "blocked_order", "started_order"}) {
    item.erase(member);
  }
  std::vector<Reason> reasons = ReasonsAgainst(source, task, actor, 0);
  item["ready"] = reasons.empty();
  if (reasons.empty()) return item;
  Json cut = Json::object();
  Shorten(reasons, kMostReasonsListed, "reasons", cut);
  item["reasons"] = Json::array();
  for (const Reason& one : reasons) item["reasons"].push_back(ToJson(one));
  if (!cut.empty()) item["cut"] = std::move(cut);
  return item;
}

Json TaskInFull(const Work& work, const Task& task, std::string_view actor) {
  const AllWork source(work);
  Json object = ToJson(task);
  const std::vector<Reason> reasons = ReasonsAgainst(source, task, actor);
  object["ready"] = reasons.empty();
  object["reasons"] = Json::array();
  for (const Reason& one : reasons) object["reasons"].push_back(ToJson(one));
  if (const Goal* goal = source.GoalOf(task.goal)) object["goal"] = ToJson(*goal);
  if (const auto checkpoint = work.checkpoints.find(task.id); checkpoint != work.checkpoints.end())
    object["checkpoint"] = ToJson(checkpoint->second);
  return object;
}

std::vector<const Task*> TasksInOrder(const Work& work, bool withdrawn) {
  std::vector<const Task*> tasks;
  for (const auto& [id, task] : work.tasks) {
    if (withdrawn || !task.withdrawn) tasks.push_back(&task);
  }
  std::sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) { return a->created_order < b->created_order; });
  return tasks;
}

std::vector<const Goal*> GoalsInOrder(const Work& work, bool withdrawn) {
  std::vector<const Goal*> goals;
  for (const auto& [id, goal] : work.goals) {
    if (withdrawn || !goal.withdrawn) goals.push_back(&goal);
  }
  std::sort(goals.begin(), goals.end(),
            [](const Goal* a, const Goal* b) { return std::tie(a->priority, a->created_order) < std::tie(b->priority, b->created_order); });
  return goals;
}

Json CountsToJson(const Work& work) {
  std::array<int, 4> by_status{};
  for (const auto& [id, task] : work.tasks) {
    if (!task.withdrawn) ++by_status[std::size_t(task.status)];
  }
  const auto of = [&](TaskStatus status) { return by_status[std::size_t(status)]; };
  return {{"open", of(TaskStatus::kTodo) + of(TaskStatus::kDoing) + of(TaskStatus::kBlocked)},
          {"todo", of(TaskStatus::kTodo)},
          {"doing", of(TaskStatus::kDoing)},
          {"blocked", of(TaskStatus::kBlocked)},
          {"done", of(TaskStatus::kDone)},
          {"goals", GoalsInOrder(work).size()}};
}

Json NextToJson(const WorkSource& work, std::int64_t order, const NextStep& next, std::size_t most) {
  Json object = ToJson(next), cut = Json::object();
  PutOpenTasks(next, most, object, cut);
  if (!cut.empty()) object["cut"] = std::move(cut);
  if (const Task* task = work.TaskOf(next.task)) object["claimable_by_others"] = !task->claim;
  object["as_of_seq"] = order;
  return object;
}

Json ActiveWork(const Work& work, const NextStep& next, std::string_view actor, std::size_t most) {
  const AllWork source(work);
  Json cut = Json::object();
  Json answer = {{"project", ProjectToJson(work.project)}, {"counts", CountsToJson(work)}, {"goals", Json::array()}};
  std::vector<const Goal*> goals = GoalsInOrder(work);
  Shorten(goals, most, "goals", cut);
  for (const Goal* one : goals) answer["goals"].push_back(ToJson(*one));

  std::size_t room = most;
  answer["tasks"] = Json::object();
  for (const TaskStatus status : {TaskStatus::kDoing, TaskStatus::kBlocked, TaskStatus::kTodo}) {
    const std::string name(NameOf(status));
    std::vector<const Task*> tasks = OpenOf(work, source, status, actor);
    Shorten(tasks, room, name.c_str(), cut);
    room -= tasks.size();
    answer["tasks"][name] = Json::array();
    for (const Task* one : tasks) answer["tasks"][name].push_back(TaskItem(source, *one, actor));
  }
  std::vector<const Task*> done = LastDone(work);
  Shorten(done, std::min(most, kMostDoneShown), "done", cut);
  answer["tasks"]["done"] = Json::array();
  for (const Task* one : done) answer["tasks"]["done"].push_back(TaskItem(source, *one, actor));

  std::vector<Json> blockers;
  for (const Task* task : OpenOf(work, source, TaskStatus::kBlocked, actor)) {
    for (const Blocker& one : task->blockers) blockers.push_back(BlockerToJson(*task, one));
  }
  Shorten(blockers, most, "blockers", cut);
  answer["blockers"] = std::move(blockers);

  if (next.rule == "doing") answer["active_task"] = TaskInFull(work, work.tasks.at(next.task), actor);
  if (const Checkpoint* latest = LatestCheckpoint(work)) answer["latest_checkpoint"] = ToJson(*latest);
  PutOpenTasks(next, most, answer, cut);
  answer["as_of_seq"] = work.project.order;
  answer["next"] = NextToJson(source, work.project.order, next, most);
  for (const char* said : {"open_tasks", "counts", "state_digest", "as_of_seq", "cut"}) answer["next"].erase(said);  // above
  if (!cut.empty()) answer["cut"] = std::move(cut);
  return answer;
}

Json TaskTree(const Work& work, std::string_view actor, const std::string& goal, std::size_t most) {
  const AllWork source(work);
  std::map<std::string, Json> by_goal;
  std::size_t shown = 0, left = 0;
  for (const Task* task : TasksInOrder(work)) {
    if (!goal.empty() && task->goal != goal) continue;
    if (shown >= most) {
      ++left;
      continue;
    }
    ++shown;
    by_goal[task->goal].push_back(TaskItem(source, *task, actor));
  }
  Json answer = {{"goals", Json::array()}};
  for (const Goal* one : GoalsInOrder(work)) {
    if (!goal.empty() && one->id != goal) continue;
    Json item = ToJson(*one);
    const auto tasks = by_goal.find(one->id);
    item["tasks"] = tasks == by_goal.end() ? Json::array() : std::move(tasks->second);
    answer["goals"].push_back(std::move(item));
  }
  if (left > 0) answer["cut"] = {{"tasks", left}};
  return answer;
}

}  // namespace acl::project
