#include "shared/workflow/workflow_kind.h"

#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/evolve.h"
#include "shared/workflow/state.h"
#include "shared/workflow/stride.h"
#include "shared/workflow/what_next.h"

namespace acl::workflow {

namespace {

class WorkflowKind final : public SubjectKind {
 public:
  explicit WorkflowKind(std::shared_ptr<const CapabilityRegistry> capabilities) : specs_(std::move(capabilities)) {}

  std::string_view Name() const override { return "workflow"; }

  // The promise of the next step with the result of the one before: one row a step.
  bool Joins(std::string_view event, std::string_view next) const override {
    return next == event::kStepStarted &&
           (event == event::kStepCompleted || event == event::kWorkflowStarted || event == event::kStepStarted);
  }

  Decision Decide(const Document& state, const Input& input, WallTime now) const override {
    auto run = ReadRun(state);
    auto spec = run ? specs_.Of(state, run->spec_hash) : specs_.Of(state);
    if (!spec || !run) {
      Decision unreadable;
      std::string reason = spec ? "the state holds no run record this version can read" : spec.message();
      unreadable.events.push_back({std::string(event::kWorkflowUnreadable), Json{{"reason", reason}}, Json::object()});
      return unreadable;
    }
    Decider decider(specs_, **spec, state, std::move(*run), now);
    std::visit([&decider](const auto& value) { decider.On(value); }, input);
    return std::move(decider).Take();
  }

  Delta Evolve(const Document& state, const EventDraft& draft) const override { return EvolveRun(specs_, state, draft); }

  Next WhatNext(const Document& state, const NextContext& context) const override { return WhatNextOf(specs_, state, context); }

  bool TakeStride(const Document& state, Input& input, WallTime at, bool goes_on, std::shared_ptr<Footing>& footing,
                  Stride& stride) const override {
    return StrideOf(specs_, state, input, at, goes_on, footing, stride);
  }

  SubjectTrace Trace(const Document& state) const override { return {TraceOfRun(state), TextOf(Lookup(state, kRunKey), "name")}; }

  StepTrace TraceOf(const Document& state, const std::string& step_id) const override {
    const StepRecord record = ReadStep(state, step_id);
    const bool over =
        record.status == StepStatus::kCompleted || record.status == StepStatus::kFailed || record.status == StepStatus::kCancelled;
    // A task's attempt is told of by whoever runs it.
    return {over, record.status == StepStatus::kRunning && !record.task ? record.attempt : 0};
  }

 private:
  const SpecCache specs_;
};

}  // namespace

std::shared_ptr<const SubjectKind> MakeWorkflowKind(std::shared_ptr<const CapabilityRegistry> capabilities) {
  return std::make_shared<WorkflowKind>(std::move(capabilities));
}

}  // namespace acl::workflow
