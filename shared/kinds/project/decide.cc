#include "shared/kinds/project/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "shared/kinds/project/arguments.h"
#include "shared/kinds/project/evolve.h"
#include "shared/kinds/project/forms.h"
#include "shared/kinds/project/next_step.h"
#include "shared/kinds/project/readiness.h"

namespace acl::project {

namespace {

class Decider {
 public:
  Decider(const Document& state, const Command& command, WallTime now)
      : state_(state), source_(state), command_(command), now_(now), arguments_(command.arguments) {}

  Decided Run() {
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
    return std::move(decided_);
  }

 private:
  using Handler = void (Decider::*)();
  static const std::map<std::string_view, Handler> kHandlers;

  // ---- projects and goals

  void CreateProject() {
    const std::string name = arguments_.Text("name", kMostTitleBytes);
    const std::string verify = arguments_.String("verify", false);
    if (!verify.empty() && verify != "independent") BadForm("verify: \"independent\", or nothing");
    NothingElse();
    if (FindProject(state_)) Conflict("EXISTS", "the project is there already");
    Json facts = {{"name", name}};
    if (!verify.empty()) facts["independent"] = true;
    Say(events::kProjectCreated, std::move(facts));
  }

  void CreateGoal() {
    Json facts = {{"goal_id", fmt::format("g{}", project_.goals + 1)}, {"text", arguments_.Text("text", kMostTextBytes)}};
    facts["priority"] = Priority(kUsualPriority);
    NothingElse();
    decided_.answer = {{"goal_id", facts.at("goal_id")}};
    Say(events::kGoalCreated, std::move(facts));
  }

  void EditGoal() {
    const Goal goal = TheGoal();
    Json facts = {{"goal_id", goal.id}};
    if (arguments_.Has("text")) facts["text"] = arguments_.Text("text", kMostTextBytes);
    if (arguments_.Has("priority")) facts["priority"] = Priority(goal.priority);
    NothingElse();
    if (facts.size() == 1) BadForm("edit_goal: say what to change: text or priority");
    Say(events::kGoalChanged, std::move(facts));
  }

  void PauseGoal() { MoveGoal(GoalStatus::kPaused); }
  void ResumeGoal() { MoveGoal(GoalStatus::kActive); }
  void FinishGoal() { MoveGoal(GoalStatus::kDone); }

