// Commands on the project and its goals.

#include "shared/kinds/project/decider.h"

#include <fmt/format.h>

#include "shared/kinds/project/forms.h"

namespace acl::project {

void Decider::CreateProject() {
  const std::string name = arguments_.Text("name", kMostTitleBytes);
  const std::string verify = arguments_.String("verify", false);
  if (!verify.empty() && verify != "independent") BadForm("verify: \"independent\", or nothing");
  NothingElse();
  if (FindProject(state_)) Conflict("EXISTS", "the project is there already");
  Json facts = {{"name", name}};
  if (!verify.empty()) facts["independent"] = true;
  Say(events::kProjectCreated, std::move(facts));
}

void Decider::CreateGoal() {
  Json facts = {{"goal_id", fmt::format("g{}", project_.goals + 1)}, {"text", arguments_.Text("text", kMostTextBytes)}};
  facts["priority"] = Priority(kUsualPriority);
  NothingElse();
  decided_.answer = {{"goal_id", facts.at("goal_id")}};
  Say(events::kGoalCreated, std::move(facts));
}

void Decider::EditGoal() {
  const Goal goal = TheGoal();
  Json facts = {{"goal_id", goal.id}};
  if (arguments_.Has("text")) facts["text"] = arguments_.Text("text", kMostTextBytes);
  if (arguments_.Has("priority")) facts["priority"] = Priority(goal.priority);
  NothingElse();
  if (facts.size() == 1) BadForm("edit_goal: say what to change: text or priority");
  Say(events::kGoalChanged, std::move(facts));
}

void Decider::PauseGoal() { MoveGoal(GoalStatus::kPaused); }

void Decider::ResumeGoal() { MoveGoal(GoalStatus::kActive); }

void Decider::FinishGoal() { MoveGoal(GoalStatus::kDone); }

void Decider::MoveGoal(GoalStatus to) {
  const Goal goal = TheGoal();
  const std::string reason = arguments_.Reason();
  const bool force = to == GoalStatus::kDone && arguments_.Flag("force");
  NothingElse();
  if (goal.status == to) Conflict("INVALID_TRANSITION", fmt::format("goal {} is {} already", goal.id, NameOf(to)));
  if (to == GoalStatus::kDone && goal.open_tasks > 0 && (!force || reason.empty())) {
    Conflict("OPEN_TASKS",
             fmt::format("goal {} has {} open {}: finish or withdraw them, or use force with a reason", goal.id, goal.open_tasks,
                         goal.open_tasks == 1 ? "task" : "tasks"),
             {{"open_tasks", goal.open_tasks}});
  }
  Json facts = {{"goal_id", goal.id}, {"from", NameOf(goal.status)}, {"to", NameOf(to)}};
  if (force) facts["forced"] = true;
  Say(events::kGoalStatus, WithReason(std::move(facts), reason));
}

void Decider::WithdrawGoal() {
  const Goal goal = TheGoal();
  const std::string reason = arguments_.Reason();
  NothingElse();
  if (goal.open_tasks > 0) {
    Conflict("OPEN_TASKS",
             fmt::format("goal {} has {} open tasks: withdraw them or move them to another goal first", goal.id, goal.open_tasks),
             {{"open_tasks", goal.open_tasks}});
  }
  Say(events::kGoalWithdrawn, WithReason({{"goal_id", goal.id}}, reason));
}

}  // namespace acl::project
