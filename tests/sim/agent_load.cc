#include "tests/sim/agent_load.h"

#include <fmt/format.h>

#include "shared/kinds/agent/events.h"

namespace acl::test {

namespace {

constexpr const char* kOver = "the simulation is over";

// What production runs, but with an end.
class EndingAgents final : public SubjectKind {
 public:
  explicit EndingAgents(std::shared_ptr<const SubjectKind> agents) : agents_(std::move(agents)) {}
  std::string_view Name() const override { return agents_->Name(); }
  Decision Decide(const Document& state, const Input& input, WallTime now) const override { return agents_->Decide(state, input, now); }
  Delta Evolve(const Document& state, const EventDraft& draft) const override { return agents_->Evolve(state, draft); }
  bool Joins(std::string_view event, std::string_view next) const override { return agents_->Joins(event, next); }
  Next WhatNext(const Document& state, const NextContext& context) const override {
    const auto standing = agent::FindStanding(state);
    if (standing && standing->status == agent::kStopped && standing->reason == kOver) {
      Next next;
      next.closed = true;
      return next;
    }
    return agents_->WhatNext(state, context);
  }

 private:
  const std::shared_ptr<const SubjectKind> agents_;
};

CapabilityDefinition OfAgents(std::string id, EffectClass effect) {
  CapabilityDefinition definition;
  definition.id = std::move(id);
  definition.effect = effect;
  return definition;
}

}  // namespace

AgentLoad::AgentLoad() {
  const auto none = [](const Json&, CallContext&) { return StepResult{}; };
  for (const auto& [id, effect] :
       {std::pair("look.pure", EffectClass::kPure), std::pair("look.read", EffectClass::kRead),
        std::pair("do.idempotent", EffectClass::kIdempotent), std::pair("do.effect", EffectClass::kNonIdempotent)})
    capabilities_->Add(OfAgents(id, effect), none);
  kind_ = std::make_shared<EndingAgents>(agent::MakeAgentKind(capabilities_));
  kinds_.Add(kind_);
}

CreateItem AgentLoad::MakeSubject(Random& random, const SubjectId& id) {
  std::string file = "agent: a\ncapabilities: ['*']\nplanner: {command: p}\nlimits: {actions_per_turn: 3, moves_per_minute: 100000}\n";
  if (random.Below(3) == 0) file += "every: 5s\n";
  if (random.Below(2) == 0) file += "on_unknown_outcome: go_on\n";
  if (random.Below(3) == 0) file += "ask_before: [do.idempotent]\napproval: {timeout: 20s}\n";
  if (random.Below(3) == 0)
    file += "extensions:\n  - {name: x, phases: [before_plan, before_action, before_rest], command: x, on_failure: open}\n";
  agent::CreateAgent create;
  create.subject = id;
  create.text = file;
  create.owner = "ann";
  if (random.Below(2) == 0) create.message = "begin";
  return *agent::MakeCreateItem(*kind_, *agent::LoadAgent(file, capabilities_.get()).definition, std::move(create));
}

std::pair<std::string, Json> AgentLoad::MakeSignal(Random& random, const MemorySubject& subject, bool) {
  const char* modes[] = {"interrupt", "steer", "followup"};
  switch (random.Below(12)) {
    case 0: return {"agent.pause", {{"by", "ann"}}};
    case 1: return {"agent.stop", {{"by", "ann"}, {"reason", "for a while"}}};
    case 2:
    case 3: return {"agent.resume", {{"by", "ann"}}};
    case 4: return {"agent.resolve", {{"decision", random.Below(2) == 0 ? "happened" : "did_not_happen"}, {"by", "ann"}}};
    case 5:
    case 6:
      // Of what is asked just now, if the journal's end says so; else of nothing.
      for (auto event = subject.events.rbegin(); event != subject.events.rend(); ++event) {
        if (event->type != agent::event::kApprovalRequested) continue;
        const Json asked = *ParseJson(*event->payload, kStoredJson);
        return {"decide",
                {{"approval_id", asked["approval_id"]},
                 {"digest", asked["digest"]},
                 {"decision", random.Below(3) == 0 ? "reject" : "approve"},
                 {"by", "carol"}}};
      }
      return {"decide", {{"approval_id", "none"}, {"decision", "approve"}, {"by", "carol"}}};
    default: return {"stimulus", {{"mode", modes[random.Below(3)]}, {"text", std::to_string(random.Below(100))}, {"by", "ann"}}};
  }
}

StepResult AgentLoad::RunStep(Random& random, const StepCall& call) {
  StepResult result;
  const std::string& id = call.step.step_id;
  if (random.Below(10) == 0) {
    result.outcome = StepResult::Outcome::kFailed;
    result.error = "a fault of the outside";
    return result;
  }
  if (id.find("/action[") != std::string::npos) return result;
  Json said = Json::object();
  if (id.ends_with("/request")) {
    said["actions"] = Json::array();
    for (auto n = random.Below(4); n > 0; --n) {
      const char* capabilities[] = {"look.pure", "look.read", "do.idempotent", "do.effect"};
      said["actions"].push_back({{"capability", capabilities[random.Below(4)]}, {"inputs", {{"n", random.Below(5)}}}});
    }
  }
  result.outputs = {{"stdout", DumpJson(said)}};
  return result;
}

std::optional<std::pair<std::string, Json>> AgentLoad::MakeStop(const MemorySubject& subject) {
  const bool stopped = subject.listing && (subject.listing->status == agent::kStopped || subject.listing->status == agent::kStopping);
  return std::pair<std::string, Json>{stopped ? "agent.resume" : "agent.stop", {{"reason", kOver}, {"by", "ann"}}};
}

void AgentLoad::Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) {
  const auto violated = [&](const std::string& what) { violations.push_back(subject.id.ToString() + ": " + what); };
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> ended;
  std::map<std::int64_t, std::set<std::int64_t>> taken;  // by turn: stimuli
  std::set<std::int64_t> heard;
  std::int64_t said = 0;
  for (const Event& event : subject.events) {
    const Json facts = *ParseJson(*event.payload, kStoredJson);
    if (event.type == agent::event::kStimulus || event.type == agent::event::kResolved) ++said;
    if (event.type == agent::event::kPrepare && facts.contains("message")) ++said;
    if (event.type == agent::event::kAttemptLost) ++repeated;
    if (event.type == agent::event::kApprovalDecided && facts.value("approval", "") == "APPROVED") ++approved;
    if (event.type == agent::event::kTurnBegan) {
      ++turns;
      for (const Json& number : facts["stimuli"]) taken[facts["turn"]].insert(number.get<std::int64_t>());
    }
    const bool answered = event.type == agent::event::kRequest && facts.contains("response");
    const bool no_plan = event.type == agent::event::kTurnEnded && facts.value("reason", "").starts_with("no plan");
    if (answered || no_plan) heard.insert(taken[facts["turn"]].begin(), taken[facts["turn"]].end());
    if (event.type != agent::event::kActionEnded) continue;
    ++actions;
    uncertain += facts["outcome"] == "uncertain";
    interrupted += facts["outcome"] == "interrupted";
    if (!ended.emplace(std::pair(facts["turn"].get<std::int64_t>(), facts["action"].get<std::int64_t>()), facts["outcome"]).second)
      violated(fmt::format("turn {}: action {} ended twice", facts["turn"].dump(), facts["action"].dump()));
  }
  const auto standing = agent::FindStanding(state);
  if (!standing) return violated("no session");
  if (standing->stimuli != said) violated(fmt::format("{} stimuli on record, {} counted", said, standing->stimuli));
  for (const agent::Stimulus& again : standing->again) heard.insert(again.number);
  heard.insert(standing->waiting.begin(), standing->waiting.end());
  if (const auto course = agent::FindCourse(state))
    for (const agent::Stimulus& one : course->stimuli) heard.insert(one.number);
  for (std::int64_t number = 1; number <= standing->stimuli; ++number)
    if (!heard.contains(number)) violated(fmt::format("stimulus {} was heard by no turn and does not wait", number));
}

}  // namespace acl::test
