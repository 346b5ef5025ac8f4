#include "shared/workflow/status_machine.h"

#include <utility>

namespace acl::workflow {

namespace {

using enum RunStatus;
using Step = StepStatus;

constexpr std::pair<RunStatus, RunStatus> kRunTransitions[] = {
    {kPending, kRunning},    // first worker
    {kPending, kFailed},     // cancelled before it began
    {kRunning, kPaused},     // a person
    {kPaused, kRunning},     // a person
    {kRunning, kCompleted},  // every step completed
    {kRunning, kFailed},     // a step failed, cancelled, out of time
    {kPaused, kFailed},      // cancelled while paused
    {kFailed, kRolledBack},  // every compensation succeeded
};

constexpr std::pair<Step, Step> kStepTransitions[] = {
    {Step::kPending, Step::kRunning},                                          // an attempt whose effect needs a row first
    {Step::kPending, Step::kCompleted},                                        // pure and read: one commit
    {Step::kPending, Step::kFailed},                                           // pure and read
    {Step::kPending, Step::kRetryWait},                                        // pure and read
    {Step::kPending, Step::kCancelled},                                        // the run stops before an attempt that was to be repeated
    {Step::kRunning, Step::kPending},                                          // lost, not started, or to be repeated at once
    {Step::kRunning, Step::kRetryWait},   {Step::kRunning, Step::kUncertain},  // may have happened: a person decides
    {Step::kRunning, Step::kCompleted},   {Step::kRunning, Step::kFailed},
    {Step::kRunning, Step::kCancelled},   {Step::kRetryWait, Step::kPending},  // its timer fired
    {Step::kPending, Step::kWaiting},                                          // a WAIT step whose turn has come
    {Step::kWaiting, Step::kCompleted},                                        // its timer fired, its signal came
    {Step::kWaiting, Step::kFailed},                                           // no signal came in time
    {Step::kWaiting, Step::kCancelled},                                        // behind a failure that a scope contains
    {Step::kRetryWait, Step::kCancelled},                                      // the same
    {Step::kPending, Step::kSkipped},                                          // `when`, or a case that was not taken
    {Step::kUncertain, Step::kPending},                                        // resolved: run it again
    {Step::kUncertain, Step::kCompleted},                                      // resolved
    {Step::kUncertain, Step::kFailed},                                         // resolved
    {Step::kUncertain, Step::kCancelled},                                      // the run ends and nothing hangs on the answer
};

template <class Table, class Status>
constexpr bool Contains(const Table& table, Status from, Status to) {
  for (const auto& [a, b] : table) {
    if (a == from && b == to) return true;
  }
  return false;
}

template <class List>
auto Parse(const List& list, std::string_view name) -> std::optional<typename List::value_type> {
  for (auto status : list) {
    if (Name(status) == name) return status;
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(RunStatus status) {
  switch (status) {
    case kPending: return "PENDING";
    case kRunning: return "RUNNING";
    case kPaused: return "PAUSED";
    case kCompleted: return "COMPLETED";
    case kFailed: return "FAILED";
    case kRolledBack: return "ROLLED_BACK";
  }
  return "";
}

std::string_view Name(StepStatus status) {
  switch (status) {
    case Step::kPending: return "PENDING";
    case Step::kRunning: return "RUNNING";
    case Step::kRetryWait: return "RETRY_WAIT";
    case Step::kWaiting: return "WAITING";
    case Step::kUncertain: return "UNCERTAIN";
    case Step::kCompleted: return "COMPLETED";
    case Step::kFailed: return "FAILED";
    case Step::kCancelled: return "CANCELLED";
    case Step::kSkipped: return "SKIPPED";
  }
  return "";
}

std::optional<RunStatus> ParseRunStatus(std::string_view name) { return Parse(kRunStatuses, name); }
std::optional<StepStatus> ParseStepStatus(std::string_view name) { return Parse(kStepStatuses, name); }

bool MayGo(RunStatus from, RunStatus to) { return Contains(kRunTransitions, from, to); }
bool MayGo(StepStatus from, StepStatus to) { return Contains(kStepTransitions, from, to); }

}  // namespace acl::workflow
