#include "shared/workflow/evolve.h"

#include <fmt/format.h>

#include "shared/base/json_object.h"
#include "shared/base/mutant.h"
#include "shared/capability/manifest.h"
#include "shared/workflow/events.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/record_patch.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

// A moment as the state keeps it: microseconds since 1970.
Json Moment(WallTime time) { return MicrosOf(time); }

// One event being worked out: records are changed in memory, the patch is made at the end.
class Evolution {
 public:
  Evolution(const CompiledSpec& spec, const Document& state, RunRecord run, const EventDraft& draft)
      : spec_(spec), state_(state), draft_(draft), facts_(&draft.facts), ready_(state, spec.total()), run_(std::move(run)) {}

  Delta Run() {
    const std::string& type = draft_.type;
    if (type.starts_with("workflow.")) {
      WorkflowEvent(type);
    } else if (type == event::kInputRefused || type == event::kSignalReceived || type == event::kQuarantineReleased) {
      return {};
    } else {
      StepEvent(type);
    }
    if (!impossible_.empty()) return Delta::Impossible(impossible_);
    return Patch();
  }

 private:
  std::string Fact(std::string_view key) const { return TextOf(facts_, key); }
  // What an event says, or only its delta does.
  const Json* Given(std::string_view key) const {
    const Json* fact = MemberOf(facts_, key);
    return fact ? fact : MemberOf(&draft_.carried, key);
  }
  Json At() const { return Moment(draft_.at); }

  // -- the run

  Json& RunJson() {
    if (run_json_.is_null()) run_json_ = *run_.json;
    return run_json_;
  }

  void GoRun(RunStatus to) {
    if (!MayGo(run_.status, to)) {
      impossible_ = fmt::format("run {} -> {}", Name(run_.status), Name(to));
      return;
    }
    RunJson()["status"] = Name(to);
  }

