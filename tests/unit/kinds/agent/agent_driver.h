#pragma once
// A session without store, worker or clock: does with the agent kind what the worker's core does, one input at a time, and checks after
// every event that replaying the payloads alone gives the same state. Steps are answered by a script.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shared/kinds/agent/agent_kind.h"
#include "shared/kinds/agent/create_agent.h"

namespace acl::agent::test {

// look.*: pure and read; do.idempotent, do.effect (non-idempotent), do.keyed (non-idempotent, honours the key), files.write (pure, HIGH).
std::shared_ptr<const CapabilityRegistry> Capabilities();
AgentDefinition DefinitionOf(const std::string& text);

StepResult Gives(Json outputs = Json::object());
StepResult Says(const Json& answer);  // a planner program that writes this
StepResult FailsWith(const std::string& error, bool retryable = true);
StepResult EndsAs(StepResult::Outcome outcome);
StepResult Writes(const std::string& path, const std::string& content);

class AgentDriver {
 public:
  explicit AgentDriver(const std::string& file, CreateAgent request = {}, BuiltInExtensions extensions = {});

  void Claim();  // the first claim, or a takeover: what ran here is forgotten, its attempt rows are not
  void Post(const std::string& kind, Json payload = Json::object());
  void Tell(const std::string& text, const std::string& mode = "followup") {
    Post("stimulus", {{"mode", mode}, {"text", text}, {"by", "ann"}});
  }
  std::vector<StartStep> Pump();  // starts what WhatNext names
  void Finish(const std::string& step_id, StepResult result);
  bool FireNextTimer();  // moves the time on to it; false: there is none
  // Goes on until nothing is to be started. Results come from the script.
  using Script = std::function<StepResult(const StartStep& step)>;
  void Run(const Script& script, int most = 1'000);

  std::string Status() const { return FindStanding(state)->status; }
  std::string Reason() const { return FindStanding(state)->reason; }
  Standing Now() const { return *FindStanding(state); }
  std::vector<std::string> Types(const std::string& prefix = "") const;
  std::vector<Json> Events(std::string_view type) const;
  Json Last(std::string_view type) const;
  Next Ask() const;

  std::shared_ptr<const SubjectKind> kind;
  Document state;
  WallTime now = WallTimeFromMicros(1'800'000'000'000'000);
  std::vector<Event> events;
  std::map<std::string, int> running;
  std::vector<AttemptRow> attempts;
  std::map<std::string, int> completions;
  std::map<std::string, WallTime> timers;
  std::vector<std::string> calls;  // step ids, in the order in which their attempts began
  std::vector<StartStep> started;
  std::vector<std::string> cancelled;  // that the last decision wants stopped; "*": all
  std::optional<ListingChange> listing;
  std::vector<OutboxRow> outbox;

 private:
  void Decide(const Input& input);

  Document replayed_;
  std::map<std::string, int> attempt_counts_;
  int posts_ = 0;
};

}  // namespace acl::agent::test
