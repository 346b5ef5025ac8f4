// The run as a whole: completing, failing, undoing, closing.

#include <fmt/format.h>

#include "shared/capability/merge.h"
#include "shared/kernel/post.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/end_reason.h"
#include "shared/workflow/events.h"

namespace acl::workflow {

void Decider::ConcludeRun() {
  while (!broken_) {
    RunRecord run = Run();
    Progress progress = Done();
    if (run.phase == Phase::kForward) {
      if (run.status != RunStatus::kRunning) return;  // paused: what is to come comes after it
      if (!progress.failed.empty()) {
        const auto failed = definition_.Find(progress.failed);
        std::string name = failed && failed->step >= 0 ? NameOf(*failed) : progress.failed;
        const Failure why = WhyFailed(progress.failed);
        Fail(why.reason, why.error, name, definition_.definition().enable_auto_rollback);
        continue;
      }
      if (definition_.has_own() && (GoOnWithClock(run, progress) || TendOwn(progress))) continue;
      if (progress.done - progress.items + progress.skipped == definition_.total())
        CompleteRun(Lookup(State(), VarKey(definition_.step(definition_.last()).name)));
      return;
    }
    if (run.phase == Phase::kClosed) return;
    // Stopping: first everything that runs ends, then compensations, one after another.
    if (!progress.open.empty() || !progress.dispatches.empty() || !progress.settle.empty() || !progress.uncertain.empty() ||
        progress.children > 0)
      return;
    if (run.rollback) {
      if (!progress.undo.empty()) {
        if (!UndoWithoutCall(progress)) return;  // WhatNext starts it
        continue;
      }
      if (progress.global < GlobalsOf(run, definition_.definition().global_compensation_steps.size())) return;
    }
    CloseFailed(run, progress);
    return;
  }
}

void Decider::CompleteRun(const Json* outputs) {
  // What the run hands out: the outputs of the last step in plan order, as far as an event should carry them.
  const Json* next = NextInputs();
  if (!next && TooMuchForParent(outputs)) return ConcludeRun();
  const StepDefinition& last = definition_.step(definition_.last());
  Json facts = {{"steps", definition_.total()}, {"outputs_of", last.name}};
  if (outputs && DumpJson(*outputs).size() <= kMaxOutputsInEvent) facts["outputs"] = *outputs;
  if (next) facts["continued_as"] = AskForNext(*next);
  Emit(event::kWorkflowCompleted, std::move(facts));
  ClearTimer(kDeadlineTimer);
  List(RunStatus::kCompleted);
  decision_.listing->completed_at = now_;
  if (next) return;  // the last of them tells
  TellItsTask();
  TellItsParent(outputs);
}

void Decider::Fail(const std::string& reason, const std::string& error, const std::string& failed_step, bool rollback, Json extra) {
  Progress progress = Done();
  Json facts = {{"reason", reason}, {"error", error}, {"rollback", rollback}};
  if (!failed_step.empty()) facts["failed_step"] = failed_step;
  facts.update(extra);
  Emit(event::kWorkflowFailed, std::move(facts));
  ClearTimer(kDeadlineTimer);
  decision_.cancel_all = true;
  for (const std::string& step_id : progress.open) decision_.cancel_steps.push_back(step_id);
  for (const std::string& step_id : progress.dispatches) WantBack(step_id);
  if (progress.children > 0) StopChildren(rollback);
  List(RunStatus::kFailed, error);
  for (const std::string& step_id : progress.uncertain) {
    const auto instance = definition_.Find(step_id);
    if (!instance || !Indifferent(*instance)) continue;  // a person must say first what there is to undo
    GiveUp(*instance, 0, ReadStep(State(), step_id).error);
  }
}

bool Decider::UndoWithoutCall(const Progress& progress) {
  const auto forward = definition_.Find(progress.undo);
  if (!forward) return false;
  const Instance instance = definition_.UndoOf(*forward);
  StepRecord record = ReadStep(State(), progress.undo);
  if (const std::string child = TextOf(record.undo, "child"); !child.empty()) return UndoChild(instance, child);
  std::string error = TextOf(record.undo, kCallError);
  const Json* files = MemberOf(record.undo, "files");
  if (!error.empty()) {
    FailedForGood(instance, 0, 0, error, std::nullopt);
    return true;
  }
  if (!files) return false;
  auto undone = UndoFiles(State(), *files);
  if (!undone) {
    FailedForGood(instance, 0, 0, undone.message(), std::nullopt);
    return true;
  }
  Json restored = std::move(*undone);
  Json facts = StepFacts(instance, 0);
  facts["undoes"] = NameOf(*forward);
  facts["files"] = restored.size();
  LogCompensation(instance, "", "executed", "");
  Emit(event::kCompensationCompleted, std::move(facts), Json{{"files", std::move(restored)}});
  return true;
}

void Decider::CloseFailed(const RunRecord& run, const Progress& progress) {
  ClearTimer(kDeadlineTimer);
  // A run that people stopped ends FAILED also when everything was undone (docs/architecture.md#workflows).
  const bool by_people = run.reason == kCancelledReason || run.reason == kRejectedReason || run.reason == kApprovalTimeoutReason;
  if (run.rollback && progress.not_undone == 0 && !by_people) {
    Emit(event::kWorkflowRolledBack, Json::object());
    List(RunStatus::kRolledBack);
  } else {
    Json not_undone = Json::array();
    for (int n = 0; n < progress.not_undone; ++n) {
      const Json* step_id = Lookup(State(), NotUndoneKey(n));
      if (!step_id || !step_id->is_string()) continue;
      std::string id = step_id->get<std::string>();
      not_undone.push_back({{"step_id", id}, {"error", ReadStep(State(), id).error}});
    }
    std::string error = TextOf(run.json, "error");
    if (!not_undone.empty())
      error += fmt::format("; {} compensation(s) failed, first '{}'", not_undone.size(), TextOf(&not_undone[0], "step_id"));
    Json facts = {{"rollback", run.rollback}};
    facts["not_undone"] = std::move(not_undone);
    Emit(event::kWorkflowEnded, std::move(facts));
    List(RunStatus::kFailed, error);
  }
  decision_.listing->completed_at = now_;
  TellItsTask();
  TellItsParent(nullptr);
}

// The project of which it does a task hears how it ended, in the same commit.
void Decider::TellItsTask() {
  const auto run = ReadRun(State());
  const Json* task = run ? MemberOf(run->json, "task") : nullptr;
  const auto project = SubjectId::Parse(TextOf(task, "project_id"));
  if (!project) return;
  const Json* before = MemberOf(run->json, "continued");  // the task knows the first of them
  Json said = {{"run_id", before ? TextOf(before, "first") : std::string(run->run_id)},
               {"task_id", TextOf(task, "task_id")},
               {"status", decision_.listing->status}};
  if (decision_.listing->error_message) said["error"] = *decision_.listing->error_message;
  decision_.outbox.push_back(PostTo(*project, kRunEndedPost, said));
}

void Decider::LogCompensation(const Instance& instance, const std::string& capability, const char* status, const std::string& error) {
  std::string inputs = "{}";
  std::string step_id = instance.step_id;
  if (instance.step >= 0) {  // named by the step being compensated, as document 002's compensation_log does
    step_id = definition_.ForwardOf(instance).step_id;
    if (const Json* resolved = MemberOf(ReadStep(State(), step_id).undo, kCallInputs)) inputs = DumpJson(*resolved);
  } else if (const Json* resolved = MemberOf(Step(instance).call, kCallInputs)) {
    inputs = DumpJson(*resolved);
  }
  decision_.compensations.push_back({step_id, capability, inputs, status, error, now_});
}

}  // namespace acl::workflow
