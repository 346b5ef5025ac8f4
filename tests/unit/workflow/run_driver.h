#pragma once
// A run without store, worker or clock: does with the workflow kind what the worker's core does (decide, fold, start, finish, resume after
// a crash), one input at a time, and checks after every event that replaying the payloads alone gives the same state and root.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shared/capability/capability.h"
#include "shared/capability/dispatch_format.h"
#include "shared/definition/workflow_definition.h"
#include "shared/kernel/fold.h"
#include "shared/kernel/kind.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/run_view.h"
#include "shared/workflow/workflow_kind.h"

namespace acl::workflow::test {

// Capabilities of every effect class; `do.*` have no undo of their own:
//   do.pure  do.read  do.idempotent  do.effect (non-idempotent)  do.keyed (non-idempotent, honours the key)
//   file.write (pure), file.run (non-idempotent): undo by the old manifest entry;  data.false (success: false is a result)
std::shared_ptr<const CapabilityRegistry> TestCapabilities();

StepDefinition MakeStep(std::string name, std::string capability = "do.pure", std::vector<std::string> depends_on = {});
WorkflowDefinition MakeDefinition(std::vector<StepDefinition> steps, std::string name = "test");

// As the loader reads them: a file, or the steps of one alone.
WorkflowDefinition DefinitionOfFile(const std::string& text);
WorkflowDefinition DefinitionOfSteps(const std::string& steps);

StepResult Ok(Json outputs = Json::object());
StepResult Fails(std::string error = "no", bool retryable = true);
StepResult Ends(StepResult::Outcome outcome);

struct Started {
  StartStep step;
  int attempt_id = 0;
};

std::vector<std::string> StepIdsOf(const std::vector<Started>& started);

class RunDriver {
 public:
  explicit RunDriver(WorkflowDefinition definition, CreateRequest request = {});
  explicit RunDriver(CreateItem item);
  static SubjectId RunId();

  // -- what happens to the run
  void Claim(int died_alone = 0);                 // first claim, or a takeover: what ran here is forgotten, its attempt rows are not
  std::vector<Started> Pump(int free_slots = 1);  // starts what WhatNext names
  void Finish(const std::string& step_id, StepResult result);
  void Post(const std::string& kind, Json payload = Json::object());
  void PostTimer(const std::string& timer_id, WallTime fire_at);
  // The dispatch of a step that is out comes back: what its taker says, or what the store says of it ("lost", "cancelled").
  void FinishDispatch(std::string step_id, StepResult result);
  void LoseDispatch(std::string step_id, bool counted = true);
  bool FireNextTimer();  // moves the time on to it; false: there is none
  void Crash(int died_alone = 0) { Claim(died_alone); }

  // Runs on until it is closed, or waits for a person, or `steps` attempts have ended. Results come from the script; timers fire.
  using Script = std::function<StepResult(const StartStep& step, int attempt_id)>;
  void RunToEnd(const Script& script, int free_slots = 1, int max_attempts = 10'000);

  // -- what became of it
  RunView View() const;
  std::string Status() const { return View().status; }
  StepView Step(const std::string& name) const;
  std::vector<std::string> Types() const;                 // of all events
  std::vector<Json> Events(std::string_view type) const;  // payloads
  Json Last(std::string_view type) const;
  const Json* Var(const std::string& name) const { return state.Find("var:" + name); }
  Next Ask(int free_slots = 1) const;

  std::shared_ptr<const SubjectKind> kind;
  Document state;
  WallTime now = WallTimeFromMicros(1'800'000'000'000'000);
  std::vector<Event> events;
  std::map<std::string, int> running;  // step id -> attempt id
  std::map<std::string, Json> notes;   // of their starts
  std::vector<AttemptRow> attempts;
  std::map<std::string, int> completions;  // step id -> attempt id
  std::map<std::string, WallTime> timers;
  std::vector<CompensationRow> compensations;
  std::vector<std::string> calls;                 // step ids, in the order their attempts started
  std::map<std::string, DispatchRow> dispatches;  // that are out, by step id
  std::vector<std::string> wanted_back;           // dispatches, by the last decision
  std::vector<std::string> cancelled;             // what the last decision wanted stopped; "*" for everything
  std::optional<ListingChange> listing;
  std::vector<OutboxRow> outbox;  // all that was said
  CreateItem created;

 private:
  void Begin(CreateItem item);
  void Decide(const Input& input);
  void Append(const EventDraft& draft);
  int NextAttempt(const std::string& step_id);

  Document replayed_;
  std::map<std::string, int> attempt_counts_;
};

}  // namespace acl::workflow::test
