// What a step costs does not grow with the run: counted in look-ups of the state, operations and bytes of the journal, never in time.

#include <gtest/gtest.h>

#include "shared/workflow/state.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

struct Cost {
  std::uint64_t lookups = 0;
  std::size_t operations = 0, bytes = 0;
};

// Of one step (start, finish) at `at` done steps of a run of `total`.
Cost CostOfStep(RunDriver& run, const std::string& capability) {
  const auto lookups = LookupsOfThisThread();
  const auto events = run.events.size();
  auto started = run.Pump();
  EXPECT_EQ(started.size(), 1u);
  if (started.empty()) return {};
  run.Finish(started[0].step.step_id, Ok({{"value", 1}}));
  Cost cost;
  cost.lookups = LookupsOfThisThread() - lookups;
  for (std::size_t i = events; i < run.events.size(); ++i) {
    cost.bytes += run.events[i].payload->size();
    Json payload = *ParseJson(*run.events[i].payload);
    cost.operations += payload["state_delta"].size();
  }
  EXPECT_EQ(run.events.size() - events, capability == "do.pure" ? 1u : 2u);
  return cost;
}

Cost LateStep(int total, const std::string& capability, bool wide) {
  WorkflowDefinition definition = MakeDefinition({});
  for (int i = 0; i < total; ++i) {
    StepDefinition step = MakeStep("step" + std::to_string(100'000 + i), capability);
    if (wide && i > 0) step.depends_on = {definition.steps[0].name};
    step.inputs = {{"v", "{{value}}"}};
    definition.steps.push_back(std::move(step));
  }
  RunDriver run(definition);
  run.Claim();
  for (int i = 0; i < 8; ++i) CostOfStep(run, capability);
  return CostOfStep(run, capability);
}

TEST(Cost, PerStepIsTheSameInTenAndInTenThousandSteps) {
  for (const char* capability : {"do.pure", "do.idempotent"}) {
    for (bool wide : {false, true}) {
      SCOPED_TRACE(std::string(capability) + (wide ? " wide" : " chain"));
      Cost small = LateStep(10, capability, wide);
      Cost large = LateStep(10'000, capability, wide);
      EXPECT_GT(small.lookups, 0u);
      EXPECT_LE(large.lookups, small.lookups + 24) << "two more levels of the ready set";
      EXPECT_LE(large.operations, small.operations + 2);
      EXPECT_LE(large.bytes, small.bytes + 200);
    }
  }
}

TEST(Cost, ARunOfTenThousandStepsRuns) {
  WorkflowDefinition definition = MakeDefinition({});
  for (int i = 0; i < 10'000; ++i) definition.steps.push_back(MakeStep("s" + std::to_string(i)));
  RunDriver run(definition);
  run.RunToEnd([](const StartStep&, int) { return Ok(); }, 1, 20'000);
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.View().steps_completed, 10'000);
}

}  // namespace
}  // namespace acl::workflow::test
