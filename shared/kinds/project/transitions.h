#pragma once
// The status of a task and of a goal, and what may follow what (document 000, 7). One table; whoever refuses a change says what it allows.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acl::project {

enum class TaskStatus { kTodo, kDoing, kBlocked, kDone };
enum class GoalStatus { kActive, kPaused, kDone };

std::string_view NameOf(TaskStatus status);  // "todo"
std::string_view NameOf(GoalStatus status);  // "active"
std::optional<TaskStatus> ParseTaskStatus(std::string_view name);
std::optional<GoalStatus> ParseGoalStatus(std::string_view name);

// todo -> doing; doing -> blocked, done, todo; blocked -> doing, todo; done -> doing. In this order.
std::vector<TaskStatus> AllowedFrom(TaskStatus status);
bool IsAllowed(TaskStatus from, TaskStatus to);
// "todo" or "blocked, done or todo", for people.
std::string AllowedWords(TaskStatus from);

}  // namespace acl::project
