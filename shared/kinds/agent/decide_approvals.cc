// Actions that a person is asked about first. Who may decide is said by approval::Decide alone, as for workflows; meanwhile nothing runs
// and no lease is held. What was approved is what is sent: the digest is of the capability, its arguments and the files.

#include <fmt/format.h>

#include <algorithm>

#include "shared/approval/decision_json.h"
#include "shared/approval/digest.h"
#include "shared/capability/manifest.h"
#include "shared/kinds/agent/decider.h"
#include "shared/kinds/agent/events.h"

namespace acl::agent {

std::optional<std::string> Decider::MustAsk(const Json& action) const {
  if (course_->approved) return std::nullopt;
  if (course_->must_ask) return course_->why_ask;
  const std::string id = TextIn(action, "capability");
  const CapabilityDefinition* capability = kit_.capabilities.Find(id);
  for (const std::string& pattern : definition_.ask_before) {
    const std::string_view text = pattern;
    bool asks = Matches(pattern, id);
    if (capability != nullptr && text.starts_with("risk:")) asks = capability->risk >= ParseRisk(text.substr(5)).value_or(RiskLevel::kLow);
    if (capability != nullptr && text.starts_with("effect:")) asks = capability->effect == ParseEffect(text.substr(7));
    if (asks) return fmt::format("the agent file asks a person before '{}'", pattern);
  }
  return std::nullopt;
}

approval::Request Decider::RequestOf(const Json& action, const std::string& why) const {
  const std::string id = TextIn(action, "capability");
  const CapabilityDefinition* capability = kit_.capabilities.Find(id);
  approval::Request request;
  request.run_id = session_id_;
  request.step_id = StepIdOf(*course_, "action", course_->action);
  request.approval_id = session_id_ + ":" + request.step_id;
  request.step_name = id;
  request.workflow = definition_.name;
  request.description = why;
  const Json* plan = state_.Find(kPlanKey);
  const std::string inputs = Brief(DumpJson(action.value("inputs", Json::object())), kKeptInBrief / 4);
  const std::string intention = plan == nullptr ? "" : Brief(TextIn(*plan, "intention"), kKeptInBrief);
  request.message =
      fmt::format("May the agent {} call {} {}?{}", definition_.name, id, inputs, intention.empty() ? "" : " It wants to: " + intention);
  request.risk = capability == nullptr ? "MEDIUM" : std::string(RiskName(capability->risk));
  request.arguments = {{"capability", id}, {"inputs", action.value("inputs", Json::object())}};
  request.workspace_root = ManifestRoot(state_);
  request.role = definition_.approver_role;
  const Json* agent = state_.Find(kAgentKey);
  for (const std::string& who : {agent == nullptr ? std::string() : TextIn(*agent, "owner"), definition_.name})
    if (!who.empty() && std::find(request.requesters.begin(), request.requesters.end(), who) == request.requesters.end())
      request.requesters.push_back(who);
  request.allow_requester = definition_.allow_requester;
  request.requested_at = now_;
  if (definition_.approval_timeout) request.expires_at = now_ + *definition_.approval_timeout;
  request.digest = approval::DigestOf(request);
  return request;
}

void Decider::ShowApproval(const approval::Request& request) {
  const std::string payload = DumpJson(approval::ToJson(request));
  std::erase_if(decision_.outbox,
                [&](const OutboxRow& row) { return row.topic == approval::kShownTopic && row.key == request.approval_id; });
  decision_.outbox.push_back({std::string(approval::kShownTopic), request.approval_id, payload});
}

void Decider::AskPerson(const std::string& why) {
  const Json* action = state_.Find(ActionKey(course_->action));
  approval::Request request = RequestOf(*action, why);
  if (const auto bytes = DumpedBytes(request.arguments); bytes > approval::kMostArgumentBytes)
    return EndAction(
        OutcomeOf("refused", "too-large", fmt::format("its inputs of {} bytes are more than a person can be asked about", bytes)), "", 0,
        Json::object());
  Ask(std::move(request));
}

void Decider::Ask(approval::Request request) {
  if (request.expires_at) SetTimer(kApprovalTimer, *request.expires_at);
  Json facts = Facts();
  facts["action"] = course_->action + 1;
  facts["approval_id"] = request.approval_id;
  facts["digest"] = request.digest;
  facts["message"] = request.message;
  facts["arguments"] = request.arguments;
  if (request.version > 1) facts["version"] = request.version;
  course_->at = Point::kApprove;
  Put(kApprovalKey, approval::ToJson(request));
  Emit(event::kApprovalRequested, std::move(facts));
  ShowApproval(request);
}

void Decider::EndApproval(approval::Request request, std::string_view state, Json facts) {
  request.state = state;
  request.decided_at = now_;
  ClearTimer(kApprovalTimer);
  facts["approval_id"] = request.approval_id;
  facts["approval"] = request.state;
  Put(kApprovalKey, approval::ToJson(request));
  ShowApproval(request);
  Emit(event::kApprovalDecided, std::move(facts));
}

void Decider::TakeBackApproval(const std::string& code, const std::string& why) {
  const Json* entry = state_.Find(kApprovalKey);
  auto request = entry == nullptr ? Result<approval::Request>(Error{Code::kNotFound, ""}) : approval::RequestFrom(*entry);
  if (request && request->pending())
    EndApproval(std::move(*request), code == "approval-timeout" ? approval::kTimeout : approval::kCancelled, Facts());
  EndAction(OutcomeOf("refused", code, why), "", 0, Json::object());
}

void Decider::ApprovalTimer() {
  const Json* entry = state_.Find(kApprovalKey);
  if (!course_ || course_->at != Point::kApprove || entry == nullptr) return;
  const auto request = approval::RequestFrom(*entry);
  if (!request || !request->pending() || !request->expires_at || now_ < *request->expires_at) return;
  TakeBackApproval("approval-timeout", "nobody decided in time");
  Loop();
}

void Decider::DecideApproval(const InboxInput& input) {
  const approval::Decision said = approval::DecisionFrom(input.payload);
  const Json* entry = state_.Find(kApprovalKey);
  auto request = entry == nullptr ? std::nullopt : std::optional(approval::RequestFrom(*entry));
  const std::string approval_id = TextOrNone(input.payload, "approval_id");
  const auto refuse = [&](const std::string& code, const std::string& why) {
    Json facts = InboxFacts(input);
    facts["kind"] = input.kind;
    facts["reason"] = why;
    facts["code"] = code;
    facts["approval_id"] = Brief(approval_id, kKeptInBrief);
    approval::AddDecision(approval::CutTo(said), facts);
    Emit(event::kInputRefused, std::move(facts));
  };
  if (!course_ || course_->at != Point::kApprove || !request || !*request || (*request)->approval_id != approval_id)
    return refuse(approval_id.starts_with(session_id_ + ":") ? "not-pending" : "not-asked",
                  fmt::format("nobody is asked about '{}' (any more)", Brief(approval_id, kKeptInBrief)));
  approval::Request asked = **request;
  const WallTime heard = input.payload.contains("received_at") ? std::min(TimeIn(input.payload, "received_at"), now_) : now_;
  const approval::Verdict verdict = approval::Decide(asked, asked.votes, said, heard);
  if (verdict.kind == approval::Verdict::Kind::kRefused) return refuse(verdict.code, verdict.why);
  if (verdict.kind != approval::Verdict::Kind::kRejects) {
    approval::Request now = RequestOf(*state_.Find(ActionKey(course_->action)), asked.description);
    if (now.digest != asked.digest) {
      refuse("digest-mismatch", "what is asked has changed since; look at it again (airun approvals show)");
      now.version = asked.version + 1;
      now.requested_at = asked.requested_at;
      now.expires_at = asked.expires_at;
      return Ask(std::move(now));
    }
  }
  Json facts = Facts();
  facts.update(InboxFacts(input));
  approval::AddDecision(said, facts);
  asked.decided_by = said.by;
  asked.comment = said.comment;
  if (verdict.kind == approval::Verdict::Kind::kRejects) {
    EndApproval(std::move(asked), approval::kRejected, std::move(facts));
    EndAction(OutcomeOf("refused", "rejected", fmt::format("{} said no{}", said.by, said.comment.empty() ? "" : ": " + said.comment)), "",
              0, Json::object());
  } else {
    asked.votes.push_back({said.by, now_, said.assurance, said.channel, said.comment});
    facts["vote"] = approval::VoteOf(said, now_);
    EndApproval(std::move(asked), approval::kApproved, std::move(facts));
    course_->approved = true;
    course_->at = Point::kAct;
  }
  Loop();
}

}  // namespace acl::agent
