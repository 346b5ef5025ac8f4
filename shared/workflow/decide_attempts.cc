// Attempts: resumed, starting, finished; what their outcome means for the step.

#include <fmt/format.h>

#include "shared/base/json_object.h"
#include "shared/capability/merge.h"
#include "shared/kernel/suspicion.h"
#include "shared/workflow/backoff.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/frontier.h"
#include "shared/workflow/step_id.h"

namespace acl::workflow {

using Outcome = StepResult::Outcome;

namespace {

constexpr std::string_view kLostToTakeover = "its worker lost the run before the outcome was recorded";

// Why outputs count as a failure, or nothing (docs/reference/other-runtimes.md#k22).
std::optional<std::string> FalseSuccessError(const CallTraits& traits, const Json& outputs) {
  if (traits.false_success != FalseSuccess::kFailure) return std::nullopt;
  const Json* success = MemberOf(&outputs, "success");
  if (!success || !success->is_boolean() || success->get<bool>()) return std::nullopt;
  for (auto key : {"error_message", "error"}) {
    if (std::string text = TextOf(&outputs, key); !text.empty()) return text;
  }
  return traits.capability + " answered success: false";
}

std::string TooMuchForRun(const Document& state, const Json& outputs) {
  return fmt::format(
      "its outputs of {} bytes would make the run's state larger than {} MiB, which is the most that one may be (it is {} bytes now): let "
      "steps write large results into files of the run, or make several runs of it",
      DumpedBytes(outputs), limits::kRunStateBytes / limits::kMiB, state.stored_bytes());
}

}  // namespace

void Decider::On(const ResumedInput& input) {
  if (Run().status == RunStatus::kPending) {
    Json facts = Json::object();
    auto limit = definition_.definition().max_execution_time;
    if (limit.count() > 0) {
      facts["deadline_at"] = FormatWallTime(now_ + limit);
      SetTimer(kDeadlineTimer, now_ + limit);
    }
    Emit(event::kWorkflowStarted, std::move(facts));
    List(RunStatus::kRunning);
    decision_.listing->started_at = now_;
    BeginWaits(definition_.waits());
  }
  std::vector<const AttemptRow*> rows;
  std::vector<StepRecord> records;
  std::vector<std::string> step_ids;
  for (const AttemptRow& row : input.open_attempts) {
    const auto instance = definition_.Find(row.step_id);
    if (!instance) continue;
    StepRecord record = Step(*instance);
    // Rows of attempts whose outcome is known are among them: the step has moved on.
    if (record.status != StepStatus::kRunning || record.attempt != row.attempt_id) continue;
    if (record.dispatch) continue;  // another worker's: whoever holds the run, its result comes by itself
    rows.push_back(&row);
    records.push_back(std::move(record));
    step_ids.push_back(row.step_id);
  }
  const std::vector<Deaths> deaths = DeathsOf(records, step_ids, input.died_alone);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const Instance instance = *definition_.Find(rows[n]->step_id);
    Lost(instance, Step(instance), rows[n]->attempt_id, std::string(kLostToTakeover), deaths[n]);
  }
  ConcludeRun();
}

std::vector<Decider::Deaths> Decider::DeathsOf(const std::vector<StepRecord>& in_flight, const std::vector<std::string>& step_ids,
                                               int died_alone) {
  std::vector<Deaths> deaths(in_flight.size());
  if (died_alone == 0) return deaths;
  const int done = Done().done;
  std::vector<std::size_t> each_time;
  for (std::size_t n = 0; n < in_flight.size(); ++n) {
    const StepRecord& record = in_flight[n];
    // No step completed since, and nobody released it from quarantine: then the count would have begun anew.
    const bool same_row = record.died_alone > 0 && record.died_done == done && record.died_alone <= died_alone;
    const int before = same_row ? record.died_with : 0;
    const int with = same_row && record.died_alone == died_alone ? before : before + 1;
    deaths[n].died = {{"alone", died_alone}, {"with", with}, {"done", done}};
    if (with == died_alone) each_time.push_back(n);
  }
  if (!IsJudged({died_alone, died_alone})) return deaths;
  std::string names;
  for (const std::size_t n : each_time) names += (names.empty() ? "'" : ", '") + step_ids[n] + "'";
  for (const std::size_t n : each_time) {
    deaths[n].judgement =
        fmt::format("{} workers in a row died with this run as the only suspect on them, and ", died_alone) +
        (each_time.size() == 1 ? "of its steps this one was in flight each time: it may be what kills them (a step that only computes or "
                                 "reads leaves no trace before it ends)"
                               : "the steps " + names.substr(0, 500) + " were in flight each time: which of them kills cannot be told");
  }
  return deaths;
}

