// What an event does to its step or compensation.

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/json_object.h"
#include "shared/base/mutant.h"
#include "shared/capability/manifest.h"
#include "shared/workflow/events.h"
#include "shared/workflow/evolution.h"

namespace acl::workflow {

void Evolution::StepEvent(const std::string& type) {
  const std::string step_id = Fact("step_id");
  instance_ = definition_.Find(step_id);
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
    if (MemberOf(facts_, "signal")) TakeSignal();
    NotUndoneWithin();
    Failed();
  } else if (type == event::kStepAttemptLost) {
    step_json_["lost"] = record_.lost + 1;
    Again();
  } else if (type == event::kAttemptNotStarted) {
    Again();
  } else if (type == event::kStepRetryDue) {
    RetryDue();
  } else if (type == event::kStepUncertain) {
    Uncertain();
  } else if (type == event::kStepResolved) {
    Resolved();
  } else if (type == event::kStepCancelled) {
    Ended(StepStatus::kCancelled);
    NotUndoneWithin();
  } else if (type == event::kStepOpened) {
    Opened();
  } else if (type == event::kChildContinued) {
    step_json_["child_now"] = Fact("next");
  } else if (type == event::kChildStarted) {
    ChildStarted();
  } else if (type == event::kApprovalRequested) {
    ApprovalRequested();
  } else if (type == event::kApprovalVote || type == event::kApprovalReminded || type == event::kApprovalEscalated) {
    ApprovalGoesOn();
  } else if (type == event::kStepConditionMet) {
    ConditionMet();
  } else if (type == event::kStepSkipped) {
    Skipped();
  } else if (type == event::kCompensationCompleted || type == event::kCompensationFailed) {
    CompensationEnded(type == event::kCompensationCompleted);
  } else {
    impossible_ = "unknown event " + type;
  }
}

// Both the start and the completion may say something.
void Evolution::KeepMissing() {
  const Json* missing = MemberOf(facts_, "missing");
  if (!missing || !missing->is_array() || missing->empty()) return;
  Json& kept = step_json_["missing"];
  if (!kept.is_array()) kept = Json::array();
  for (const Json& reference : *missing) {
    if (std::find(kept.begin(), kept.end(), reference) == kept.end()) kept.push_back(reference);
  }
}

void Evolution::GoStep(StepStatus to) {
  if (!MayGo(record_.status, to) && impossible_.empty()) {
    impossible_ = fmt::format("step '{}' {} -> {}", instance_->step_id, Name(record_.status), Name(to));
  }
  step_json_["status"] = Name(to);
}

void Evolution::LeaveOpen() {
  std::erase(progress_.open, instance_->step_id);
  std::erase(progress_.dispatches, instance_->step_id);
  step_json_.erase("dispatch");
}

void Evolution::LeaveReady() {
  if (instance_->undo) return;
  frontier_.Erase(Frontier::Kind::kReady, *instance_);
  if (definition_.IsOwn(instance_->step)) frontier_.Erase(Frontier::Kind::kOwn, *instance_);
}

void Evolution::EnterReady() {
  if (!instance_->undo) frontier_.Insert(Frontier::Kind::kReady, *instance_);
}

void Evolution::LeaveRetry() {
  step_json_.erase("retry_at");
  if (--progress_.retrying == 0 || progress_.next_retry == record_.retry_at) progress_.next_retry.reset();
}

void Evolution::Started() {
  Begun();
  progress_.open.push_back(instance_->step_id);
}

void Evolution::Dispatched() {
  Begun();
  progress_.dispatches.push_back(instance_->step_id);
  step_json_["dispatch"] = Json{{"queue", Fact("queue")}, {"priority", NumberOf(facts_, "priority")}, {"since", At()}};
}

void Evolution::Begun() {
  GoStep(StepStatus::kRunning);
  if (!step_json_.contains("started_at")) step_json_["started_at"] = At();
  if (!step_json_.contains("call") && draft_.carried.contains("call")) step_json_["call"] = draft_.carried["call"];
  std::erase(progress_.settle, instance_->step_id);
}

void Evolution::Again() {
  LeaveOpen();
  for (auto key : {"losses", "died"})
    if (const Json* fact = MemberOf(facts_, key)) step_json_[key] = *fact;
  if (MemberOf(facts_, "retry_at")) return WaitForRetry();
  GoStep(StepStatus::kPending);
  if (FlagOf(facts_, "settle")) progress_.settle.push_back(instance_->step_id);
}

void Evolution::WaitForRetry() {
  GoStep(StepStatus::kRetryWait);
  LeaveReady();
  step_json_["retry_at"] = *MemberOf(facts_, "retry_at");
  ++progress_.retrying;
  auto at = TimeOf(facts_, "retry_at");
  if (at && (!progress_.next_retry || *at < *progress_.next_retry)) progress_.next_retry = at;
}

void Evolution::Waits() {
  GoStep(StepStatus::kWaiting);
  LeaveReady();
  const auto due = TimeOf(facts_, "due_at");
  const std::string signal = Fact("signal");
  if (instance_->undo || (!due && signal.empty()) || definition_.Calls(instance_->step))
    impossible_ = fmt::format("step.waiting of '{}' without a time or a signal", instance_->step_id);
  step_json_["started_at"] = At();
  if (due) step_json_["due_at"] = Fact("due_at");
  ++progress_.waiting;
  if (!signal.empty()) WaitsForSignal(signal);
  if (due && (!progress_.next_due || *due < *progress_.next_due)) progress_.next_due = due;
  KeepDeadline();
}

