#include "shared/kinds/project/undo.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "shared/kinds/project/evolve.h"
#include "shared/kinds/project/forms.h"

namespace acl::project {

namespace {

Json FactsOfSaid(const Event& event) {
  auto facts = event.payload ? ParseJson(*event.payload, kStoredJson) : Result<Json>(Json::object());
  return facts && facts->is_object() ? std::move(*facts) : Json::object();
}

struct CannotUndo {
  std::string why;
};

class Inverter {
 public:
  Inverter(const Event& last, const Work& before, std::string reason)
      : type_(last.type), facts_(FactsOfSaid(last)), before_(before), reason_(fmt::format("undo of event {}", last.seq)) {
    if (!reason.empty()) reason_ += ": " + reason;
  }

  Command Make() {
    static const std::map<std::string_view, Command (Inverter::*)()> table = {
        {events::kGoalCreated, &Inverter::GoalCreated},     {events::kGoalChanged, &Inverter::GoalChanged},
        {events::kGoalStatus, &Inverter::GoalMoved},        {events::kTaskAdded, &Inverter::TaskAdded},
        {events::kTaskChanged, &Inverter::TaskChanged},     {events::kTaskStarted, &Inverter::TaskStarted},
        {events::kTaskPaused, &Inverter::TaskPaused},       {events::kTaskBlocked, &Inverter::TaskBlocked},
        {events::kBlockerAdded, &Inverter::BlockerAdded},   {events::kBlockerResolved, &Inverter::BlockerResolved},
        {events::kTaskCompleted, &Inverter::TaskCompleted}, {events::kCheckpoint, &Inverter::CheckpointWritten},
    };
    if (const auto found = table.find(type_); found != table.end()) return (this->*found->second)();
    static const std::map<std::string_view, const char*> instead = {
        {events::kGoalWithdrawn, "what was withdrawn stays so: add the goal again"},
        {events::kTaskWithdrawn, "what was withdrawn stays so: add the task again"},
        {events::kTaskUnblocked, "a task that is todo does not become blocked: start it, and block it"},
        {events::kTaskReopened, "done needs its evidence: complete the task"},
        {events::kClaimRenewed, "a claim is given up by pausing the task"},
        {events::kRunLinked, "the run goes on by itself: airun workflow cancel stops it"},
        {events::kProjectCreated, "a project stays: its goals and tasks can be withdrawn"},
    };
    const auto known = instead.find(type_);
    throw CannotUndo{known != instead.end() ? known->second : "it was nobody's command"};
  }

 private:
  Command Of(std::string name, Json arguments, bool reasoned = true) const {
    if (reasoned) arguments["reason"] = reason_;
    return {std::move(name), std::move(arguments), ""};
  }
  std::string Id(const char* key) const { return facts_.value(key, ""); }
  const Task& TaskBefore() const {
    const auto found = before_.tasks.find(Id("task_id"));
    if (found == before_.tasks.end()) throw CannotUndo{"the task was not there before it"};
    return found->second;
  }

  Command GoalCreated() { return Of("withdraw_goal", {{"goal_id", Id("goal_id")}}); }

  Command GoalChanged() {
    const auto found = before_.goals.find(Id("goal_id"));
    if (found == before_.goals.end()) throw CannotUndo{"the goal was not there before it"};
    Json arguments = {{"goal_id", Id("goal_id")}};
    if (facts_.contains("text")) arguments["text"] = found->second.text;
    if (facts_.contains("priority")) arguments["priority"] = found->second.priority;
    return Of("edit_goal", std::move(arguments), false);
  }

  Command GoalMoved() {
    const std::string from = Id("from");
    if (from == NameOf(GoalStatus::kDone)) return Of("finish_goal", {{"goal_id", Id("goal_id")}, {"force", true}});
    return Of(from == NameOf(GoalStatus::kPaused) ? "pause_goal" : "resume_goal", {{"goal_id", Id("goal_id")}});
  }

  Command TaskAdded() { return Of("withdraw_task", {{"task_id", Id("task_id")}}); }

  Command TaskChanged() {
    const Json was = ToJson(TaskBefore());
    Json arguments = {{"task_id", Id("task_id")}};
    for (const char* key : {"title", "priority", "goal_id", "acceptance_criteria", "depends_on", "evidence"}) {
      if (!facts_.contains(key)) continue;
      const bool list = facts_[key].is_array();
      arguments[key] = was.contains(key) ? was[key] : list ? Json(Json::array()) : Json();
    }
    return Of("edit_task", std::move(arguments), false);
  }

