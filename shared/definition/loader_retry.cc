// `max_retries`, `retry`, the timeouts and `on_unknown_outcome` of a step; the limits of a compensation; the priority priority.
#include <algorithm>
#include <cmath>

#include "shared/definition/draft.h"

namespace acl {

namespace {

constexpr std::int64_t kMostAttempts = 1000;
constexpr double kDefaultJitter = 0.2;  // of a step without `retry` whose capability waits between attempts

void ReadRetryMap(Reader* reader, const SourceNode& node, const std::string& owner, RetryPolicy* retry) {
  if (!reader->IsMap(node, "'retry' of " + owner)) return;
  Fields fields(reader, node, "'retry' of " + owner, {"backoff", "initial_delay", "max_delay", "multiplier", "jitter"});
  retry->initial_delay = std::chrono::seconds(1);
  retry->jitter = 0;
  if (const SourceNode* backoff = fields.Get("backoff")) {
    if (auto word = reader->Word(*backoff, fields.What("backoff"), {"fixed", "linear", "exponential"}))
      retry->backoff = *word == "fixed"    ? RetryPolicy::Backoff::kFixed
                       : *word == "linear" ? RetryPolicy::Backoff::kLinear
                                           : RetryPolicy::Backoff::kExponential;
  }
  if (const SourceNode* delay = fields.Get("initial_delay"))
    if (auto value = reader->Duration(*delay, fields.What("initial_delay"))) retry->initial_delay = *value;
  const SourceNode* max_delay = fields.Get("max_delay");
  if (max_delay)
    if (auto value = reader->Duration(*max_delay, fields.What("max_delay"))) retry->max_delay = *value;
  if (const SourceNode* multiplier = fields.Get("multiplier"))
    if (auto value = reader->Number(*multiplier, fields.What("multiplier"), 1, 100)) retry->multiplier = *value;
  if (const SourceNode* jitter = fields.Get("jitter"))
    if (auto value = reader->Number(*jitter, fields.What("jitter"), 0, 1)) retry->jitter = *value;
  if (retry->max_delay < retry->initial_delay) {
    if (max_delay)
      reader->Warning(max_delay->mark, "delay-capped", "'max_delay' of " + owner + " is below 'initial_delay': every delay is 'max_delay'");
    else
      retry->max_delay = retry->initial_delay;
  }
}

std::optional<UnknownOutcome> ReadUnknownOutcome(Reader* reader, const Fields& fields) {
  const SourceNode* node = fields.Get("on_unknown_outcome");
  if (!node) return std::nullopt;
  auto word = reader->Word(*node, fields.What("on_unknown_outcome"), {"ask", "retry", "fail"});
  if (!word) return std::nullopt;
  return *word == "ask" ? UnknownOutcome::kAsk : *word == "retry" ? UnknownOutcome::kRetry : UnknownOutcome::kFail;
}

std::optional<int> ReadAttempts(Reader* reader, const Fields& fields) {
  const SourceNode* node = fields.Get("max_retries");
  if (!node) return std::nullopt;
  auto value = reader->Integer(*node, fields.What("max_retries"), 0, kMostAttempts);
  if (!value) return std::nullopt;
  if (*value == 0)
    reader->Warning(node->mark, "no-retries", fields.What("max_retries") + " counts attempts: 0 is read as one attempt; write 1");
  return std::max(1, static_cast<int>(*value));
}

constexpr std::chrono::seconds kUsualTimeout{300};
constexpr std::chrono::seconds kLongestTimeout{86'400};  // while the run has yet to say what `timeout` is

std::chrono::seconds UnsaidTimeout(const CapabilityDefinition* capability, const Json& inputs) {
  if (!capability) return kUsualTimeout;
  const auto& fields = capability->parameters;
  const auto own = inputs.find("timeout");
  if (own == inputs.end() ||
      std::none_of(fields.begin(), fields.end(), [](const FieldDefinition& field) { return field.name == "timeout"; }))
    return capability->default_timeout;
  if (!own->is_number()) return kLongestTimeout;
  const double seconds = std::ceil(own->get<double>());
  return seconds >= 1 && seconds <= 7 * 86'400 ? std::chrono::seconds(std::int64_t(seconds)) : kUsualTimeout;
}

}  // namespace

void SettleTimeouts(const CapabilityRegistry& capabilities, WorkflowDefinition* definition) {
  const auto settle = [&](CompensationDefinition& compensation) {
    if (!compensation.timeout && compensation.inputs.contains("timeout"))
      compensation.timeout = UnsaidTimeout(capabilities.Find(compensation.capability), compensation.inputs);
  };
  for (StepDefinition& step : definition->steps) {
    if (step.attempt_timeout == kUnsaid) step.attempt_timeout = UnsaidTimeout(capabilities.Find(step.capability), step.inputs);
    if (step.compensation) settle(*step.compensation);
  }
  for (CompensationDefinition& compensation : definition->global_compensation_steps) settle(compensation);
}

std::optional<int> ReadStepPriority(Reader* reader, const Fields& fields) {
  const SourceNode* node = fields.Get("priority");
  if (!node) return std::nullopt;
  auto priority = reader->Integer(*node, fields.What("priority") + " (0 = first, 3 = last)", 0, 3);
  return priority ? std::optional<int>(static_cast<int>(*priority)) : std::nullopt;
}

void ReadCompensationLimits(Reader* reader, Fields* fields, CompensationDefinition* compensation) {
  compensation->max_attempts = ReadAttempts(reader, *fields);
  std::chrono::seconds timeout{0};
  fields->Seconds("timeout_seconds", &timeout);
  if (timeout.count() > 0) compensation->timeout = timeout;
  if (auto unknown = ReadUnknownOutcome(reader, *fields)) compensation->on_unknown_outcome = *unknown;
}

void ReadRetry(Reader* reader, Fields* fields, const CapabilityDefinition* capability, StepDefinition* step) {
  if (auto attempts = ReadAttempts(reader, *fields)) step->retry.max_attempts = *attempts;
  if (capability && capability->retry_delay.count() > 0) {
    step->retry.initial_delay = capability->retry_delay;
    step->retry.jitter = kDefaultJitter;
  }
  if (const SourceNode* node = fields->Get("retry")) ReadRetryMap(reader, *node, "step '" + step->name + "'", &step->retry);
  step->attempt_timeout = kUnsaid;
  fields->Seconds("timeout_seconds", &step->attempt_timeout);
  if (const SourceNode* node = fields->Get("step_timeout_seconds")) {
    std::chrono::seconds value{0};
    fields->Seconds("step_timeout_seconds", &value);
    if (value.count() > 0) step->step_timeout = value;
    if (value.count() > 0 && value < step->attempt_timeout && fields->Get("timeout_seconds"))
      reader->Warning(node->mark, "timeout-order",
                      fields->What("step_timeout_seconds") + " is shorter than 'timeout_seconds' and cuts the first attempt");
  }
  if (auto unknown = ReadUnknownOutcome(reader, *fields)) step->on_unknown_outcome = *unknown;
}

}  // namespace acl
