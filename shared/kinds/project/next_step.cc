#include "shared/kinds/project/next_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/kinds/project/choice.h"

namespace acl::project {

namespace {

constexpr std::array<const char*, 5> kOrderNames{"rule", "blocked_order", "priority", "goal_priority", "created_order"};

bool OnlyBlocked(const std::vector<Reason>& reasons) {
  return std::all_of(reasons.begin(), reasons.end(), [](const Reason& one) { return one.code == "BLOCKED"; });
}

// nullopt: it cannot be worked on.
std::optional<Candidate> Judge(const AllWork& source, const Task& task, std::string_view actor) {
  const std::vector<Reason> why = ReasonsAgainst(source, task, actor, 0);
  const bool held_by_another = task.claim && task.claim->holder != actor;
  const Goal* goal = source.GoalOf(task.goal);
  switch (task.status) {
    case TaskStatus::kDoing:
      // What is being done goes on even if a dependency was opened again; whoever has it decides.
      if (goal == nullptr || !IsActive(*goal) || (held_by_another && !actor.empty())) return std::nullopt;
      break;
    case TaskStatus::kBlocked:
      if (!OnlyBlocked(why)) return std::nullopt;
      break;
    case TaskStatus::kTodo:
      if (!why.empty()) return std::nullopt;
      break;
    case TaskStatus::kDone: return std::nullopt;
  }
  return Candidate{&task, OrderOf(task, goal)};
}

std::string DecidedBy(const Candidate& winner, const Candidate& loser) {
  for (std::size_t i = 0; i < winner.order.size(); ++i) {
    if (winner.order[i] != loser.order[i]) return kOrderNames[i];
  }
  return "";
}

void Say(const Work& work, const Task& task, NextStep& next) {
  next.task = task.id;
  next.title = task.title;
  const auto checkpoint = work.checkpoints.find(task.id);
  if (checkpoint != work.checkpoints.end()) next.context_refs = checkpoint->second.context_refs;
  next.blockers = task.blockers;
  if (task.status == TaskStatus::kBlocked && !task.blockers.empty()) {
    next.rule = "blocked";
    next.step_from = "blocker";
    next.next_step = fmt::format("Resolve {}: {}", task.blockers.front().id, task.blockers.front().text);
    return;
  }
  next.rule = NameOf(task.status);
  next.step_from = checkpoint != work.checkpoints.end() ? "checkpoint" : "title";
  next.next_step = checkpoint != work.checkpoints.end() ? checkpoint->second.next_step : "Begin: " + task.title;
}

}  // namespace

bool IsActive(const Goal& goal) { return !goal.withdrawn && goal.status == GoalStatus::kActive; }

std::array<std::int64_t, 5> OrderOf(const Task& task, const Goal* goal) {
  const std::int64_t rule = task.status == TaskStatus::kDoing ? 0 : task.status == TaskStatus::kBlocked ? 1 : 2;
  return {rule, rule == 1 ? -task.blocked_order : 0, task.priority, goal == nullptr ? kLeastUrgent : goal->priority, task.created_order};
}

void CountTask(const Task& task, int by, Counts& counts) {
  switch (task.status) {
    case TaskStatus::kTodo: counts.todo += by; break;
    case TaskStatus::kDoing: counts.doing += by; break;
    case TaskStatus::kBlocked: counts.blocked += by; break;
    case TaskStatus::kDone: counts.done += by; return;
  }
  counts.open += by;
}

NextStep ConcludeChoice(const Work& work, std::vector<Candidate> candidates, NextStep next) {
  if (candidates.empty()) {
    next.rule = "propose";
    next.next_step = next.counts.open == 0 ? "Nothing is open: propose tasks for a goal; none is made by asking."
                                           : "Nothing can be worked on now: lift what keeps the open tasks, or propose others.";
    return next;
  }
  next.waiting.clear();
  const std::size_t shown = std::min(candidates.size(), kMostRunnersUp + 1);
  std::partial_sort(candidates.begin(), candidates.begin() + std::ptrdiff_t(shown), candidates.end(),
                    [](const Candidate& a, const Candidate& b) { return a.order < b.order; });
  Say(work, *candidates.front().task, next);
  for (std::size_t i = 1; i < shown; ++i) next.runners_up.push_back({candidates[i].task->id, DecidedBy(candidates[0], candidates[i])});
  return next;
}

NextStep ChooseNext(const Document& state, std::string_view actor) { return ChooseNext(ReadWork(state), state.Root(), actor); }

NextStep ChooseNext(const Work& work, const Hash256& digest, std::string_view actor) {
  const AllWork source(work);
  NextStep next;
  next.state_digest = digest;
  std::vector<const Task*> tasks;
  for (const auto& [id, task] : work.tasks) {
    if (!task.withdrawn) tasks.push_back(&task);
  }
  std::sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) { return a->created_order < b->created_order; });
  std::vector<Candidate> candidates;
  for (const Task* task : tasks) {
    CountTask(*task, 1, next.counts);
    if (task->status == TaskStatus::kDone) continue;
    if (next.open_tasks.size() < kMostOpenListed) next.open_tasks.push_back(task->id);
    if (auto candidate = Judge(source, *task, actor)) {
      candidates.push_back(*candidate);
    } else if (next.waiting.size() < kMostWaiting) {
      next.waiting.push_back({task->id, ReasonsAgainst(source, *task, actor)});
    }
  }
  return ConcludeChoice(work, std::move(candidates), std::move(next));
}

Json ToJson(const NextStep& next) {
  Json object = {{"rule", next.rule}};
  if (!next.task.empty()) object["task_id"] = next.task, object["title"] = next.title, object["step_from"] = next.step_from;
  object["next_step"] = next.next_step;
  object["required_context_refs"] = next.context_refs;
  for (const Blocker& one : next.blockers)
    object["blockers"].push_back({{"id", one.id}, {"text", one.text}, {"since", FormatWallTime(one.since)}});
  for (const NextStep::Loser& one : next.runners_up)
    object["runners_up"].push_back({{"task_id", one.task}, {"decided_by", one.decided_by}});
  for (const NextStep::Waiting& one : next.waiting) {
    Json reasons = Json::array();
    for (const Reason& reason : one.reasons) reasons.push_back(ToJson(reason));
    object["waiting"].push_back({{"task_id", one.task}, {"reasons", std::move(reasons)}});
  }
  const Counts& counts = next.counts;
  object["counts"] = {
      {"open", counts.open}, {"todo", counts.todo}, {"doing", counts.doing}, {"blocked", counts.blocked}, {"done", counts.done}};
  object["open_tasks"] = next.open_tasks;
  object["state_digest"] = ToHex(next.state_digest);
  return object;
}

}  // namespace acl::project
