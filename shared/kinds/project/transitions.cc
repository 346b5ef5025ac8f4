#include "shared/kinds/project/transitions.h"

#include <algorithm>
#include <array>

namespace acl::project {

namespace {

constexpr std::array<std::string_view, 4> kTaskNames{"todo", "doing", "blocked", "done"};
constexpr std::array<std::string_view, 3> kGoalNames{"active", "paused", "done"};

template <class Status, std::size_t n>
std::optional<Status> Parse(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return Status(found - names.begin());
}

}  // namespace

std::string_view NameOf(TaskStatus status) { return kTaskNames[std::size_t(status)]; }
std::string_view NameOf(GoalStatus status) { return kGoalNames[std::size_t(status)]; }
std::optional<TaskStatus> ParseTaskStatus(std::string_view name) { return Parse<TaskStatus>(kTaskNames, name); }
std::optional<GoalStatus> ParseGoalStatus(std::string_view name) { return Parse<GoalStatus>(kGoalNames, name); }

std::vector<TaskStatus> AllowedFrom(TaskStatus status) {
  switch (status) {
    case TaskStatus::kTodo: return {TaskStatus::kDoing};
    case TaskStatus::kDoing: return {TaskStatus::kBlocked, TaskStatus::kDone, TaskStatus::kTodo};
    case TaskStatus::kBlocked: return {TaskStatus::kDoing, TaskStatus::kTodo};
    case TaskStatus::kDone: return {TaskStatus::kDoing};
  }
  return {};
}

bool IsAllowed(TaskStatus from, TaskStatus to) {
  const std::vector<TaskStatus> allowed = AllowedFrom(from);
  return std::find(allowed.begin(), allowed.end(), to) != allowed.end();
}

std::string AllowedWords(TaskStatus from) {
  const std::vector<TaskStatus> allowed = AllowedFrom(from);
  std::string words;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (i > 0) words += i + 1 == allowed.size() ? " or " : ", ";
    words += NameOf(allowed[i]);
  }
  return words;
}

}  // namespace acl::project
