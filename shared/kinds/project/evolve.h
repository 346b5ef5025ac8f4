#pragma once
// What an event does to a project's state. Each event is a change of one goal, task or checkpoint, and moves the project's `order` on.
// Facts by type: decide.h.

#include "shared/journal/delta.h"
#include "shared/journal/event.h"
#include "shared/kinds/project/model.h"

namespace acl::project {

namespace events {
inline constexpr std::string_view kProjectCreated = "project.created", kReleased = "project.quarantine_released";
inline constexpr std::string_view kGoalCreated = "goal.created", kGoalChanged = "goal.changed", kGoalStatus = "goal.status_changed",
                                  kGoalWithdrawn = "goal.withdrawn";
inline constexpr std::string_view kTaskAdded = "task.added", kTaskChanged = "task.changed", kTaskStarted = "task.started",
                                  kTaskPaused = "task.paused", kTaskBlocked = "task.blocked", kBlockerAdded = "task.blocker_added",
                                  kBlockerResolved = "task.blocker_resolved", kTaskUnblocked = "task.unblocked",
                                  kTaskCompleted = "task.completed", kTaskReopened = "task.reopened", kTaskWithdrawn = "task.withdrawn",
                                  kClaimRenewed = "task.claim_renewed", kClaimExpired = "task.claim_expired",
                                  kDependencyReopened = "dependency.reopened", kRunLinked = "task.run_linked", kRunEnded = "task.run_ended";
inline constexpr std::string_view kCheckpoint = "checkpoint.updated";
inline constexpr std::string_view kWatchAdded = "project.watch_added", kWatchesEnded = "project.watches_ended";
inline constexpr std::string_view kRefused = "command.refused";
}  // namespace events

// `draft.at`: the time of the event. A draft that does not fit the state is Delta::Impossible: a bug of decide.
Delta Evolve(const Document& state, const EventDraft& draft);

}  // namespace acl::project
