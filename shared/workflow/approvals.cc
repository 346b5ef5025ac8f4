#include "shared/workflow/approvals.h"

#include <algorithm>

#include "shared/workflow/ready_set.h"

namespace acl::workflow {

std::optional<ApprovalName> ParseApprovalId(std::string_view approval_id) {
  const std::size_t colon = approval_id.find(':');
  if (colon == approval_id.npos || colon + 1 == approval_id.size() || !SubjectId::Parse(approval_id.substr(0, colon))) return std::nullopt;
  return ApprovalName{std::string(approval_id.substr(0, colon)), std::string(approval_id.substr(colon + 1))};
}

std::optional<approval::Request> ReadApproval(const Document& state, std::string_view step_id) {
  const Json* entry = Lookup(state, ApprovalKey(step_id));
  if (!entry) return std::nullopt;
  auto request = approval::RequestFrom(*entry);
  return request ? std::optional(std::move(*request)) : std::nullopt;
}

std::vector<std::string> PendingApprovals(const Document& state) {
  const Json* pending = Lookup(state, kApprovalsKey);
  const auto run = pending ? ReadRun(state) : std::nullopt;
  if (!run || run->phase != Phase::kForward) return {};
  return ListOf(pending, "pending");
}

std::vector<ShownRow> ShownApprovals(const Document& state) {
  constexpr std::string_view kPrefix = "approval:";
  const std::vector<std::string> pending = PendingApprovals(state);
  std::vector<ShownRow> rows;
  state.ForEach([&](const std::string& key, const Json& entry) {
    if (!key.starts_with(kPrefix)) return true;
    auto request = approval::RequestFrom(entry);
    if (!request) return true;
    const bool open = std::find(pending.begin(), pending.end(), key.substr(kPrefix.size())) != pending.end();
    if (!open && request->pending()) request->state = approval::kCancelled;
    rows.push_back({"approvals", request->approval_id, DumpJson({{"state", request->state}, {"request", approval::ToJson(*request)}})});
    return true;
  });
  return rows;
}

bool WaitsForApproval(const Document& state, int steps, const RunRecord& run, const Progress& progress) {
  if (progress.approvals == 0 || run.status != RunStatus::kRunning || run.phase != Phase::kForward) return false;
  if (!progress.open.empty() || !progress.dispatches.empty() || !progress.uncertain.empty() || progress.retrying > 0 ||
      progress.children > 0)
    return false;
  return progress.waiting == progress.approvals + progress.signals && !ReadySet(state, steps).Next(0);
}

}  // namespace acl::workflow
