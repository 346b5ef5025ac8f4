#pragma once
// Goals, tasks and checkpoints as values, and where each stands in a project's state (document 000, 6). Times are database times of the
// events.
//
//   project             name, counters, settings           task:<id>         one task
//   goal:<id>           one goal                           checkpoint:<id>   the task's latest checkpoint
//   watchers            who is woken by the next change
//
// Ids are made by the project: g1, g2 ... and t1, t2 ...; they are unique in it and mean nothing outside it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/journal/document.h"
#include "shared/kinds/project/transitions.h"

namespace acl::project {

inline constexpr std::string_view kProjectKey = "project";
inline std::string GoalKey(std::string_view id) { return std::string("goal:").append(id); }
inline std::string TaskKey(std::string_view id) { return std::string("task:").append(id); }
inline std::string CheckpointKey(std::string_view id) { return std::string("checkpoint:").append(id); }

// Sessions of agents that found nothing to take, and are woken by the next change: a list of their ids.
inline constexpr std::string_view kWatchersKey = "watchers";
inline constexpr std::size_t kMostWatchers = 1'000;
std::vector<std::string> Watchers(const Document& state);

// 0 (first) to 4 (last).
inline constexpr int kMostUrgent = 0, kLeastUrgent = 4, kUsualPriority = 2;
// A task whose claims ran out so often is blocked instead of given to somebody once more.
inline constexpr int kMostAbandoned = 3;

// What the project itself keeps. `order` counts what happened in it: everything that is sorted by time is sorted by this.
struct Project {
  std::string name;
  bool independent = false;  // who did a task may not be the only one to say that it is done
  std::int64_t order = 0;
  int goals = 0, tasks = 0;  // made so far
  WallTime created_at;
};

struct Goal {
  std::string id, text;
  int priority = kUsualPriority;
  GoalStatus status = GoalStatus::kActive;
  bool withdrawn = false;
  int open_tasks = 0;  // neither done nor withdrawn
  std::int64_t created_order = 0;
  WallTime created_at;
};

struct Blocker {
  std::string id, text, by;  // id: b1, b2 ... in its task
  WallTime since;
};

// Who works on a task, under a token that grows with each claim: a late holder is known by it.
struct Claim {
  std::string holder;
  std::int64_t token = 0;
  WallTime since;
  std::optional<WallTime> expires;  // none: until it is given up
};

// A run of the task (`airun task run`), and how it ended.
struct TaskRun {
  std::string run_id, by;
  WallTime linked_at;
  std::string status;  // as the run's listing has it; empty: nothing was heard yet
  std::int64_t head_seq = 0;
  std::string state_root;  // hex, of the run when it had ended
  std::optional<WallTime> ended_at;
};
// So many are kept with the task; the journal has all.
inline constexpr std::size_t kMostTaskRuns = 10;

struct Task {
  std::string id, goal, title;
  TaskStatus status = TaskStatus::kTodo;
  bool withdrawn = false;
  int priority = kUsualPriority;
  std::vector<std::string> acceptance_criteria;
  std::vector<std::string> depends_on, needed_by;  // ids of tasks; the second is the first seen from the other side
  std::vector<std::string> evidence;               // kinds that its completion must show (forms.h)
  std::vector<Blocker> blockers;                   // unresolved ones
  int blockers_made = 0;
  std::vector<TaskRun> runs;  // the latest last
  std::optional<Claim> claim;
  std::int64_t claims = 0;  // given so far: the token of the last
  int abandoned = 0;        // claims that ran out since somebody last finished or handed back the task
  std::int64_t created_order = 0, blocked_order = 0, started_order = 0;
  WallTime started_at, updated_at;
};

struct Checkpoint {
  std::string task, where_we_left_off, next_step, by;
  std::vector<std::string> context_refs, blockers;
  std::vector<std::string> tried, pending;  // what was dropped and why; what is waited for elsewhere
  std::int64_t order = 0;
  WallTime timestamp;
};

Json ToJson(const Project& project);
Json ToJson(const Goal& goal);
Json ToJson(const Task& task);
Json ToJson(const Checkpoint& checkpoint);

// nullopt if there is none. What stands in the state was written by Evolve, so each member is there.
std::optional<Project> FindProject(const Document& state);
std::optional<Goal> FindGoal(const Document& state, std::string_view id);
std::optional<Task> FindTask(const Document& state, std::string_view id);
std::optional<Checkpoint> FindCheckpoint(const Document& state, std::string_view id);

// All of it, for who has to compare tasks with each other.
struct Work {
  Project project;
  std::map<std::string, Goal> goals;
  std::map<std::string, Task> tasks;
  std::map<std::string, Checkpoint> checkpoints;
};
Work ReadWork(const Document& state);
// One entry of a state; null: it is not there.
void PutEntry(const std::string& entry, const Json* value, Work& work);

}  // namespace acl::project
