// WAIT steps: nothing runs and no lease is held while one waits. Its turn is an event and a timer in the commit of what made it ready; the
// timer fires by the database's clock, never before its time, and comes back as an input.

#include <fmt/format.h>

#include "shared/definition/duration.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/frontier.h"

namespace acl::workflow {

namespace {

std::string WaitTimerOf(const std::string& step_id) { return std::string(kWaitTimerPrefix) + step_id; }

Result<WallTime> DueAt(const WaitDefinition& wait, const Json& time, WallTime now) {
  if (!wait.until) {
    if (auto length = ParseDuration(time)) return now + *length;
    return Error{Code::kInvalid,
                 fmt::format("wait: {} is no length of time; it must be {}", DumpJson(time).substr(0, 200), kDurationForms)};
  }
  if (time.is_string()) {
    if (auto until = ParseWallTime(time.get_ref<const std::string&>())) return *until;
  }
  return Error{Code::kInvalid,
               fmt::format("wait: {} is no time; it must be like \"2027-01-01T08:00:00+01:00\"", DumpJson(time).substr(0, 200))};
}

}  // namespace

void Decider::BeginWaits(const std::vector<int>& steps) {
  for (int index : steps) {
    if (!definition_.step(index).wait) continue;
    RunRecord run = Run();
    if (run.status != RunStatus::kRunning || !Done().failed.empty()) return;
    if (definition_.RegionOf(index).foreach >= 0) continue;
    const Instance instance = definition_.InstanceOf(index, "", {});
    if (Step(instance).status != StepStatus::kPending || !Frontier(State(), definition_).Has(Frontier::Kind::kReady, instance)) continue;
    BeginWait(instance);
  }
}

void Decider::BeginWait(const Instance& instance) {
  const WaitDefinition& wait = *definition_.step(instance.step).wait;
  std::vector<std::string> missing;
  CapabilityCall resolved = ResolveCall("", Json{{"wait", wait.time}}, ScopeOf(State(), definition_, instance),
                                        UnansweredIn(definition_.definition(), nullptr), &missing);
  Result<WallTime> due = Error{Code::kInvalid, resolved.error};
  if (resolved.error.empty()) due = DueAt(wait, resolved.inputs["wait"], now_);
  Json facts = StepFacts(instance, 0);
  if (!missing.empty()) facts["missing"] = missing;
  if (!due) return FailedByItself(instance, std::move(facts), due.message());
  facts["due_at"] = FormatWallTime(*due);
  StopClock(facts);
  SetTimer(WaitTimerOf(instance.step_id), *due);
  Emit(event::kStepWaiting, std::move(facts));
}

void Decider::WaitTimer(const InboxInput& input, const std::string& step_id, std::optional<WallTime> fire_at) {
  const auto instance = definition_.Find(step_id);
  const RunRecord run = Run();
  if (!instance || run.phase != Phase::kForward) return;
  const StepRecord record = Step(*instance);
  if (record.status != StepStatus::kWaiting || !record.due_at) return;
  if ((fire_at && *fire_at != *record.due_at) || now_ < *record.due_at) return;
  const WallTime since = record.started_at.value_or(now_);
  Json facts = StepFacts(*instance, 1);
  facts.update(InboxFacts(input));
  facts["due_at"] = FormatWallTime(*record.due_at);
  facts["started_at"] = FormatWallTime(since);
  facts["duration_ms"] = std::chrono::duration_cast<milliseconds>(now_ - since).count();
  if (run.status == RunStatus::kRunning) StartClock(facts, 1);
  Json outputs = {{kWaitOutput, FormatWallTime(*record.due_at)}};
  CompletedByItself(*instance, std::move(facts), std::move(outputs), since);
  ConcludeRun();
}

}  // namespace acl::workflow
