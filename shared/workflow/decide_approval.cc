// HUMAN_APPROVAL steps: a person is asked in the commit that made the step's turn come, and the answer comes as an input. In between
// nothing runs, no lease is held, and the run's own time stands still. Who may decide is said by approval::Decide alone; what it refuses is
// on record with who was first.

#include <fmt/format.h>

#include <algorithm>

#include "shared/approval/decision_json.h"
#include "shared/base/json_object.h"
#include "shared/kernel/publish.h"
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

Json OutputsOfApproval(const approval::Decision& decision, WallTime now) {
  return {{"decision", approval::kApproved},
          {"approver", decision.by},
          {"approver_email", decision.by.find('@') == std::string::npos ? "" : decision.by},
          {"decided_at", FormatWallTime(now)},
          {"comment", decision.comment}};
}

}  // namespace

void Decider::BeginApproval(const Instance& instance) {
  Json facts = StepFacts(instance, 0);
  const auto request = RequestOf(instance, facts);
  if (!request) return FailedByItself(instance, std::move(facts), request.message());
  if (OutgrowsRun(State(), request->arguments))
    return FailedByItself(instance, std::move(facts), "its inputs would make the run's state larger than one may be: say where it lies");
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
  const ApprovalDefinition& said = *definition_.step(instance.step).approval;
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
  const std::string& endpoint = definition_.step(instance.step).approval->notify;
  if (endpoint.empty()) return;
  const std::string what = fmt::format("{}:{}#{}", event, instance.step_id, number);
  decision_.outbox.push_back(ApprovalMessage(request, MessageIdOf(request.run_id, what), event, endpoint));
}

void Decider::ApprovalTimer(const InboxInput& input, const std::string& step_id) {
  const auto instance = definition_.Find(step_id);
  if (!instance || instance->undo || Run().phase != Phase::kForward) return;
  auto request = ReadApproval(State(), step_id);
  if (!request || !request->pending() || !definition_.step(instance->step).approval) return;
  if (request->expires_at && now_ >= *request->expires_at) return TimeOut(input, *instance, *request);
  const ApprovalDefinition& said = *definition_.step(instance->step).approval;
  int reminded = int(NumberOf(Step(*instance).json, "reminders"));
  const int before = reminded;
  while (reminded < int(said.remind.size()) && now_ >= request->requested_at + said.remind[std::size_t(reminded)]) ++reminded;
  if (reminded > before) {  // of several that are late the last says all
    Json facts = StepFacts(*instance, 0);
    facts.update(InboxFacts(input));
    facts["reminder"] = reminded;
    Tell(*instance, *request, kApprovalReminder, reminded);
    Emit(event::kApprovalReminded, std::move(facts));
  }
  if (said.escalate_after && request->escalated_roles.empty() && now_ >= request->requested_at + *said.escalate_after) {
    Json facts = StepFacts(*instance, 0);
    facts.update(InboxFacts(input));
    const std::string& role = request->escalate_to.empty() ? said.escalate_to : request->escalate_to;
    facts["role"] = role;
    request->escalated_roles.push_back(role);
    Emit(event::kApprovalEscalated, std::move(facts));
    Tell(*instance, *request, kApprovalReminder, int(said.remind.size()) + 1);
  }
  SetApprovalTimer(*instance, *request, reminded);
}

// What a yes is about is looked at once more before it counts: values that other steps gave out meanwhile may have made it another thing.
// True: it is another. The yes is refused, and what is asked now is asked from the beginning.
bool Decider::AskAnew(const InboxInput& input, const Instance& instance, const Request& request, const approval::Decision& decision) {
  Json facts = StepFacts(instance, 0);
  auto now = RequestOf(instance, facts);
  if (now && now->digest == request.digest) return false;
  RefuseDecision(
      input, decision, request, "digest-mismatch",
      now ? fmt::format("what is asked has changed since: it has the digest {} now; look at it again (airun approvals show)", now->digest)
          : "what is asked has changed since, and cannot be asked any more: " + now.message());
  if (!now) {
    facts["approval"] = approval::kCancelled;
    if (Run().status == RunStatus::kRunning) StartClock(facts, 1);
    ClearTimer(ApprovalTimerOf(instance.step_id));
    FailedByItself(instance, std::move(facts), now.message());
    ConcludeRun();
    return true;
  }
  now->requested_at = request.requested_at;
  now->expires_at = request.expires_at;
  now->escalated_roles = request.escalated_roles;
  now->version = request.version + 1;
  facts["approval_id"] = now->approval_id;
  facts["digest"] = now->digest;
  facts["needed"] = now->needed;
  facts["version"] = now->version;
  Tell(instance, *now, kApprovalRequired, now->version - 1);
  Json carried = ObjectFor(1);
  AddMember(carried, "request", approval::ToJson(*now));
  Emit(event::kApprovalRequested, std::move(facts), std::move(carried));
  return true;
}

