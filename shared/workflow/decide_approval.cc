// HUMAN_APPROVAL steps: a person is asked in the commit that made the step's turn come, and the answer comes as an input. In between
// nothing runs, no lease is held, and the run's own time stands still. Who may decide is said by approval::Decide alone; what it refuses is
// on record with who was first.

#include <fmt/format.h>

#include <algorithm>

#include "shared/approval/digest.h"
#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/kernel/publish.h"
#include "shared/spec/duration.h"
#include "shared/workflow/approval_message.h"
#include "shared/workflow/approvals.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/end_reason.h"
#include "shared/workflow/events.h"

namespace acl::workflow {

namespace {

using approval::Request;
using approval::Verdict;

std::string ApprovalTimerOf(const std::string& step_id) { return std::string(kApprovalTimerPrefix) + step_id; }

// Of the files that the run has: what a decision is about may stand in them.
std::string WorkspaceRootOf(const Document& state) {
  Json manifest = Json::object();
  state.ForEach([&](const std::string& key, const Json& entry) {
    if (key.starts_with(kFileKeyPrefix)) manifest[key] = entry;
    return true;
  });
  return manifest.empty() ? "" : ToHex(CanonicalHash(manifest));
}

std::string TextAt(const Json& inputs, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Json* value = MemberOf(&inputs, key);
    if (value && value->is_string() && !value->get_ref<const std::string&>().empty()) return value->get<std::string>();
    if (value && !value->is_string() && !value->is_null()) return DumpJson(*value);
  }
  return "";
}

void AddRequester(Request& request, const std::string& who) {
  if (!who.empty() && std::find(request.requesters.begin(), request.requesters.end(), who) == request.requesters.end())
    request.requesters.push_back(who);
}

approval::Decision DecisionFrom(const Json& payload) {
  approval::Decision out;
  out.decision = TextOf(&payload, "decision");
  out.by = TextOf(&payload, "by");
  out.assurance = TextOf(&payload, "assurance");
  if (out.by.empty()) out.by = TextOf(&payload, "approver");
  out.roles = ListOf(&payload, "roles");
  out.channel = TextOf(&payload, "channel");
  out.comment = TextOf(&payload, "comment");
  out.digest = TextOf(&payload, "digest");
  out.shown_digest = TextOf(&payload, "shown_digest");
  return out;
}

// Everything that is known of who decided, and how.
void AddDecision(const approval::Decision& decision, Json& facts) {
  facts["decision"] = decision.decision;
  facts["digest"] = decision.digest;
  facts["decided_by"] = decision.by;
  for (const auto& [key, text] : {std::pair<const char*, const std::string&>{"assurance", decision.assurance},
                                  {"channel", decision.channel},
                                  {"comment", decision.comment},
                                  {"shown_digest", decision.shown_digest}})
    if (!text.empty()) facts[key] = text;
}

Json VoteOf(const approval::Decision& decision, WallTime now) {
  Json vote = {{"by", decision.by}, {"at", FormatWallTime(now)}, {"assurance", decision.assurance}, {"channel", decision.channel}};
  if (!decision.comment.empty()) vote["comment"] = decision.comment;
  return vote;
}

Json OutputsOfApproval(const approval::Decision& decision, WallTime now) {
  return {{"decision", approval::kApproved},
          {"approver", decision.by},
          {"approver_email", decision.by.find('@') == std::string::npos ? "" : decision.by},
          {"decided_at", FormatWallTime(now)},
          {"comment", decision.comment}};
}

}  // namespace

// What is asked, all of it resolved; kInvalid: why it cannot be.
Result<Request> Decider::RequestOf(const Instance& instance, Json& facts) {
  const StepSpec& step = spec_.step(instance.step);
  const ApprovalSpec& said = *step.approval;
  Json asked = {{"inputs", step.inputs}, {"role", said.role}, {"approvers", said.approvers}};
  if (said.timeout) asked["timeout"] = *said.timeout;
  std::vector<std::string> missing;
  CapabilityCall resolved = ResolveCall("", asked, ScopeOf(State(), spec_, instance), UnansweredIn(spec_.spec(), nullptr), &missing);
  if (!missing.empty()) facts["missing"] = missing;
  if (!resolved.error.empty()) return Error{Code::kInvalid, resolved.error};
  Json& given = resolved.inputs;
  const RunRecord run = Run();
  Request request;
  request.run_id = run.run_id;
  request.step_id = instance.step_id;
  request.approval_id = ApprovalIdOf(run.run_id, instance.step_id);
  request.step_name = step.name;
  request.workflow = spec_.spec().name;
  request.description = step.description;
  request.risk = RiskName(step.risk);
  request.message = TextAt(given["inputs"], {"message", "approval_message"});
  if (request.message.empty()) request.message = fmt::format("May step '{}' of {} go on?", step.name, spec_.spec().name);
  request.arguments = std::move(given["inputs"]);
  if (const auto bytes = DumpedBytes(request.arguments); bytes > approval::kMostArgumentBytes)
    return Error{Code::kInvalid,
                 fmt::format("its inputs are {} bytes, more than the {} that a person can be asked about: say where it lies", bytes,
                             approval::kMostArgumentBytes)};
  request.workspace_root = WorkspaceRootOf(State());
  request.role = TextAt(given, {"role"});
  request.approvers = ListOf(&given, "approvers");
  for (const auto& who : {TextOf(run.json, "submitter"), TextOf(run.json, "owner"), step.agent_name}) AddRequester(request, who);
  request.needed = said.min_approvals;
  request.allow_requester = said.allow_requester;
  request.requested_at = now_;
  if (said.timeout) {
    const auto length = ParseDuration(given["timeout"]);
    if (!length || length->count() == 0)
      return Error{Code::kInvalid, fmt::format("the time to decide is {}, which is no length of time; it must be {}",
                                               DumpJson(given["timeout"]).substr(0, 200), kDurationForms)};
    request.expires_at = now_ + *length;
  }
  request.digest = approval::DigestOf(request);
  return request;
}

