#include "cli/project_text.h"

#include <fmt/format.h>

#include "cli/format.h"
#include "cli/run_text.h"

namespace acl::cli {

namespace {

constexpr std::size_t kMostShown = 12, kTitle = 60, kMostReasonsDeep = 8;

const Json& ListOf(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() || !found->is_array() ? kNone : *found;
}

const Json& ObjectOf(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() || !found->is_object() ? kNone : *found;
}

Session::Colour ColourOf(const std::string& status) {
  if (status == "done") return Session::Colour::kGreen;
  if (status == "blocked") return Session::Colour::kRed;
  if (status == "doing") return Session::Colour::kBlue;
  if (status == "paused") return Session::Colour::kYellow;
  return Session::Colour::kNone;
}

Cell StatusCell(Session* session, const Json& one) {
  const std::string status = one.value("withdrawn", false) ? "withdrawn" : TextOf(one, "status");
  return {status, session->Paint(ColourOf(status), status)};
}

// What keeps a task from being started, without what its status says already.
std::string BlockedReason(const Json& task) {
  std::string waits, why;
  for (const Json& reason : ListOf(task, "reasons")) {
    const std::string code = TextOf(reason, "code");
    if (code == "DONE" || code == "WITHDRAWN" || code == "BLOCKED" || code == "CLAIMED") continue;
    if (code == "DEPENDENCY_OPEN") {
      waits += (waits.empty() ? "waits for " : ", ") + TextOf(reason, "subject");
    } else {
      why += (why.empty() ? "" : "; ") + TextOf(reason, "text");
    }
  }
  return waits + (waits.empty() || why.empty() ? "" : "; ") + why;
}

std::string HolderOf(const Json& task) { return TextOf(ObjectOf(task, "claim"), "holder"); }

void PrintList(Session* session, const std::string& name, const Json& texts) {
  bool first = true;
  for (const Json& one : texts)
    PrintField(session, std::exchange(first, false) ? name : "", one.is_string() ? one.get<std::string>() : one.dump());
}

void PrintCheckpoint(Session* session, const Json& checkpoint) {
  PrintField(session, "left", TextOf(checkpoint, "where_we_left_off"));
  PrintField(session, "next step", session->Paint(Session::Colour::kGreen, TextOf(checkpoint, "next_step")));
  PrintList(session, "needed", ListOf(checkpoint, "needed_context_refs"));
  PrintList(session, "in the way", ListOf(checkpoint, "blockers"));
  PrintList(session, "tried", ListOf(checkpoint, "tried"));
  PrintList(session, "pending", ListOf(checkpoint, "pending"));
  PrintField(session, "said by", TextOf(checkpoint, "by") + ", " + ShortTime(TextOf(checkpoint, "timestamp")));
}

void PrintRuns(Session* session, const Json& task) {
  for (const Json& one : ListOf(task, "runs")) {
    const std::string status = TextOf(one, "status"), ended = ShortTime(TextOf(one, "ended_at"));
    PrintField(session, "run", TextOf(one, "run_id") + "  " + (status.empty() ? "not heard of yet" : status + ", " + ended));
  }
}

std::string BlockerText(const Json& one) {
  std::string text = TextOf(one, "id") + ": " + TextOf(one, "text") + " (since " + ShortTime(TextOf(one, "since"));
  if (!TextOf(one, "by").empty()) text += ", " + TextOf(one, "by");
  return text + ")";
}

// Why the first was chosen before another.
std::string DecidedText(const std::string& decided_by, const std::string& rule) {
  if (decided_by == "rule") return rule == "doing" ? "the first is being done" : "what is blocked goes before what may be started";
  if (decided_by == "blocked_order") return "it was blocked earlier";
  if (decided_by == "priority") return "its priority is lower";
  if (decided_by == "goal_priority") return "its goal's priority is lower";
  if (decided_by == "created_order") return "it was made later";
  return decided_by;
}

std::string RuleText(const Json& next) {
  const std::string rule = TextOf(next, "rule");
  if (rule == "doing") return "it is being done";
  if (rule == "blocked" && ListOf(next, "blockers").empty()) return "it was blocked last, and each of its blockers is resolved";
  if (rule == "blocked") return "it was blocked last, and nothing is being done: what blocks it is the work";
  if (rule == "todo") return "nothing is being done or blocked, and of what may be started it comes first";
  return "nothing can be worked on";
}

void PrintReasons(Session* session, const Json& reasons, std::size_t deep) {
  if (deep > kMostReasonsDeep) return;
  for (const Json& one : reasons) {
    session->Print(std::string(2 * deep, ' ') + "- " + TextOf(one, "text"));
    PrintReasons(session, ListOf(one, "because"), deep + 1);
  }
}

// What is needed for the step, and whether it is still what it was when the step was written down.
void PrintNeeded(Session* session, const Json& next) {
  if (!next.contains("references")) return PrintList(session, "needed", ListOf(next, "required_context_refs"));
  bool first = true;
  for (const Json& one : ListOf(next, "references")) {
    const std::string state = TextOf(one, "state"), why = TextOf(one, "why");
    const bool good = state == "ok" || state == "unchecked";
    PrintField(session, std::exchange(first, false) ? "needed" : "",
               Shown(TextOf(one, "reference") + "   ") + session->Paint(good ? Session::Colour::kDim : Session::Colour::kRed, state) +
                   (why.empty() ? "" : ": " + why));
  }
}

void PrintRunnersUp(Session* session, const Json& next) {
  bool first = true;
  for (const Json& one : ListOf(next, "runners_up")) {
    PrintField(session, std::exchange(first, false) ? "after it" : "",
               TextOf(one, "task_id") + ": " + DecidedText(TextOf(one, "decided_by"), TextOf(next, "rule")));
  }
}

void Heading(Session* session, const std::string& text) {
  session->Print("");
  session->Print(session->Paint(Session::Colour::kDim, text));
}

// What stands in lists of at most kMostShown, the rest counted.
void PrintTaskTable(Session* session, const Json& tasks, std::size_t most) {
  Table table({"TASK", "STATUS", "PRIORITY", "GOAL", "TITLE", "HELD BY", "WHY NOT"});
  std::size_t shown = 0;
  for (const Json& one : tasks) {
    if (shown == most) break;
    ++shown;
    table.Add({TextOf(one, "task_id"), StatusCell(session, one), TextOf(one, "priority"), TextOf(one, "goal_id"),
               Cut(TextOf(one, "title"), kTitle), HolderOf(one), Cut(BlockedReason(one), kTitle)});
  }
  session->Write(table.Text());
}

void PrintCut(Session* session, const Json& answer, const std::string& way_out) {
  const Json cut = ObjectOf(answer, "cut");
  if (cut.empty()) return;
  std::string text;
  for (const auto& [name, count] : cut.items()) text += (text.empty() ? "" : ", ") + count.dump() + " of " + name;
  session->Note("not shown: " + text + "; " + way_out);
}

void PrintActive(Session* session, const Json& work) {
  if (!work.contains("active_task")) return;
  const Json& task = work["active_task"];
  Heading(session, "BEING DONE");
  PrintField(session, TextOf(task, "task_id"), TextOf(task, "title"));
  PrintField(session, "goal", TextOf(ObjectOf(task, "goal"), "text"));
  PrintField(session, "held", ClaimText(ObjectOf(task, "claim")));
  PrintRuns(session, task);
  if (!task.contains("checkpoint")) return PrintField(session, "left", "nobody wrote it down: airun checkpoint " + TextOf(task, "task_id"));
  PrintCheckpoint(session, task["checkpoint"]);
}

void PrintBlockers(Session* session, const Json& work) {
  const Json& blockers = ListOf(work, "blockers");
  if (blockers.empty()) return;
  Heading(session, "IN THE WAY");
  std::size_t shown = 0;
  for (const Json& one : blockers) {
    if (++shown > kMostShown) return PrintField(session, "", fmt::format("and {} more", blockers.size() - kMostShown));
    PrintField(session, TextOf(one, "task_id"), BlockerText(one));
  }
}

void PrintOthers(Session* session, const Json& work) {
  Json others = Json::array();
  const std::string active = TextOf(ObjectOf(work, "active_task"), "task_id");
  for (const char* status : {"doing", "blocked", "todo"}) {
    for (const Json& one : ListOf(ObjectOf(work, "tasks"), status)) {
      if (TextOf(one, "task_id") != active) others.push_back(one);
    }
  }
  if (others.empty()) return;
  Heading(session, "OPEN TASKS");
  PrintTaskTable(session, others, kMostShown);
  const auto open = std::size_t(IntOf(ObjectOf(work, "counts"), "open")),
             shown = std::min(others.size(), kMostShown) + (active.empty() ? 0 : 1);
  if (open > shown) session->Print(fmt::format("and {} more: airun task list", open - shown));
}

void PrintDone(Session* session, const Json& work) {
  const Json done = ListOf(ObjectOf(work, "tasks"), "done");
  if (done.empty()) return;
  constexpr std::size_t kDone = 5;
  Heading(session, "DONE LAST");
  for (std::size_t i = 0; i < std::min(kDone, done.size()); ++i)
    PrintField(session, TextOf(done[i], "task_id"),
               Cut(TextOf(done[i], "title"), kTitle) + "   " + ShortTime(TextOf(done[i], "updated_at")));
}

}  // namespace

std::string CountsText(const Json& counts) {
  return fmt::format("{} open: {} doing, {} blocked, {} todo; {} done", IntOf(counts, "open"), IntOf(counts, "doing"),
                     IntOf(counts, "blocked"), IntOf(counts, "todo"), IntOf(counts, "done"));
}

std::string ClaimText(const Json& claim) {
  if (TextOf(claim, "holder").empty()) return "";
  const std::string end = ShortTime(TextOf(claim, "expires"));
  return "claim " + TextOf(claim, "token") + " of " + TextOf(claim, "holder") + (end.empty() ? "" : " until " + end);
}

void PrintNext(Session* session, const Json& next) {
  if (TextOf(next, "task_id").empty()) {
    session->Print(TextOf(next, "next_step"));
    for (const Json& one : ListOf(next, "waiting")) {
      session->Print(TextOf(one, "task_id") + " waits:");
      PrintReasons(session, ListOf(one, "reasons"), 1);
    }
    return session->Print(CountsText(ObjectOf(next, "counts")));
  }
  PrintField(session, TextOf(next, "task_id"), TextOf(next, "title"));
  PrintField(session, "next step", session->Paint(Session::Colour::kGreen, TextOf(next, "next_step")));
  PrintField(session, "why", RuleText(next));
  PrintNeeded(session, next);
  bool first = true;
  for (const Json& one : ListOf(next, "blockers")) PrintField(session, std::exchange(first, false) ? "blocked by" : "", BlockerText(one));
  PrintField(session, "held", ClaimText(ObjectOf(next, "claim")));
  PrintRunnersUp(session, next);
  PrintField(session, "counts", CountsText(ObjectOf(next, "counts")));
  const std::string task = TextOf(next, "task_id"), rule = TextOf(next, "rule");
  if (rule == "todo" && !next.contains("claim")) session->Note("nobody holds it: airun next --take chooses and starts it in one");
  if (rule != "blocked") return;
  const Json& blockers = ListOf(next, "blockers");
  if (!blockers.empty()) session->Note("when it is gone: airun task resolve " + task + " " + TextOf(blockers.front(), "id"));
  session->Note("to go on" + std::string(blockers.empty() ? "" : " all the same") + ": airun task start " + task + " --resolved WHY");
}

void PrintWork(Session* session, const Json& work) {
  const Json project = ObjectOf(work, "project"), next = ObjectOf(work, "next");
  session->Print(TextOf(project, "name") + "   " + CountsText(ObjectOf(work, "counts")));
  session->Print("event " + TextOf(work, "event_seq") + ", " + ShortTime(TextOf(work, "head_at")));
  PrintActive(session, work);
  if (!work.contains("active_task") && work.contains("latest_checkpoint")) {
    Heading(session, "LAST LEFT");
    PrintField(session, "task", TextOf(work["latest_checkpoint"], "task_id"));
    PrintCheckpoint(session, work["latest_checkpoint"]);
  }
  PrintBlockers(session, work);
  Heading(session, "NEXT");
  if (TextOf(next, "task_id").empty()) {
    session->Print(TextOf(next, "next_step"));
  } else {
    PrintField(session, TextOf(next, "task_id"), TextOf(next, "next_step"));
    PrintField(session, "why", RuleText(next));
    PrintRunnersUp(session, next);
  }
  PrintOthers(session, work);
  const Json& goals = ListOf(work, "goals");
  if (!goals.empty()) {
    Heading(session, "GOALS");
    std::size_t shown = 0;
    for (const Json& one : goals) {
      if (++shown > kMostShown) {
        session->Print(fmt::format("and {} more: airun goal list", goals.size() - kMostShown));
        break;
      }
      PrintField(session, TextOf(one, "goal_id"),
                 Cut(TextOf(one, "text"), kTitle) + "   " + TextOf(one, "status") + ", " + TextOf(one, "open_tasks") + " open");
    }
  }
  PrintDone(session, work);
  PrintCut(session, work, "airun work --limit N, airun task list");
}

void PrintProjects(Session* session, const Json& answer) {
  const Json& projects = ListOf(answer, "projects");
  if (projects.empty()) return session->Note("there are no projects: airun project create NAME");
  Table table({"NAME", "ID", "CREATED"});
  for (const Json& one : projects) table.Add({TextOf(one, "name"), TextOf(one, "project_id"), ShortTime(TextOf(one, "created_at"))});
  session->Write(table.Text());
}

void PrintProject(Session* session, const Json& project) {
  PrintField(session, "name", TextOf(project, "name"));
  PrintField(session, "id", TextOf(project, "project_id"));
  PrintField(session, "created", ShortTime(TextOf(project, "created_at")));
  if (TextOf(project, "verify") == "independent")
    PrintField(session, "verify", "independent: who did a task may not be the only one to say that it is done");
  PrintField(session, "tasks", CountsText(ObjectOf(project, "counts")));
  PrintField(session, "goals", TextOf(ObjectOf(project, "counts"), "goals"));
  PrintField(session, "event", TextOf(project, "event_seq") + ", " + ShortTime(TextOf(project, "head_at")));
  PrintField(session, "digest", TextOf(project, "state_digest"));
}

void PrintGoals(Session* session, const Json& answer) {
  const Json& goals = ListOf(answer, "goals");
  if (goals.empty()) return session->Note("there are no such goals: airun goal add TEXT");
  Table table({"GOAL", "STATUS", "PRIORITY", "OPEN TASKS", "TEXT"});
  for (const Json& one : goals)
    table.Add({TextOf(one, "goal_id"), StatusCell(session, one), TextOf(one, "priority"), TextOf(one, "open_tasks"),
               Cut(TextOf(one, "text"), kTitle)});
  session->Write(table.Text());
  PrintCut(session, answer, "airun goal list --limit N");
}

void PrintTasks(Session* session, const Json& answer) {
  const Json& tasks = ListOf(answer, "tasks");
  if (tasks.empty()) return session->Note("there are no such tasks: airun task add TITLE --goal GOAL");
  PrintTaskTable(session, tasks, tasks.size());
  if (answer.contains("next_after")) session->Note("there are more: without --limit all are listed");
}

void PrintTask(Session* session, const Json& task) {
  PrintField(session, TextOf(task, "task_id"), TextOf(task, "title"));
  const std::string status = TextOf(task, "status");
  PrintField(session, "status", session->Paint(ColourOf(status), status) + (task.value("withdrawn", false) ? ", withdrawn" : ""));
  PrintField(session, "goal", TextOf(task, "goal_id") + ": " + TextOf(ObjectOf(task, "goal"), "text"));
  PrintField(session, "priority", TextOf(task, "priority"));
  PrintField(session, "held", ClaimText(ObjectOf(task, "claim")));
  PrintList(session, "done when", ListOf(task, "acceptance_criteria"));
  PrintList(session, "evidence", ListOf(task, "evidence"));
  PrintList(session, "depends on", ListOf(task, "depends_on"));
  PrintList(session, "needed by", ListOf(task, "needed_by"));
  for (const Json& one : ListOf(task, "blockers")) PrintField(session, "blocker", BlockerText(one));
  PrintRuns(session, task);
  PrintField(session, "updated", ShortTime(TextOf(task, "updated_at")));
  if (task.contains("checkpoint")) PrintCheckpoint(session, task["checkpoint"]);
  if (status == "done" || ListOf(task, "reasons").empty()) return;
  session->Print("it cannot be worked on now:");
  PrintReasons(session, ListOf(task, "reasons"), 1);
}

void PrintTaskTree(Session* session, const Json& tree) {
  const Json& goals = ListOf(tree, "goals");
  if (goals.empty()) return session->Note("there are no goals: airun goal add TEXT");
  for (const Json& goal : goals) {
    session->Print(TextOf(goal, "goal_id") + "  " + Cut(TextOf(goal, "text"), kTitle) + "  (" + TextOf(goal, "status") + ")");
    for (const Json& task : ListOf(goal, "tasks")) {
      const std::string status = TextOf(task, "status"), holder = HolderOf(task), why = status == "done" ? "" : BlockedReason(task);
      session->Print("  " + Shown(fmt::format("{:<6}", TextOf(task, "task_id"))) +
                     session->Paint(ColourOf(status), fmt::format("{:<8}", status)) + Cut(TextOf(task, "title"), kTitle) +
                     (holder.empty() ? "" : "  (" + holder + ")") + (why.empty() ? "" : "  " + why));
    }
  }
  PrintCut(session, tree, "airun task tree --goal GOAL, or --limit N");
}

void PrintTaskFindings(Session* session, const Json& answer) {
  const Json& findings = ListOf(answer, "findings");
  if (findings.empty()) return session->Print(session->Paint(Session::Colour::kGreen, "ok") + "       nothing is odd about the tasks");
  for (const Json& one : findings) {
    session->Print(session->Paint(Session::Colour::kYellow, "warning") + "  " + TextOf(one, "code") + ": " + TextOf(one, "text"));
    session->Print("         fix: " + TextOf(one, "fix"));
  }
  PrintCut(session, answer, "airun doctor tasks --limit N");
}

}  // namespace acl::cli