void Decider::Lost(const Instance& instance, const StepRecord& record, int attempt, const std::string& why, const Deaths& deaths) {
  CallTraits traits = TraitsOf(definitions_, definition_, instance, State());
  if (Indifferent(instance)) return GiveUp(instance, attempt, why);
  if (!traits.repeatable() && traits.on_unknown == UnknownOutcome::kAsk) return AskPerson(instance, attempt, why);
  if (!traits.repeatable() && traits.on_unknown == UnknownOutcome::kFail) {
    return FailedForGood(instance, record.attempts + 1, attempt, "outcome unknown: " + why, std::nullopt);
  }
  if (!deaths.judgement.empty()) return FailedForGood(instance, record.attempts + 1, attempt, deaths.judgement, std::nullopt);
  Json facts = StepFacts(instance, attempt);
  facts["why"] = why;
  if (!deaths.died.is_null()) facts["died"] = deaths.died;
  if (!instance.undo && Run().phase == Phase::kStopping) facts["settle"] = true;
  Emit(event::kStepAttemptLost, std::move(facts));
}

void Decider::GiveUp(const Instance& instance, int attempt, const std::string& why) {
  Json facts = StepFacts(instance, attempt);
  facts["error"] = why;
  facts["unknown"] = true;
  Emit(event::kStepCancelled, std::move(facts));
}

// Files need no thought: those of an attempt without a recorded end were never merged.
bool Decider::Indifferent(const Instance& instance) {
  if (instance.undo) return false;
  RunRecord run = Run();
  return run.phase == Phase::kStopping && !(run.rollback && definition_.step(instance.step).compensation.has_value());
}

void Decider::AskPerson(const Instance& instance, int attempt, const std::string& why) {
  Json facts = StepFacts(instance, attempt);
  facts["why"] = why;
  StopClock(facts);
  Emit(event::kStepUncertain, std::move(facts));
}

void Decider::On(const StartingInput& input) {
  const auto instance = definition_.Find(input.step.step_id);
  if (!instance) return;
  RunRecord run = Run();
  Progress progress = Done();
  StepRecord record = Step(*instance);
  if (record.status != StepStatus::kPending) return;
  const bool settling = std::find(progress.settle.begin(), progress.settle.end(), instance->step_id) != progress.settle.end();
  if (instance->undo || settling) {
    if (run.phase != Phase::kStopping) return;
  } else if (run.status != RunStatus::kRunning || !Frontier(State(), definition_).Has(Frontier::Kind::kReady, *instance)) {
    return;
  }
  Json facts = StepFacts(*instance, input.attempt_id);
  note_ = input.step.note;
  AddMissing(facts);
  Json carried = Json::object();
  // Inputs without a template are what the definition says, at every attempt.
  const bool constant = !instance->undo && definition_.constant(instance->step);
  if (const Json* inputs = MemberOf(&input.step.call, kCallInputs); inputs && !record.call && !constant) {
    Json kept = ObjectFor(1);
    AddMember(kept, kCallInputs, *inputs);
    AddMember(carried, "call", std::move(kept));
  }
  if (input.step.target) return Dispatch(*instance, input, std::move(facts), std::move(carried));
  Emit(event::kStepStarted, std::move(facts), std::move(carried));
}

