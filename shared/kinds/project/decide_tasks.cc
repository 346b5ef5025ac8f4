// Commands on tasks, their claims and checkpoints.

#include "shared/kinds/project/decider.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shared/base/utf8.h"
#include "shared/kernel/post.h"
#include "shared/kinds/project/agenda.h"
#include "shared/kinds/project/forms.h"
#include "shared/kinds/project/next_step.h"

namespace acl::project {

namespace {
constexpr std::size_t kMostListedTaking = 10;  // open tasks that the answer of take_next lists, which is kept
}

void Decider::AddTask() {
  const Goal goal = TheGoal();
  if (goal.status == GoalStatus::kDone) Conflict("INVALID_TRANSITION", fmt::format("goal {} is done: resume it first", goal.id));
  const std::string id = fmt::format("t{}", project_.tasks + 1);
  Json facts = {
      {"task_id", id}, {"goal_id", goal.id}, {"title", arguments_.Text("title", kMostTitleBytes)}, {"priority", Priority(kUsualPriority)}};
  TakeLists(facts, id);
  NothingElse();
  decided_.answer = {{"task_id", id}};
  Say(events::kTaskAdded, std::move(facts));
}

void Decider::EditTask() {
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

void Decider::StartTask() {
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
  if (task.status == TaskStatus::kDone)
    Conflict("INVALID_TRANSITION", fmt::format("task {} is done: reopen_task makes it doing again", task.id));
  Begin(task, claim, resolved);
}

void Decider::TakeNext() {
  NextStep next = agenda_ != nullptr ? agenda_->Choose(state_, command_.by, kMostListedTaking) : ChooseNext(state_, command_.by);
  next.open_tasks.resize(std::min(next.open_tasks.size(), kMostListedTaking));
  if (next.rule == "propose") {
    arguments_.Has("claim_seconds");
    decided_.answer = ToJson(next);
    WatchIfAsked();
    NothingElse();
    return;
  }
  const Task task = *source_.TaskOf(next.task);
  const Json claim = NewClaim(task);
  (void)arguments_.Flag("watch");
  NothingElse();
  decided_.answer = ToJson(next);
  if (task.status == TaskStatus::kTodo) {
    Begin(task, claim, "");
  } else if (task.status == TaskStatus::kDoing) {  // the caller's own: a new token, so that what it left running is a late holder
    Say(events::kClaimRenewed, {{"task_id", task.id}, {"claim", claim}});
    decided_.answer["claim"] = claim;
  }
}

// By whom it is: "run:ID", as a session of an agent says it.
void Decider::WatchIfAsked() {
  constexpr std::string_view kRun = "run:";
  if (!arguments_.Flag("watch")) return;
  const std::string session = command_.by.starts_with(kRun) ? command_.by.substr(kRun.size()) : "";
  if (!SubjectId::Parse(session)) BadForm("take_next: watch is for sessions of agents, which take by themselves");
  const auto watchers = Watchers(state_);
  if (watchers.size() >= kMostWatchers || std::find(watchers.begin(), watchers.end(), session) != watchers.end()) return;
  Say(events::kWatchAdded, {{"session", session}});
}

// What may put something there to take is heard by those who found nothing, once.
void Decider::WakeWatchers() {
  static const std::set<std::string_view> adds_nothing = {"create_project", "take_next",         "start_task", "renew_claim",
                                                          "block_task",     "update_checkpoint", "link_run"};
  if (decided_.events.empty() || adds_nothing.contains(command_.name)) return;
  const auto watchers = Watchers(state_);
  if (watchers.empty()) return;
  const EventDraft last = decided_.events.back();
  Json said = {{"event", last.type}, {"by", command_.by}, {"of", ""}};
  for (const char* key : {"task_id", "goal_id"})
    if (last.facts.contains(key) && said["of"] == "") said["of"] = last.facts[key];
  for (const std::string& session : watchers)
    if (const auto subject = SubjectId::Parse(session)) decided_.outbox.push_back(PostTo(*subject, kProjectChangedPost, said));
  Say(events::kWatchesEnded, {{"sessions", watchers.size()}});
}

void Decider::Begin(const Task& task, const Json& claim, const std::string& resolved) {
  NotAnothers(task);
  Transition(task, TaskStatus::kDoing);
  std::vector<Reason> against = ReasonsAgainst(source_, task, command_.by);
  if (!resolved.empty()) std::erase_if(against, [](const Reason& one) { return one.code == "BLOCKED"; });
  NotReady(task, against);
  Json facts = {{"task_id", task.id}, {"from", NameOf(task.status)}, {"claim", claim}};
  if (!resolved.empty()) facts["resolved"] = resolved;
  decided_.answer["task_id"] = task.id;
  decided_.answer["claim"] = claim;
  Say(events::kTaskStarted, std::move(facts));
}

void Decider::NotReady(const Task& task, const std::vector<Reason>& against) {
  if (against.empty()) return;
  std::vector<std::string> words;
  Json reasons = Json::array();
  for (const Reason& one : against) words.push_back(one.text), reasons.push_back(ToJson(one));
  const bool blocked = std::any_of(against.begin(), against.end(), [](const Reason& one) { return one.code == "BLOCKED"; });
  Conflict("NOT_READY",
           fmt::format("task {} cannot be started: {}{}", task.id, Joined(words, "; "),
                       blocked ? " (resolve its blockers, or say in \"resolved\" why it may go on)" : ""),
           {{"reasons", std::move(reasons)}});
}

void Decider::RenewClaim() {
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

void Decider::PauseTask() {
  const Task task = TheTask();
  Holder(task);
  const std::string reason = arguments_.Reason();
  NothingElse();
  if (task.status == TaskStatus::kBlocked)
    Conflict("INVALID_TRANSITION", fmt::format("task {} is blocked: unblock_task makes it todo", task.id));
  Transition(task, TaskStatus::kTodo);
  Say(events::kTaskPaused, WithReason({{"task_id", task.id}}, reason));
}

void Decider::BlockTask() {
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

void Decider::ResolveBlocker() {
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

void Decider::UnblockTask() {
  const Task task = TheTask();
  const std::string reason = arguments_.Reason();
  NothingElse();
  if (task.status != TaskStatus::kBlocked) {
    Conflict("INVALID_TRANSITION", fmt::format("task {} is {}, not blocked: from there it may become {}", task.id, NameOf(task.status),
                                               AllowedWords(task.status)));
  }
  Say(events::kTaskUnblocked, WithReason({{"task_id", task.id}}, reason));
}

void Decider::CompleteTask() {
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
void Decider::CheckShown(const Task& task, const Json& evidence) const {
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
        Conflict("STALE_EVIDENCE", fmt::format("evidence of kind {} is of {}, before task {} was started ({})", kind, FormatWallTime(*time),
                                               task.id, FormatWallTime(task.started_at)));
      }
    }
    if (kind == "run") CheckRun(task, one);
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
    Conflict("NOT_INDEPENDENT",
             fmt::format("{} cannot be the only one to say that task {} is done: evidence of a run, a check, an artifact or another person",
                         holder, task.id));
  }
}

// A run proves the task that it was run for, and that it completed is known from the run itself.
void Decider::CheckRun(const Task& task, const Json& evidence) const {
  const std::string& run_id = evidence.at("run_id").get_ref<const std::string&>();
  const auto run = std::find_if(task.runs.begin(), task.runs.end(), [&](const TaskRun& one) { return one.run_id == run_id; });
  if (run == task.runs.end()) {
    Conflict("EVIDENCE_MISSING", fmt::format("run {} is none of the last {} runs of task {}: `airun task run {} FILE` makes one", run_id,
                                             kMostTaskRuns, task.id, task.id));
  }
  if (!run->ended_at) Conflict("EVIDENCE_MISSING", fmt::format("run {} has not ended yet, as far as this project has heard", run_id));
  if (run->status != "COMPLETED") Conflict("EVIDENCE_MISSING", fmt::format("run {} ended {}, not COMPLETED", run_id, run->status));
  if (*run->ended_at < task.started_at) {
    Conflict("STALE_EVIDENCE", fmt::format("run {} ended at {}, before task {} was started ({})", run_id, FormatWallTime(*run->ended_at),
                                           task.id, FormatWallTime(task.started_at)));
  }
}

void Decider::ReopenTask() {
  const Task task = TheTask();
  const std::string reason = arguments_.Reason();
  const Json claim = NewClaim(task);
  NothingElse();
  if (task.status != TaskStatus::kDone) {
    Conflict("INVALID_TRANSITION",
             fmt::format("task {} is {}, not done: from there it may become {}", task.id, NameOf(task.status), AllowedWords(task.status)));
  }
  decided_.answer = {{"task_id", task.id}, {"claim", claim}};
  Say(events::kTaskReopened, WithReason({{"task_id", task.id}, {"claim", claim}}, reason));
  for (const std::string& id : task.needed_by) {
    const Task* dependent = source_.TaskOf(id);
    if (dependent != nullptr && dependent->status == TaskStatus::kDoing)
      Say(events::kDependencyReopened, {{"task_id", id}, {"dependency", task.id}});
  }
}

void Decider::WithdrawTask() {
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

void Decider::UpdateCheckpoint() {
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

void Decider::ExpireClaim() {
  const Task task = TheTask();
  const std::int64_t token = arguments_.Number("token", 0, 0, INT64_MAX);
  NothingElse();
  // Handed back or taken by another meanwhile: nothing ran out. Whether its time is over the database's clock has said, which fired the
  // timer.
  if (!task.claim || task.claim->token != token || !task.claim->expires) return;
  Json facts = {{"task_id", task.id}, {"holder", task.claim->holder}, {"token", token}};
  if (task.abandoned + 1 >= kMostAbandoned) {
    facts["blocker_id"] = fmt::format("b{}", task.blockers_made + 1);
    facts["blocker"] = fmt::format("abandoned {} times, the last time by {}", task.abandoned + 1, task.claim->holder);
  }
  Say(events::kClaimExpired, std::move(facts));
}

void Decider::LinkRun() {
  const Task task = TheTask();
  Holder(task);
  const std::string run_id = arguments_.Text("run_id", kMostTitleBytes);
  NothingElse();
  if (task.status != TaskStatus::kDoing) {
    Conflict("INVALID_TRANSITION", fmt::format("task {} is {}: start it, then run something for it", task.id, NameOf(task.status)),
             {{"status", NameOf(task.status)}});
  }
  decided_.answer = {{"task_id", task.id}, {"run_id", run_id}};
  Say(events::kRunLinked, {{"task_id", task.id}, {"run_id", run_id}});
}

// Whatever became of the task meanwhile: that the run ended is so.
void Decider::EndRun() {
  const std::string id = arguments_.Text("task_id", kMostTitleBytes);
  if (source_.TaskOf(id) == nullptr) return;
  Json facts = {{"task_id", id},
                {"run_id", arguments_.Text("run_id", kMostTitleBytes)},
                {"status", arguments_.Text("status", kMostTitleBytes)},
                {"head_seq", arguments_.Number("head_seq", 0, 0, INT64_MAX)},
                {"run_root", arguments_.Text("run_root", kMostTitleBytes)}};
  if (const Json* error = arguments_.Find("error"); error != nullptr && error->is_string()) {
    facts["error"] = StorableText(std::string_view(error->get_ref<const std::string&>()).substr(0, kMostReasonBytes));
  }
  NothingElse();
  Say(events::kRunEnded, std::move(facts));
}

}  // namespace acl::project
