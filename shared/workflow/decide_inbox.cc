// Outside inputs: cancel, pause, resume, resolve, signal, timer. Each leaves an event with its inbox id, refusals too; only a timer that
// has nothing to do any more leaves none.

#include <fmt/format.h>

#include "shared/kernel/create.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/end_reason.h"
#include "shared/workflow/events.h"
#include "shared/workflow/evolve.h"

namespace acl::workflow {

void Decider::On(const InboxInput& input) {
  if (input.kind == "timer") return Timer(input);
  const bool closed = Run().phase == Phase::kClosed;
  if (input.kind == "quarantine_released" && !closed) {
    Json facts = InboxFacts(input);
    facts["reason"] = TextOf(&input.payload, "reason");
    Emit(event::kQuarantineReleased, std::move(facts));
    return;
  }
  if (input.kind == kDispatchResultKind && !closed) return DispatchEnded(input);
  if (input.kind == "decide") return DecideApproval(input);
  if (closed) return Refuse(input, fmt::format("the run is {} already", Name(Run().status)));
  if (input.kind == kChildEndedPost) return ChildEnded(input);
  if (input.kind == kChildContinuedPost) return ChildContinued(input);
  if (input.kind == kParentStopsPost) {
    const Json* said = MemberOf(&input.payload, "said");
    return Cancel({input.id, input.kind, said ? *said : Json::object()});
  }
  if (input.kind == "cancel") return Cancel(input);
  if (input.kind == "pause") return Pause(input);
  if (input.kind == "resume") return Resume(input);
  if (input.kind == "resolve") return Resolve(input);
  if (input.kind == "signal") return Signal(input);
  Refuse(input, fmt::format("a workflow run has no input '{}'; it takes cancel, pause, resume, resolve, signal, decide", input.kind));
}

Json Decider::InboxFacts(const InboxInput& input) {
  Json facts = Json::object();
  if (!input.id.is_nil()) facts["inbox_id"] = input.id.ToString();
  if (std::string by = TextOf(&input.payload, "by"); !by.empty()) facts["by"] = by;
  return facts;
}

void Decider::Refuse(const InboxInput& input, const std::string& reason) {
  Json facts = InboxFacts(input);
  facts["kind"] = input.kind;
  facts["reason"] = reason;
  Emit(event::kInputRefused, std::move(facts));
}

void Decider::Cancel(const InboxInput& input) {
  RunRecord run = Run();
  if (!MayGo(run.status, RunStatus::kFailed)) return Refuse(input, fmt::format("the run is {} and stops already", Name(run.status)));
  std::string reason = TextOf(&input.payload, "reason");
  Fail(std::string(kCancelledReason), CancelledText(reason), "", FlagOf(&input.payload, "compensate"), InboxFacts(input));
  ConcludeRun();
}

void Decider::Pause(const InboxInput& input) {
  RunRecord run = Run();
  if (!MayGo(run.status, RunStatus::kPaused)) return Refuse(input, fmt::format("a run that is {} cannot be paused", Name(run.status)));
  Json facts = InboxFacts(input);
  facts["reason"] = TextOf(&input.payload, "reason");
  StopClock(facts);
  Emit(event::kWorkflowPaused, std::move(facts));
  List(RunStatus::kPaused);
}

void Decider::Resume(const InboxInput& input) {
  RunRecord run = Run();
  if (run.status != RunStatus::kPaused) return Refuse(input, fmt::format("a run that is {} cannot be resumed", Name(run.status)));
  Json facts = InboxFacts(input);
  StartClock(facts, 0);
  Emit(event::kWorkflowResumed, std::move(facts));
  List(RunStatus::kRunning);
  BeginWaits(definition_.waits());
  ConcludeRun();
}

void Decider::Resolve(const InboxInput& input) {
  std::string step_id = TextOf(&input.payload, "step_id");
  std::string decision = TextOf(&input.payload, "decision");
  const auto instance = definition_.Find(step_id);
  if (!instance) return Refuse(input, fmt::format("the workflow has no step '{}'", step_id));
  StepRecord record = Step(*instance);
  if (record.status != StepStatus::kUncertain) {
    return Refuse(input, fmt::format("step '{}' is {}; only an UNCERTAIN step can be resolved", step_id, Name(record.status)));
  }
  const Json* outputs = MemberOf(&input.payload, "outputs");
  if (decision != "completed" && decision != "failed" && decision != "retry") {
    return Refuse(input, fmt::format("decision '{}' is unknown; say completed, failed or retry", decision));
  }
  if (outputs && (!outputs->is_object() || !CheckStorable(*outputs))) return Refuse(input, "outputs must be an object that can be stored");

  RunRecord run = Run();
  Json facts = StepFacts(*instance, record.attempt);
  facts.update(InboxFacts(input));
  facts["decision"] = decision;
  if (decision == "retry" && run.phase == Phase::kStopping && !instance->undo) facts["settle"] = true;
  if (run.status == RunStatus::kRunning) StartClock(facts, 1);
  Emit(event::kStepResolved, std::move(facts));

  std::string by = TextOf(&input.payload, "by");
  if (decision == "failed") {
    FailedForGood(*instance, record.attempts + 1, record.attempt, fmt::format("resolved as failed{}{}", by.empty() ? "" : " by ", by),
                  std::nullopt);
  } else if (decision == "completed") {
    StepResult result;
    if (outputs) result.outputs = *outputs;
    if (instance->undo) {
      CompensationCompleted(*instance, record.attempt, result.outputs, {});
    } else {
      Completed(*instance, record, record.attempt, std::move(result));
    }
  }
  ConcludeRun();
}

void Decider::Timer(const InboxInput& input) {
  std::string timer_id = TextOf(&input.payload, "timer_id");
  std::optional<WallTime> fire_at = TimeOf(&input.payload, "fire_at");
  RunRecord run = Run();
  if (run.phase == Phase::kClosed) return;
  if (timer_id == kDeadlineTimer) {
    if (run.status == RunStatus::kPending) {  // said by who saw that no worker is there to begin it
      Fail(std::string(kTimeoutReason),
           fmt::format("{}max_execution_time_seconds ({}): no worker of queue '{}' began it", kTimeoutText,
                       definition_.definition().max_execution_time.count(), definition_.definition().queue),
           "", false, InboxFacts(input));
      return ConcludeRun();
    }
    if (run.phase != Phase::kForward || !run.deadline || (fire_at && *fire_at != *run.deadline) || now_ < *run.deadline) return;
    Fail(std::string(kTimeoutReason),
         fmt::format("{}max_execution_time_seconds ({})", kTimeoutText, definition_.definition().max_execution_time.count()), "",
         definition_.definition().enable_auto_rollback, InboxFacts(input));
    return ConcludeRun();
  }
  if (timer_id == kGoOnTimer) return ConcludeRun();
  if (timer_id.starts_with(kDispatchTimerPrefix)) return DispatchTimer(timer_id.substr(kDispatchTimerPrefix.size()));
  if (timer_id.starts_with(kWaitTimerPrefix)) return WaitTimer(input, timer_id.substr(kWaitTimerPrefix.size()), fire_at);
  if (timer_id.starts_with(kApprovalTimerPrefix)) return ApprovalTimer(input, timer_id.substr(kApprovalTimerPrefix.size()));
  if (timer_id.starts_with(kSignalTimerPrefix)) return SignalTimer(input, timer_id.substr(kSignalTimerPrefix.size()), fire_at);
  constexpr std::string_view kRetry = "retry:";
  if (!timer_id.starts_with(kRetry)) return;
  const auto instance = definition_.Find(timer_id.substr(kRetry.size()));
  if (!instance || (run.phase == Phase::kStopping && !instance->undo)) return;
  StepRecord record = Step(*instance);
  if (record.status != StepStatus::kRetryWait || !record.retry_at) return;
  if ((fire_at && *fire_at != *record.retry_at) || now_ < *record.retry_at) return;
  Json facts = StepFacts(*instance, 0);
  facts.update(InboxFacts(input));
  Emit(event::kStepRetryDue, std::move(facts));
}

}  // namespace acl::workflow
