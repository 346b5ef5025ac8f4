#pragma once
// What is odd about a project's tasks: nothing that decide refuses to go on with, but what somebody should look at (airun doctor tasks).

#include <string>
#include <vector>

#include "shared/kinds/project/model.h"

namespace acl::project {

struct TaskFinding {
  // DOING_WITHOUT_CLAIM, CLAIM_WITHOUT_END, BLOCKED_WITHOUT_BLOCKER, GOAL_DONE_WITH_OPEN_TASKS, CYCLE, DEPENDENCY_MISSING,
  // DEPENDENCY_WITHDRAWN, DEPENDENCY_REOPENED
  std::string code;
  std::string subject;  // the task or goal
  std::string text;
  std::string fix;  // the command of airun that mends it
};

// In the order in which goals, then tasks were made. Pure.
std::vector<TaskFinding> CheckTasks(const Work& work);
Json ToJson(const TaskFinding& finding);

}  // namespace acl::project
