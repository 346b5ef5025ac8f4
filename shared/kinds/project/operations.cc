#include "shared/kinds/project/operations.h"

#include "shared/kinds/project/decide.h"
#include "shared/kinds/project/forms.h"
#include "shared/kinds/project/model.h"
#include "shared/kinds/project/parameters.h"

namespace acl::project {

namespace {

constexpr std::int64_t kMostNumber = std::int64_t(1) << 53;  // what every reader of JSON can hold

// ---- parameters that several take
Parameter GoalId() { return Needed(TextParameter("goal_id", "GOAL", "the goal, as in g1", kMostTitleBytes)); }
Parameter TaskId() { return Needed(TextParameter("task_id", "TASK", "the task, as in t1", kMostTitleBytes)); }
Parameter WhyParameter(std::string help = "why; kept in the journal") {
  return TextParameter("reason", "--reason", std::move(help), kMostReasonBytes);
}
Parameter Priority() {
  return NumberParameter("priority", "--priority", "0 (first) to 4 (last); 2 if it is not said", kMostUrgent, kLeastUrgent);
}
Parameter ClaimSeconds() {
  return NumberParameter("claim_seconds", "--claim-seconds", "how long the claim holds unless it is renewed; 900 if it is not said", 1,
                         kMostClaimSeconds);
}
Parameter Token() {
  return NumberParameter("token", "--token", "the claim's token: refused if another claim came after it", 0, kMostNumber);
}
Parameter Criteria() {
  return ListParameter("acceptance_criteria", "--criterion", "what must hold for it to be done; may be repeated", kMostReasonBytes);
}
Parameter DependsOn() {
  return ListParameter("depends_on", "--depends-on", "a task that must be done first; may be repeated", kMostTitleBytes, kMostDependencies);
}
Parameter EvidenceKindsAsked() {
  return OneOf(
      ListParameter("evidence", "--evidence", "a kind of evidence that its completion must show; may be repeated", kMostTitleBytes),
      {"person", "run", "artifact", "check"});
}
Parameter EvidenceParameter() {
  Parameter one =
      ListParameter("evidence", "--evidence",
                    "what shows that it is done, may be repeated: person:WORDS, artifact:FILE, run:ID, or JSON as {\"kind\": \"check\", "
                    "\"command\": \"make test\", \"exit_code\": 0}",
                    0);
  one.form = Form::kObjects;
  return one;
}
Parameter Actor() {
  return TextParameter("actor", "", "who asks: what others hold is passed over; left out: nobody in particular", kMostTitleBytes);
}
Parameter Limit(std::string help) { return NumberParameter("limit", "--limit", std::move(help), 1, kMostListed); }

Operation CommandOf(std::string name, std::string words, std::string summary, std::string done, std::vector<Parameter> parameters) {
  return {std::move(name), std::move(words), std::move(summary), std::move(done), Right::kWrite, "", std::move(parameters)};
}
// Each may be asked for as it was.
Operation ReadingOf(std::string name, std::string words, std::string summary, std::string path, std::vector<Parameter> parameters) {
  if (name != "list_projects") {
    parameters.push_back(NumberParameter("at_seq", "--at", "as it was after this event", 1, kMostNumber));
    parameters.push_back(TextParameter("at_time", "--at", "as it was at this time, as in 2026-11-27T09:00:00Z", 40));
  }
  return {std::move(name), std::move(words), std::move(summary), "", Right::kRead, std::move(path), std::move(parameters)};
}

std::vector<Operation> Commands() {
  return {
      CommandOf("create_project", "project create", "make a project", "made",
                {Needed(TextParameter("name", "NAME", "its name, by which it is found; no other project has it", kMostTitleBytes)),
                 OneOf(TextParameter("verify", "--verify", "independent: who did a task may not be the only one to say that it is done",
                                     kMostTitleBytes),
                       {"independent"})}),
      CommandOf("create_goal", "goal add", "add a goal: why work is done", "added",
                {Needed(TextParameter("text", "TEXT", "the goal, in a sentence", kMostTextBytes)), Priority()}),
      CommandOf("edit_goal", "goal edit", "change a goal's text or priority", "changed",
                {GoalId(), TextParameter("text", "--text", "the goal, in a sentence", kMostTextBytes), Priority()}),
      CommandOf("pause_goal", "goal pause", "take a goal's tasks out of the choice until it is resumed", "paused",
                {GoalId(), WhyParameter()}),
      CommandOf("resume_goal", "goal resume", "let a goal's tasks be chosen again", "resumed", {GoalId(), WhyParameter()}),
      CommandOf("finish_goal", "goal done", "say that a goal is reached; its tasks must be done, or --force given with a reason",
                "finished", {GoalId(), FlagParameter("force", "--force", "though tasks are open; needs a reason"), WhyParameter()}),
      CommandOf("withdraw_goal", "goal withdraw", "drop a goal that has no open tasks; the journal keeps it", "withdrew",
                {GoalId(), WhyParameter()}),
      CommandOf("add_task", "task add", "add a task to a goal", "added",
                {Needed(TextParameter("title", "TITLE", "the task, on one line", kMostTitleBytes)),
                 Needed(TextParameter("goal_id", "--goal", "the goal that it serves, as in g1", kMostTitleBytes)), Criteria(), DependsOn(),
                 Priority(), EvidenceKindsAsked()}),
      CommandOf("edit_task", "task edit", "change a task; a list that is given replaces the old one, and \"\" empties it", "changed",
                {TaskId(), TextParameter("title", "--title", "the task, on one line", kMostTitleBytes),
                 TextParameter("goal_id", "--goal", "move it to this goal", kMostTitleBytes), Criteria(), DependsOn(), Priority(),
                 EvidenceKindsAsked()}),
      CommandOf("start_task", "task start", "begin a task, or go on with a blocked one, under a claim", "started",
                {TaskId(), ClaimSeconds(),
                 NumberParameter("as_of", "--as-of", "the as_of_seq of the answer that you decided by: refused if the task changed since",
                                 0, kMostNumber),
                 TextParameter("resolved", "--resolved", "why a blocked task may go on", kMostReasonBytes)}),
      CommandOf("take_next", "next --take", "choose what is next and start it, in one", "took",
                {ClaimSeconds(),
                 FlagParameter("watch", "--watch", "of a session of an agent: wake it by the next change if nothing is there to take")}),
      CommandOf("renew_claim", "task claim", "keep a task that you hold for longer", "renewed the claim on",
                {TaskId(), ClaimSeconds(), Token()}),
      CommandOf("pause_task", "task pause", "put a task back to todo; its checkpoint stays", "paused", {TaskId(), WhyParameter(), Token()}),
      CommandOf("block_task", "task block", "say what keeps a task from going on", "blocked",
                {TaskId(), Needed(TextParameter("blocker", "BLOCKER", "what is in the way", kMostReasonBytes)), Token()}),
      CommandOf("resolve_blocker", "task resolve", "say that a blocker is gone", "resolved a blocker of",
                {TaskId(), Needed(TextParameter("blocker_id", "BLOCKER", "the blocker, as in b1", kMostTitleBytes)), WhyParameter()}),
      CommandOf("unblock_task", "task unblock", "put a blocked task back to todo; its blockers go", "unblocked",
                {TaskId(), WhyParameter()}),
      CommandOf("complete_task", "task complete", "say that a task is done, with the evidence that it asks for", "completed",
                {TaskId(), EvidenceParameter(), Token()}),
      CommandOf("reopen_task", "task reopen", "begin a task again that was done", "reopened", {TaskId(), WhyParameter(), ClaimSeconds()}),
      CommandOf("withdraw_task", "task withdraw", "drop a task; the journal keeps it", "withdrew", {TaskId(), WhyParameter(), Token()}),
      CommandOf("update_checkpoint", "checkpoint", "write down where a task was left and what its next step is", "wrote the checkpoint of",
                {TaskId(), Needed(TextParameter("where_we_left_off", "--where", "where it stands, in 1 to 3 sentences", kMostTextBytes)),
                 Needed(TextParameter("next_step", "--next", "the next step: one action, on one line", kMostStepBytes)),
                 ListParameter("needed_context_refs", "--ref",
                               "what is needed to go on, as in run:ID or file:PATH@sha256:HEX; may be repeated", kMostTextBytes),
                 ListParameter("blockers", "--blocker", "what may come in the way; may be repeated", kMostReasonBytes),
                 ListParameter("tried", "--tried", "what was tried and dropped, and why; may be repeated", kMostReasonBytes),
                 ListParameter("pending", "--pending", "what is waited for elsewhere; may be repeated", kMostReasonBytes), Token()}),
  };
}

std::vector<Operation> Readings() {
  const auto task_status = [] {
    return OneOf(TextParameter("status", "--status", "only tasks of this status", 20), {"todo", "doing", "blocked", "done"});
  };
  return {
      ReadingOf("list_projects", "project list", "the projects, by name", "",
                {Limit("how many at once"),
                 TextParameter("after", "", "names behind this one: `next_after` of the page before", kMostTitleBytes)}),
      ReadingOf("show_project", "project show", "a project's name, settings and counts", "/", {}),
      ReadingOf("get_work", "work", "all that is unfinished, on one screen", "/work", {Actor(), Limit("tasks listed at most")}),
      ReadingOf("get_next_step", "next", "what to do next, by which rule, and why not something else", "/next", {Actor()}),
      ReadingOf("list_goals", "goal list", "the goals, most urgent first", "/goals",
                {OneOf(TextParameter("status", "--status", "only goals of this status", 20), {"active", "paused", "done"}),
                 FlagParameter("withdrawn", "--withdrawn", "with those that were withdrawn"), Limit("goals listed at most")}),
      ReadingOf("list_tasks", "task list", "the tasks in the order in which they were made, and whether each may be started", "/tasks",
                {task_status(), TextParameter("goal", "--goal", "only tasks of this goal", kMostTitleBytes), Actor(),
                 FlagParameter("withdrawn", "--withdrawn", "with those that were withdrawn"), Limit("how many at once"),
                 TextParameter("after", "", "tasks made after this one: `next_after` of the page before", kMostTitleBytes)}),
      ReadingOf("task_tree", "task tree", "goals, their tasks, and what each of these waits for", "/tree",
                {TextParameter("goal", "--goal", "only this goal", kMostTitleBytes), Actor(), Limit("tasks shown at most")}),
      ReadingOf("show_task", "task show", "a task, its checkpoint, and all that keeps it from being started", "/tasks/{task_id}",
                {TaskId(), Actor()}),
      ReadingOf("check_tasks", "doctor tasks", "what is odd about a project's tasks, and the command that mends it", "/doctor",
                {Limit("findings at most")}),
  };
}

}  // namespace

std::string Operation::Pattern() const {
  if (!OfOneProject()) return "/v1/projects";
  if (right == Right::kRead) return "/v1/projects/{project}" + (path == "/" ? "" : path);
  return "/v1/projects/{project}/" + name;
}

const Parameter* Operation::Find(std::string_view parameter) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

const std::vector<Operation>& Operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> made = Commands();
    for (Operation& one : Readings()) made.push_back(std::move(one));
    return made;
  }();
  return all;
}

const Operation* FindOperation(std::string_view name) {
  const auto& all = Operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Operation& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const std::vector<Parameter>& CommandParameters() {
  static const std::vector<Parameter> all{
      TextParameter("by", "", "who says so: a person or an agent; the name of the API key if it is left out", kMostTitleBytes),
      NumberParameter("expected_seq", "--expected-seq", "refused if anything was written after this event", 0, kMostNumber)};
  return all;
}

}  // namespace acl::project
