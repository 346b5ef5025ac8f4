#pragma once
// Approvals in a run's state (decide_approval.cc, evolve_approval.cc).
//
//   approvals             {"pending": [step ids]}: what waits for a person, in the order in which it was asked
//   approval:<step id>    the request with its votes and what became of it (shared/approval/approval.h)

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/approval/approval.h"
#include "shared/kernel/command.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

inline constexpr std::string_view kApprovalsKey = "approvals";
inline std::string ApprovalKey(std::string_view step_id) { return std::string("approval:").append(step_id); }

inline std::string ApprovalIdOf(std::string_view run_id, std::string_view step_id) {
  return std::string(run_id).append(1, ':').append(step_id);
}
// The run's id and the step's; nullopt if it is no approval's id.
struct ApprovalName {
  std::string run_id, step_id;
};
std::optional<ApprovalName> ParseApprovalId(std::string_view approval_id);

// nullopt: there is none.
std::optional<approval::Request> ReadApproval(const Document& state, std::string_view step_id);
// Step ids. None of a run that does not go forward: what was asked then is answered by its end.
std::vector<std::string> PendingApprovals(const Document& state);

// What people see of a run's approvals: a row of `approvals` each, as its last decision showed it. For whoever compares.
std::vector<ShownRow> ShownApprovals(const Document& state);

// Who asks for what a run does, by its record: who submitted it, its owner, and those of whoever had it made (a parent, a schedule).
std::vector<std::string> RequestersOf(const Json* run);

// Whether nothing goes on in a run but waiting for people (and perhaps signals): document 002 calls it PAUSED then. `steps`: of the run
// itself, those of items not counted.
bool WaitsForApproval(const Document& state, int steps, const RunRecord& run, const Progress& progress);

// The event of the webhook that asks, and of the one that asks again (docs/guides/webhooks.md).
inline constexpr std::string_view kApprovalRequired = "approval_required", kApprovalReminder = "approval_reminder";

}  // namespace acl::workflow
