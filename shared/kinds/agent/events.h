#pragma once
// The types of an agent session's events. What begins with "move." is a move (document 003, 4.2): its type is the word behind it, and the
// view `move` shows it. The others say how a move came about. What each holds: docs/reference/events.md.

#include <string_view>

namespace acl::agent::event {

inline constexpr std::string_view kMovePrefix = "move.";
inline constexpr std::string_view kPrepare = "move.prepare", kStimulus = "move.stimulus", kPlan = "move.plan", kRequest = "move.request",
                                  kProcess = "move.process", kRest = "move.rest", kBlock = "move.block";

inline constexpr std::string_view kTurnBegan = "turn.began", kTurnEnded = "turn.ended", kLooked = "turn.looked",
                                  kPassageBegan = "passage.began", kExtensionAnswered = "extension.answered";
inline constexpr std::string_view kStepStarted = "step.started", kStepCompleted = "step.completed", kRequestFailed = "request.failed",
                                  kActionEnded = "action.ended", kAttemptLost = "attempt.lost", kAttemptNotStarted = "attempt.not_started",
                                  kLateResult = "step.late_result";
inline constexpr std::string_view kApprovalRequested = "approval.requested", kApprovalDecided = "approval.decided";
inline constexpr std::string_view kWoken = "session.woken", kPaused = "session.paused", kResumed = "session.resumed",
                                  kStopAsked = "session.stop_asked", kStopped = "session.stopped", kResolved = "session.resolved",
                                  kFilesChanged = "session.files_changed", kNearLimit = "session.near_limit",
                                  kReleased = "subject.quarantine_released", kUnreadable = "session.unreadable";
inline constexpr std::string_view kInputRefused = "input.refused";

}  // namespace acl::agent::event