void Decider::On(const StepFinishedInput& input) {
  const auto instance = definition_.Find(input.step_id);
  RunRecord run = Run();
  if (!instance || run.phase == Phase::kClosed) return;
  StepRecord record = Step(*instance);
  CallTraits traits = TraitsOf(definitions_, definition_, *instance, State());
  const bool running = record.status == StepStatus::kRunning && record.attempt == input.attempt_id;
  if (!running) {
    // Pure and read attempts leave no event at their start; nor does one that had nothing to call.
    if (record.status != StepStatus::kPending) return;
    if (traits.journaled() && input.result.outcome != Outcome::kFailed) return;
    // Of a run that stops, what left no trace outside is dropped (its layer of files with it).
    if (!instance->undo && (run.phase == Phase::kStopping || !Frontier(State(), definition_).Has(Frontier::Kind::kReady, *instance)))
      return;
  }
  if (!record.call) note_ = input.note;  // else step.started has said so
  const StepResult& result = input.result;
  const Progress progress = Done();
  const bool stopping = run.phase == Phase::kStopping && !instance->undo;
  switch (result.outcome) {
    case Outcome::kSucceeded: {
      if (auto error = FalseSuccessError(traits, result.outputs)) {
        StepResult failed = result;
        failed.error = *error;
        Failed(*instance, record, input.attempt_id, failed, true);
      } else if (Status storable = CheckStorable(result.outputs); !storable || !result.outputs.is_object()) {
        StepResult failed = result;
        failed.error = storable ? "its outputs are not an object" : "its outputs cannot be stored: " + storable.message();
        Failed(*instance, record, input.attempt_id, failed, false);
      } else if (!instance->undo && OutgrowsRun(State(), result.outputs)) {
        StepResult failed = result;
        failed.error = TooMuchForRun(State(), result.outputs);
        Failed(*instance, record, input.attempt_id, failed, false);
      } else if (const auto conflict = FindConflict(State(), result.files)) {
        StepResult failed = result;
        failed.error = conflict->what + "; let one depend on the other (depends_on), or give each a file or folder of its own";
        Failed(*instance, record, input.attempt_id, failed, instance->undo);  // a compensation sees the files as they are next time
      } else if (instance->undo) {
        CompensationCompleted(*instance, input.attempt_id, result.outputs, RealChanges(State(), result.files));
      } else {
        const Document& before = State();
        Completed(*instance, record, input.attempt_id, result);
        // The usual cases need no fold: more to come, nothing to settle; or it was the last.
        if (run.status == RunStatus::kRunning && progress.failed.empty() && !definition_.has_own()) {
          if (progress.done + 1 < definition_.total()) return;
          const int last = definition_.last();
          return CompleteRun(instance->step == last ? &result.outputs : Lookup(before, VarKey(definition_.step(last).name)));
        }
      }
      break;
    }
    case Outcome::kFailed:
    case Outcome::kTimedOut: Failed(*instance, record, input.attempt_id, result, result.retryable && traits.known); break;
    case Outcome::kCancelled:
    case Outcome::kNotStarted:
      if (!running) return;  // runs again when it may
      if (const bool unsure = result.outcome == Outcome::kCancelled && traits.journaled() && !traits.repeatable(); stopping && !unsure) {
        Emit(event::kStepCancelled, StepFacts(*instance, input.attempt_id));
      } else if (result.outcome == Outcome::kNotStarted) {
        Json facts = StepFacts(*instance, input.attempt_id);
        if (!result.short_of.empty()) facts["why"] = result.short_of.substr(0, 500);
        Emit(event::kAttemptNotStarted, std::move(facts));
      } else {
        Lost(*instance, record, input.attempt_id, result.error.empty() ? std::string(kLostToTakeover) : result.error);
      }
      break;
    case Outcome::kUnknown: Unknown(*instance, record, input); break;
  }
  ConcludeRun();
}

