// What a run's view says of steps that no event tells: what is ready, and why a run ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/workflow/end_reason.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Ready(const RunDriver& run) {
  std::vector<std::string> names;
  for (const StepView& step : run.View().steps)
    if (step.ready) names.push_back(step.name);
  for (const CompensationView& undo : run.View().compensations)
    if (undo.ready) names.push_back(undo.step_id);
  return names;
}

TEST(View, AStepIsReadyFromTheEndOfWhatItWaitsForToItsOwn) {
  RunDriver run(MakeDefinition(
      {MakeStep("a"), MakeStep("b", "do.read", {"a"}), MakeStep("c", "do.pure", {"a"}), MakeStep("d", "do.pure", {"b", "c"})}));
  EXPECT_THAT(Ready(run), ElementsAre("a")) << "of a run that no worker took yet";
  run.Claim();
  run.Pump();
  EXPECT_THAT(Ready(run), ElementsAre("a")) << "a pure attempt leaves no event at its start";
  run.Finish("a", Ok());
  EXPECT_THAT(Ready(run), ElementsAre("b", "c"));
  run.Pump(2);
  run.Finish("b", Ok());
  EXPECT_THAT(Ready(run), ElementsAre("c"));
  run.Finish("c", Ok());
  run.Pump();
  run.Finish("d", Ok());
  EXPECT_THAT(Ready(run), IsEmpty());
}

TEST(View, WhatTheJournalTellsIsNotGuessed) {
  StepDefinition effect = MakeStep("a", "do.effect"), away = MakeStep("b", "do.pure", {"a"});
  away.queue = "gpu";
  RunDriver run(MakeDefinition({effect, away}));
  run.Claim();
  run.Pump();
  EXPECT_EQ(run.Step("a").status, "RUNNING");
  EXPECT_THAT(Ready(run), IsEmpty());
  run.Finish("a", Ok());
  EXPECT_THAT(Ready(run), IsEmpty()) << "another queue's worker runs it, and its dispatch says so";
}

TEST(View, APausedRunHasNothingReady) {
  RunDriver run(MakeDefinition({MakeStep("a"), MakeStep("b")}));
  run.Claim();
  run.Post("pause");
  EXPECT_EQ(run.Status(), "PAUSED");
  EXPECT_THAT(Ready(run), IsEmpty());
  run.Post("resume");
  EXPECT_THAT(Ready(run), ElementsAre("a"));
}

TEST(View, OneCompensationIsReadyAtATime) {
  const auto undone = [](const char* name) {
    StepDefinition step = MakeStep(name, "do.effect");
    step.compensation = CompensationDefinition{};
    step.compensation->capability = "do.effect";
    return step;
  };
  StepDefinition fails = MakeStep("c", "do.pure");
  fails.retry.max_attempts = 1;
  RunDriver run(MakeDefinition({undone("a"), undone("b"), fails}));
  run.Claim();
  for (const char* name : {"a", "b"}) {
    run.Pump();
    run.Finish(name, Ok());
  }
  run.Pump();
  run.Finish("c", Fails("no", false));
  EXPECT_TRUE(run.View().rolling_back);
  EXPECT_THAT(Ready(run), ElementsAre("undo:b"));
  run.Pump();
  EXPECT_THAT(Ready(run), IsEmpty()) << "it runs, and its event says so";
  run.Finish("undo:b", Ok());
  EXPECT_THAT(Ready(run), ElementsAre("undo:a"));
}

// The listing keeps no reason: its error tells it. Held against what the engine itself says.
TEST(EndReason, IsToldByTheErrorOfTheListing) {
  StepDefinition fails = MakeStep("cancelled");
  fails.retry.max_attempts = 1;
  const auto reason_of = [](RunDriver& run) {
    EXPECT_TRUE(run.listing && run.listing->error_message);
    const std::string error = run.listing && run.listing->error_message ? *run.listing->error_message : "";
    EXPECT_EQ(ReasonOfError(error), run.View().reason) << error;
    return std::string(ReasonOfError(error));
  };
  RunDriver failed(MakeDefinition({fails}));
  failed.Claim();
  failed.Pump();
  failed.Finish("cancelled", Fails("the run took longer than cancelled", false));
  EXPECT_EQ(reason_of(failed), "step_failed");
  for (const char* why : {"", "enough", "step 'a' failed"}) {
    RunDriver cancelled(MakeDefinition({MakeStep("a")}));
    cancelled.Claim();
    cancelled.Post("cancel", std::string(why).empty() ? Json::object() : Json{{"reason", why}});
    EXPECT_EQ(reason_of(cancelled), "cancelled");
  }
  WorkflowDefinition slow = MakeDefinition({MakeStep("a", "do.effect")});
  slow.max_execution_time = std::chrono::seconds(1);
  RunDriver late(slow);
  late.Claim();
  ASSERT_TRUE(late.FireNextTimer());
  EXPECT_EQ(reason_of(late), "timeout");
  RunDriver never_begun(slow);  // by who saw that no worker is there to begin it
  never_begun.PostTimer("deadline", never_begun.now);
  EXPECT_EQ(reason_of(never_begun), "timeout");
  EXPECT_EQ(ReasonOfError(""), "");
  EXPECT_EQ(ReasonOfError("cancelled; 1 compensation(s) failed, first 'undo:a'"), "cancelled");
}

}  // namespace
}  // namespace acl::workflow::test