  void MoveGoal(GoalStatus to) {
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

  void WithdrawGoal() {
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

  // ---- tasks

  void AddTask() {
    const Goal goal = TheGoal();
    if (goal.status == GoalStatus::kDone) Conflict("INVALID_TRANSITION", fmt::format("goal {} is done: resume it first", goal.id));
    const std::string id = fmt::format("t{}", project_.tasks + 1);
    Json facts = {{"task_id", id},
                  {"goal_id", goal.id},
                  {"title", arguments_.Text("title", kMostTitleBytes)},
                  {"priority", Priority(kUsualPriority)}};
    TakeLists(facts, id);
    NothingElse();
    decided_.answer = {{"task_id", id}};
    Say(events::kTaskAdded, std::move(facts));
  }

  void EditTask() {
    const Task task = TheTask();
    Json facts = {{"task_id", task.id}};
    if (arguments_.Has("title")) facts["title"] = arguments_.Text("title", kMostTitleBytes);
    if (arguments_.Has("priority")) facts["priority"] = Priority(task.priority);
    if (arguments_.Has("goal_id")) {
      const Goal goal = TheGoal();
      if (goal.status == GoalStatus::kDone) Conflict("INVALID_TRANSITION", fmt::format("goal {} is done: resume it first", goal.id));
      facts["goal_id"] = goal.id;
    }
    TakeLists(facts, task.id);
    NothingElse();
    if (facts.size() == 1) BadForm("edit_task: say what to change: title, priority, goal_id, acceptance_criteria, depends_on or evidence");
    Say(events::kTaskChanged, std::move(facts));
  }

  void StartTask() {
    const Task task = TheTask();
    const Json claim = NewClaim(task);
    const std::int64_t as_of = arguments_.Number("as_of", 0, 0, INT64_MAX);
    const std::string resolved = arguments_.Reason("resolved");
    NothingElse();
    if (as_of > 0 && std::max({task.created_order, task.started_order, task.blocked_order}) > as_of) {
      Conflict("CHANGED", fmt::format("task {} changed since you looked: it is {} now", task.id, NameOf(task.status)),
               {{"task", ToJson(task)}});
    }
    if (!resolved.empty() && task.status != TaskStatus::kBlocked) BadForm("resolved: the task is not blocked");
    Begin(task, claim, resolved);
  }

  void TakeNext() {
    const NextStep next = ChooseNext(state_, command_.by);
    if (next.rule == "propose") {
      arguments_.Has("claim_seconds");
      NothingElse();
      decided_.answer = ToJson(next);
      return;
    }
    const Task task = *source_.TaskOf(next.task);
    const Json claim = NewClaim(task);
    NothingElse();
    decided_.answer = ToJson(next);
    if (task.status == TaskStatus::kTodo) {
      Begin(task, claim, "");
    } else if (task.status == TaskStatus::kDoing) {  // the caller's own, or nobody's
      Say(events::kClaimRenewed, {{"task_id", task.id}, {"claim", claim}});
      decided_.answer["claim"] = claim;
    }
  }

  void Begin(const Task& task, const Json& claim, const std::string& resolved) {
    Transition(task, TaskStatus::kDoing);
    std::vector<Reason> against = ReasonsAgainst(source_, task, command_.by);
    if (!resolved.empty()) std::erase_if(against, [](const Reason& one) { return one.code == "BLOCKED"; });
    if (task.status == TaskStatus::kDone) std::erase_if(against, [](const Reason& one) { return one.code == "DONE"; });
    NotReady(task, against);
    Json facts = {{"task_id", task.id}, {"from", NameOf(task.status)}, {"claim", claim}};
    if (!resolved.empty()) facts["resolved"] = resolved;
    decided_.answer["task_id"] = task.id;
    decided_.answer["claim"] = claim;
    Say(events::kTaskStarted, std::move(facts));
  }

  void NotReady(const Task& task, const std::vector<Reason>& against) {
    if (against.empty()) return;
    std::vector<std::string> words;
    Json reasons = Json::array();
    for (const Reason& one : against) words.push_back(one.text), reasons.push_back(ToJson(one));
    const bool claimed = against.front().code == "CLAIMED";
    const bool blocked = std::any_of(against.begin(), against.end(), [](const Reason& one) { return one.code == "BLOCKED"; });
    Conflict(claimed ? "CLAIMED" : "NOT_READY",
             fmt::format("task {} cannot be started: {}{}", task.id, Joined(words, "; "),
                         blocked ? " (resolve its blockers, or say in \"resolved\" why it may go on)" : ""),
             {{"reasons", std::move(reasons)}});
  }

  void RenewClaim() {
    const Task task = TheTask();
    Holder(task);
    if (!task.claim) Conflict("INVALID_TRANSITION", fmt::format("nobody holds task {}: start it", task.id));
    Json claim = NewClaim(task);
    claim["token"] = task.claim->token;
    claim["since"] = FormatWallTime(task.claim->since);
    NothingElse();
    decided_.answer = {{"claim", claim}};
    Say(events::kClaimRenewed, {{"task_id", task.id}, {"claim", claim}});
  }

  void PauseTask() {
    const Task task = TheTask();
    Holder(task);
    const std::string reason = arguments_.Reason();
    NothingElse();
    if (task.status == TaskStatus::kBlocked)
      Conflict("INVALID_TRANSITION", fmt::format("task {} is blocked: unblock_task makes it todo", task.id));
    Transition(task, TaskStatus::kTodo);
    Say(events::kTaskPaused, WithReason({{"task_id", task.id}}, reason));
  }

  void BlockTask() {
    const Task task = TheTask();
    Holder(task);
    const std::string blocker = arguments_.Text("blocker", kMostReasonBytes);
    NothingElse();
    const bool more = task.status == TaskStatus::kBlocked;
    if (!more) Transition(task, TaskStatus::kBlocked);
    if (task.blockers.size() >= kMostItems)
      Conflict("LIMIT", fmt::format("task {} has {} blockers: resolve some", task.id, task.blockers.size()));
    const std::string id = fmt::format("b{}", task.blockers_made + 1);
    decided_.answer = {{"blocker_id", id}};
    Say(more ? events::kBlockerAdded : events::kTaskBlocked, {{"task_id", task.id}, {"blocker_id", id}, {"blocker", blocker}});
  }

  void ResolveBlocker() {
    const Task task = TheTask();
    const std::string id = arguments_.Text("blocker_id", kMostTitleBytes);
    const std::string reason = arguments_.Reason();
    NothingElse();
    std::vector<std::string> open;
    for (const Blocker& one : task.blockers) open.push_back(one.id);
    if (std::find(open.begin(), open.end(), id) == open.end()) {
      Refuse(Code::kNotFound, "NOT_FOUND",
             fmt::format("task {} has no open blocker {}; {}", task.id, id, open.empty() ? "it has none" : "it has: " + Joined(open)));
    }
    Say(events::kBlockerResolved, WithReason({{"task_id", task.id}, {"blocker_id", id}}, reason));
  }

  void UnblockTask() {
    const Task task = TheTask();
    const std::string reason = arguments_.Reason();
    NothingElse();
    if (task.status != TaskStatus::kBlocked) {
      Conflict("INVALID_TRANSITION", fmt::format("task {} is {}, not blocked: from there it may become {}", task.id, NameOf(task.status),
                                                 AllowedWords(task.status)));
    }
    Say(events::kTaskUnblocked, WithReason({{"task_id", task.id}}, reason));
  }

  void CompleteTask() {
    const Task task = TheTask();
    Holder(task);
    Json evidence = Json::array();
    if (const Json* given = arguments_.Find("evidence")) {
      if (!given->is_array() || given->size() > kMostItems) BadForm(fmt::format("evidence: a list of at most {} pieces", kMostItems));
      for (const Json& one : *given) {
        Check(CheckEvidence(fmt::format("evidence[{}]", evidence.size()), one));
        evidence.push_back(one);
      }
    }
    NothingElse();
    Transition(task, TaskStatus::kDone);
    CheckShown(task, evidence);
    Json facts = {{"task_id", task.id}};
    if (!evidence.empty()) facts["evidence"] = std::move(evidence);
    Say(events::kTaskCompleted, std::move(facts));
  }

  // What the task asks for is there, and is not older than the work.
  void CheckShown(const Task& task, const Json& evidence) const {
    const std::string holder = task.claim ? task.claim->holder : command_.by;
    std::set<std::string> shown;
    bool independent = false;
    for (const Json& one : evidence) {
      const std::string kind = one.at("kind");
      const auto at = one.find("at");
      if (at != one.end()) {
        const auto time = at->is_string() ? ParseWallTime(at->get_ref<const std::string&>()) : std::nullopt;
        if (!time) BadForm("evidence: \"at\" is no time, as in 2026-11-27T09:00:00Z");
        if (*time < task.started_at) {
          Conflict("STALE_EVIDENCE", fmt::format("evidence of kind {} is of {}, before task {} was started ({})", kind,
                                                 FormatWallTime(*time), task.id, FormatWallTime(task.started_at)));
        }
      }
      if (kind != "person" || one.at("by") != holder) independent = true;
      shown.insert(kind);
    }
    std::vector<std::string> missing;
    for (const std::string& kind : task.evidence) {
      if (!shown.contains(kind)) missing.push_back(kind);
    }
    if (!missing.empty()) {
      Conflict("EVIDENCE_MISSING",
               fmt::format("task {} asks for evidence of kind {}: give it as complete_task's \"evidence\"", task.id, Joined(missing)),
               {{"missing", missing}});
    }
    if (project_.independent && !independent) {
      Conflict(
          "NOT_INDEPENDENT",
          fmt::format("{} cannot be the only one to say that task {} is done: evidence of a run, a check, an artifact or another person",
                      holder, task.id));
    }
  }

  void ReopenTask() {
    const Task task = TheTask();
    const std::string reason = arguments_.Reason();
    const Json claim = NewClaim(task);
    NothingElse();
    if (task.status != TaskStatus::kDone) {
      Conflict("INVALID_TRANSITION", fmt::format("task {} is {}, not done: from there it may become {}", task.id, NameOf(task.status),
                                                 AllowedWords(task.status)));
    }
    decided_.answer = {{"task_id", task.id}, {"claim", claim}};
    Say(events::kTaskReopened, WithReason({{"task_id", task.id}, {"claim", claim}}, reason));
    for (const std::string& id : task.needed_by) {
      const Task* dependent = source_.TaskOf(id);
      if (dependent != nullptr && dependent->status == TaskStatus::kDoing)
        Say(events::kDependencyReopened, {{"task_id", id}, {"dependency", task.id}});
    }
  }

  void WithdrawTask() {
    const Task task = TheTask();
    Holder(task);
    const std::string reason = arguments_.Reason();
    NothingElse();
    std::vector<std::string> open;
    for (const std::string& id : task.needed_by) {
      const Task* dependent = source_.TaskOf(id);
      if (dependent != nullptr && !dependent->withdrawn && dependent->status != TaskStatus::kDone) open.push_back(id);
    }
    if (!open.empty() && task.status != TaskStatus::kDone) {
      Conflict(
          "NOT_READY",
          fmt::format("{} {} on task {}: take it out of depends_on first", Joined(open), open.size() == 1 ? "depends" : "depend", task.id),
          {{"needed_by", open}});
    }
    Say(events::kTaskWithdrawn, WithReason({{"task_id", task.id}}, reason));
  }

  void UpdateCheckpoint() {
    const Task task = TheTask();
    Holder(task);
    Json facts = {{"task_id", task.id}};
    const std::string where = arguments_.String("where_we_left_off", true), step = arguments_.String("next_step", true);
    Check(CheckWhereWeLeftOff(where));
    Check(CheckNextStep(step));
    facts["where_we_left_off"] = where;
    facts["next_step"] = step;
    const std::vector<std::string> references = arguments_.Texts("needed_context_refs", kMostItems, kMostTextBytes);
    for (std::size_t i = 0; i < references.size(); ++i) Check(CheckReference(fmt::format("needed_context_refs[{}]", i), references[i]));
    PutIfAny(facts, "needed_context_refs", references);
    for (const char* name : {"blockers", "tried", "pending"}) PutIfAny(facts, name, arguments_.Texts(name, kMostItems, kMostReasonBytes));
    NothingElse();
    Say(events::kCheckpoint, std::move(facts));
  }

  void ExpireClaim() {
    const Task task = TheTask();
    const std::int64_t token = arguments_.Number("token", 0, 0, INT64_MAX);
    NothingElse();
    // Renewed, handed back or taken by another meanwhile: nothing ran out.
    if (!task.claim || task.claim->token != token || !task.claim->expires || *task.claim->expires > now_) return;
    Json facts = {{"task_id", task.id}, {"holder", task.claim->holder}, {"token", token}};
    if (task.abandoned + 1 >= kMostAbandoned) {
      facts["blocker_id"] = fmt::format("b{}", task.blockers_made + 1);
      facts["blocker"] = fmt::format("abandoned {} times, the last time by {}", task.abandoned + 1, task.claim->holder);
    }
    Say(events::kClaimExpired, std::move(facts));
  }

  // ---- what several need

  static Json WithReason(Json facts, const std::string& reason) {
    if (!reason.empty()) facts["reason"] = reason;
    return facts;
  }
  static void PutIfAny(Json& facts, const char* key, const std::vector<std::string>& texts) {
    if (!texts.empty()) facts[key] = texts;
  }

  void Say(std::string_view type, Json facts) {
    facts["by"] = command_.by;
    EventDraft draft;
    draft.type = type;
    draft.facts = std::move(facts);
    draft.at = now_;
    decided_.events.push_back(std::move(draft));
  }

  void NothingElse() const { arguments_.NothingElse(command_.name); }

  int Priority(int otherwise) { return int(arguments_.Number("priority", otherwise, kMostUrgent, kLeastUrgent)); }

  Goal TheGoal() {
    const std::string id = arguments_.Text("goal_id", kMostTitleBytes);
    const Goal* goal = source_.GoalOf(id);
    if (goal == nullptr) Refuse(Code::kNotFound, "NOT_FOUND", fmt::format("there is no goal \"{}\" in this project", id));
    if (goal->withdrawn) Conflict("WITHDRAWN", fmt::format("goal {} was withdrawn", id));
    return *goal;
  }
  Task TheTask() {
    const std::string id = arguments_.Text("task_id", kMostTitleBytes);
    const Task* task = source_.TaskOf(id);
    if (task == nullptr) Refuse(Code::kNotFound, "NOT_FOUND", fmt::format("there is no task \"{}\" in this project", id));
    if (task->withdrawn) Conflict("WITHDRAWN", fmt::format("task {} was withdrawn", id));
    return *task;
  }

  // Refuses who is not the holder; who gives a token must give the claim's.
  void Holder(const Task& task) {
    const bool said = arguments_.Has("token");
    const std::int64_t token = arguments_.Number("token", 0, 0, INT64_MAX);
    if (said && token != (task.claim ? task.claim->token : 0)) {
      Conflict("LATE_HOLDER",
               fmt::format("claim {} of task {} is over: {}", token, task.id,
                           task.claim ? fmt::format("{} has it since {}", task.claim->holder, FormatWallTime(task.claim->since))
                                      : "nobody has it"));
    }
    if (task.claim && task.claim->holder != command_.by) {
      Conflict("CLAIMED", fmt::format("{} has task {} since {}", task.claim->holder, task.id, FormatWallTime(task.claim->since)),
               {{"holder", task.claim->holder}});
    }
  }

  void Transition(const Task& task, TaskStatus to) const {
    if (task.status == TaskStatus::kDoing && to == TaskStatus::kDoing && task.claim && task.claim->holder != command_.by) {
      Conflict("CLAIMED", fmt::format("{} has task {} since {}", task.claim->holder, task.id, FormatWallTime(task.claim->since)),
               {{"holder", task.claim->holder}});
    }
    if (IsAllowed(task.status, to)) return;
    Conflict("INVALID_TRANSITION",
             fmt::format("task {} is {} and cannot become {}: from there it may become {}", task.id, NameOf(task.status), NameOf(to),
                         AllowedWords(task.status)),
             {{"status", NameOf(task.status)}, {"allowed", Names(AllowedFrom(task.status))}});
  }
  static Json Names(const std::vector<TaskStatus>& all) {
    Json names = Json::array();
    for (TaskStatus one : all) names.push_back(NameOf(one));
    return names;
  }

  Json NewClaim(const Task& task) {
    const std::int64_t seconds = arguments_.Number("claim_seconds", kUsualClaimSeconds, 1, kMostClaimSeconds);
    return {{"holder", command_.by},
            {"token", task.claims + 1},
            {"since", FormatWallTime(now_)},
            {"expires", FormatWallTime(now_ + std::chrono::seconds(seconds))}};
  }

  void TakeLists(Json& facts, const std::string& id) {
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

  std::vector<std::string> Dependencies(const std::string& id) {
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

  const Document& state_;
  const StateWork source_;
  const Command& command_;
  const WallTime now_;
  Arguments arguments_;
  Project project_;
  Decided decided_;
};

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
};

}  // namespace

Decided Decide(const Document& state, const Command& command, WallTime now) {
  try {
    return Decider(state, command, now).Run();
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
