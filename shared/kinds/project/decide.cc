#include "shared/kinds/project/decider.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shared/base/mutant.h"
#include "shared/kinds/project/forms.h"

namespace acl::project {

Decided Decider::Run() {
  Check(CheckText("by", command_.by, kMostTitleBytes));
  const auto handler = kHandlers.find(command_.name);
  if (handler == kHandlers.end()) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : kHandlers) names.emplace_back(name);
    BadForm(fmt::format("there is no command \"{}\"; there are: {}", command_.name, Joined(names)));
  }
  if (command_.name != "create_project") {
    auto project = FindProject(state_);
    if (!project) Refuse(Code::kNotFound, "NOT_FOUND", "there is no project here: create it first");
    project_ = std::move(*project);
  }
  (this->*handler->second)();
  WakeWatchers();
  return std::move(decided_);
}

Json Decider::WithReason(Json facts, const std::string& reason) {
  if (!reason.empty()) facts["reason"] = reason;
  return facts;
}

void Decider::PutIfAny(Json& facts, const char* key, const std::vector<std::string>& texts) {
  if (!texts.empty()) facts[key] = texts;
}

void Decider::Say(std::string_view type, Json facts) {
  facts["by"] = command_.by;
  EventDraft draft;
  draft.type = type;
  draft.facts = std::move(facts);
  draft.at = now_;
  decided_.events.push_back(std::move(draft));
}

void Decider::NothingElse() const { arguments_.NothingElse(command_.name); }

int Decider::Priority(int otherwise) { return int(arguments_.Number("priority", otherwise, kMostUrgent, kLeastUrgent)); }

Goal Decider::TheGoal() {
  const std::string id = arguments_.Text("goal_id", kMostTitleBytes);
  const Goal* goal = source_.GoalOf(id);
  if (goal == nullptr) Refuse(Code::kNotFound, "NOT_FOUND", fmt::format("there is no goal \"{}\" in this project", id));
  if (goal->withdrawn) Conflict("WITHDRAWN", fmt::format("goal {} was withdrawn", id));
  return *goal;
}

Task Decider::TheTask() {
  const std::string id = arguments_.Text("task_id", kMostTitleBytes);
  const Task* task = source_.TaskOf(id);
  if (task == nullptr) Refuse(Code::kNotFound, "NOT_FOUND", fmt::format("there is no task \"{}\" in this project", id));
  if (task->withdrawn) Conflict("WITHDRAWN", fmt::format("task {} was withdrawn", id));
  return *task;
}

// Refuses who is not the holder; who gives a token must give the claim's.
void Decider::Holder(const Task& task) {
  const bool said = arguments_.Has("token");
  const std::int64_t token = arguments_.Number("token", 0, 0, INT64_MAX);
  if (Mutant("task_token_ignored")) return;
  if (said && token != (task.claim ? task.claim->token : 0)) {
    Conflict("LATE_HOLDER",
             fmt::format(
                 "claim {} of task {} is over: {}", token, task.id,
                 task.claim ? fmt::format("{} has it since {}", task.claim->holder, FormatWallTime(task.claim->since)) : "nobody has it"));
  }
  NotAnothers(task);
}

void Decider::NotAnothers(const Task& task) const {
  if (task.claim && task.claim->holder != command_.by) {
    Conflict("CLAIMED", fmt::format("{} has task {} since {}", task.claim->holder, task.id, FormatWallTime(task.claim->since)),
             {{"holder", task.claim->holder}});
  }
}

void Decider::Transition(const Task& task, TaskStatus to) const {
  if (IsAllowed(task.status, to)) return;
  Conflict("INVALID_TRANSITION",
           fmt::format("task {} is {} and cannot become {}: from there it may become {}", task.id, NameOf(task.status), NameOf(to),
                       AllowedWords(task.status)),
           {{"status", NameOf(task.status)}, {"allowed", Names(AllowedFrom(task.status))}});
}

Json Decider::Names(const std::vector<TaskStatus>& all) {
  Json names = Json::array();
  for (TaskStatus one : all) names.push_back(NameOf(one));
  return names;
}

