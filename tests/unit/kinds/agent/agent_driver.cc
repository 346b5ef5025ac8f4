#include "tests/unit/kinds/agent/agent_driver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shared/base/sha256.h"
#include "shared/kernel/fold.h"

namespace acl::agent::test {

namespace {

CapabilityDefinition CapabilityOf(std::string id, EffectClass effect, RiskLevel risk = RiskLevel::kLow) {
  CapabilityDefinition definition;
  definition.id = std::move(id);
  definition.summary = "A capability of the tests.";
  definition.effect = effect;
  definition.risk = risk;
  return definition;
}

std::string WordsOf(const Input& input) {
  if (const auto* finished = std::get_if<StepFinishedInput>(&input))
    return finished->step_id + " ended as " + std::to_string(int(finished->result.outcome));
  if (const auto* inbox = std::get_if<InboxInput>(&input)) return inbox->kind + " " + DumpJson(inbox->payload);
  return std::get_if<ResumedInput>(&input) != nullptr ? "resumed" : "starting";
}

}  // namespace

std::shared_ptr<const CapabilityRegistry> Capabilities() {
  static const std::shared_ptr<const CapabilityRegistry> registry = [] {
    auto made = std::make_shared<CapabilityRegistry>();
    const auto none = [](const Json&, CallContext&) { return StepResult{}; };
    CapabilityDefinition pure = CapabilityOf("look.pure", EffectClass::kPure);
    pure.parameters = {{.name = "path", .type = "string"}};
    made->Add(pure, none);
    made->Add(CapabilityOf("look.read", EffectClass::kRead), none);
    made->Add(CapabilityOf("do.idempotent", EffectClass::kIdempotent), none);
    made->Add(CapabilityOf("do.effect", EffectClass::kNonIdempotent, RiskLevel::kMedium), none);
    CapabilityDefinition keyed = CapabilityOf("do.keyed", EffectClass::kNonIdempotent);
    keyed.honours_key = true;
    made->Add(keyed, none);
    made->Add(CapabilityOf("files.write", EffectClass::kPure, RiskLevel::kHigh), none);
    for (const char* id : {"project.take", "project.checkpoint", "project.complete", "project.block"}) {
      CapabilityDefinition project = CapabilityOf(id, EffectClass::kIdempotent);
      project.honours_key = true;
      made->Add(project, none);
    }
    return made;
  }();
  return registry;
}

AgentDefinition DefinitionOf(const std::string& text) {
  LoadedAgent loaded = LoadAgent(text, Capabilities().get());
  for (const Finding& finding : loaded.findings) EXPECT_NE(finding.severity, Finding::Severity::kError) << FormatFinding("", finding);
  return loaded.definition ? *loaded.definition : AgentDefinition{};
}

StepResult Gives(Json outputs) {
  StepResult result;
  result.outputs = std::move(outputs);
  result.duration = milliseconds(5);
  return result;
}

StepResult Says(const Json& answer) { return Gives({{"stdout", DumpJson(answer)}, {"exit_code", 0}, {"success", true}}); }

StepResult FailsWith(const std::string& error, bool retryable) {
  StepResult result;
  result.outcome = StepResult::Outcome::kFailed;
  result.error = error;
  result.retryable = retryable;
  return result;
}

StepResult EndsAs(StepResult::Outcome outcome) {
  StepResult result;
  result.outcome = outcome;
  return result;
}

StepResult Writes(const std::string& path, const std::string& content) {
  StepResult result = Gives({{"written", path}});
  FileChange change;
  change.path = path;
  change.hash = Sha256(content);
  change.size = std::int64_t(content.size());
  result.files.push_back(std::move(change));
  return result;
}

AgentDriver::AgentDriver(const std::string& file, CreateAgent request, BuiltInExtensions extensions)
    : kind(MakeAgentKind(Capabilities(), std::move(extensions))) {
  request.subject = *SubjectId::Parse("01890000-0000-7000-8000-000000000001");
  request.now = now;
  if (request.owner.empty()) request.owner = "ann";
  auto item = MakeCreateItem(*kind, DefinitionOf(file), std::move(request));
  if (!item) {
    ADD_FAILURE() << item.error();
    return;
  }
  events = item->events;
  const Json payload = *ParseJson(*events[0].payload, kStoredJson);
  EXPECT_TRUE(state.Apply(payload["state_delta"]).ok());
  EXPECT_EQ(state.Root(), item->state_root);
  replayed_ = state;
}

void AgentDriver::Decide(const Input& input) {
  Decision decision = kind->Decide(state, input, now);
  for (EventDraft& draft : decision.events) {
    draft.at = now;
    const std::string type = draft.type;
    auto event = FoldDraft(*kind, state, std::move(draft));
    ASSERT_TRUE(event.ok()) << type << ": " << event.error() << "\n" << WordsOf(input) << "\n" << DumpJson(state.ToJson());
    event->seq = std::int64_t(events.size()) + 1;
    event->timestamp = now;
    const Json payload = *ParseJson(*event->payload, kStoredJson);
    if (payload.contains("state_delta")) {
      ASSERT_TRUE(replayed_.Apply(payload["state_delta"]).ok()) << type;
    }
    ASSERT_EQ(replayed_.Root(), state.Root()) << type;
    events.push_back(std::move(*event));
  }
  for (const CompletionRow& row : decision.completions) {
    EXPECT_TRUE(completions.emplace(row.step_id, row.attempt_id).second) << row.step_id << " completed twice";
    EXPECT_GE(row.event_seq, 1);
    EXPECT_LE(row.event_seq, std::int64_t(decision.events.size()));
    const bool has_attempt = std::any_of(attempts.begin(), attempts.end(), [&](const AttemptRow& attempt) {
      return attempt.step_id == row.step_id && attempt.attempt_id == row.attempt_id;
    });
    EXPECT_TRUE(has_attempt) << row.step_id << ": no attempt " << row.attempt_id;
  }
  for (const std::string& id : decision.timers_cleared) timers.erase(id);
  for (const TimerRow& timer : decision.timers_set) timers[timer.timer_id] = timer.fire_at;
  cancelled = decision.cancel_steps;
  if (decision.cancel_all) cancelled.emplace_back("*");
  if (decision.listing) listing = decision.listing;
  outbox.insert(outbox.end(), decision.outbox.begin(), decision.outbox.end());
}

void AgentDriver::Claim() {
  running.clear();
  ResumedInput resumed;
  for (const AttemptRow& row : attempts)
    if (!completions.contains(row.step_id)) resumed.open_attempts.push_back(row);
  Decide(resumed);
}

void AgentDriver::Post(const std::string& kind_name, Json payload) {
  InboxInput input;
  input.id = *InboxId::Parse("01890000-0000-7000-8000-" + std::to_string(100'000'000'000 + ++posts_));
  input.kind = kind_name;
  input.payload = std::move(payload);
  Decide(input);
}

Next AgentDriver::Ask() const {
  NextContext context;
  context.now = now;
  for (const auto& [step_id, attempt] : running) context.running.insert(step_id);
  return kind->WhatNext(state, context);
}

std::vector<StartStep> AgentDriver::Pump() {
  std::vector<StartStep> begun;
  for (StartStep& step : Ask().start) {
    EXPECT_FALSE(running.contains(step.step_id)) << step.step_id << " runs already";
    EXPECT_FALSE(completions.contains(step.step_id)) << step.step_id << " is over";
    const int attempt = ++attempt_counts_[step.step_id];
    if (NeedsRowFirst(step.effect)) {
      const auto before = events.size();
      Decide(StartingInput{step, attempt});
      if (events.size() == before) continue;
      attempts.push_back({step.step_id, attempt, Token{}, now});
    }
    running[step.step_id] = attempt;
    calls.push_back(step.step_id);
    started.push_back(step);
    begun.push_back(step);
  }
  return begun;
}

void AgentDriver::Finish(const std::string& step_id, StepResult result) {
  const auto found = running.find(step_id);
  ASSERT_NE(found, running.end()) << step_id << " does not run";
  const int attempt = found->second;
  running.erase(found);
  const bool known = std::any_of(attempts.begin(), attempts.end(),
                                 [&](const AttemptRow& row) { return row.step_id == step_id && row.attempt_id == attempt; });
  if (!known && result.outcome != StepResult::Outcome::kNotStarted) attempts.push_back({step_id, attempt, Token{}, now});
  Decide(StepFinishedInput{step_id, attempt, std::move(result), Json()});
}

bool AgentDriver::FireNextTimer() {
  if (timers.empty()) return false;
  const auto next = std::min_element(timers.begin(), timers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto [id, at] = *next;
  timers.erase(next);
  now = std::max(now, at);
  Decide(InboxInput{InboxId{}, "timer", {{"timer_id", id}, {"fire_at", FormatWallTime(at)}}});
  return true;
}

void AgentDriver::Run(const Script& script, int most) {
  for (int n = 0; n < most; ++n) {
    const auto begun = Pump();
    if (begun.empty()) return;
    for (const StartStep& step : begun) Finish(step.step_id, script(step));
  }
  ADD_FAILURE() << "it goes on for ever";
}

std::vector<std::string> AgentDriver::Types(const std::string& prefix) const {
  std::vector<std::string> types;
  for (const Event& event : events)
    if (event.type.starts_with(prefix)) types.push_back(event.type.substr(prefix.size()));
  return types;
}

std::vector<Json> AgentDriver::Events(std::string_view type) const {
  std::vector<Json> found;
  for (const Event& event : events)
    if (event.type == type) found.push_back(*ParseJson(*event.payload, kStoredJson));
  return found;
}

Json AgentDriver::Last(std::string_view type) const {
  auto all = Events(type);
  return all.empty() ? Json() : all.back();
}

}  // namespace acl::agent::test
