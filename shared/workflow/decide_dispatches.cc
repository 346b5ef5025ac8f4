// Dispatched steps: the dispatch that goes out, and what comes back (docs/architecture.md#dispatch). What a result means is said once, for
// steps that ran here and steps that ran elsewhere (decide_attempts.cc).

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/json_object.h"
#include "shared/capability/manifest.h"
#include "shared/kernel/suspicion.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"

namespace acl::workflow {

using Outcome = StepResult::Outcome;

namespace {

// A dispatch carries the run's manifest; contents are fetched by hash by whoever runs it.
constexpr std::size_t kMaxManifestBytes = 1u << 20;

// From the second worker in a row on that ended with a dispatch of the step, and for whose end the dispatch alone is to blame, it waits
// before. After kJudgedAt of them the step fails.

milliseconds LossDelay(int losses) { return losses < 2 ? milliseconds(0) : milliseconds(1'000ll << std::min(losses - 2, 6)); }

Json FilesOf(const Document& state) {
  Json files = Json::object();
  state.ForEach([&files](const std::string& key, const Json& value) {
    if (key.starts_with(kFileKeyPrefix)) AddMember(files, std::string_view(key).substr(kFileKeyPrefix.size()), value);  // no key twice
    return true;
  });
  return files;
}

std::string DispatchTimerOf(const std::string& step_id) { return std::string(kDispatchTimerPrefix) + step_id; }

}  // namespace

void Decider::Dispatch(const Instance& instance, const StartingInput& input, Json facts, Json carried) {
  const StartStep& start = input.step;
  DispatchRow dispatch{instance.step_id, input.attempt_id, start.target->queue, start.target->priority, "", std::nullopt};
  const Json files = FilesOf(State());
  if (const std::size_t bytes = DumpJson(files).size(); bytes > kMaxManifestBytes) {
    FailedForGood(
        instance, Step(instance).attempts + 1, input.attempt_id,
        fmt::format("the run has {} files, the list of them {} bytes: more than the {} a dispatched step can be given; run it on the run's "
                    "own queue, or pack files together (io.archive)",
                    files.size(), bytes, kMaxManifestBytes),
        std::nullopt);
    return ConcludeRun();
  }
  dispatch.payload = OfferToText(start, TraceOfRun(State()), files);
  CallTraits traits = TraitsOf(definitions_, definition_, instance, State());
  if (traits.step_timeout) {
    // Of all attempts together, the wait for a worker included.
    dispatch.deadline = Step(instance).started_at.value_or(now_) + *traits.step_timeout;
    facts["deadline_at"] = FormatWallTime(*dispatch.deadline);
    SetTimer(DispatchTimerOf(instance.step_id), *dispatch.deadline);
  }
  facts["capability"] = TextOf(&start.call, kCallCapability);
  facts["effect"] = EffectName(start.effect);
  facts["idempotency_key"] = start.idempotency_key;
  facts["queue"] = dispatch.queue;
  facts["priority"] = dispatch.priority;
  decision_.dispatches.push_back(std::move(dispatch));
  Emit(event::kStepDispatched, std::move(facts), std::move(carried));
}

void Decider::DispatchEnded(const InboxInput& input) {
  auto ended = ResultFromJson(input.payload);
  if (!ended) return Refuse(input, ended.message());
  const auto instance = definition_.Find(ended->step_id);
  StepRecord record = instance ? Step(*instance) : StepRecord{};
  if (!record.dispatch || record.attempt != ended->attempt_id) {
    return Refuse(input, fmt::format("no dispatch of attempt {} of step '{}' is out", ended->attempt_id, ended->step_id));
  }
  dispatch_ = InboxFacts(input);
  if (!ended->worker.empty()) dispatch_["worker"] = ended->worker;
  if (ended->token > 0) dispatch_["dispatch_token"] = ended->token;
  CallTraits traits = TraitsOf(definitions_, definition_, *instance, State());
  if (traits.step_timeout) ClearTimer(DispatchTimerOf(instance->step_id));
  if (ended->lost) {
    DispatchLost(*instance, record, *ended);
    return ConcludeRun();
  }
  StepResult& result = ended->result;
  const bool late = traits.step_timeout && record.started_at && now_ >= *record.started_at + *traits.step_timeout;
  if (result.outcome == Outcome::kCancelled && ended->token == 0) result.outcome = Outcome::kNotStarted;  // nobody took it
  const bool ended_early = result.outcome == Outcome::kCancelled || result.outcome == Outcome::kNotStarted;
  if (ended_early && late && (Run().phase != Phase::kStopping || instance->undo)) {
    const bool unsure = result.outcome == Outcome::kCancelled && !traits.repeatable();  // it was stopped while it ran
    result.outcome = unsure ? Outcome::kUnknown : Outcome::kTimedOut;
    result.retryable = false;
    result.error = fmt::format("step timeout of {} s passed{}", traits.step_timeout->count() / 1000,
                               ended->token > 0 ? "" : " before a worker of queue '" + TextOf(record.dispatch, "queue") + "' took it");
  }
  On(StepFinishedInput{ended->step_id, ended->attempt_id, std::move(result), Json()});
}

void Decider::DispatchLost(const Instance& instance, const StepRecord& record, const DispatchResult& ended) {
  const std::string why = fmt::format("worker '{}' ended or stopped answering before the outcome was recorded", ended.worker);
  CallTraits traits = TraitsOf(definitions_, definition_, instance, State());
  const bool ask = !traits.repeatable() && traits.on_unknown != UnknownOutcome::kRetry;
  const int losses = record.losses + (ended.counted ? 1 : 0);
  const bool settle = !instance.undo && Run().phase == Phase::kStopping;
  if (ask || Indifferent(instance)) return Lost(instance, record, ended.attempt_id, why);
  if (losses >= kJudgedAt) {
    return FailedForGood(
        instance, record.attempts + 1, ended.attempt_id,
        fmt::format(
            "{} workers in a row ended while they ran it and nothing else that is suspect: it may be what kills them; the last was '{}'",
            losses, ended.worker),
        std::nullopt);
  }
  Json facts = StepFacts(instance, ended.attempt_id);
  facts["why"] = why;
  if (losses > 0) facts["losses"] = losses;
  if (settle) {
    facts["settle"] = true;  // runs once more to learn what there is to undo
  } else if (auto delay = LossDelay(losses); delay.count() > 0) {
    facts["retry_at"] = FormatWallTime(now_ + delay);
    SetTimer(RetryTimer(instance.step_id), now_ + delay);
  }
  Emit(event::kStepAttemptLost, std::move(facts));
}

void Decider::DispatchTimer(const std::string& step_id) {
  const auto instance = definition_.Find(step_id);
  if (!instance) return;
  StepRecord record = Step(*instance);
  CallTraits traits = TraitsOf(definitions_, definition_, *instance, State());
  if (!record.dispatch || !traits.step_timeout || !record.started_at || now_ < *record.started_at + *traits.step_timeout) return;
  WantBack(step_id);
}

void Decider::WantBack(const std::string& step_id) {
  decision_.dispatches_cancelled.push_back({step_id, ReadStep(State(), step_id).attempt});
}

}  // namespace acl::workflow
