#pragma once
// One event being worked out (evolve.h): records are changed in memory, the patch is made at the end.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "shared/kernel/kind.h"
#include "shared/workflow/compiled_definition.h"
#include "shared/workflow/frontier.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

class Evolution {
 public:
  Evolution(const CompiledDefinition& definition, const Document& state, RunRecord run, const EventDraft& draft)
      : definition_(definition), state_(state), draft_(draft), facts_(&draft.facts), frontier_(state, definition), run_(std::move(run)) {}

  Delta Run();

 private:
  std::string Fact(std::string_view key) const { return TextOf(facts_, key); }
  // What an event says, or only its delta does.
  const Json* Given(std::string_view key) const;
  Json At() const;

  // -- the run (evolve.cc)
  Json& RunJson();
  void GoRun(RunStatus to);
  // Facts that become members of the run record, as they are.
  void Keep(std::initializer_list<const char*> keys);
  // A deadline that is given replaces the time left, and the other way round.
  void KeepDeadline();
  void Close();
  void WorkflowEvent(const std::string& type);
  void KeepSignal();

  // -- a step or compensation (evolve_step.cc)
  void StepEvent(const std::string& type);
  void KeepMissing();
  void GoStep(StepStatus to);
  void LeaveOpen();
  void LeaveReady();
  void EnterReady();
  void LeaveRetry();
  void Started();
  void Dispatched();
  void Begun();
  void Again();  // lost or never begun
  void WaitForRetry();
  void Waits();
  void WaitsForSignal(const std::string& name);
  void WaitedFor();
  void TakeSignal();
  void ApprovalRequested();  // evolve_approval.cc
  void ApprovalGoesOn();
  void ApprovalEnded(const Instance& instance, Json& record, std::string_view state);
  void AttemptFailed();
  void RetryDue();
  void Uncertain();
  void Resolved();
  void Ended(StepStatus status);
  void Completed();
  void KeepUndo();
  void KeepOutputs();
  void OneLess(const Instance& of, int dependent);  // a dependency of the step is done
  void AddFiles(const Json& files);                 // {path: entry, or null to delete}
  void NotUndoneWithin();
  void CompensationEnded(bool succeeded);

  // -- scopes (evolve_scopes.cc)
  void ChildStarted();
  void Opened();
  void OpenItems();
  void OpenItem(const Instance& each, int number);
  void ConditionMet();
  void Skipped();
  void Skip(const Instance& instance);
  void MakeDue(const Instance& instance);  // its turn has come: it begins, if its scope lets it
  void LetIn(const Instance& instance);    // into one of the sets of the frontier
  void Due(const Instance& scope);         // all in it has ended, or too much failed
  void Freed(const Instance& instance);    // it ended: for those that wait for it, and its scope
  // `begun`: it had been let in by a scope that lets only so many in at once.
  void ScopeLess(const Instance& instance, bool begun = true);
  void ItemLess(const Instance& instance);
  void ItemEnded(const Instance& each, const Instance& last, const std::string& failed);
  bool IsContained(const Instance& instance) const;
  void Failed();
  std::vector<int> Below(int step) const;
  void LeaveOutAll(const Instance& beside, const std::vector<int>& steps, const std::string& failed);
  bool LeaveOut(const Instance& instance, const std::string& failed);

  // Records of other steps than the event's, as this event leaves them.
  Json* Touched(const Instance& instance);
  StepRecord RecordOf(const Instance& instance);
  Json& Touch(const Instance& instance);
  Json& TouchEntry(const std::string& key, const Json& fresh);  // null: it goes
  bool IsOwnRecord(const Instance& instance) const { return instance_ && instance.step_id == instance_->step_id; }

  Delta Patch();

  const CompiledDefinition& definition_;
  const Document& state_;
  const EventDraft& draft_;
  const Json* facts_;
  Frontier frontier_;
  RunRecord run_;
  std::optional<Instance> instance_;
  Progress progress_;
  StepRecord record_;
  Json run_json_, step_json_;
  std::deque<std::pair<std::string, Json>> touched_;  // entries, in the order they were touched; references to them stay good
  std::map<std::string, std::size_t> touched_at_;
  Delta more_;
  std::string impossible_;
};

}  // namespace acl::workflow
