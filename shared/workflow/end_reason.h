#pragma once
// Why a run ended FAILED or ROLLED_BACK, as `workflow.failed` says and as the listing's error text, which begins with it, lets it be told.

#include <string>
#include <string_view>

namespace acl::workflow {

inline constexpr std::string_view kStepFailedReason = "step_failed", kTimeoutReason = "timeout", kCancelledReason = "cancelled";
// Of an approval: a person's no, and nobody's answer.
inline constexpr std::string_view kRejectedReason = "rejected", kApprovalTimeoutReason = "approval_timeout";

// The error of a cancelled run; no other error begins so.
inline std::string CancelledText(std::string_view why) { return why.empty() ? "cancelled" : std::string("cancelled: ").append(why); }
inline constexpr std::string_view kStepFailedText = "step '";
inline constexpr std::string_view kRejectedText = "Rejected by human approver";                   // document 002's words, then who
inline constexpr std::string_view kApprovalTimeoutText = "nobody decided on the approval until";  // then when
inline constexpr std::string_view kTimeoutText = "the run took longer than ";

// "" of an error that is empty.
inline std::string_view ReasonOfError(std::string_view error) {
  if (error.empty()) return "";
  // The end of a cancelled run that was not undone whole follows the text after "; ".
  if (error == "cancelled" || error.starts_with("cancelled: ") || error.starts_with("cancelled; ")) return kCancelledReason;
  if (error.starts_with(kRejectedText)) return kRejectedReason;
  if (error.starts_with(kApprovalTimeoutText)) return kApprovalTimeoutReason;
  return error.starts_with(kTimeoutText) ? kTimeoutReason : kStepFailedReason;
}

}  // namespace acl::workflow
