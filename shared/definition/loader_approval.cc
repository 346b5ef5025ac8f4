// A HUMAN_APPROVAL step (docs/reference/other-runtimes.md#steps): what is asked stands in its `inputs`, whom and how in `approval_config`.
#include "shared/definition/draft.h"
#include "shared/definition/template.h"

namespace acl {

namespace {

constexpr std::size_t kLongestApprover = 300;
constexpr int kMostReminders = 20;
constexpr int kMostMinApprovals = 100;

// A name that stands as it is, or will when its templates are expanded.
bool ReadApproverName(Reader* reader, const SourceNode& node, const std::string& what, std::string* out) {
  auto text = reader->String(node, what);
  if (!text) return false;
  if (auto wrong = HasTemplate(Json(*text)) ? std::nullopt : BadName(*text, kLongestApprover)) {
    reader->Error(node.mark, "bad-approval", what + " " + *wrong);
    return false;
  }
  *out = std::move(*text);
  return true;
}

void ReadApprovalTimeout(Reader* reader, const SourceNode& node, const std::string& what, ApprovalDefinition* approval) {
  const auto length = node.is_string() && HasTemplate(node.scalar) ? std::chrono::milliseconds(1) : reader->Duration(node, what);
  if (length && length->count() == 0)
    reader->Error(node.mark, "bad-approval", what + " is 0: nobody could decide; leave it out to wait without end");
  else if (length)
    approval->timeout = node.scalar;
}

// What `inputs` says of whom and how long, which comes before `approval_config`.
void ReadApprovalInputs(Reader* reader, const SourceNode& inputs, const std::string& owner, ApprovalDefinition* approval) {
  const auto what = [&](std::string_view key) { return "'" + std::string(key) + "' of 'inputs' of " + owner; };
  const auto find = [&](std::string_view key) {
    const SourceEntry* entry = inputs.Find(key);
    return entry ? &entry->value : nullptr;
  };
  if (find("message") && find("approval_message"))
    reader->Error(find("approval_message")->mark, "approval-conflict",
                  "'inputs' of " + owner + " has 'message' and 'approval_message', which are the same; keep one");
  if (const SourceNode* role = find("approver_role")) ReadApproverName(reader, *role, what("approver_role"), &approval->role);
  for (std::string_view key : {"timeout", "approval_timeout"})  // the last counts
    if (const SourceNode* timeout = find(key)) ReadApprovalTimeout(reader, *timeout, what(key), approval);
  for (std::string_view key : {"webhook_url", "webhook_payload"}) {
    if (const SourceNode* ignored = find(key))
      reader->Warning(ignored->mark, "ignored-key",
                      what(key) +
                          " tells nobody: a workflow sends to endpoints that the operator named; say 'notify: ENDPOINT' in "
                          "'approval_config' (docs/guides/webhooks.md)");
  }
}

void ReadApprovers(Reader* reader, const SourceNode& node, const std::string& what, ApprovalDefinition* approval) {
  if (!reader->IsList(node, what)) return;
  if (node.items.empty())
    reader->Error(node.mark, "no-approvers", what + " is empty, so nobody could decide; name somebody, or leave it out: then anybody may");
  for (const SourceNode& item : node.items) {
    std::string name;
    if (!ReadApproverName(reader, item, "an entry of " + what, &name)) continue;
    if (std::find(approval->approvers.begin(), approval->approvers.end(), name) != approval->approvers.end())
      reader->Error(item.mark, "duplicate-name", what + " names '" + name.substr(0, 80) + "' twice");
    approval->approvers.push_back(std::move(name));
  }
}

void ReadReminders(Reader* reader, const SourceNode& node, const std::string& what, ApprovalDefinition* approval) {
  std::vector<const SourceNode*> times;
  if (!node.is_list()) times.push_back(&node);
  for (const SourceNode& item : node.items) times.push_back(&item);
  if (int(times.size()) > kMostReminders)
    return reader->Error(node.mark, "bad-approval", what + " has more than " + std::to_string(kMostReminders) + " times; say fewer");
  for (const SourceNode* time : times) {
    const auto after = reader->Duration(*time, what);
    if (!after) continue;
    if (after->count() == 0 || (!approval->remind.empty() && *after <= approval->remind.back()))
      reader->Error(time->mark, "bad-approval", what + " must be times behind the asking, each later than the one before it");
    else
      approval->remind.push_back(*after);
  }
}

void ReadEscalation(Reader* reader, const SourceNode& node, const std::string& what, ApprovalDefinition* approval) {
  if (!reader->IsMap(node, what)) return;
  Fields fields(reader, node, what, {"after", "to"});
  const SourceNode *after = fields.Get("after"), *to = fields.Get("to");
  if (!after || !to) return reader->Error(node.mark, "bad-approval", what + " must be a map: {after: 24h, to: ROLE}");
  const auto length = reader->Duration(*after, fields.What("after"));
  std::string role;
  if (!length || !ReadApproverName(reader, *to, fields.What("to"), &role)) return;
  if (role.starts_with("role:")) role.erase(0, 5);
  approval->escalate_after = *length;
  approval->escalate_to = std::move(role);
}

// Whether so many different persons are there: each name is one, a role may be many.
bool MayBeReached(const ApprovalDefinition& approval) {
  const bool roles = std::any_of(approval.approvers.begin(), approval.approvers.end(),
                                 [](const std::string& one) { return one.starts_with("role:") || HasTemplate(Json(one)); });
  return approval.approvers.empty() || roles || int(approval.approvers.size()) >= approval.min_approvals;
}

void ReadApprovalConfig(Reader* reader, const SourceNode& node, const std::string& what, ApprovalDefinition* approval) {
  if (!reader->IsMap(node, what)) return;
  Fields fields(reader, node, what,
                {"timeout_seconds", "approver_role", "approvers", "min_approvals", "allow_requester", "remind", "escalate", "notify"});
  if (const SourceNode* timeout = fields.Get("timeout_seconds"))
    ReadApprovalTimeout(reader, *timeout, fields.What("timeout_seconds"), approval);
  if (const SourceNode* role = fields.Get("approver_role")) ReadApproverName(reader, *role, fields.What("approver_role"), &approval->role);
  if (const SourceNode* approvers = fields.Get("approvers")) ReadApprovers(reader, *approvers, fields.What("approvers"), approval);
  const SourceNode* least = fields.Get("min_approvals");
  if (least)
    if (const auto number = reader->Integer(*least, fields.What("min_approvals"), 1, kMostMinApprovals))
      approval->min_approvals = int(*number);
  if (least && !MayBeReached(*approval))
    reader->Error(
        least->mark, "bad-approval",
        fields.What("min_approvals") + " is more than there are 'approvers': it could never be reached; name more, or ask for fewer");
  fields.Boolean("allow_requester", &approval->allow_requester);
  if (const SourceNode* remind = fields.Get("remind")) ReadReminders(reader, *remind, fields.What("remind"), approval);
  if (const SourceNode* escalate = fields.Get("escalate")) ReadEscalation(reader, *escalate, fields.What("escalate"), approval);
  const SourceNode* notify = fields.Get("notify");
  if (!notify) return;
  auto endpoint = reader->String(*notify, fields.What("notify"));
  if (endpoint && !IsEndpointOrTopic(*endpoint))
    reader->Error(notify->mark, "bad-approval", fields.What("notify") + " names a webhook's endpoint: it " + std::string(kEndpointForms));
  else if (endpoint)
    approval->notify = std::move(*endpoint);
}

}  // namespace

void ReadApproval(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step) {
  ApprovalDefinition& approval = step->approval.emplace();
  if (const SourceNode* config = fields.Get("approval_config"); config && !config->is_null())
    ReadApprovalConfig(reader, *config, fields.What("approval_config"), &approval);
  if (const SourceNode* inputs = fields.Get("inputs"); inputs && inputs->is_map()) ReadApprovalInputs(reader, *inputs, owner, &approval);
  if (!step->capability.empty() && step->capability != "human.approve")
    reader->Warning(fields.map().mark, "ignored-key",
                    "the capability of " + owner + " is never called: a HUMAN_APPROVAL step asks a person; let a step behind it call it");
  for (std::string_view key : {"compensation", "retry", "step_timeout_seconds", "on_unknown_outcome", "queue", "priority"}) {
    if (const SourceNode* ignored = fields.Get(key); ignored && !ignored->is_null())
      reader->Warning(ignored->mark, "ignored-key", fields.What(key) + " has no effect on a step that asks a person; remove it");
  }
  step->capability.clear();
  step->compensation.reset();
  step->queue.reset();
  step->priority.reset();
  step->step_timeout.reset();
}

}  // namespace acl