void Decider::BeginApproval(const Instance& instance) {
  Json facts = StepFacts(instance, 0);
  const auto request = RequestOf(instance, facts);
  if (!request) return FailedByItself(instance, std::move(facts), request.message());
  facts["approval_id"] = request->approval_id;
  facts["digest"] = request->digest;
  facts["needed"] = request->needed;
  if (request->expires_at) facts["due_at"] = FormatWallTime(*request->expires_at);
  StopClock(facts);
  SetApprovalTimer(instance, *request, 0);
  Tell(instance, *request, kApprovalRequired, 0);
  Json carried = ObjectFor(1);
  AddMember(carried, "request", approval::ToJson(*request));
  Emit(event::kApprovalRequested, std::move(facts), std::move(carried));
}

// The next of its times: a reminder, the escalation, the end. `reminded`: reminders that are behind.
void Decider::SetApprovalTimer(const Instance& instance, const Request& request, int reminded) {
  const ApprovalSpec& said = *spec_.step(instance.step).approval;
  std::optional<WallTime> next = request.expires_at;
  const auto consider = [&](milliseconds after) {
    const WallTime at = request.requested_at + after;
    if (!next || at < *next) next = at;
  };
  if (reminded < int(said.remind.size())) consider(said.remind[std::size_t(reminded)]);
  if (said.escalate_after && request.escalated_roles.empty()) consider(*said.escalate_after);
  if (next) SetTimer(ApprovalTimerOf(instance.step_id), *next);
}

void Decider::Tell(const Instance& instance, const Request& request, std::string_view event, int number) {
  const std::string& endpoint = spec_.step(instance.step).approval->notify;
  if (endpoint.empty()) return;
  const std::string what = fmt::format("{}:{}#{}", event, instance.step_id, number);
  decision_.outbox.push_back(ApprovalMessage(request, MessageIdOf(request.run_id, what), event, endpoint));
}

void Decider::ApprovalTimer(const InboxInput& input, const std::string& step_id) {
  const auto instance = spec_.Find(step_id);
  if (!instance || instance->undo || Run().phase != Phase::kForward) return;
  auto request = ReadApproval(State(), step_id);
  if (!request || !request->pending() || !spec_.step(instance->step).approval) return;
  if (request->expires_at && now_ >= *request->expires_at) return TimeOut(input, *instance, *request);
  const ApprovalSpec& said = *spec_.step(instance->step).approval;
  int reminded = int(NumberOf(Step(*instance).json, "reminders"));
  while (reminded < int(said.remind.size()) && now_ >= request->requested_at + said.remind[std::size_t(reminded)]) {
    Json facts = StepFacts(*instance, 0);
    facts.update(InboxFacts(input));
    facts["reminder"] = ++reminded;
    Tell(*instance, *request, kApprovalReminder, reminded);
    Emit(event::kApprovalReminded, std::move(facts));
  }
  if (said.escalate_after && request->escalated_roles.empty() && now_ >= request->requested_at + *said.escalate_after) {
    Json facts = StepFacts(*instance, 0);
    facts.update(InboxFacts(input));
    facts["role"] = said.escalate_to;
    request->escalated_roles.push_back(said.escalate_to);
    Emit(event::kApprovalEscalated, std::move(facts));
    Tell(*instance, *request, kApprovalReminder, int(said.remind.size()) + 1);
  }
  SetApprovalTimer(*instance, *request, reminded);
}

void Decider::TimeOut(const InboxInput& input, const Instance& instance, const Request& request) {
  Json facts = StepFacts(instance, 1);
  facts.update(InboxFacts(input));
  facts["approval"] = approval::kTimeout;
  facts["approval_id"] = request.approval_id;
  if (Run().status == RunStatus::kRunning) StartClock(facts, 1);
  FailedByItself(instance, std::move(facts), fmt::format("{} {}", kApprovalTimeoutText, FormatWallTime(*request.expires_at)));
  Settle();
}