void Decider::Unknown(const Instance& instance, const StepRecord& record, const StepFinishedInput& input) {
  CallTraits traits = TraitsOf(definitions_, definition_, instance, State());
  StepResult failed = input.result;
  failed.error = "outcome unknown: " +
                 (input.result.error.empty() ? std::string("the connection was lost after the call was sent") : input.result.error);
  if (!traits.journaled()) return Failed(instance, record, input.attempt_id, failed, true);  // nothing outside to be unsure of
  if (Indifferent(instance)) return GiveUp(instance, input.attempt_id, failed.error);
  const bool again = traits.repeatable() || traits.on_unknown == UnknownOutcome::kRetry;
  if (again && record.attempts + 1 < traits.retry.max_attempts) return Failed(instance, record, input.attempt_id, failed, true);
  if (traits.on_unknown == UnknownOutcome::kAsk) return AskPerson(instance, input.attempt_id, failed.error);
  FailedForGood(instance, record.attempts + 1, input.attempt_id, failed.error, std::nullopt);
}

void Decider::Failed(const Instance& instance, const StepRecord& record, int attempt, const StepResult& result, bool retryable) {
  CallTraits traits = TraitsOf(definitions_, definition_, instance, State());
  const int attempts = record.attempts + 1;
  const WallTime started = record.started_at.value_or(now_ - result.duration);
  std::string error = result.error.empty() ? std::string(result.outcome == Outcome::kTimedOut ? "timed out" : "failed") : result.error;
  const bool stopping = Run().phase == Phase::kStopping && !instance.undo;
  const bool settle = stopping && result.outcome == Outcome::kUnknown;
  if (!retryable || attempts >= traits.retry.max_attempts || (stopping && !settle)) {
    return FailedForGood(instance, attempts, attempt, error, started, result.duration);
  }
  const auto delay = std::max(RetryDelay(traits.retry, attempts, IdempotencyKeyOf(Run().run_id, instance.step_id)), result.retry_after);
  const WallTime retry_at = now_ + delay;
  if (traits.step_timeout && !settle && retry_at >= started + *traits.step_timeout) {
    return FailedForGood(instance, attempts, attempt,
                         fmt::format("step timeout of {} s passed; last error: {}", traits.step_timeout->count() / 1000, error), started,
                         result.duration);
  }
  Json facts = StepFacts(instance, attempt);
  if (settle) {
    facts["why"] = error;
    facts["settle"] = true;
    return Emit(event::kStepAttemptLost, std::move(facts));
  }
  facts["error"] = error;
  facts["attempts"] = attempts;
  facts["started_at"] = FormatWallTime(started);
  if (result.duration.count() > 0) facts["duration_ms"] = result.duration.count();
  AddMissing(facts);
  if (result.outcome == Outcome::kTimedOut) facts["timed_out"] = true;
  if (result.outcome == Outcome::kUnknown) facts["unknown"] = true;
  if (delay.count() > 0) {
    facts["retry_at"] = FormatWallTime(retry_at);
    SetTimer(RetryTimer(instance.step_id), retry_at);
  }
  Emit(event::kStepAttemptFailed, std::move(facts));
}

void Decider::FailedForGood(const Instance& instance, int attempts, int attempt, const std::string& error, std::optional<WallTime> started,
                            std::chrono::milliseconds took) {
  Json facts = StepFacts(instance, attempt);
  facts["error"] = error;
  facts["attempts"] = attempts;
  if (took.count() > 0) facts["duration_ms"] = took.count();
  if (started) facts["started_at"] = FormatWallTime(*started);
  AddMissing(facts);
  if (!instance.undo) {
    Emit(event::kStepFailed, std::move(facts));
    return;
  }
  CallTraits traits = TraitsOf(definitions_, definition_, instance, State());
  facts["capability"] = traits.capability;
  Emit(event::kCompensationFailed, std::move(facts));
  LogCompensation(instance, traits.capability, "failed", error);
}

}  // namespace acl::workflow
