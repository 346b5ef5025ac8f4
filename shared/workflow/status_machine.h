#pragma once
// Statuses of a run and of a step, and every transition between them, in one table (document 002, "State Machine"; ours are added where
// a fleet needs them: RETRY_WAIT, WAITING, UNCERTAIN, CANCELLED). Whatever is not in the table is refused.

#include <array>
#include <optional>
#include <string_view>

namespace acl::workflow {

enum class RunStatus { kPending, kRunning, kPaused, kCompleted, kFailed, kRolledBack };
inline constexpr std::array kRunStatuses{RunStatus::kPending,   RunStatus::kRunning, RunStatus::kPaused,
                                         RunStatus::kCompleted, RunStatus::kFailed,  RunStatus::kRolledBack};

// A forward step and a compensation have the same life:
//   PENDING --> RUNNING --> COMPLETED            PENDING --> COMPLETED (pure and read: attempt and completion commit together)
//   RUNNING --> PENDING (attempt lost, not started, retry at once)    RUNNING, PENDING --> RETRY_WAIT --> PENDING
//   RUNNING --> UNCERTAIN --> COMPLETED | FAILED | PENDING | CANCELLED        (a person resolves it, or the run ends)
//   PENDING --> WAITING --> COMPLETED | FAILED | CANCELLED                     (a WAIT or SIGNAL step: nothing runs)
//   PENDING --> RUNNING --> COMPLETED | FAILED                                 (a scope: the steps that it holds run)
//   PENDING --> SKIPPED                                                        (`when`, or a case that was not taken)
//   PENDING, RETRY_WAIT, WAITING --> CANCELLED                                 (what stands behind a failure that a scope contains)
enum class StepStatus { kPending, kRunning, kRetryWait, kWaiting, kUncertain, kCompleted, kFailed, kCancelled, kSkipped };
inline constexpr std::array kStepStatuses{StepStatus::kPending, StepStatus::kRunning,   StepStatus::kRetryWait,
                                          StepStatus::kWaiting, StepStatus::kUncertain, StepStatus::kCompleted,
                                          StepStatus::kFailed,  StepStatus::kCancelled, StepStatus::kSkipped};

std::string_view Name(RunStatus status);  // upper case, as stored and listed
std::string_view Name(StepStatus status);
std::optional<RunStatus> ParseRunStatus(std::string_view name);
std::optional<StepStatus> ParseStepStatus(std::string_view name);

bool MayGo(RunStatus from, RunStatus to);
bool MayGo(StepStatus from, StepStatus to);

}  // namespace acl::workflow