void Decider::RefuseDecision(const InboxInput& input, const approval::Decision& decision, const std::optional<Request>& request,
                             const std::string& code, const std::string& why) {
  Json facts = InboxFacts(input);
  facts["kind"] = input.kind;
  facts["reason"] = why;
  facts["code"] = code;
  facts["approval_id"] = TextOf(&input.payload, "approval_id").substr(0, 1'000);
  AddDecision(decision, facts);
  if (request && !request->pending()) facts["winner"] = approval::OutcomeText(*request);
  Emit(event::kInputRefused, std::move(facts));
}

void Decider::DecideApproval(const InboxInput& input) {
  const approval::Decision decision = DecisionFrom(input.payload);
  const std::string approval_id = TextOf(&input.payload, "approval_id");
  const auto name = ParseApprovalId(approval_id);
  const auto instance = name && name->run_id == Run().run_id ? spec_.Find(name->step_id) : std::nullopt;
  auto request = instance ? ReadApproval(State(), instance->step_id) : std::nullopt;
  if (!request)
    return RefuseDecision(input, decision, request, "not-asked", fmt::format("nobody is asked about '{}'", approval_id.substr(0, 1'000)));
  if (request->pending() && Run().phase != Phase::kForward) request->state = approval::kCancelled;
  const Verdict verdict = approval::Decide(*request, request->votes, decision, now_);
  if (verdict.kind == Verdict::Kind::kRefused) return RefuseDecision(input, decision, request, verdict.code, verdict.why);

  const bool vote = verdict.kind == Verdict::Kind::kVote;
  Json facts = StepFacts(*instance, vote ? 0 : 1);
  facts.update(InboxFacts(input));
  facts["approval_id"] = request->approval_id;
  AddDecision(decision, facts);
  if (verdict.kind != Verdict::Kind::kRejects) facts["vote"] = VoteOf(decision, now_);
  if (vote) return Emit(event::kApprovalVote, std::move(facts));
  if (Run().status == RunStatus::kRunning) StartClock(facts, 1);
  ClearTimer(ApprovalTimerOf(instance->step_id));
  if (verdict.kind == Verdict::Kind::kApproves) {
    facts["approval"] = approval::kApproved;
    CompletedByItself(*instance, std::move(facts), OutputsOfApproval(decision, now_), request->requested_at);
  } else {
    facts["approval"] = approval::kRejected;
    FailedByItself(*instance, std::move(facts),
                   fmt::format("{} {}{}{}", kRejectedText, decision.by, decision.comment.empty() ? "" : ": ", decision.comment));
  }
  Settle();
}

// What ended the run first, if it was a person's no or nobody's answer: it ends FAILED then, whatever was undone.
Decider::Failure Decider::WhyFailed(const std::string& step_id) {
  std::string cause = step_id;
  for (;;) {  // a scope fails by what failed in it
    const Json* record = Lookup(State(), StepKey(cause));
    const std::string inner = ReadScope(record).failed;
    if (inner.empty() || inner == cause) break;
    cause = inner;
  }
  const StepRecord record = ReadStep(State(), cause);
  const std::string ended = TextOf(record.json, "approval");
  if (ended == approval::kRejected) return {std::string(kRejectedReason), record.error};
  if (ended == approval::kTimeout) return {std::string(kApprovalTimeoutReason), record.error};
  const auto failed = spec_.Find(step_id);
  const std::string name = failed && failed->step >= 0 ? NameOf(*failed) : step_id;
  return {std::string(kStepFailedReason), fmt::format("step '{}' failed: {}", name, ReadStep(State(), step_id).error)};
}

void Decider::ShowApprovals() {
  if (!spec_.has_approvals() || decision_.events.empty()) return;
  const std::vector<std::string> before = PendingApprovals(first_), after = PendingApprovals(State());
  const auto holds = [](const std::vector<std::string>& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  const auto show = [&](const std::string& step_id, bool open) {
    auto request = ReadApproval(State(), step_id);
    if (!request) return;
    if (!open && request->pending()) request->state = approval::kCancelled;
    decision_.outbox.push_back({std::string(kApprovalTopic), request->approval_id, DumpJson(approval::ToJson(*request))});
  };
  for (const std::string& step_id : before)
    if (!holds(after, step_id)) show(step_id, false);
  for (const std::string& step_id : after) {
    const Json *was = Lookup(first_, ApprovalKey(step_id)), *is = Lookup(State(), ApprovalKey(step_id));
    if (!holds(before, step_id) || (was && is && *was != *is)) show(step_id, true);
  }
  const RunRecord run = Run();
  if (run.phase != Phase::kForward || run.status != RunStatus::kRunning || (before.empty() && after.empty())) return;
  List(WaitsForApproval(State(), spec_.total(), run, Done()) ? RunStatus::kPaused : RunStatus::kRunning);
}

}  // namespace acl::workflow
