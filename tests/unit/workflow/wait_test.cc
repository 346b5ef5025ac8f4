// WAIT steps: their time, what may go on meanwhile, and that the run's own clock stands still.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

StepDefinition Waits(std::string name, Json time, std::vector<std::string> depends_on = {}, bool until = false) {
  StepDefinition step = MakeStep(std::move(name), "", std::move(depends_on));
  step.type = StepType::kWait;
  step.wait = WaitDefinition{until, std::move(time)};
  return step;
}

TEST(Wait, BeginsInTheCommitOfWhatItWaitedForAndHoldsNothing) {
  RunDriver run(MakeDefinition({MakeStep("a"), Waits("nap", "1h"), MakeStep("b")}));
  run.Claim();
  run.Pump();
  const WallTime due = run.now + hours(1);
  run.Finish("a", Ok());
  EXPECT_EQ(run.Types().back(), "step.waiting");
  EXPECT_EQ(run.timers.at("wait:nap"), due);
  EXPECT_TRUE(run.Pump().empty());
  ASSERT_TRUE(run.Ask().waiting);
  EXPECT_EQ(run.Ask().waiting->reason, "timer");
  EXPECT_EQ(run.Ask().waiting->next_wake, due);
  EXPECT_EQ(run.Step("nap").status, "WAITING");
  EXPECT_EQ(run.Step("nap").due_at, due);
  EXPECT_EQ(run.View().waiting, "timer");
  run.Crash();  // nothing was lost with the worker
  EXPECT_EQ(run.Step("nap").status, "WAITING");

  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.now, due);
  EXPECT_EQ(run.Step("nap").status, "COMPLETED");
  EXPECT_EQ(run.Step("nap").outputs->at("due_at"), FormatWallTime(due));
  EXPECT_EQ(run.completions.count("nap"), 1u);
  run.RunToEnd([](const StartStep&, int) { return Ok(); });
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.calls, (std::vector<std::string>{"a", "b"}));
}

TEST(Wait, MayBeFirstAndLast) {
  RunDriver run(MakeDefinition({Waits("first", 2), Waits("last", "0.5s")}));
  run.Claim();
  EXPECT_EQ(run.Step("first").status, "WAITING");
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.Step("last").status, "WAITING");
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Wait, ATimerThatComesEarlyTwiceOrOfAnotherTimeDoesNothing) {
  RunDriver run(MakeDefinition({Waits("nap", 60)}));
  run.Claim();
  const WallTime due = run.timers.at("wait:nap");
  run.PostTimer("wait:nap", due);  // by a clock that is ahead
  EXPECT_EQ(run.Step("nap").status, "WAITING");
  run.now = due;
  run.PostTimer("wait:nap", due + seconds(1));
  run.PostTimer("wait:other", due);
  EXPECT_EQ(run.Step("nap").status, "WAITING");
  run.PostTimer("wait:nap", due);
  run.PostTimer("wait:nap", due);
  EXPECT_EQ(run.Events("step.completed").size(), 1u);
}

TEST(Wait, UntilATimeWhichMayBePastAndMayStandInTheState) {
  WorkflowDefinition definition = MakeDefinition({Waits("past", "2001-01-01T00:00:00Z", {}, true), Waits("at", "{{when}}", {}, true)});
  definition.initial_state = {{"when", "2040-06-01T12:00:00+02:00"}};
  RunDriver run(definition);
  run.Claim();
  ASSERT_TRUE(run.timers.contains("wait:past"));
  run.PostTimer("wait:past", run.timers.at("wait:past"));
  EXPECT_EQ(run.Step("past").status, "COMPLETED");
  EXPECT_EQ(run.Step("at").due_at, *ParseWallTime("2040-06-01T10:00:00Z"));
}