void Decider::TimeOut(const InboxInput& input, const Instance& instance, const Request& request) {
  Json facts = StepFacts(instance, 1);
  facts.update(InboxFacts(input));
  facts["approval"] = approval::kTimeout;
  facts["approval_id"] = request.approval_id;
  if (Run().status == RunStatus::kRunning) StartClock(facts, 1);
  FailedByItself(instance, std::move(facts), fmt::format("{} {}", kApprovalTimeoutText, FormatWallTime(*request.expires_at)));
  ConcludeRun();
}

void Decider::RefuseDecision(const InboxInput& input, const approval::Decision& decision, const std::optional<Request>& request,
                             const std::string& code, const std::string& why) {
  Json facts = InboxFacts(input);
  facts["kind"] = input.kind;
  facts["reason"] = why;
  facts["code"] = code;
  facts["approval_id"] = TextOf(&input.payload, "approval_id").substr(0, 1'000);
  approval::AddDecision(approval::CutTo(decision), facts);
  if (request && !request->pending()) facts["winner"] = approval::OutcomeText(*request);
  Emit(event::kInputRefused, std::move(facts));
}

void Decider::DecideApproval(const InboxInput& input) {
  const approval::Decision decision = approval::DecisionFrom(input.payload);
  const std::string approval_id = TextOf(&input.payload, "approval_id");
  const auto name = ParseApprovalId(approval_id);
  const auto instance = name && name->run_id == Run().run_id ? definition_.Find(name->step_id) : std::nullopt;
  auto request = instance ? ReadApproval(State(), instance->step_id) : std::nullopt;
  if (!request)
    return RefuseDecision(input, decision, request, "not-asked", fmt::format("nobody is asked about '{}'", approval_id.substr(0, 1'000)));
  if (request->pending() && Run().phase != Phase::kForward) request->state = approval::kCancelled;
  // It counts from when the database took it: a worker that is late takes nothing from who was in time.
  const WallTime heard = std::min(TimeOf(&input.payload, "received_at").value_or(now_), now_);
  const Verdict verdict = approval::Decide(*request, request->votes, decision, heard);
  if (verdict.kind == Verdict::Kind::kRefused) return RefuseDecision(input, decision, request, verdict.code, verdict.why);

  if (verdict.kind != Verdict::Kind::kRejects && AskAnew(input, *instance, *request, decision)) return;
  const bool vote = verdict.kind == Verdict::Kind::kVote;
  Json facts = StepFacts(*instance, vote ? 0 : 1);
  facts.update(InboxFacts(input));
  facts["approval_id"] = request->approval_id;
  approval::AddDecision(decision, facts);
  if (verdict.kind != Verdict::Kind::kRejects) facts["vote"] = approval::VoteOf(decision, now_);
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
  ConcludeRun();
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
  const auto failed = definition_.Find(step_id);
  const std::string name = failed && failed->step >= 0 ? NameOf(*failed) : step_id;
  return {std::string(kStepFailedReason), fmt::format("step '{}' failed: {}", name, ReadStep(State(), step_id).error)};
}

void Decider::ShowApprovals() {
  if (!definition_.has_approvals() || decision_.events.empty()) return;
  std::vector<std::string> before = PendingApprovals(first_);
  const std::vector<std::string> after = PendingApprovals(State());
  for (const EventDraft& draft : decision_.events)  // a question that is taken back at once was asked: a webhook says so
    if (draft.type == event::kApprovalRequested) before.push_back(TextOf(&draft.facts, "step_id"));
  const auto holds = [](const std::vector<std::string>& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  const auto show = [&](const std::string& step_id, bool open) {
    auto request = ReadApproval(State(), step_id);
    if (!request) return;
    if (!open && request->pending()) request->state = approval::kCancelled;
    decision_.outbox.push_back({std::string(approval::kShownTopic), request->approval_id, DumpJson(approval::ToJson(*request))});
  };
  for (const std::string& step_id : before)
    if (!holds(after, step_id)) show(step_id, false);
  for (const std::string& step_id : after) {
    const Json *was = Lookup(first_, ApprovalKey(step_id)), *is = Lookup(State(), ApprovalKey(step_id));
    if (!was || (is && *was != *is)) show(step_id, true);
  }
  const RunRecord run = Run();
  if (run.phase != Phase::kForward || run.status != RunStatus::kRunning || (before.empty() && after.empty())) return;
  const bool waits = WaitsForApproval(State(), definition_.total(), run, Done());
  const auto old = ReadRun(first_);
  if (!decision_.listing && old && waits == WaitsForApproval(first_, definition_.total(), *old, ReadProgress(first_))) return;  // as it was
  List(waits ? RunStatus::kPaused : RunStatus::kRunning);
}

}  // namespace acl::workflow
