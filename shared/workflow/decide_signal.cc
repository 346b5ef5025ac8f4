// Signals. One that comes is kept in the run's state until a SIGNAL step takes it, so that it counts whether it came before the step's turn
// or behind it, and twice if it was sent twice; the first that was sent is taken first, by the step that has waited longest.
//
//   signals        {"next": number of the next, "kept": {name: [numbers]}, "waiting": {name: [step ids]}}
//   signal:<n>     {"payload": ..}

#include <fmt/format.h>

#include "shared/base/mutant.h"
#include "shared/definition/duration.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"

namespace acl::workflow {

namespace {

const Json* ListAt(const Document& state, const char* list, const std::string& name) {
  const Json* of = MemberOf(MemberOf(Lookup(state, kSignalsKey), list), name);
  return of && of->is_array() && !of->empty() ? of : nullptr;
}

// The one that was sent first.
std::int64_t NumberAt(const Json& kept) { return kept.front().is_number_integer() ? kept.front().get<std::int64_t>() : -1; }

std::size_t KeptIn(const Document& state) {
  std::size_t kept = 0;
  const Json* all = MemberOf(Lookup(state, kSignalsKey), "kept");
  for (const auto& [name, numbers] : all && all->is_object() ? all->get_ref<const Json::object_t&>() : Json::object_t())
    kept += numbers.size();
  return kept;
}

}  // namespace

void Decider::Signal(const InboxInput& input) {
  const std::string name = TextOf(&input.payload, "name");
  if (definition_.has_signals() && KeptIn(State()) >= kMostSignals)
    return Refuse(input,
                  fmt::format("{} signals of the run wait to be taken already, and no step takes them; it keeps no more", kMostSignals));
  const Json* payload = MemberOf(&input.payload, "payload");
  if (definition_.has_signals() && payload && OutgrowsRun(State(), *payload))
    return Refuse(input, "its payload would make the run's state larger than one may be: send where it lies instead");
  Json facts = InboxFacts(input);
  facts["name"] = name;
  if (payload) facts["payload"] = *payload;
  Emit(event::kSignalReceived, std::move(facts));
  if (!definition_.has_signals() || Run().phase != Phase::kForward) return;
  const Json* kept = ListAt(State(), "kept", name);
  const Json* waiting = ListAt(State(), "waiting", name);
  if (!kept || !waiting) return;
  for (const Json& step_id : *waiting) {
    const auto instance = definition_.Find(step_id.is_string() ? step_id.get<std::string>() : "");
    if (!instance || Step(*instance).status != StepStatus::kWaiting) continue;  // left out meanwhile
    Json taken = StepFacts(*instance, 1);
    if (Run().status == RunStatus::kRunning) StartClock(taken, 1);
    TakeSignal(*instance, name, NumberAt(*kept), std::move(taken));
    return ConcludeRun();
  }
}

void Decider::TakeSignal(const Instance& instance, const std::string& name, std::int64_t number, Json facts) {
  const StepRecord record = Step(instance);
  const WallTime since = record.started_at.value_or(now_);
  const Json* payload = MemberOf(Lookup(State(), SignalKey(number)), "payload");
  Json outputs = {{"received", true}, {"payload", payload ? *payload : Json()}};
  facts["signal"] = name;
  facts["number"] = number;
  if (record.due_at) ClearTimer(std::string(kSignalTimerPrefix) + instance.step_id);
  CompletedByItself(instance, std::move(facts), std::move(outputs), since);
}

void Decider::BeginSignal(const Instance& instance) {
  const SignalDefinition& signal = *definition_.step(instance.step).signal;
  std::vector<std::string> missing;
  Json asked = {{"name", signal.name}};
  if (signal.timeout) asked["timeout"] = *signal.timeout;
  const CapabilityCall resolved =
      ResolveCall("", asked, ScopeOf(State(), definition_, instance), UnansweredIn(definition_.definition(), nullptr), &missing);
  Json facts = StepFacts(instance, 0);
  if (!missing.empty()) facts["missing"] = missing;
  if (!resolved.error.empty()) return FailedByItself(instance, std::move(facts), resolved.error);
  const Json& given = resolved.inputs["name"];
  if (!given.is_string() || given.get_ref<const std::string&>().empty())
    return FailedByItself(instance, std::move(facts),
                          "wait_for_signal: the name of a signal must be a text, not " + DumpJson(given).substr(0, 200));
  const std::string name = given.get<std::string>();
  if (const Json* kept = ListAt(State(), "kept", name); kept && !Mutant("signal_before_wait_lost")) {
    facts["attempt"] = 1;
    return TakeSignal(instance, name, NumberAt(*kept), std::move(facts));
  }
  facts["signal"] = name;
  if (signal.timeout) {
    const Json& time = resolved.inputs["timeout"];
    const auto length = ParseDuration(time);
    if (!length) {
      facts.erase("signal");
      return FailedByItself(instance, std::move(facts),
                            fmt::format("wait_for_signal: 'timeout' is {}, which is no length of time; it must be {}",
                                        DumpJson(time).substr(0, 200), kDurationForms));
    }
    facts["due_at"] = FormatWallTime(now_ + *length);
    SetTimer(std::string(kSignalTimerPrefix) + instance.step_id, now_ + *length);
  }
  StopClock(facts);
  Emit(event::kStepWaiting, std::move(facts));
}

void Decider::SignalTimer(const InboxInput& input, const std::string& step_id, std::optional<WallTime> fire_at) {
  const auto instance = definition_.Find(step_id);
  const RunRecord run = Run();
  if (!instance || instance->undo || run.phase != Phase::kForward) return;
  const StepRecord record = Step(*instance);
  if (record.status != StepStatus::kWaiting || !record.due_at) return;
  if ((fire_at && *fire_at != *record.due_at) || now_ < *record.due_at) return;
  const SignalDefinition& signal = *definition_.step(instance->step).signal;
  Json facts = StepFacts(*instance, 1);
  facts.update(InboxFacts(input));
  facts["signal"] = TextOf(record.json, "signal");
  if (run.status == RunStatus::kRunning) StartClock(facts, 1);
  if (!signal.default_payload) {
    FailedByItself(*instance, std::move(facts), fmt::format("no signal '{}' came in time", TextOf(record.json, "signal")));
    return ConcludeRun();
  }
  const CapabilityCall resolved = ResolveCall("", Json{{"payload", *signal.default_payload}}, ScopeOf(State(), definition_, *instance),
                                              UnansweredIn(definition_.definition(), nullptr), nullptr);
  if (!resolved.error.empty()) {
    FailedByItself(*instance, std::move(facts), resolved.error);
  } else {
    CompletedByItself(*instance, std::move(facts), {{"received", false}, {"payload", resolved.inputs["payload"]}},
                      record.started_at.value_or(now_));
  }
  ConcludeRun();
}

}  // namespace acl::workflow