void Evolution::WaitedFor() {
  step_json_.erase("due_at");
  if (step_json_.erase("signal") > 0) --progress_.signals;
  if (step_json_.contains("approval")) ApprovalEnded(*instance_, step_json_, Fact("approval"));
  if (--progress_.waiting == 0 || progress_.next_due == record_.due_at) progress_.next_due.reset();
  KeepDeadline();
}

void Evolution::AttemptFailed() {
  const Json* retry_at = MemberOf(facts_, "retry_at");
  step_json_["attempts"] = NumberOf(facts_, "attempts");
  step_json_["error"] = Fact("error");
  if (!step_json_.contains("started_at")) step_json_["started_at"] = Fact("started_at");
  LeaveOpen();
  step_json_.erase("losses");
  if (retry_at) return WaitForRetry();
  if (record_.status != StepStatus::kPending) GoStep(StepStatus::kPending);  // at once: it stays ready
}

void Evolution::RetryDue() {
  GoStep(StepStatus::kPending);
  LeaveRetry();
  EnterReady();
}

void Evolution::Uncertain() {
  GoStep(StepStatus::kUncertain);
  LeaveOpen();
  LeaveReady();
  step_json_["error"] = Fact("why");
  progress_.uncertain.push_back(instance_->step_id);
  KeepDeadline();
}

void Evolution::Resolved() {
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

void Evolution::Ended(StepStatus status) {
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
  for (auto key : {"attempt", "call", "waits", "losses", "died", "met"}) step_json_.erase(key);
  if (record_.status == StepStatus::kRunning && step_json_.contains("child")) --progress_.children;
  if (!definition_.has_own() || instance_->undo || definition_.Calls(instance_->step)) return;
  for (auto key : {"left", "active", "next", "ended"}) step_json_.erase(key);
  std::erase(progress_.due, instance_->step_id);
  KeepDeadline();
  if (status != StepStatus::kCompleted && record_.status == StepStatus::kWaiting) WaitedFor();
}

void Evolution::Completed() {
  Ended(StepStatus::kCompleted);
  if (record_.status == StepStatus::kWaiting) WaitedFor();
  if (MemberOf(facts_, "signal")) TakeSignal();
  step_json_.erase("error");
  step_json_["order"] = ++progress_.done;
  if (!instance_->item.empty()) ++progress_.items;
  if (draft_.carried.contains("undo")) KeepUndo();
  KeepOutputs();
  if (definition_.step(instance_->step).foreach && Lookup(state_, ItemsKey(instance_->step_id))) more_.Remove(ItemsKey(instance_->step_id));
  if (draft_.carried.contains("files")) AddFiles(draft_.carried["files"]);
  Freed(*instance_);
}

void Evolution::KeepUndo() {
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

// Under the step's name, and each output under its own where that is asked for. What an item's step gives out stands apart.
void Evolution::KeepOutputs() {
  const std::string var = definition_.OutputsKey(*instance_);
  const Json& outputs = draft_.carried["outputs"];
  more_.Add(var, outputs);
  if (!instance_->item.empty()) return;
  Json hidden = Json::array();
  static const Json::object_t none;
  for (const auto& [key, output] : outputs.is_object() ? outputs.get_ref<const Json::object_t&>() : none) {
    if (definition_.IsStep(key)) {  // the name is the step's: else a step's outputs would be gone from the state
      hidden.push_back(key);
    } else if (std::string variable = VarKey(key); definition_.Mentions(key) || Lookup(state_, variable)) {
      more_.Copy(var, key, variable);
    }
  }
  if (!hidden.empty()) step_json_["hidden"] = std::move(hidden);
}

void Evolution::OneLess(const Instance& of, int dependent) {
  const Instance instance = definition_.Beside(of, dependent);
  const StepRecord record = RecordOf(instance);
  if (record.status != StepStatus::kPending) return;  // left out
  const int waits = (record.waits < 0 ? definition_.dependencies(dependent) : record.waits) - 1;
  if (waits == 0) MakeDue(instance);
  if (waits == 0 && !record.json) return;  // never waited for more than this one: needs no record
  Touch(instance)["waits"] = waits;
}

void Evolution::AddFiles(const Json& files) {
  for (auto it = files.begin(); it != files.end(); ++it) {
    std::string key = FileKey(it.key());
    if (!it.value().is_null()) {
      more_.Add(key, it.value());
    } else if (Lookup(state_, key)) {
      more_.Remove(key);
    }
  }
}

// A child that ended could not take back all it did: its parent's rollback is not whole either.
void Evolution::NotUndoneWithin() {
  if (NumberOf(facts_, "not_undone") > 0) more_.Add(NotUndoneKey(progress_.not_undone++), instance_->step_id);
}

void Evolution::CompensationEnded(bool succeeded) {
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
    StepRecord forward = ReadStep(state_, definition_.ForwardOf(*instance_).step_id);
    progress_.undo = TextOf(forward.undo, "prev");
  }
}

}  // namespace acl::workflow