  // Facts that become members of the run record, as they are.
  void Keep(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (const Json* fact = MemberOf(facts_, key)) RunJson()[key] = *fact;
    }
  }

  // A deadline that is given replaces the time left, and the other way round.
  void KeepDeadline() {
    if (MemberOf(facts_, "deadline_at")) {
      RunJson()["deadline_at"] = *MemberOf(facts_, "deadline_at");
      RunJson().erase("deadline_left_ms");
    } else if (MemberOf(facts_, "deadline_left_ms")) {
      RunJson()["deadline_left_ms"] = *MemberOf(facts_, "deadline_left_ms");
      RunJson().erase("deadline_at");
    }
  }

  void Close() {
    RunJson()["phase"] = "closed";
    RunJson()["completed_at"] = At();
    RunJson().erase("deadline_at");
    RunJson().erase("deadline_left_ms");
  }

  void WorkflowEvent(const std::string& type) {
    if (run_.phase == Phase::kClosed) {
      impossible_ = type + " of a closed run";
    } else if (type == event::kWorkflowStarted) {
      GoRun(RunStatus::kRunning);
      RunJson()["started_at"] = At();
      KeepDeadline();
    } else if (type == event::kWorkflowPaused) {
      GoRun(RunStatus::kPaused);
      KeepDeadline();
    } else if (type == event::kWorkflowResumed) {
      GoRun(RunStatus::kRunning);
      KeepDeadline();
    } else if (type == event::kWorkflowCompleted) {
      GoRun(RunStatus::kCompleted);
      Keep({"outputs_of"});
      Close();
    } else if (type == event::kWorkflowFailed) {
      GoRun(RunStatus::kFailed);
      RunJson()["phase"] = "stopping";
      RunJson()["failed_at"] = At();
      RunJson().erase("deadline_at");
      RunJson().erase("deadline_left_ms");
      Keep({"reason", "error", "failed_step", "rollback"});
    } else if (type == event::kWorkflowRolledBack) {
      GoRun(RunStatus::kRolledBack);
      Close();
    } else if (type == event::kWorkflowEnded) {
      if (run_.status != RunStatus::kFailed) impossible_ = fmt::format("{} of a run that is {}", type, Name(run_.status));
      Close();
    } else {
      impossible_ = TextOf(facts_, "reason") + " (" + type + ")";
    }
  }

  // -- a step or compensation

  void StepEvent(const std::string& type) {
    const std::string step_id = Fact("step_id");
    instance_ = spec_.Find(step_id);
    if (!instance_) {
      impossible_ = fmt::format("{} of '{}', which the workflow does not have", type, step_id);
      return;
    }
    progress_ = ReadProgress(state_);
    record_ = ReadStep(state_, step_id);
    step_json_ = record_.json ? CopyWithRoom(*record_.json, 4) : ObjectFor(4);
    if (const Json* attempt = MemberOf(facts_, "attempt")) step_json_["attempt"] = *attempt;
    KeepMissing();

    if (type == event::kStepStarted) {
      Started();
    } else if (type == event::kStepDispatched) {
      Dispatched();
    } else if (type == event::kStepWaiting) {
      Waits();
    } else if (type == event::kStepCompleted) {
      Completed();
    } else if (type == event::kStepAttemptFailed) {
      AttemptFailed();
    } else if (type == event::kStepFailed) {
      Ended(StepStatus::kFailed);
      if (progress_.failed.empty()) progress_.failed = step_id;
    } else if (type == event::kStepAttemptLost) {
      step_json_["lost"] = record_.lost + 1;
      Again();
    } else if (type == event::kAttemptNotStarted) {
      Again();
    } else if (type == event::kStepRetryDue) {
      RetryDue();
    } else if (type == event::kStepUncertain) {
      GoStep(StepStatus::kUncertain);
      LeaveOpen();
      LeaveReady();
      step_json_["error"] = Fact("why");
      progress_.uncertain.push_back(step_id);
      KeepDeadline();
    } else if (type == event::kStepResolved) {
      Resolved();
    } else if (type == event::kStepCancelled) {
      Ended(StepStatus::kCancelled);
    } else if (type == event::kCompensationCompleted || type == event::kCompensationFailed) {
      CompensationEnded(type == event::kCompensationCompleted);
    } else {
      impossible_ = "unknown event " + type;
    }
  }

  // Both the start and the completion may say something.
  void KeepMissing() {
    const Json* missing = MemberOf(facts_, "missing");
    if (!missing || !missing->is_array() || missing->empty()) return;
    Json& kept = step_json_["missing"];
    if (!kept.is_array()) kept = Json::array();
    for (const Json& reference : *missing) {
      if (std::find(kept.begin(), kept.end(), reference) == kept.end()) kept.push_back(reference);
    }
  }

  void GoStep(StepStatus to) {
    if (!MayGo(record_.status, to) && impossible_.empty()) {
      impossible_ = fmt::format("step '{}' {} -> {}", instance_->step_id, Name(record_.status), Name(to));
    }
    step_json_["status"] = Name(to);
  }

  void LeaveOpen() {
    std::erase(progress_.open, instance_->step_id);
    std::erase(progress_.tasks, instance_->step_id);
    step_json_.erase("task");
  }
  void LeaveReady() {
    if (!instance_->undo) ready_.Erase(spec_.position(instance_->step));
  }
  void EnterReady() {
    if (!instance_->undo) ready_.Insert(spec_.position(instance_->step));
  }
  void LeaveRetry() {
    step_json_.erase("retry_at");
    if (--progress_.retrying == 0 || progress_.next_retry == record_.retry_at) progress_.next_retry.reset();
  }

  void Started() {
    Begun();
    progress_.open.push_back(instance_->step_id);
  }

  void Dispatched() {
    Begun();
    progress_.tasks.push_back(instance_->step_id);
    step_json_["task"] = Json{{"queue", Fact("queue")}, {"band", NumberOf(facts_, "band")}, {"since", At()}};
  }

  void Begun() {
    GoStep(StepStatus::kRunning);
    if (!step_json_.contains("started_at")) step_json_["started_at"] = At();
    if (!step_json_.contains("call") && draft_.carried.contains("call")) step_json_["call"] = draft_.carried["call"];
    std::erase(progress_.settle, instance_->step_id);
  }

  // Lost or never begun.
  void Again() {
    LeaveOpen();
    for (auto key : {"losses", "died"})
      if (const Json* fact = MemberOf(facts_, key)) step_json_[key] = *fact;
    if (MemberOf(facts_, "retry_at")) return WaitForRetry();
    GoStep(StepStatus::kPending);
    if (FlagOf(facts_, "settle")) progress_.settle.push_back(instance_->step_id);
  }

  void WaitForRetry() {
    GoStep(StepStatus::kRetryWait);
    LeaveReady();
    step_json_["retry_at"] = *MemberOf(facts_, "retry_at");
    ++progress_.retrying;
    auto at = TimeOf(facts_, "retry_at");
    if (at && (!progress_.next_retry || *at < *progress_.next_retry)) progress_.next_retry = at;
  }

  void Waits() {
    GoStep(StepStatus::kWaiting);
    LeaveReady();
    const auto due = TimeOf(facts_, "due_at");
    if (instance_->undo || !due || !spec_.step(instance_->step).wait)
      impossible_ = fmt::format("step.waiting of '{}' without a time", instance_->step_id);
    step_json_["started_at"] = At();
    step_json_["due_at"] = Fact("due_at");
    ++progress_.waiting;
    if (due && (!progress_.next_due || *due < *progress_.next_due)) progress_.next_due = due;
    KeepDeadline();
  }

  void WaitedFor() {
    step_json_.erase("due_at");
    if (--progress_.waiting == 0 || progress_.next_due == record_.due_at) progress_.next_due.reset();
    KeepDeadline();
  }

  void AttemptFailed() {
    const Json* retry_at = MemberOf(facts_, "retry_at");
    step_json_["attempts"] = NumberOf(facts_, "attempts");
    step_json_["error"] = Fact("error");
    if (!step_json_.contains("started_at")) step_json_["started_at"] = Fact("started_at");
    LeaveOpen();
    step_json_.erase("losses");
    if (retry_at) return WaitForRetry();
    if (record_.status != StepStatus::kPending) GoStep(StepStatus::kPending);  // at once: it stays ready
  }

  void RetryDue() {
    GoStep(StepStatus::kPending);
    LeaveRetry();
    EnterReady();
  }

  void Resolved() {
    if (record_.status != StepStatus::kUncertain) impossible_ = fmt::format("step.resolved of a step that is {}", Name(record_.status));
    std::erase(progress_.uncertain, instance_->step_id);
    step_json_["resolved_by"] = Fact("by");
    KeepDeadline();
    if (Fact("decision") != "retry") return;  // the event after this one says what became of it
    GoStep(StepStatus::kPending);
    step_json_.erase("error");
    step_json_.erase("started_at");  // the step's time starts anew: it was a person who was waited for
    EnterReady();
    if (FlagOf(facts_, "settle")) progress_.settle.push_back(instance_->step_id);
  }

  void Ended(StepStatus status) {
    GoStep(status);
    LeaveOpen();
    LeaveReady();
    std::erase(progress_.uncertain, instance_->step_id);
    std::erase(progress_.settle, instance_->step_id);
    if (const Json* attempts = Given("attempts")) step_json_["attempts"] = *attempts;
    if (const Json* started_at = Given("started_at"); started_at && !step_json_.contains("started_at"))
      step_json_["started_at"] = *started_at;
    if (const Json* error = MemberOf(facts_, "error")) step_json_["error"] = *error;
    step_json_["completed_at"] = At();
    for (auto key : {"attempt", "call", "waits", "losses", "died"}) step_json_.erase(key);
  }

  void Completed() {
    Ended(StepStatus::kCompleted);
    if (record_.status == StepStatus::kWaiting) WaitedFor();
    step_json_.erase("error");
    step_json_["order"] = ++progress_.done;
    if (draft_.carried.contains("undo")) {
      Json undo = draft_.carried["undo"];
      if (!progress_.undo.empty() && !Mutant("compensation_forgotten")) undo["prev"] = progress_.undo;
      if (Mutant("compensation_out_of_order") && !progress_.undo.empty()) {  // behind the one that completed before it
        undo.erase("prev");
        const StepRecord before = ReadStep(state_, progress_.undo);
        if (const std::string prev = TextOf(before.undo, "prev"); !prev.empty()) undo["prev"] = prev;
        DeltaOp& op = more_.ops.emplace_back();
        op.entry = StepKey(progress_.undo), op.below = "/undo/prev", op.value = instance_->step_id;
        step_json_["undo"] = std::move(undo);
      } else {
        step_json_["undo"] = std::move(undo);
        progress_.undo = instance_->step_id;
      }
    }
    const std::string& name = spec_.step(instance_->step).name;
    const std::string var = VarKey(name);
    const Json& outputs = draft_.carried["outputs"];
    more_.Add(var, outputs);
    Json hidden = Json::array();
    static const Json::object_t none;
    for (const auto& [key, output] : outputs.is_object() ? outputs.get_ref<const Json::object_t&>() : none) {
      if (spec_.IsStep(key)) {  // the name is the step's: else a step's outputs would be gone from the state
        hidden.push_back(key);
      } else if (std::string variable = VarKey(key); spec_.Mentions(key) || Lookup(state_, variable)) {
        more_.Copy(var, key, variable);
      }
    }
    if (!hidden.empty()) step_json_["hidden"] = std::move(hidden);
    if (draft_.carried.contains("files")) AddFiles(draft_.carried["files"]);
    for (int dependent : spec_.dependents(instance_->step)) OneLess(dependent);
  }

  // A dependency of the step is done.
  void OneLess(int index) {
    const std::string& step_id = spec_.step_id(index);
    StepRecord record = ReadStep(state_, step_id);
    int waits = (record.waits < 0 ? spec_.dependencies(index) : record.waits) - 1;
    if (waits == 0) ready_.Insert(spec_.position(index));
    if (waits == 0 && !record.json) return;  // never waited for more than this one: needs no record
    Json json = record.json ? *record.json : Json{{"status", Name(StepStatus::kPending)}};
    json["waits"] = waits;
    more_.Add(StepKey(step_id), std::move(json));
  }

  // {path: entry, or null to delete}
  void AddFiles(const Json& files) {
    for (auto it = files.begin(); it != files.end(); ++it) {
      std::string key = FileKey(it.key());
      if (!it.value().is_null()) {
        more_.Add(key, it.value());
      } else if (Lookup(state_, key)) {
        more_.Remove(key);
      }
    }
  }

  void CompensationEnded(bool succeeded) {
    if (!instance_->undo) impossible_ = fmt::format("a compensation event of the step '{}'", instance_->step_id);
    Ended(succeeded ? StepStatus::kCompleted : StepStatus::kFailed);
    if (succeeded) step_json_.erase("error");
    if (draft_.carried.contains("files")) AddFiles(draft_.carried["files"]);
    if (!succeeded) {
      more_.Add(NotUndoneKey(progress_.not_undone), instance_->step_id);
      ++progress_.not_undone;
    }
    if (instance_->step < 0) {
      ++progress_.global;
    } else {  // next: the step that completed before this one
      StepRecord forward = ReadStep(state_, spec_.step_id(instance_->step));
      progress_.undo = TextOf(forward.undo, "prev");
    }
  }

  // -- the delta

  Delta Patch() {
    Delta delta;
    delta.ops.reserve(more_.ops.size() + 4);
    if (!run_json_.is_null()) PatchMembers(delta, kRunKey, *run_.json, std::move(run_json_));
    if (instance_) {
      PatchRecord(delta, StepKey(instance_->step_id), record_.json, std::move(step_json_));
      PatchRecord(delta, std::string(kProgressKey), progress_.json, ToJson(progress_));
    }
    ready_.AppendTo(delta);
    for (DeltaOp& operation : more_.ops) delta.ops.push_back(std::move(operation));
    return delta;
  }

  const CompiledSpec& spec_;
  const Document& state_;
  const EventDraft& draft_;
  const Json* facts_;
  ReadySet ready_;
  RunRecord run_;
  const Instance* instance_ = nullptr;
  Progress progress_;
  StepRecord record_;
  Json run_json_, step_json_;
  Delta more_;
  std::string impossible_;
};

