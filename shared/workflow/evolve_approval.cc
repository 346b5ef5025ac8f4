// What the events of an approval do to its step. The request stands in an entry of its own, which stays when it is decided: who comes late
// is told by it who was first.

#include <fmt/format.h>

#include <algorithm>

#include "shared/workflow/approvals.h"
#include "shared/workflow/evolution.h"

namespace acl::workflow {

void Evolution::ApprovalRequested() {
  if (TextOf(record_.json, "approval") == approval::kPending) {  // anew: what is asked has changed
    if (const Json* request = MemberOf(&draft_.carried, "request")) more_.Add(ApprovalKey(instance_->step_id), *request);
    return;
  }
  GoStep(StepStatus::kWaiting);
  LeaveReady();
  const Json* request = MemberOf(&draft_.carried, "request");
  if (instance_->undo || !request || !definition_.step(instance_->step).approval) {
    impossible_ = fmt::format("step.approval_requested of '{}', which asks nobody", instance_->step_id);
    return;
  }
  step_json_["started_at"] = At();
  if (MemberOf(facts_, "due_at")) step_json_["due_at"] = Fact("due_at");
  step_json_["approval"] = approval::kPending;
  for (auto key : {"waits", "met"}) step_json_.erase(key);
  more_.Add(ApprovalKey(instance_->step_id), *request);
  TouchEntry(std::string(kApprovalsKey), Json{{"pending", Json::array()}})["pending"].push_back(instance_->step_id);
  ++progress_.waiting;
  ++progress_.approvals;
  const auto due = TimeOf(facts_, "due_at");
  if (due && (!progress_.next_due || *due < *progress_.next_due)) progress_.next_due = due;
  KeepDeadline();
}

// A vote that does not decide, a reminder, an escalation.
void Evolution::ApprovalGoesOn() {
  if (TextOf(record_.json, "approval") != approval::kPending) {
    impossible_ = fmt::format("{} of '{}', of which nobody is asked", draft_.type, instance_->step_id);
    return;
  }
  Json& request = TouchEntry(ApprovalKey(instance_->step_id), Json::object());
  if (const Json* vote = MemberOf(facts_, "vote")) request["votes"].push_back(*vote);
  if (const std::string role = Fact("role"); !role.empty()) request["escalated_roles"].push_back(role);
  if (const Json* sent = MemberOf(facts_, "reminder")) step_json_["reminders"] = *sent;
}

void Evolution::ApprovalEnded(const Instance& instance, Json& record, std::string_view state) {
  --progress_.approvals;
  record["approval"] = state;
  record.erase("reminders");
  Json& pending = TouchEntry(std::string(kApprovalsKey), Json::object())["pending"];
  if (pending.is_array()) pending.erase(std::remove(pending.begin(), pending.end(), Json(instance.step_id)), pending.end());
  Json& request = TouchEntry(ApprovalKey(instance.step_id), Json::object());
  request["state"] = state;
  if (const Json* vote = MemberOf(facts_, "vote")) request["votes"].push_back(*vote);
  if (state == approval::kCancelled) return;
  for (auto key : {"decided_by", "comment"})
    if (const std::string text = Fact(key); !text.empty()) request[key] = text;
  request["decided_at"] = FormatWallTime(draft_.at);
}

}  // namespace acl::workflow
