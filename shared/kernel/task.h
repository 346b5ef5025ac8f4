#pragma once
// Dispatched steps (docs/architecture.md#dispatch) as the stores keep them. A task is one attempt of a step that any worker of its queue
// may take:
//
//   queued --take--> started --finish--> done | failed          finish: the taker's result, under the task's own token
//     |                 |------lose----> lost                    lose: the taker's session is dead
//     '--withdraw--> cancelled                                   withdraw: its cancel was wanted and nobody had taken it
//
// Each of the four ends is a compare-and-set on the row's state and becomes one inbox row of kind `task_result` of the subject, whose
// holder turns it into events. A started task that should be cancelled is asked to stop (its worker hears it with the heartbeat) and ends
// like any other. Nothing is ever put back to `queued`: another attempt is another task.

#include <optional>
#include <string>
#include <string_view>

#include "shared/kernel/types.h"

namespace acl {

inline constexpr std::string_view kTaskResultKind = "task_result";
inline constexpr std::string_view kTaskReadyKind = "task";  // of its ready row, whose subject_id is the task's id

// The same for the same attempt, whoever computes it: a UUID of version 8.
TaskId TaskIdOf(const SubjectId& subject, std::string_view step_id, int attempt_id);

// What the store itself says of a task that ended without its taker's word (capability/task_format.h reads it).
std::string LostTaskText(const TaskKey& task, bool counted, const std::string& worker, Token token);
std::string WithdrawnTaskText(const TaskKey& task);

}  // namespace acl
