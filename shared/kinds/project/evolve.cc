#include "shared/kinds/project/evolve.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace acl::project {

namespace {

std::vector<std::string> Texts(const Json& facts, std::string_view key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::vector<std::string>() : found->get<std::vector<std::string>>();
}

std::string Text(const Json& facts, const char* key) { return facts.value(key, ""); }

// One event being turned into its delta: entries that change are read once, and written at the end.
class Evolver {
 public:
  Evolver(const Document& state, const EventDraft& draft) : state_(state), draft_(draft), facts_(draft.facts) {}

  Delta Run() {
    auto project = FindProject(state_);
    if (draft_.type == events::kProjectCreated) {
      project.emplace();
      project->name = Text(facts_, "name");
      project->independent = facts_.value("independent", false);
      project->created_at = draft_.at;
    } else if (!project) {
      return Delta::Impossible("no project");
    }
    project_ = std::move(*project);
    ++project_.order;
    if (draft_.type == events::kWatchAdded || draft_.type == events::kWatchesEnded) return Watches();
    if (!Change()) return Delta::Impossible("no event of a project, or of nothing that is there: " + draft_.type);
    Delta delta;
    delta.Add(kProjectKey, ToJson(project_));
    for (const auto& [id, goal] : goals_) delta.Add(GoalKey(id), ToJson(goal));
    for (const auto& [id, task] : tasks_) delta.Add(TaskKey(id), ToJson(task));
    if (checkpoint_) delta.Add(CheckpointKey(checkpoint_->task), ToJson(*checkpoint_));
    return delta;
  }

 private:
  bool Change() {
    const std::string& type = draft_.type;
    if (type == events::kProjectCreated || type == events::kRefused || type == events::kDependencyReopened || type == events::kReleased)
      return true;
    if (type == events::kGoalCreated) return NewGoal();
    if (type == events::kTaskAdded) return NewTask();
    if (type == events::kCheckpoint) return NewCheckpoint();
    if (type.starts_with("goal.")) {
      Goal* goal = GoalOf(Text(facts_, "goal_id"));
      return goal != nullptr && ChangeGoal(*goal);
    }
    Task* task = TaskOf(Text(facts_, "task_id"));
    if (task == nullptr) return false;
    task->updated_at = draft_.at;
    return ChangeTask(*task);
  }

  // Those that are woken by the next change; all at once, and then nobody.
  Delta Watches() {
    Delta delta;
    delta.Add(kProjectKey, ToJson(project_));
    std::vector<std::string> watchers = Watchers(state_);
    if (draft_.type == events::kWatchesEnded) watchers.clear();
    if (draft_.type == events::kWatchAdded) watchers.push_back(Text(facts_, "session"));
    delta.Add(kWatchersKey, watchers);
    return delta;
  }

  Goal* GoalOf(const std::string& id) {
    if (const auto known = goals_.find(id); known != goals_.end()) return &known->second;
    auto found = FindGoal(state_, id);
    return found ? &goals_.emplace(id, std::move(*found)).first->second : nullptr;
  }
  Task* TaskOf(const std::string& id) {
    if (const auto known = tasks_.find(id); known != tasks_.end()) return &known->second;
    auto found = FindTask(state_, id);
    return found ? &tasks_.emplace(id, std::move(*found)).first->second : nullptr;
  }

  bool NewGoal() {
    Goal goal;
    goal.id = Text(facts_, "goal_id");
    goal.text = Text(facts_, "text");
    goal.priority = facts_.at("priority");
    goal.created_order = project_.order;
    goal.created_at = draft_.at;
    ++project_.goals;
    goals_.emplace(goal.id, std::move(goal));
    return true;
  }

  bool NewTask() {
    Task task;
    task.id = Text(facts_, "task_id");
    task.goal = Text(facts_, "goal_id");
    task.title = Text(facts_, "title");
    task.priority = facts_.at("priority");
    task.acceptance_criteria = Texts(facts_, "acceptance_criteria");
    task.evidence = Texts(facts_, "evidence");
    task.created_order = project_.order;
    task.updated_at = draft_.at;
    ++project_.tasks;
    const std::string id = task.id;
    Task& added = tasks_.emplace(id, std::move(task)).first->second;
    return Depend(added, Texts(facts_, "depends_on")) && Count(added, 1);
  }

  bool NewCheckpoint() {
    Checkpoint checkpoint;
    checkpoint.task = Text(facts_, "task_id");
    checkpoint.where_we_left_off = Text(facts_, "where_we_left_off");
    checkpoint.next_step = Text(facts_, "next_step");
    checkpoint.by = Text(facts_, "by");
    checkpoint.context_refs = Texts(facts_, "needed_context_refs");
    checkpoint.blockers = Texts(facts_, "blockers");
    checkpoint.tried = Texts(facts_, "tried");
    checkpoint.pending = Texts(facts_, "pending");
    checkpoint.order = project_.order;
    checkpoint.timestamp = draft_.at;
    checkpoint_ = std::move(checkpoint);
    return state_.Has(TaskKey(checkpoint_->task));
  }

  bool ChangeGoal(Goal& goal) {
    if (draft_.type == events::kGoalChanged) {
      if (facts_.contains("text")) goal.text = Text(facts_, "text");
      goal.priority = facts_.value("priority", goal.priority);
    } else if (draft_.type == events::kGoalStatus) {
      const auto to = ParseGoalStatus(Text(facts_, "to"));
      if (!to) return false;
      goal.status = *to;
    } else if (draft_.type == events::kGoalWithdrawn) {
      goal.withdrawn = true;
    } else {
      return false;
    }
    return true;
  }

