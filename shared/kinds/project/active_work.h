#pragma once
// What the readings of a project say, as JSON (document 000, 8.1): pure functions of its state. Lists are bounded; whatever is left out is
// counted under "cut", so that a short answer never passes for the whole.

#include <string>
#include <string_view>
#include <vector>

#include "shared/kinds/project/next_step.h"

namespace acl::project {

// A task in a list: who has it, what blocks it, "ready" (nothing keeps `actor` from working on it) or "reasons" why not.
Json TaskItem(const AllWork& source, const Task& task, std::string_view actor);
// The whole task with its goal, its checkpoint and the whole tree of reasons. The task must be in `work`.
Json TaskInFull(const Work& work, const Task& task, std::string_view actor);

// In the order in which they were made.
std::vector<const Task*> TasksInOrder(const Work& work, bool withdrawn = false);
// Most urgent first, then in the order in which they were made.
std::vector<const Goal*> GoalsInOrder(const Work& work, bool withdrawn = false);

// {"open", "todo", "doing", "blocked", "done", "goals"}
Json CountsToJson(const Work& work);

// ActiveWorkState: the project, goals, open tasks by status, the active task with its checkpoint, unresolved blockers, the next step, what
// was done last, counts. At most `most` of each list.
Json ActiveWork(const Work& work, const NextStep& next, std::string_view actor, std::size_t most);

// What is next, and whether somebody else could take it at the same moment ("claimable_by_others"). `order`: the project's. At most `most`
// ids of open tasks.
Json NextToJson(const WorkSource& work, std::int64_t order, const NextStep& next, std::size_t most);

// Goals with their tasks, each with what it depends on.
Json TaskTree(const Work& work, std::string_view actor, const std::string& goal, std::size_t most);

}  // namespace acl::project
