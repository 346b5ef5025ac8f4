#pragma once
// The types of a workflow run's events. What each holds and does: docs/reference/events.md.

#include <string_view>

namespace acl::workflow::event {

inline constexpr std::string_view kWorkflowCreated = "workflow.created";
inline constexpr std::string_view kWorkflowStarted = "workflow.started";
inline constexpr std::string_view kWorkflowPaused = "workflow.paused";
inline constexpr std::string_view kWorkflowResumed = "workflow.resumed";
inline constexpr std::string_view kWorkflowClockGoesOn = "workflow.clock_goes_on";  // nothing is waited for any more
inline constexpr std::string_view kWorkflowCompleted = "workflow.completed";
inline constexpr std::string_view kWorkflowFailed = "workflow.failed";           // stops; open until everything is undone
inline constexpr std::string_view kWorkflowRolledBack = "workflow.rolled_back";  // closes: every compensation succeeded
inline constexpr std::string_view kWorkflowEnded = "workflow.ended";             // closes a FAILED run, with what was not undone
inline constexpr std::string_view kWorkflowUnreadable = "workflow.unreadable";   // never lands: makes the kernel quarantine the run

inline constexpr std::string_view kStepStarted = "step.started";
inline constexpr std::string_view kStepDispatched = "step.dispatched";  // a dispatch on another queue or priority
inline constexpr std::string_view kStepWaiting = "step.waiting";        // a WAIT step until its time
inline constexpr std::string_view kStepCompleted = "step.completed";
inline constexpr std::string_view kStepAttemptFailed = "step.attempt_failed";  // known outcome, will be tried again
inline constexpr std::string_view kStepFailed = "step.failed";                 // known outcome, for good
inline constexpr std::string_view kStepAttemptLost = "step.attempt_lost";      // unknown outcome, run again; does not count
inline constexpr std::string_view kAttemptNotStarted = "attempt.not_started";  // does not count
inline constexpr std::string_view kStepRetryDue = "step.retry_due";
inline constexpr std::string_view kStepUncertain = "step.uncertain";
inline constexpr std::string_view kStepResolved = "step.resolved";
inline constexpr std::string_view kStepCancelled = "step.cancelled";
inline constexpr std::string_view kStepOpened = "step.opened";               // a scope begins: PARALLEL, SEQUENCE, CONDITION, FOREACH
inline constexpr std::string_view kStepConditionMet = "step.condition_met";  // its `when` is true: it may run
inline constexpr std::string_view kChildStarted = "step.child_started";      // of a CHILD step, and of the undoing of one that completed
inline constexpr std::string_view kChildContinued = "step.child_continued";  // its run goes on as another
inline constexpr std::string_view kStepSkipped = "step.skipped";             // its `when` is not

inline constexpr std::string_view kApprovalRequested = "step.approval_requested";  // a HUMAN_APPROVAL step asks
inline constexpr std::string_view kApprovalVote = "step.vote";                     // one of several that are needed
inline constexpr std::string_view kApprovalReminded = "step.approval_reminded";
inline constexpr std::string_view kApprovalEscalated = "step.approval_escalated";  // another role may decide too

inline constexpr std::string_view kCompensationCompleted = "compensation.completed";
inline constexpr std::string_view kCompensationFailed = "compensation.failed";

inline constexpr std::string_view kInputRefused = "input.refused";
inline constexpr std::string_view kSignalReceived = "signal.received";
inline constexpr std::string_view kQuarantineReleased = "subject.quarantine_released";  // nothing is written while it may be damaged

// A run has one of these, and behind it nothing but inputs that came too late.
constexpr bool Ends(std::string_view type) { return type == kWorkflowCompleted || type == kWorkflowRolledBack || type == kWorkflowEnded; }
constexpr bool MayFollowTheEnd(std::string_view type) { return type == kInputRefused; }

}  // namespace acl::workflow::event