  Command TaskStarted() {
    const Task& was = TaskBefore();
    if (was.status == TaskStatus::kTodo) return Of("pause_task", {{"task_id", was.id}});
    if (was.blockers.size() != 1) throw CannotUndo{"it had not one blocker: block it with what is in the way"};
    return Of("block_task", {{"task_id", was.id}, {"blocker", was.blockers.front().text}}, false);
  }

  Command TaskPaused() { return Of("start_task", {{"task_id", Id("task_id")}}, false); }
  Command TaskBlocked() { return Of("start_task", {{"task_id", Id("task_id")}, {"resolved", reason_}}, false); }
  Command BlockerAdded() { return Of("resolve_blocker", {{"task_id", Id("task_id")}, {"blocker_id", Id("blocker_id")}}); }

  Command BlockerResolved() {
    const Task& was = TaskBefore();
    for (const Blocker& one : was.blockers)
      if (one.id == Id("blocker_id")) return Of("block_task", {{"task_id", was.id}, {"blocker", one.text}}, false);
    throw CannotUndo{"its blocker is not known any more"};
  }

  Command TaskCompleted() { return Of("reopen_task", {{"task_id", Id("task_id")}}); }

  Command CheckpointWritten() {
    const auto found = before_.checkpoints.find(Id("task_id"));
    if (found == before_.checkpoints.end()) throw CannotUndo{"it is the task's first checkpoint: write the one that holds"};
    const Checkpoint& was = found->second;
    return Of("update_checkpoint",
              {{"task_id", was.task},
               {"where_we_left_off", was.where_we_left_off},
               {"next_step", was.next_step},
               {"needed_context_refs", was.context_refs},
               {"blockers", was.blockers},
               {"tried", was.tried},
               {"pending", was.pending}},
              false);
  }

  const std::string type_;
  const Json facts_;
  const Work& before_;
  std::string reason_;
};

}  // namespace

const Event* LastCommand(std::span<const Event> oldest_first) {
  for (std::size_t i = oldest_first.size(); i-- > 0;) {
    const Event& event = oldest_first[i];
    if (event.type != events::kRefused && event.type != events::kDependencyReopened) return &event;
  }
  return nullptr;
}

Json CommandSaid(const Event& event) {
  return {{"event_seq", event.seq}, {"event_type", event.type}, {"by", FactsOfSaid(event).value("by", "")}};
}

Inverse InverseOf(const Event& last, const Work& before, const std::string& by, const std::string& reason) {
  const Json said = CommandSaid(last);
  const auto refuse = [&](const char* code, const std::string& why) {
    return Inverse{{}, Refusal{Code::kConflict, code, fmt::format("event {} ({}) cannot be undone: {}", last.seq, last.type, why), said}};
  };
  try {
    Command command = Inverter(last, before, reason).Make();
    if (said.value("by", "") != by) return refuse("NOT_YOURS", fmt::format("{} said it", said.value("by", "")));
    command.by = by;
    return {std::move(command), {}};
  } catch (const CannotUndo& cannot) {
    return refuse("CANNOT_UNDO", cannot.why);
  }
}

const Operation& UndoOperation() {
  static const Operation operation = [] {
    Operation made;
    made.name = "undo";
    made.words = "undo";
    made.summary = "take back your last command by a compensating one";
    made.path = "/undo";
    made.right = Right::kRead;  // it takes no key: the event's number makes it one
    Parameter seq;
    seq.name = "event_seq";
    seq.flag = "--event";
    seq.help = "the event that is to be undone: refused if it is not the last; the last one if it is not said";
    seq.form = Form::kNumber;
    seq.least = 1;
    seq.greatest = std::int64_t(1) << 53;
    Parameter reason;
    reason.name = "reason";
    reason.flag = "--reason";
    reason.help = "why; kept in the journal where the compensating command takes a reason";
    reason.most = kMostReasonBytes / 2;
    Parameter actor;
    actor.name = "actor";
    actor.help = "who takes it back";
    actor.most = kMostTitleBytes;
    made.parameters = {seq, reason, actor};
    return made;
  }();
  return operation;
}

}  // namespace acl::project
