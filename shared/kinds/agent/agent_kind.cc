#include "shared/kinds/agent/agent_kind.h"

#include "shared/base/mutant.h"
#include "shared/base/trace_context.h"
#include "shared/kinds/agent/decider.h"
#include "shared/kinds/agent/events.h"

namespace acl::agent {

namespace {

class AgentKind final : public SubjectKind {
 public:
  AgentKind(std::shared_ptr<const CapabilityRegistry> capabilities, BuiltInExtensions extensions)
      : capabilities_(std::move(capabilities)), extensions_(std::move(extensions)), kit_{*capabilities_, extensions_} {
    extensions_.merge(StandardExtensions());
  }

  std::string_view Name() const override { return kKindName; }

  bool Joins(std::string_view event, std::string_view next) const override {
    return next == event::kStepCompleted && (event == event::kActionEnded || event == event::kRequest || event == event::kLooked ||
                                             event == event::kExtensionAnswered || event == event::kLateResult);
  }

  Decision Decide(const Document& state, const Input& input, WallTime now) const override {
    auto definition = agents_.Of(state);
    if (!definition || !FindStanding(state)) {
      Decision unreadable;
      const std::string why = definition ? "the state holds no session that this version can read" : definition.message();
      unreadable.events.push_back({std::string(event::kUnreadable), Json{{"reason", why}}, Json::object()});
      return unreadable;
    }
    Decider decider(kit_, **definition, state, now);
    std::visit([&](const auto& value) { decider.On(value); }, input);
    return std::move(decider).Take();
  }

  // What changes is decided with the event, by values (decider.h), and carried here as a patch; an unreadable state has none that fits.
  Delta Evolve(const Document&, const EventDraft& draft) const override {
    const auto patch = draft.carried.find("patch");
    if (patch == draft.carried.end()) return Delta::Impossible("no event of an agent session: " + draft.type);
    return Delta(*patch);
  }

  Next WhatNext(const Document& state, const NextContext& context) const override {
    Next next;
    const auto standing = FindStanding(state);
    auto definition = agents_.Of(state);
    if (!standing || !definition) return next;  // Decide has said so already: the session is on its way into quarantine
    const auto wait = [&](const char* reason, std::optional<WallTime> wake_at) {
      if (context.running.empty()) next.waiting = Waiting{reason, wake_at};
    };
    const auto course = FindCourse(state);
    if (standing->status == kStopped) {
      wait("stopped", std::nullopt);
    } else if (standing->status == kPaused) {
      wait("paused", std::nullopt);
    } else if (course && course->at == Point::kApprove) {
      wait("approval", std::nullopt);
    } else if (course && course->retry_at && context.now < *course->retry_at) {
      wait("retry", course->retry_at);
    } else if (!course) {
      if (!Mutant("agent_rest_keeps_lease")) wait("rest", WakesAt(**definition, *standing));
    } else if (auto step = NextStep(kit_, **definition, state);
               step && !context.running.contains(step->step_id) && context.free_slots > 0) {
      next.start.push_back(std::move(*step));
    }
    return next;
  }

  SubjectTrace Trace(const Document& state) const override {
    const Json* agent = state.Find(kAgentKey);
    if (agent == nullptr) return {};
    return {ParseTraceparent(TextIn(*agent, "traceparent")).value_or(TraceContext{}), TextIn(*agent, "name")};
  }

  StepTrace TraceOf(const Document& state, const std::string& step_id) const override {
    const auto course = FindCourse(state);
    return {!course || course->open != step_id, course && course->open == step_id ? course->attempt : 0};
  }

 private:
  static std::optional<WallTime> WakesAt(const AgentDefinition& definition, const Standing& standing) {
    std::optional<WallTime> at = standing.wake_at;
    if (definition.every && (!at || standing.since + *definition.every < *at)) at = standing.since + *definition.every;
    return at;
  }

  const std::shared_ptr<const CapabilityRegistry> capabilities_;
  BuiltInExtensions extensions_;
  const Kit kit_;
  const KnownAgents agents_;
};

}  // namespace

std::shared_ptr<const SubjectKind> MakeAgentKind(std::shared_ptr<const CapabilityRegistry> capabilities, BuiltInExtensions extensions) {
  return std::make_shared<AgentKind>(std::move(capabilities), std::move(extensions));
}

Result<std::shared_ptr<const AgentDefinition>> KnownAgents::Of(const Document& state) const {
  const Json *agent = state.Find(kAgentKey), *value = state.Find(kDefinitionKey);
  if (agent == nullptr || value == nullptr) return Error{Code::kCorrupt, "a session without its entries 'agent' and 'spec'"};
  const std::string hash = TextIn(*agent, "spec_hash");
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(hash); found != known_.end()) return found->second;
  }
  auto read = AgentFromValue(*value);
  if (!read) return Error{Code::kCorrupt, "its agent file: " + read.message()};
  if (read->hash != hash) return Error{Code::kCorrupt, "its agent file is not the one that it was made with"};
  auto definition = std::make_shared<const AgentDefinition>(std::move(*read));
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKept) known_.clear();
  known_[hash] = definition;
  return definition;
}

}  // namespace acl::agent