TEST(Wait, WhatIsNoTimeFailsTheStepAndSaysWhy) {
  for (const Json& value : {Json("soon"), Json(-1), Json(true), Json("1h30"), Json(nullptr)}) {
    WorkflowDefinition definition = MakeDefinition({MakeStep("a"), Waits("nap", "{{delay}}")});
    definition.initial_state = {{"delay", value}};
    RunDriver run(definition);
    run.RunToEnd([](const StartStep&, int) { return Ok(); });
    EXPECT_EQ(run.Status(), "ROLLED_BACK") << value;
    EXPECT_THAT(run.Last("step.failed")["error"].get<std::string>(), HasSubstr("wait:")) << value;
    EXPECT_TRUE(run.timers.empty());
  }
}

TEST(Wait, OthersGoOnMeanwhile) {
  WorkflowDefinition definition =
      MakeDefinition({Waits("nap", 60), MakeStep("a"), MakeStep("b", "do.pure", {"a"}), MakeStep("end", "do.pure", {"nap", "b"})});
  definition.steps[1].depends_on = {};
  definition.steps.insert(definition.steps.begin(), MakeStep("start"));
  definition.steps[1].depends_on = {"start"};
  definition.steps[2].depends_on = {"start"};
  RunDriver run(definition);
  run.Claim();
  for (const char* step : {"start", "a", "b"}) {
    ASSERT_EQ(run.Pump().size(), 1u) << step;
    run.Finish(step, Ok());
  }
  EXPECT_TRUE(run.Pump().empty());
  EXPECT_EQ(run.Step("nap").status, "WAITING");
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.Pump().size(), 1u);
}

TEST(Wait, TheRunsTimeDoesNotCount) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a"), Waits("nap", "2h"), MakeStep("b")});
  definition.max_execution_time = seconds(600);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.now += seconds(100);
  run.Finish("a", Ok());
  EXPECT_FALSE(run.timers.contains("deadline"));
  ASSERT_TRUE(run.FireNextTimer());
  ASSERT_TRUE(run.timers.contains("deadline"));
  EXPECT_EQ(run.timers.at("deadline"), run.now + seconds(500));
}

TEST(Wait, TwoAtOnceAndAPauseHoldTheClockUntilTheLastEnds) {
  WorkflowDefinition definition =
      MakeDefinition({MakeStep("a"), Waits("short", 10, {"a"}), Waits("long", 30, {"a"}), MakeStep("z", "do.pure", {"short", "long"})});
  definition.max_execution_time = seconds(600);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("a", Ok());
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.Step("short").status, "COMPLETED");
  EXPECT_FALSE(run.timers.contains("deadline"));
  run.Post("pause");
  ASSERT_TRUE(run.FireNextTimer());  // while paused: it has waited long enough
  EXPECT_EQ(run.Step("long").status, "COMPLETED");
  EXPECT_FALSE(run.timers.contains("deadline"));
  EXPECT_TRUE(run.Pump().empty());
  run.Post("resume");
  EXPECT_EQ(run.timers.at("deadline"), run.now + seconds(600));
  EXPECT_EQ(run.Pump().size(), 1u);
}

TEST(Wait, WhoseTurnComesWhilePausedBeginsAtResume) {
  RunDriver run(MakeDefinition({MakeStep("a"), Waits("nap", 10)}));
  run.Claim();
  run.Pump();
  run.Post("pause");
  run.Finish("a", Ok());
  EXPECT_EQ(run.Step("nap").status, "PENDING");
  run.now += hours(1);
  run.Post("resume");
  EXPECT_EQ(run.Step("nap").due_at, run.now + seconds(10));
}

TEST(Wait, EndsWithACancelledRunAndAFailedOne) {
  RunDriver run(MakeDefinition({MakeStep("a"), Waits("nap", 10)}));
  run.Claim();
  run.Pump();
  run.Finish("a", Ok());
  run.Post("cancel");
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_EQ(run.Step("nap").status, "CANCELLED");
  EXPECT_TRUE(run.Ask().closed);
}

}  // namespace
}  // namespace acl::workflow::test
