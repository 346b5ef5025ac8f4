#include "shared/workflow/workflow_kind.h"

#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/evolve.h"
#include "shared/workflow/fast_path.h"
#include "shared/workflow/state.h"
#include "shared/workflow/what_next.h"

namespace acl::workflow {

namespace {

class WorkflowKind final : public SubjectKind {
 public:
  explicit WorkflowKind(std::shared_ptr<const CapabilityRegistry> capabilities) : definitions_(std::move(capabilities)) {}

  std::string_view Name() const override { return "workflow"; }

  // The promise of the next step with the result of the one before: one row a step.
  bool Joins(std::string_view event, std::string_view next) const override {
    return next == event::kStepStarted &&
           (event == event::kStepCompleted || event == event::kWorkflowStarted || event == event::kStepStarted);
  }

  Decision Decide(const Document& state, const Input& input, WallTime now) const override {
    auto run = ReadRun(state);
    auto definition = run ? definitions_.Of(state, run->definition_hash) : definitions_.Of(state);
    if (!definition || !run) {
      Decision unreadable;
      std::string reason = definition ? "the state holds no run record this version can read" : definition.message();
      unreadable.events.push_back({std::string(event::kWorkflowUnreadable), Json{{"reason", reason}}, Json::object()});
      return unreadable;
    }
    Decider decider(definitions_, **definition, state, std::move(*run), now);
    std::visit([&decider](const auto& value) { decider.On(value); }, input);
    return std::move(decider).Take();
  }

  Delta Evolve(const Document& state, const EventDraft& draft) const override { return EvolveRun(definitions_, state, draft); }

  Next WhatNext(const Document& state, const NextContext& context) const override { return WhatNextOf(definitions_, state, context); }

  bool TryFastPath(const Document& state, Input& input, WallTime at, bool goes_on, std::shared_ptr<FastPathCursor>& cursor,
                   FastPathResult& fast_path) const override {
    return FastPathOf(definitions_, state, input, at, goes_on, cursor, fast_path);
  }

  SubjectTrace Trace(const Document& state) const override { return {TraceOfRun(state), TextOf(Lookup(state, kRunKey), "name")}; }

  StepTrace TraceOf(const Document& state, const std::string& step_id) const override {
    const StepRecord record = ReadStep(state, step_id);
    const bool over =
        record.status == StepStatus::kCompleted || record.status == StepStatus::kFailed || record.status == StepStatus::kCancelled;
    // A dispatch's attempt is told of by whoever runs it.
    return {over, record.status == StepStatus::kRunning && !record.dispatch ? record.attempt : 0};
  }

 private:
  const DefinitionCache definitions_;
};

}  // namespace

std::shared_ptr<const SubjectKind> MakeWorkflowKind(std::shared_ptr<const CapabilityRegistry> capabilities) {
  return std::make_shared<WorkflowKind>(std::move(capabilities));
}

}  // namespace acl::workflow
