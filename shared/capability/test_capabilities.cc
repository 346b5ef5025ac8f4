#include <fmt/format.h>

#include <condition_variable>
#include <thread>

#include "shared/capability/handlers.h"

namespace acl {

namespace {

StepResult Fail(const Json& parameters, CallContext&) { return Failed(StringOf(parameters, "message"), FlagOf(parameters, "retryable")); }

StepResult Echo(const Json& parameters, CallContext&) { return Done(parameters.at("outputs")); }

StepResult Effect(const Json& parameters, CallContext&) {
  Json outputs = parameters.at("outputs");
  const double size = NumberOf(parameters, "size", 0);
  if (!(size >= 0 && size <= 65'536)) return Failed("size must be 0 to 65536");
  if (size > 0) outputs["text"] = std::string(std::size_t(size), 'a');
  return Done(std::move(outputs));
}

StepResult Sleep(const Json& parameters, CallContext& context) {
  double seconds = NumberOf(parameters, "seconds", 1);
  if (!(seconds >= 0 && seconds <= 86'400)) return Failed("seconds must be 0 to 86400");
  using std::chrono::steady_clock;
  auto until = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
  for (auto now = steady_clock::now(); now < until; now = steady_clock::now()) {
    if (context.stop.stopped()) return Ended(StepResult::Outcome::kCancelled, "stopped while sleeping");
    if (now >= context.deadline) return Ended(StepResult::Outcome::kTimedOut, "timed out while sleeping");
    std::this_thread::sleep_for(std::min<steady_clock::duration>({until - now, context.deadline - now, std::chrono::milliseconds(20)}));
  }
  return Done({{"slept_seconds", seconds}, {"success", true}});
}

}  // namespace

void AddTestHelpers(CapabilityRegistry& registry) {
  CapabilityDefinition fail;
  fail.id = "test.fail";
  fail.summary = "Always fails.";
  fail.docs = "For trying out retries, compensation and rollback.";
  fail.parameters = {{.name = "message", .type = "string", .description = "the error", .default_value = Json("test.fail was called")},
                     Flag("retryable", true, "false: no further attempt is made")};
  fail.quick = true;
  registry.Add(std::move(fail), Fail);

  CapabilityDefinition echo;
  echo.id = "test.echo";
  echo.summary = "Gives back what it is given.";
  echo.docs = "For trying out templates and state: `inputs: {outputs: {answer: 42}}`.";
  echo.parameters = {{.name = "outputs", .type = "object", .description = "the outputs of the step", .default_value = Json::object()}};
  echo.open_results = true;
  echo.quick = true;
  registry.Add(std::move(echo), Echo);

  CapabilityDefinition effect;
  effect.id = "test.effect";
  effect.summary = "Gives back what it is given, as a step that may be repeated with its key.";
  effect.docs =
      "It does nothing outside, and is treated as if it did: its attempt is durable before it runs, its inputs are journaled. For "
      "benchmarks "
      "and for trying out takeovers.";
  effect.parameters = {{.name = "outputs", .type = "object", .description = "the outputs of the step", .default_value = Json::object()},
                       {.name = "size",
                        .type = "integer",
                        .description = "0 to 65536: with an output `text` of so many bytes",
                        .default_value = Json(0),
                        .check_literal = OutOfRange<0, 65'536>}};
  effect.open_results = true;
  effect.effect = EffectClass::kIdempotent;
  effect.honours_key = true;
  effect.quick = true;
  registry.Add(std::move(effect), Effect);

  CapabilityDefinition sleep;
  sleep.id = "test.sleep";
  sleep.summary = "Waits.";
  sleep.docs = "For trying out takeovers, timeouts and cancelling: it may be repeated and ends at once when stopped.";
  sleep.parameters = {
      {.name = "seconds", .type = "float", .description = "0 to 86400", .default_value = Json(1), .check_literal = OutOfRange<0, 86'400>}};
  sleep.results = {Out("slept_seconds", "float", "as asked"), OutSuccess()};
  registry.Add(std::move(sleep), Sleep);
}

}  // namespace acl
