#include "tests/unit/workflow/run_driver.h"

#include <gtest/gtest.h>

#include "shared/definition/loader.h"

namespace acl::workflow::test {

namespace {

CapabilityDefinition Capability(std::string id, EffectClass effect) {
  CapabilityDefinition definition;
  definition.id = std::move(id);
  definition.effect = effect;
  return definition;
}

}  // namespace

std::shared_ptr<const CapabilityRegistry> TestCapabilities() {
  static const std::shared_ptr<const CapabilityRegistry> registry = [] {
    auto made = std::make_shared<CapabilityRegistry>();
    auto none = [](const Json&, CallContext&) { return StepResult{}; };
    made->Add(Capability("do.pure", EffectClass::kPure), none);
    made->Add(Capability("do.read", EffectClass::kRead), none);
    made->Add(Capability("do.idempotent", EffectClass::kIdempotent), none);
    made->Add(Capability("do.effect", EffectClass::kNonIdempotent), none);
    auto keyed = Capability("do.keyed", EffectClass::kNonIdempotent);
    keyed.honours_key = true;
    made->Add(keyed, none);
    auto file = Capability("file.write", EffectClass::kPure);
    file.undo = UndoKind::kFiles;
    made->Add(file, none);
    auto program = Capability("file.run", EffectClass::kNonIdempotent);
    program.undo = UndoKind::kFiles;
    made->Add(program, none);
    auto data = Capability("data.false", EffectClass::kPure);
    data.false_success = FalseSuccess::kResult;
    made->Add(data, none);
    return made;
  }();
  return registry;
}

StepDefinition MakeStep(std::string name, std::string capability, std::vector<std::string> depends_on) {
  StepDefinition step;
  step.name = std::move(name);
  step.capability = std::move(capability);
  step.depends_on = std::move(depends_on);
  return step;
}

WorkflowDefinition MakeDefinition(std::vector<StepDefinition> steps, std::string name) {
  WorkflowDefinition definition;
  definition.name = std::move(name);
  definition.owner = "tester";
  definition.steps = std::move(steps);
  return definition;
}

WorkflowDefinition DefinitionOfFile(const std::string& text) {
  Loaded loaded = LoadWorkflow(text, *TestCapabilities(), {});
  for (const Finding& finding : loaded.findings) EXPECT_NE(finding.severity, Finding::Severity::kError) << FormatFinding("", finding);
  return loaded.definition ? *loaded.definition : WorkflowDefinition{};
}

WorkflowDefinition DefinitionOfSteps(const std::string& steps) {
  return DefinitionOfFile("name: test\nmetadata: {owner: tester}\nsteps:\n" + steps);
}

std::vector<std::string> StepIdsOf(const std::vector<Started>& started) {
  std::vector<std::string> ids;
  for (const Started& one : started) ids.push_back(one.step.step_id);
  return ids;
}

StepResult Ok(Json outputs) {
  StepResult result;
  result.outputs = std::move(outputs);
  result.duration = milliseconds(5);
  return result;
}

StepResult Fails(std::string error, bool retryable) {
  StepResult result;
  result.outcome = StepResult::Outcome::kFailed;
  result.error = std::move(error);
  result.retryable = retryable;
  return result;
}

StepResult Ends(StepResult::Outcome outcome) {
  StepResult result;
  result.outcome = outcome;
  return result;
}

SubjectId RunDriver::RunId() { return *SubjectId::Parse("01890000-0000-7000-8000-000000000001"); }

RunDriver::RunDriver(WorkflowDefinition definition, CreateRequest request) : kind(MakeWorkflowKind(TestCapabilities())) {
  if (request.subject == SubjectId{}) request.subject = RunId();
  auto item = MakeCreateItem(*kind, definition, std::move(request));
  if (!item) {
    ADD_FAILURE() << item.error();
    return;
  }
  Begin(std::move(*item));
}

RunDriver::RunDriver(CreateItem item) : kind(MakeWorkflowKind(TestCapabilities())) { Begin(std::move(item)); }

void RunDriver::Begin(CreateItem item) {
  created = std::move(item);
  events = created.events;
  Json payload = *ParseJson(*events[0].payload);
  EXPECT_TRUE(state.Apply(payload["state_delta"]).ok());
  EXPECT_EQ(ToHex(state.Root()), payload["state_root"]);
  EXPECT_EQ(state.Root(), created.state_root);
  replayed_ = state;
}

void RunDriver::Append(const EventDraft& draft) {
  auto event = FoldDraft(*kind, state, draft);
  ASSERT_TRUE(event.ok()) << event.error();
  event->seq = std::int64_t(events.size()) + 1;
  event->timestamp = draft.at;
  Json payload = *ParseJson(*event->payload);
  if (payload.contains("state_delta")) {
    acl::Status applied = replayed_.Apply(payload["state_delta"]);
    ASSERT_TRUE(applied.ok()) << draft.type << ": " << applied.error();
    ASSERT_EQ(ToHex(replayed_.Root()), payload["state_root"]) << draft.type;
  }
  ASSERT_EQ(replayed_.Root(), state.Root()) << draft.type;
  events.push_back(std::move(*event));
}

void RunDriver::Decide(const Input& input) {
  Decision decision = kind->Decide(state, input, now);
  const auto before = events.size();
  for (const EventDraft& draft : decision.events) Append(draft);
  attempts.insert(attempts.end(), decision.attempts.begin(), decision.attempts.end());
  for (const CompletionRow& row : decision.completions) {
    EXPECT_TRUE(completions.emplace(row.step_id, row.attempt_id).second) << row.step_id << " completed twice";
    EXPECT_GE(row.event_seq, 1);
    ASSERT_LE(row.event_seq, std::int64_t(decision.events.size()));
    const Event& event = events[before + std::size_t(row.event_seq) - 1];
    EXPECT_TRUE(event.type == "step.completed" || event.type == "compensation.completed") << event.type;
    bool has_attempt = std::any_of(attempts.begin(), attempts.end(), [&](const AttemptRow& attempt) {
      return attempt.step_id == row.step_id && attempt.attempt_id == row.attempt_id;
    });
    EXPECT_TRUE(has_attempt) << row.step_id << ": no attempt " << row.attempt_id;
  }
  for (const std::string& id : decision.timers_cleared) timers.erase(id);
  for (const TimerRow& timer : decision.timers_set) timers[timer.timer_id] = timer.fire_at;
  compensations.insert(compensations.end(), decision.compensations.begin(), decision.compensations.end());
  cancelled = decision.cancel_steps;
  if (decision.cancel_all) cancelled.emplace_back("*");
  for (const DispatchRow& dispatch : decision.dispatches)
    EXPECT_TRUE(dispatches.emplace(dispatch.step_id, dispatch).second) << dispatch.step_id << " is out already";
  wanted_back.clear();
  for (const DispatchKey& dispatch : decision.dispatches_cancelled) {
    wanted_back.push_back(dispatch.step_id);
    EXPECT_TRUE(dispatches.contains(dispatch.step_id) && dispatches[dispatch.step_id].attempt_id == dispatch.attempt_id)
        << dispatch.step_id << " is not out";
  }
  if (decision.listing) listing = decision.listing;
  outbox.insert(outbox.end(), decision.outbox.begin(), decision.outbox.end());
}

int RunDriver::NextAttempt(const std::string& step_id) { return ++attempt_counts_[step_id]; }

void RunDriver::Claim(int died_alone) {
  running.clear();
  ResumedInput resumed;
  resumed.died_alone = died_alone;
  for (const AttemptRow& row : attempts) {
    if (!completions.contains(row.step_id)) resumed.open_attempts.push_back(row);
  }
  Decide(resumed);
}

Next RunDriver::Ask(int free_slots) const {
  NextContext context;
  context.now = now;
  for (const auto& [step_id, attempt] : running) context.running.insert(step_id);
  context.free_slots = free_slots;
  return kind->WhatNext(state, context);
}

std::vector<Started> RunDriver::Pump(int free_slots) {
  std::vector<Started> started;
  for (StartStep& step : Ask(free_slots).start) {
    if (step.target) {
      const int attempt = NextAttempt(step.step_id);
      const auto before = events.size();
      Decide(StartingInput{step, attempt});
      EXPECT_GT(events.size(), before) << "the dispatch of " << step.step_id << " left no event";
      attempts.push_back({step.step_id, attempt, Token{}, now});
      continue;
    }
    EXPECT_FALSE(running.contains(step.step_id)) << step.step_id << " runs already";
    int attempt_id = NextAttempt(step.step_id);
    if (step.effect == EffectClass::kIdempotent || step.effect == EffectClass::kNonIdempotent) {
      const auto before = events.size();
      Decide(StartingInput{step, attempt_id});
      EXPECT_EQ(events.size(), before + 1) << "the start of " << step.step_id << " left no event";
      attempts.push_back({step.step_id, attempt_id, Token{}, now});
    }
    running[step.step_id] = attempt_id;
    notes[step.step_id] = step.note;
    calls.push_back(step.step_id);
    started.push_back({std::move(step), attempt_id});
  }
  EXPECT_LE(int(started.size()), free_slots);
  return started;
}

void RunDriver::Finish(const std::string& step_id, StepResult result) {
  ASSERT_TRUE(running.contains(step_id)) << step_id;
  int attempt_id = running[step_id];
  running.erase(step_id);
  bool has_row = std::any_of(attempts.begin(), attempts.end(),
                             [&](const AttemptRow& row) { return row.step_id == step_id && row.attempt_id == attempt_id; });
  if (!has_row && result.outcome != StepResult::Outcome::kNotStarted) attempts.push_back({step_id, attempt_id, Token{}, now});
  Decide(StepFinishedInput{step_id, attempt_id, std::move(result), notes[step_id]});
}

void RunDriver::Post(const std::string& kind_name, Json payload) {
  static std::uint8_t count = 0;
  InboxId id;
  id.uuid.bytes[15] = ++count;
  id.uuid.bytes[0] = 1;
  const auto before = events.size();
  Decide(InboxInput{id, kind_name, std::move(payload)});
  ASSERT_GT(events.size(), before) << "an outside input left no event";
  EXPECT_EQ((*ParseJson(*events[before].payload))["inbox_id"], id.ToString());
}

void RunDriver::PostTimer(const std::string& timer_id, WallTime fire_at) {
  Decide(InboxInput{InboxId{}, "timer", {{"timer_id", timer_id}, {"fire_at", FormatWallTime(fire_at)}}});
}

void RunDriver::FinishDispatch(std::string step_id, StepResult result) {
  ASSERT_TRUE(dispatches.contains(step_id)) << step_id;
  const int attempt = dispatches[step_id].attempt_id;
  dispatches.erase(step_id);
  Post(std::string(kDispatchResultKind), *ParseJson(ResultToText({step_id, attempt, std::move(result), false, true, "w9", 77})));
}

void RunDriver::LoseDispatch(std::string step_id, bool counted) {
  ASSERT_TRUE(dispatches.contains(step_id)) << step_id;
  const int attempt = dispatches[step_id].attempt_id;
  dispatches.erase(step_id);
  Post(std::string(kDispatchResultKind), *ParseJson(LostDispatchText({step_id, attempt}, counted, "w9", Token{77})));
}

bool RunDriver::FireNextTimer() {
  auto next = std::min_element(timers.begin(), timers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (next == timers.end()) return false;
  auto [timer_id, fire_at] = *next;
  timers.erase(next);
  now = std::max(now, fire_at);
  PostTimer(timer_id, fire_at);
  return true;
}

void RunDriver::RunToEnd(const Script& script, int free_slots, int max_attempts) {
  if (events.size() == 1) Claim();
  for (int ended = 0; ended < max_attempts;) {
    std::vector<Started> started = Pump(free_slots - int(running.size()));
    if (started.empty() && running.empty()) {
      Next next = Ask();
      if (next.closed || !next.waiting || next.waiting->reason != "retry" || !FireNextTimer()) return;
      continue;
    }
    std::string step_id = started.empty() ? running.begin()->first : started.front().step.step_id;
    StartStep step;
    step.step_id = step_id;
    if (!started.empty()) step = started.front().step;
    Finish(step_id, script(step, running[step_id]));
    ++ended;
  }
}

RunView RunDriver::View() const {
  auto view = ViewOf(state);
  EXPECT_TRUE(view.ok());
  return view ? *view : RunView{};
}

StepView RunDriver::Step(const std::string& name) const {
  for (const StepView& step : View().steps) {
    if (step.name == name) return step;
  }
  ADD_FAILURE() << "no step " << name;
  return {};
}

std::vector<std::string> RunDriver::Types() const {
  std::vector<std::string> types;
  for (const Event& event : events) types.push_back(event.type);
  return types;
}

std::vector<Json> RunDriver::Events(std::string_view type) const {
  std::vector<Json> found;
  for (const Event& event : events) {
    if (event.type == type) found.push_back(*ParseJson(*event.payload));
  }
  return found;
}

Json RunDriver::Last(std::string_view type) const {
  auto found = Events(type);
  if (found.empty()) {
    ADD_FAILURE() << "no event " << type;
    return Json::object();
  }
  return found.back();
}

}  // namespace acl::workflow::test