// The first event: the whole state from what it carries.
Delta Created(const CompiledSpec& spec, const Document& state, const EventDraft& draft) {
  Delta delta;
  for (auto key : {kRunKey, kSpecKey, kInputsKey}) delta.Add(key, draft.carried[std::string(key)]);
  delta.Add(kProgressKey, Json{{"done", 0}});
  const Json& variables = draft.carried["variables"];
  for (auto it = variables.begin(); it != variables.end(); ++it) delta.Add(VarKey(it.key()), it.value());
  const Json& files = draft.carried["files"];
  for (auto it = files.begin(); it != files.end(); ++it) delta.Add(FileKey(it.key()), it.value());
  ReadySet ready(state, spec.total());
  for (int index = 0; index < spec.total(); ++index) {
    if (spec.dependencies(index) == 0) ready.Insert(spec.position(index));
  }
  ready.AppendTo(delta);
  return delta;
}

}  // namespace

Delta EvolveRun(const SpecCache& specs, const Document& state, const EventDraft& draft) {
  if (draft.type == event::kWorkflowCreated) {
    if (state.size() != 0) return Delta::Impossible("workflow.created on a state that is not empty");
    auto compiled = specs.Of(draft.carried[std::string(kRunKey)], draft.carried[std::string(kSpecKey)]);
    if (!compiled) return Delta::Impossible(compiled.message());
    return Created(**compiled, state, draft);
  }
  auto run = ReadRun(state);
  if (!run) return Delta::Impossible(draft.type + " before workflow.created");
  auto compiled = specs.Of(state, run->spec_hash);
  if (!compiled) return Delta::Impossible(compiled.message());
  return Evolution(**compiled, state, std::move(*run), draft).Run();
}

}  // namespace acl::workflow