  bool ChangeTask(Task& task) {
    const std::string& type = draft_.type;
    if (type == events::kTaskStarted || type == events::kTaskReopened) return Start(task);
    if (type == events::kTaskPaused) return Stop(task, TaskStatus::kTodo);
    if (type == events::kTaskCompleted) return Stop(task, TaskStatus::kDone) && Count(task, -1);
    if (type == events::kTaskBlocked) return Block(task) && Stop(task, TaskStatus::kBlocked);
    if (type == events::kBlockerAdded) return Block(task);
    if (type == events::kBlockerResolved) {
      return std::erase_if(task.blockers, [&](const Blocker& one) { return one.id == Text(facts_, "blocker_id"); }) == 1;
    }
    if (type == events::kTaskUnblocked) {
      task.blockers.clear();
      return Stop(task, TaskStatus::kTodo);
    }
    if (type == events::kClaimRenewed) return SetClaim(task);
    if (type == events::kClaimExpired) return Expire(task);
    if (type == events::kTaskWithdrawn) {
      if (task.status != TaskStatus::kDone) Count(task, -1);
      task.withdrawn = true;
      task.claim.reset();
      return true;
    }
    if (type == events::kRunLinked) return Link(task);
    if (type == events::kRunEnded) return End(task);
    return type == events::kTaskChanged && Edit(task);
  }

  bool Link(Task& task) {
    task.runs.push_back({Text(facts_, "run_id"), Text(facts_, "by"), draft_.at, "", 0, "", std::nullopt});
    if (task.runs.size() > kMostTaskRuns) task.runs.erase(task.runs.begin());
    return true;
  }

  bool End(Task& task) {
    const std::string run_id = Text(facts_, "run_id");
    for (TaskRun& run : task.runs) {
      if (run.run_id != run_id) continue;
      run.status = Text(facts_, "status");
      run.head_seq = facts_.at("head_seq");
      run.state_root = Text(facts_, "run_root");
      run.ended_at = draft_.at;
    }
    return true;
  }

  bool Start(Task& task) {
    if (task.status == TaskStatus::kDone) Count(task, 1);
    task.status = TaskStatus::kDoing;
    task.blockers.clear();
    task.started_order = project_.order;
    task.started_at = draft_.at;
    return !facts_.contains("claim") || SetClaim(task);
  }

  bool Stop(Task& task, TaskStatus status) {
    task.status = status;
    task.claim.reset();
    if (draft_.type != events::kClaimExpired) task.abandoned = 0;
    return true;
  }

  bool SetClaim(Task& task) {
    const Json& claim = facts_.at("claim");
    task.claims = claim.at("token");
    task.claim =
        Claim{claim.at("holder"), task.claims, ParseWallTime(claim.at("since").get_ref<const std::string&>()).value_or(draft_.at), {}};
    if (claim.contains("expires")) task.claim->expires = ParseWallTime(claim.at("expires").get_ref<const std::string&>());
    return true;
  }

  bool Block(Task& task) {
    task.blocked_order = project_.order;
    task.blockers.push_back({Text(facts_, "blocker_id"), Text(facts_, "blocker"), Text(facts_, "by"), draft_.at});
    ++task.blockers_made;
    return true;
  }

  bool Expire(Task& task) {
    ++task.abandoned;
    if (facts_.contains("blocker_id")) return Block(task) && Stop(task, TaskStatus::kBlocked);
    return Stop(task, TaskStatus::kTodo);
  }

  bool Edit(Task& task) {
    if (facts_.contains("title")) task.title = Text(facts_, "title");
    task.priority = facts_.value("priority", task.priority);
    if (facts_.contains("acceptance_criteria")) task.acceptance_criteria = Texts(facts_, "acceptance_criteria");
    if (facts_.contains("evidence")) task.evidence = Texts(facts_, "evidence");
    if (facts_.contains("depends_on") && !Depend(task, Texts(facts_, "depends_on"))) return false;
    if (!facts_.contains("goal_id") || Text(facts_, "goal_id") == task.goal) return true;
    const int open = task.status == TaskStatus::kDone ? 0 : 1;
    if (!Count(task, -open)) return false;
    task.goal = Text(facts_, "goal_id");
    return Count(task, open);
  }

  // Both sides of each dependency.
  bool Depend(Task& task, std::vector<std::string> depends_on) {
    const std::string id = task.id;
    for (const std::string& before : std::exchange(task.depends_on, std::move(depends_on))) {
      if (Task* other = TaskOf(before)) std::erase(other->needed_by, id);
    }
    for (const std::string& on : task.depends_on) {
      Task* other = TaskOf(on);
      if (other == nullptr) return false;
      other->needed_by.push_back(id);
    }
    return true;
  }

  bool Count(const Task& task, int by) {
    Goal* goal = GoalOf(task.goal);
    if (goal == nullptr) return false;
    goal->open_tasks += by;
    return true;
  }

  const Document& state_;
  const EventDraft& draft_;
  const Json& facts_;
  Project project_;
  std::map<std::string, Goal> goals_;
  std::map<std::string, Task> tasks_;
  std::optional<Checkpoint> checkpoint_;
};

}  // namespace

Delta Evolve(const Document& state, const EventDraft& draft) { return Evolver(state, draft).Run(); }

}  // namespace acl::project
