// Steps of a session: taken over, starting, finished. A step is the reading of its project, a request, an action, or an extension that is
// asked; which one, its id says.

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/capability/merge.h"
#include "shared/kinds/agent/decider.h"
#include "shared/kinds/agent/events.h"

namespace acl::agent {

namespace {

using Outcome = StepResult::Outcome;

constexpr std::string_view kTakenOver = "its worker lost the session before the outcome was recorded";
constexpr std::chrono::milliseconds kFirstRetry{1'000}, kLongestRetry{60'000}, kFirstRest{60'000}, kLongestRest{3'600'000};
constexpr int kMostDoublings = 12;
constexpr std::string_view kNoBudget = "budget: ";  // what a project's account says no with
constexpr int kMostUnknown = 3;                     // attempts of an action that may be repeated and whose outcome stays unknown

std::chrono::milliseconds Doubled(std::chrono::milliseconds first, int times, std::chrono::milliseconds most) {
  return std::min(most, first * (1 << std::min(times, kMostDoublings)));
}

std::string WhyFailed(const StepResult& result) {
  if (!result.error.empty()) return result.error;
  return result.outcome == Outcome::kTimedOut ? "timed out" : "failed";
}

// Of an answer that says itself that it is none.
std::optional<std::string> FalseSuccessIn(const CapabilityDefinition& capability, const Json& outputs) {
  if (capability.false_success != FalseSuccess::kFailure || !outputs.is_object()) return std::nullopt;
  const auto success = outputs.find("success");
  if (success == outputs.end() || !success->is_boolean() || success->get<bool>()) return std::nullopt;
  for (const char* key : {"error_message", "error"})
    if (const auto text = outputs.find(key); text != outputs.end() && text->is_string()) return text->get<std::string>();
  return capability.id + " answered success: false";
}

}  // namespace

void Decider::On(const ResumedInput& input) {
  for (const AttemptRow& row : input.open_attempts)
    if (course_ && row.step_id == course_->open && row.attempt_id == course_->attempt)
      Lost(row.step_id, row.attempt_id, std::string(kTakenOver));
  Loop();
}

void Decider::On(const StartingInput& input) {
  const auto wanted = NextStep(kit_, definition_, state_);
  if (!course_ || !wanted || wanted->step_id != input.step.step_id || standing_.status != kMoving || !course_->open.empty()) return;
  course_->open = input.step.step_id;
  course_->attempt = input.attempt_id;
  if (!course_->asked_at) course_->asked_at = now_;
  course_->retry_at.reset();
  Json facts = Facts();
  facts["step_id"] = input.step.step_id;
  facts["attempt"] = input.attempt_id;
  if (course_->at == Point::kRequest) {
    facts["what"] = "request";
    if (const Json* request = state_.Find(kRequestKey)) {
      facts["request_digest"] = ToHex(CanonicalHash(*request));
      if (input.attempt_id == 1) facts["request"] = *request;
    }
  } else if (course_->at == Point::kLook) {
    facts["what"] = "look";
  } else {
    ++standing_.actions;
    facts["what"] = "action";
    facts["action"] = course_->action + 1;
    facts["call"] = input.step.call;
    if (const Json* approval = state_.Find(kApprovalKey); approval != nullptr && course_->approved) {
      facts["approval_id"] = approval->at("approval_id");
      facts["approved_digest"] = approval->at("digest");
    }
  }
  Emit(event::kStepStarted, std::move(facts));
}

bool Decider::Repeatable() const {
  if (course_->at != Point::kAct) return true;  // asking has no effect but the call
  const Json* action = state_.Find(ActionKey(course_->action));
  const CapabilityDefinition* capability = action == nullptr ? nullptr : kit_.capabilities.Find(TextIn(*action, "capability"));
  return capability == nullptr || capability->effect != EffectClass::kNonIdempotent || capability->honours_key;
}

// An attempt that nobody knows the outcome of: made again with the same key where that is safe, else the action ends uncertain.
void Decider::Lost(const std::string& step_id, int attempt, const std::string& why) {
  course_->open.clear();
  Json facts = Facts();
  facts["step_id"] = step_id;
  facts["attempt"] = attempt;
  facts["why"] = why;
  Emit(event::kAttemptLost, std::move(facts));
  if (Repeatable() && course_->dropped.empty()) return;
  if (course_->at == Point::kLook) {
    standing_.again = course_->stimuli;
    course_->at = Point::kEndTurn;
    return;
  }
  if (course_->at != Point::kAct) return RequestFailed(why, attempt, false, milliseconds(0));
  if (Repeatable()) return EndAction(OutcomeOf("interrupted", "interrupted", course_->dropped), step_id, attempt, Json::object());
  EndAction(OutcomeOf("uncertain", "uncertain", why + "; it may have had its effect"), step_id, attempt, Json::object());
}

void Decider::On(const StepFinishedInput& input) {
  const bool ours = course_ && (input.step_id == course_->open || (course_->open.empty() && [&] {
                                  const auto wanted = StepAt(kit_, definition_, state_);
                                  return wanted && wanted->step_id == input.step_id;
                                }()));
  if (!ours) {
    // What was dropped meanwhile, and had no effect outside: its files go with it. Said, so that its attempt is over.
    if (input.result.outcome == Outcome::kNotStarted) return;
    Emit(event::kLateResult, {{"step_id", input.step_id}, {"attempt", input.attempt_id}});
    Complete(input.step_id, input.attempt_id, Json::object());
    return Loop();
  }
  if (input.result.outcome == Outcome::kNotStarted && (course_->dropped.empty() || course_->open.empty())) {
    if (course_->open.empty()) return Loop();  // it left no row
    course_->open.clear();
    Json facts = Facts();
    facts["step_id"] = input.step_id;
    facts["attempt"] = input.attempt_id;
    if (!input.result.short_of.empty()) facts["why"] = Brief(input.result.short_of, kKeptInBrief);
    Emit(event::kAttemptNotStarted, std::move(facts));
    return Loop();
  }
  const Point at = course_->at;
  if (at == Point::kLook) {
    LookFinished(input);
  } else if (at == Point::kRequest) {
    RequestFinished(input);
  } else if (at == Point::kAct) {
    ActionFinished(input);
  } else {
    ExtensionFinished(input);
  }
  Loop();
}

void Decider::LookFinished(const StepFinishedInput& input) {
  const StepResult& result = input.result;
  if (result.outcome == Outcome::kCancelled && course_->dropped.empty()) return Lost(input.step_id, input.attempt_id, WhyFailed(result));
  course_->open.clear();
  const bool failed = result.outcome != Outcome::kSucceeded;
  if (!course_->dropped.empty() || failed) {
    standing_.again = course_->stimuli;
    course_->at = Point::kEndTurn;
  }
  if (failed && course_->dropped.empty()) {  // without its task a plan would be for nothing
    ++standing_.failed_requests;
    course_->rest_reason = "no task: its project could not be asked: " + Brief(WhyFailed(result), kKeptInBrief);
    course_->wake_at = now_ + Doubled(kFirstRest, standing_.failed_requests - 1, kLongestRest);
  }
  Json looked = result.outcome == Outcome::kSucceeded ? result.outputs : Json{{"error", Brief(WhyFailed(result), kKeptInBrief)}};
  if (!CheckStorable(looked) || DumpedBytes(looked) > kMostStimulus) looked = {{"error", "what its project answered cannot be kept"}};
  Put(kLookKey, looked);
  Json facts = Facts();
  facts["step_id"] = input.step_id;
  facts["attempt"] = input.attempt_id;
  Emit(event::kLooked, std::move(facts));
  Complete(input.step_id, input.attempt_id, looked);
}

void Decider::RequestFinished(const StepFinishedInput& input) {
  const StepResult& result = input.result;
  if (!course_->dropped.empty() || result.outcome == Outcome::kCancelled) {
    if (course_->dropped.empty()) return Lost(input.step_id, input.attempt_id, WhyFailed(result));
    return RequestFailed(course_->dropped, input.attempt_id, false, milliseconds(0));
  }
  if (result.outcome != Outcome::kSucceeded)
    return RequestFailed(WhyFailed(result), input.attempt_id, result.retryable, result.retry_after);
  Spend(result.outputs);
  auto response = ResponseFrom(result.outputs, definition_.planner.kind);
  if (!response) return RequestFailed(response.message(), input.attempt_id, true, milliseconds(0));
  ++course_->attempts;
  ++standing_.requests;
  standing_.failed_requests = 0;
  Put(kResponseKey, *response);
  Json facts = Facts();
  facts["step_id"] = input.step_id;
  facts["attempt"] = input.attempt_id;
  facts["planner"] = definition_.planner.kind;
  facts["attempts"] = course_->attempts;
  facts["duration_ms"] = result.duration.count();
  facts["response"] = std::move(*response);
  for (const char* key : {"exchange_id", "session_id", "model", "findings", "stdout", "text", "tokens", "cost_micros"})
    if (result.outputs.contains(key)) facts[key] = result.outputs[key];
  course_->open.clear();
  course_->at = Point::kAfterRequest;
  Emit(event::kRequest, std::move(facts));
  Complete(input.step_id, input.attempt_id, result.outputs);
}

// Counted whether the answer is of any use or not, and said once when most of it is gone.
void Decider::Spend(const Json& outputs) {
  const auto four_fifths = [](std::int64_t limit) { return limit - limit / 5; };
  if (!outputs.is_object() || !(outputs.contains("tokens") || outputs.contains("cost_micros"))) return;
  const Limits& limits = definition_.limits;
  Spent spent = SpentNow(limits, standing_, now_);
  if (standing_.spend_since == WallTime{} || (spent.tokens == 0 && spent.micros == 0)) {
    standing_.spend_since = now_;
    standing_.near_limit = false;
  }
  const auto number = [&](const char* key) {
    const auto found = outputs.find(key);
    return found != outputs.end() && found->is_number_integer() ? std::max<std::int64_t>(0, found->get<std::int64_t>()) : 0;
  };
  standing_.tokens = spent.tokens + number("tokens");
  standing_.micros = spent.micros + number("cost_micros");
  const bool near = (limits.tokens > 0 && standing_.tokens >= four_fifths(limits.tokens)) ||
                    (limits.micros > 0 && standing_.micros >= four_fifths(limits.micros));
  if (!near || standing_.near_limit) return;
  standing_.near_limit = true;
  Json facts = Facts();
  facts["tokens"] = standing_.tokens;
  facts["cost_micros"] = standing_.micros;
  Emit(event::kNearLimit, std::move(facts));
}

// `attempt`: 0: nobody was asked.
void Decider::RequestFailed(const std::string& error, int attempt, bool retryable, milliseconds retry_after) {
  Course& course = *course_;
  if (attempt > 0) ++course.attempts;
  const std::string step_id = StepIdOf(course, "request");
  Json facts = Facts();
  facts["error"] = Brief(error, kKeptOutputs);
  facts["attempts"] = course.attempts;
  course.open.clear();
  if (retryable && course.attempts < definition_.planner.attempts) {
    course.retry_at = now_ + std::max(retry_after, Doubled(kFirstRetry, course.attempts - 1, kLongestRetry));
    facts["step_id"] = step_id;
    facts["attempt"] = attempt;
    facts["retry_at"] = FormatWallTime(*course.retry_at);
    SetTimer(kRetryTimer, *course.retry_at);
    return Emit(event::kRequestFailed, std::move(facts));
  }
  // The turn ends without an answer: what it had taken up is taken up again, soon or, if it goes on failing, later.
  if (attempt > 0) {
    facts["step_id"] = step_id;
    facts["attempt"] = attempt;
  }
  standing_.again = course.stimuli;
  if (course.dropped.empty()) {
    ++standing_.failed_requests;
    course.rest_reason = (error.starts_with(kNoBudget) ? "" : "request failed: ") + Brief(error, kKeptInBrief);
    course.wake_at = now_ + Doubled(kFirstRest, standing_.failed_requests - 1, kLongestRest);
  }
  course.at = Point::kEndTurn;
  Emit(event::kRequest, std::move(facts));
  if (attempt > 0) Complete(step_id, attempt, Json::object());
}

void Decider::ActionFinished(const StepFinishedInput& input) {
  const StepResult& result = input.result;
  const Json* action = state_.Find(ActionKey(course_->action));
  const CapabilityDefinition* capability = action == nullptr ? nullptr : kit_.capabilities.Find(TextIn(*action, "capability"));
  const auto end = [&](Json outcome, const Json& outputs = Json::object()) {
    course_->open.clear();
    EndAction(std::move(outcome), input.step_id, input.attempt_id, outputs);
  };
  switch (result.outcome) {
    case Outcome::kSucceeded: {
      if (Status storable = CheckStorable(result.outputs); !storable)
        return end(OutcomeOf("error", "unstorable", "its outputs cannot be stored: " + storable.message()));
      if (const auto conflict = FindConflict(state_, result.files))
        return end(OutcomeOf("error", "conflict", conflict->what), result.outputs);
      const auto none = capability == nullptr ? std::nullopt : FalseSuccessIn(*capability, result.outputs);
      if (none) return end(OutcomeOf("error", "failed", *none), result.outputs);
      course_->open.clear();
      return EndAction(OutcomeOf("result", "", ""), input.step_id, input.attempt_id, result.outputs, result.files);
    }
    case Outcome::kFailed: return end(OutcomeOf("error", "failed", WhyFailed(result)));
    case Outcome::kTimedOut: return end(OutcomeOf("error", "timeout", WhyFailed(result)));
    case Outcome::kCancelled:
    case Outcome::kNotStarted:
      if (course_->dropped.empty()) return Lost(input.step_id, input.attempt_id, WhyFailed(result));
      return end(OutcomeOf(
          "interrupted", "interrupted",
          course_->dropped + (Repeatable() || result.outcome == Outcome::kNotStarted ? "" : "; it may have had some of its effect")));
    case Outcome::kUnknown:
      if (Repeatable() && course_->dropped.empty() && input.attempt_id < kMostUnknown)
        return Lost(input.step_id, input.attempt_id, WhyFailed(result));
      return end(OutcomeOf("uncertain", "uncertain", WhyFailed(result)));
  }
}

// Every action that was asked for ends here, once, before the next begins.
void Decider::EndAction(Json outcome, const std::string& step_id, int attempt, const Json& outputs, const std::vector<FileChange>& files) {
  Course& course = *course_;
  const Json* action = state_.Find(ActionKey(course.action));
  const CapabilityDefinition* capability = action == nullptr ? nullptr : kit_.capabilities.Find(TextIn(*action, "capability"));
  const std::string word = outcome["outcome"];
  Json facts = Facts();
  facts.update(outcome);
  if (!step_id.empty()) {
    facts["step_id"] = step_id;
    facts["attempt"] = attempt;
  }
  if (action != nullptr) facts["inputs"] = action->value("inputs", Json::object());
  if (!outputs.empty()) {
    facts["outputs"] = outputs;
    const std::size_t bytes = DumpedBytes(outputs);
    outcome["outputs"] = bytes <= kKeptOutputs ? outputs : Json(Brief(DumpJson(outputs), kKeptOutputs));
  }
  if (word == "uncertain") {
    standing_.uncertain = {
        {"turn", course.turn}, {"action", course.action + 1}, {"capability", outcome.value("capability", "")}, {"step_id", step_id}};
    if (!definition_.go_on_uncertain) course.dropped = "nobody knows what became of an action before it";
  }
  if (outcome.value("capability", "") == kAskModel) Spend(outputs);
  // Once a turn: of several in one answer the planner has learnt nothing yet.
  if (word != "error" && word != "refused") {
    CountOutcome(guard_, "");
  } else if (!course.erred) {
    CountOutcome(guard_, word + ":" + outcome.value("capability", "") + ":" + outcome.value("code", ""));
    course.erred = true;
  }
  const auto changes = RealChanges(state_, files);
  if (!changes.empty()) {
    outcome["artifacts"] = Json::array();
    for (const FileChange& change : changes) outcome["artifacts"].push_back(change.path);
    facts["artifacts"] = outcome["artifacts"];
    for (const FileChange& change : changes)
      if (change.hash && !change.is_dir) decision_.contents.push_back(*change.hash);
    Change(PatchFiles(state_, changes));
  }
  const bool outside = capability != nullptr && NeedsRowFirst(capability->effect) && word == "result";
  if (!changes.empty() || outside) {
    const Guard before = guard_;
    Changed(guard_);
    // An effect outside sets back errors, plans and moves; but the same effect again and again is no progress, so calls go on being
    // counted.
    if (changes.empty()) {
      guard_.calls = before.calls;
      guard_.recent = before.recent;
    }
  }
  Put(OutcomeKey(course.action), outcome);
  // What never came to a call was not before any action, and no extension hears of it.
  if (step_id.empty()) {
    ++course.action;
    course.at = Point::kChoose;
  } else {
    course.at = Point::kAfterAction;
  }
  Emit(event::kActionEnded, std::move(facts));
  if (!step_id.empty()) Complete(step_id, attempt, outputs);
}

}  // namespace acl::agent