Json Decider::NewClaim(const Task& task) {
  const std::int64_t seconds = arguments_.Number("claim_seconds", kUsualClaimSeconds, 1, kMostClaimSeconds);
  return {{"holder", command_.by},
          {"token", task.claims + 1},
          {"since", FormatWallTime(now_)},
          {"expires", FormatWallTime(now_ + std::chrono::seconds(seconds))}};
}

void Decider::TakeLists(Json& facts, const std::string& id) {
  if (arguments_.Has("acceptance_criteria"))
    facts["acceptance_criteria"] = arguments_.Texts("acceptance_criteria", kMostItems, kMostReasonBytes);
  if (arguments_.Has("depends_on")) facts["depends_on"] = Dependencies(id);
  if (!arguments_.Has("evidence")) return;
  const std::vector<std::string> kinds = arguments_.Texts("evidence", kMostItems, kMostTitleBytes);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!IsEvidenceKind(kinds[i]))
      BadForm(fmt::format("evidence[{}]: there is no evidence of kind \"{}\"; there are: {}", i, kinds[i], EvidenceKinds()));
  }
  facts["evidence"] = kinds;
}

std::vector<std::string> Decider::Dependencies(const std::string& id) {
  const std::vector<std::string> depends_on = arguments_.Texts("depends_on", kMostDependencies, kMostTitleBytes);
  std::set<std::string> once;
  for (const std::string& on : depends_on) {
    if (!once.insert(on).second) BadForm(fmt::format("depends_on: {} stands there twice", on));
    const Task* task = source_.TaskOf(on);
    if (on == id) Conflict("CYCLE", fmt::format("task {} cannot depend on itself", id));
    if (task == nullptr) Refuse(Code::kNotFound, "NOT_FOUND", fmt::format("depends_on: there is no task \"{}\" in this project", on));
    if (task->withdrawn) Conflict("WITHDRAWN", fmt::format("depends_on: task {} was withdrawn", on));
    if (task->needed_by.size() >= kMostDependents)
      Conflict("LIMIT", fmt::format("depends_on: {} tasks depend on {}, {} at most", task->needed_by.size(), on, kMostDependents));
    if (const auto path = DependencyPath(source_, on, id); !path.empty()) {
      Conflict("CYCLE", fmt::format("task {} cannot depend on {}: that depends on it already ({})", id, on, Joined(path, " -> ")),
               {{"path", path}});
    }
  }
  return depends_on;
}

const std::map<std::string_view, Decider::Handler> Decider::kHandlers{
    {"create_project", &Decider::CreateProject},
    {"create_goal", &Decider::CreateGoal},
    {"edit_goal", &Decider::EditGoal},
    {"pause_goal", &Decider::PauseGoal},
    {"resume_goal", &Decider::ResumeGoal},
    {"finish_goal", &Decider::FinishGoal},
    {"withdraw_goal", &Decider::WithdrawGoal},
    {"add_task", &Decider::AddTask},
    {"edit_task", &Decider::EditTask},
    {"start_task", &Decider::StartTask},
    {"take_next", &Decider::TakeNext},
    {"renew_claim", &Decider::RenewClaim},
    {"pause_task", &Decider::PauseTask},
    {"block_task", &Decider::BlockTask},
    {"resolve_blocker", &Decider::ResolveBlocker},
    {"unblock_task", &Decider::UnblockTask},
    {"complete_task", &Decider::CompleteTask},
    {"reopen_task", &Decider::ReopenTask},
    {"withdraw_task", &Decider::WithdrawTask},
    {"update_checkpoint", &Decider::UpdateCheckpoint},
    {"expire_claim", &Decider::ExpireClaim},
    {"link_run", &Decider::LinkRun},
    {"end_run", &Decider::EndRun},
};

Decided Decide(const Document& state, const Command& command, WallTime now, Agenda* agenda) {
  try {
    return Decider(state, command, now, agenda).Run();
  } catch (Refused& refused) {
    Decided decided;
    decided.refused = std::move(refused.why);
    if (decided.refused->code == Code::kConflict) {
      EventDraft draft;
      draft.type = events::kRefused;
      draft.facts = {
          {"command", command.name}, {"reason", decided.refused->reason}, {"message", decided.refused->message}, {"by", command.by}};
      draft.at = now;
      decided.events.push_back(std::move(draft));
    }
    return decided;
  }
}

}  // namespace acl::project
