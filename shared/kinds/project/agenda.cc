#include "shared/kinds/project/agenda.h"

#include <algorithm>

#include "shared/journal/difference.h"
#include "shared/kinds/project/choice.h"

namespace acl::project {

// ---- shelf

void Agenda::Shelf::Put(const std::string& goal, const Order& order, const std::string& task, const Goal* its_goal) {
  goals_[goal].tasks.insert({order, task});
  SetGoal(goal, its_goal);
}

void Agenda::Shelf::Take(const std::string& goal, const Order& order, const std::string& task, const Goal* its_goal) {
  goals_[goal].tasks.erase({order, task});
  SetGoal(goal, its_goal);
}

void Agenda::Shelf::SetGoal(const std::string& goal, const Goal* now) {
  const auto found = goals_.find(goal);
  if (found == goals_.end()) return;
  OfGoal& mine = found->second;
  if (mine.stands) first_.erase({mine.first, goal});
  mine.stands = now != nullptr && IsActive(*now) && !mine.tasks.empty();
  if (mine.stands) {
    const Order& order = mine.tasks.begin()->first;
    mine.first = {order[0], order[1], order[2], now->priority, order[3]};
    first_.insert({mine.first, goal});
  } else if (mine.tasks.empty()) {
    goals_.erase(found);
  }
}

// Whoever is among the first `most` is of one of the first `most` goals: each goal that stands before has one that goes first.
void Agenda::Shelf::AddFirst(std::size_t most, std::vector<std::string>& tasks) const {
  std::size_t goals = 0;
  for (const auto& [first, goal] : first_) {
    if (++goals > most) break;
    std::size_t of_goal = 0;
    for (const auto& [order, task] : goals_.at(goal).tasks) {
      if (++of_goal > most) break;
      tasks.push_back(task);
    }
  }
}

// ---- agenda

const Goal* Agenda::GoalOf(const std::string& id) const {
  const auto found = work_.goals.find(id);
  return found == work_.goals.end() ? nullptr : &found->second;
}

void Agenda::Count(const Task& task, int by) {
  if (task.withdrawn) return;
  CountTask(task, by, counts_);
  if (task.status == TaskStatus::kDone) return;
  if (by > 0) open_.emplace(task.created_order, task.id);
  if (by < 0) open_.erase(task.created_order);
}

template <class Visit>
void Agenda::EachShelf(const Place& place, const Visit& visit) {
  if (place.holder.empty()) return visit(free_);
  visit(held_by_[place.holder]);
  if (place.for_all) visit(held_);
}

void Agenda::TakeOut(const std::string& id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return;
  const Place place = std::move(found->second);
  places_.erase(found);
  EachShelf(place, [&](Shelf& shelf) { shelf.Take(place.goal, place.order, id, GoalOf(place.goal)); });
}

bool Agenda::DependenciesDone(const Task& task) const {
  return std::all_of(task.depends_on.begin(), task.depends_on.end(), [&](const std::string& id) {
    const auto found = work_.tasks.find(id);
    return found != work_.tasks.end() && !found->second.withdrawn && found->second.status == TaskStatus::kDone;
  });
}

// Of a task in no place: puts it where it belongs, if it may be worked on apart from its goal.
void Agenda::PutIn(const std::string& id) {
  const auto found = work_.tasks.find(id);
  if (found == work_.tasks.end()) return;
  const Task& task = found->second;
  const bool doing = task.status == TaskStatus::kDoing, todo = task.status == TaskStatus::kTodo;
  if (task.withdrawn || task.status == TaskStatus::kDone) return;
  if (!doing && !DependenciesDone(task)) return;
  if (todo && !task.blockers.empty()) return;
  Place place;
  place.goal = task.goal;
  const std::array<std::int64_t, 5> order = OrderOf(task, nullptr);
  place.order = {order[0], order[1], order[2], order[4]};
  place.holder = task.claim ? task.claim->holder : "";
  place.for_all = doing;
  EachShelf(place, [&](Shelf& shelf) { shelf.Put(place.goal, place.order, id, GoalOf(place.goal)); });
  places_.emplace(id, std::move(place));
}

void Agenda::MoveTo(const Document& state) {
  const std::vector<std::string> changed = Difference(state_, state);
  state_ = state;
  std::set<std::string> tasks, goals;  // whose place is another, perhaps
  const auto look = [&](const std::string& id, int by) {
    const auto found = work_.tasks.find(id);
    if (found == work_.tasks.end()) return std::pair(false, std::vector<std::string>());
    Count(found->second, by);
    return std::pair(found->second.status == TaskStatus::kDone && !found->second.withdrawn, found->second.needed_by);
  };
  for (const std::string& entry : changed) {
    const std::string task = entry.starts_with("task:") ? entry.substr(TaskKey("").size()) : "";
    if (entry.starts_with("goal:")) goals.insert(entry.substr(GoalKey("").size()));
    if (task.empty()) {
      PutEntry(entry, state.Find(entry), work_);
      continue;
    }
    const auto before = look(task, -1);
    PutEntry(entry, state.Find(entry), work_);
    const auto after = look(task, 1);
    tasks.insert(task);
    if (before.first == after.first) continue;
    tasks.insert(before.second.begin(), before.second.end());
    tasks.insert(after.second.begin(), after.second.end());
  }
  for (const std::string& goal : goals) {
    free_.SetGoal(goal, GoalOf(goal));
    held_.SetGoal(goal, GoalOf(goal));
    for (auto& [holder, shelf] : held_by_) shelf.SetGoal(goal, GoalOf(goal));
  }
  for (const std::string& task : tasks) TakeOut(task);
  for (const std::string& task : tasks) PutIn(task);
  std::erase_if(held_by_, [](const auto& one) { return one.second.Empty(); });
}

NextStep Agenda::Choose(const Document& state, std::string_view actor, std::size_t most_listed) {
  std::lock_guard lock(mutex_);
  MoveTo(state);
  NextStep next;
  next.state_digest = state.Root();
  next.counts = counts_;
  for (const auto& [order, task] : open_) {
    if (next.open_tasks.size() == most_listed) break;
    next.open_tasks.push_back(task);
  }
  std::vector<std::string> first;
  free_.AddFirst(kMostRunnersUp + 1, first);
  const auto own = held_by_.find(std::string(actor));
  if (actor.empty()) {
    held_.AddFirst(kMostRunnersUp + 1, first);
  } else if (own != held_by_.end()) {
    own->second.AddFirst(kMostRunnersUp + 1, first);
  }
  std::vector<Candidate> candidates;
  for (const std::string& id : first) {
    const Task& task = work_.tasks.at(id);
    candidates.push_back({&task, OrderOf(task, GoalOf(task.goal))});
  }
  if (candidates.empty()) {
    const AllWork source(work_);
    for (const auto& [order, id] : open_) {
      if (next.waiting.size() == kMostWaiting) break;
      next.waiting.push_back({id, ReasonsAgainst(source, work_.tasks.at(id), actor)});
    }
  }
  return ConcludeChoice(work_, std::move(candidates), std::move(next));
}

}  // namespace acl::project
