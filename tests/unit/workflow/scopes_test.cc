// Steps in steps: PARALLEL, SEQUENCE, CONDITION, FOREACH; what runs when, what a failure takes with it, and what is undone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "shared/definition/loader.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFork = R"(
  - {name: first, capability: do.pure}
  - name: both
    steps:
      - {name: left, capability: do.effect, compensation: {capability: do.pure}}
      - name: right
        step_type: SEQUENCE
        steps:
          - {name: r1, capability: do.effect, compensation: {capability: do.pure}}
          - {name: r2, capability: do.effect}
  - {name: last, capability: do.pure}
)";

TEST(Parallel, BranchesRunTogetherAndWhatFollowsWaitsForAll) {
  RunDriver run(DefinitionOfSteps(kFork));
  run.Claim();
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("first"));
  run.Finish("first", Ok());
  EXPECT_EQ(run.Step("both").status, "RUNNING");
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("left", "r1"));
  run.Finish("r1", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("r2"));
  run.Finish("left", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), IsEmpty());
  run.Finish("r2", Ok());
  EXPECT_EQ(run.Step("right").status, "COMPLETED");
  EXPECT_EQ(run.Step("both").status, "COMPLETED");
  EXPECT_EQ(*run.Step("both").outputs, Json::parse(R"({"order":["left","right"]})"));
  EXPECT_EQ(*run.Step("right").outputs, Json::parse(R"({"order":["r1","r2"]})"));
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("last"));
  run.Finish("last", Ok({{"x", 1}}));
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.View().outputs, Json({{"x", 1}}));
}

TEST(Parallel, TheOrderInWhichBranchesCompletedIsKept) {
  RunDriver run(DefinitionOfSteps(kFork));
  run.Claim();
  run.Pump(8);
  run.Finish("first", Ok());
  run.Pump(8);
  run.Finish("r1", Ok());
  run.Pump(8);
  run.Finish("r2", Ok());
  run.Finish("left", Ok());
  EXPECT_EQ(*run.Step("both").outputs, Json::parse(R"({"order":["right","left"]})")) << "not the order of the file";
}

TEST(Parallel, ATakeoverInTheMiddleLosesNothing) {
  RunDriver run(DefinitionOfSteps(kFork));
  run.Claim();
  run.Pump(8);
  run.Finish("first", Ok());
  run.Pump(8);
  run.Finish("left", Ok());
  run.Crash();
  EXPECT_EQ(run.Step("r1").status, "UNCERTAIN");  // nobody knows what it did
  run.Post("resolve", {{"step_id", "r1"}, {"decision", "completed"}});
  run.RunToEnd([](const StartStep&, int) { return Ok(); }, 8);
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.completions.size(), 7u);
}

TEST(Parallel, AFailureEndsTheRunAtOnceAndUndoesWhatCompletedLastFirst) {
  RunDriver run(DefinitionOfSteps(kFork));
  run.Claim();
  run.Pump(8);
  run.Finish("first", Ok());
  run.Pump(8);
  run.Finish("r1", Ok());
  run.Pump(8);
  run.Finish("left", Ok());
  run.Finish("r2", Fails("broken", false));
  EXPECT_EQ(run.View().rolling_back, true);
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("undo:left"));
  run.Finish("undo:left", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("undo:r1"));
  run.Finish("undo:r1", Ok());
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.View().failed_step, "r2");
}

TEST(Parallel, FailWaitLetsTheOtherBranchesEndFirst) {
  RunDriver run(DefinitionOfSteps(R"(
  - name: both
    fail: wait
    steps:
      - name: bad
        step_type: SEQUENCE
        steps:
          - {name: b1, capability: do.effect, max_retries: 1}
          - {name: b2, capability: do.effect}
          - {name: b3, wait: 1h}
      - name: good
        step_type: SEQUENCE
        steps:
          - {name: g1, capability: do.effect, compensation: {capability: do.pure}}
          - {name: g2, capability: do.effect, compensation: {capability: do.pure}}
  - {name: after, capability: do.pure}
)"));
  run.Claim();
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("b1", "g1"));
  run.Finish("b1", Fails("broken", false));
  EXPECT_EQ(run.Status(), "RUNNING");
  EXPECT_EQ(run.Step("b2").status, "CANCELLED");
  EXPECT_EQ(run.Step("b3").status, "CANCELLED");
  EXPECT_EQ(run.Step("bad").status, "FAILED");
  run.Finish("g1", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("g2"));
  run.Finish("g2", Ok());
  EXPECT_EQ(run.View().rolling_back, true);
  EXPECT_EQ(run.Step("both").status, "FAILED");
  EXPECT_EQ(run.View().failed_step, "both");
  EXPECT_THAT(run.View().error, HasSubstr("step 'b1' failed: broken"));
  run.RunToEnd([](const StartStep&, int) { return Ok(); });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.calls, (std::vector<std::string>{"b1", "g1", "g2", "undo:g2", "undo:g1"}));
}

TEST(Parallel, WhatDependsOnAFailureElsewhereIsLeftOutToo) {
  RunDriver run(DefinitionOfSteps(R"(
  - name: p
    fail: wait
    steps:
      - {name: a, capability: do.effect, max_retries: 1}
      - {name: b, capability: do.effect, depends_on: [a]}
      - name: later
        step_type: SEQUENCE
        steps:
          - {name: c, capability: do.effect}
          - {name: inner, steps: [{name: x, capability: do.effect, depends_on: [a]}, {name: y, capability: do.effect}]}
)"));
  run.RunToEnd([](const StartStep& step, int) { return step.step_id == "a" ? Fails("broken", false) : Ok(); });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.Step("b").status, "CANCELLED");
  EXPECT_EQ(run.Step("x").status, "CANCELLED");
  EXPECT_EQ(run.calls, (std::vector<std::string>{"a", "c", "y"}));
}

TEST(Parallel, WhatIsLeftOutBeforeItWasLetInFreesNoPlace) {
  RunDriver run(DefinitionOfSteps(R"(
  - name: p
    fail: wait
    max_concurrent: 1
    steps:
      - name: s
        step_type: SEQUENCE
        steps:
          - {name: a, capability: do.effect, max_retries: 1}
          - {name: b, capability: do.effect}
      - {name: x, capability: do.effect, depends_on: [b]}
      - {name: c, capability: do.effect}
      - {name: d, capability: do.effect}
)"));
  run.Claim();
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("a"));
  run.Finish("a", Fails("broken", false));
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("c"));
  run.Finish("c", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("d"));
}

TEST(Parallel, TheRunsTimeGoesOnWhenAWaitIsLeftOut) {
  RunDriver run(DefinitionOfSteps(R"(
  - name: p
    fail: wait
    steps:
      - name: s
        step_type: PARALLEL
        steps:
          - {name: nap, wait: 1h}
          - {name: a, capability: do.effect, max_retries: 1}
      - {name: c, capability: do.effect}
)"));
  run.Claim();
  run.Pump(8);
  EXPECT_FALSE(run.timers.contains("deadline"));
  run.Finish("a", Fails("broken", false));
  EXPECT_EQ(run.Step("nap").status, "CANCELLED");
  EXPECT_TRUE(run.timers.contains("deadline"));
  EXPECT_EQ(run.Events("workflow.clock_goes_on").size(), 1u);
}

TEST(Parallel, NoMoreThanItSaysAtOnce) {
  RunDriver run(DefinitionOfSteps(R"(
  - name: all
    max_concurrent: 2
    steps:
      - {name: a, capability: do.pure}
      - {name: b, capability: do.pure}
      - {name: c, capability: do.pure}
      - {name: d, capability: do.pure, depends_on: [a]}
)"));
  run.Claim();
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("a", "b"));
  run.Finish("a", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("c"));
  run.Finish("b", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("d"));
  run.Finish("c", Ok());
  run.Finish("d", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Parallel, CallsBesideEachOtherGoTogether) {
  RunDriver run(DefinitionOfSteps(R"(
  - {name: a, capability: do.pure}
  - {name: p, capability: do.pure, step_type: PARALLEL}
  - {name: q, capability: do.pure, step_type: PARALLEL}
  - {name: z, capability: do.pure}
)"));
  run.Claim();
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("a"));
  run.Finish("a", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("p", "q"));
  run.Finish("q", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), IsEmpty());
  run.Finish("p", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("z"));
}

constexpr const char* kChoice = R"(
  - {name: look, capability: do.pure}
  - name: choose
    if: look.big
    then:
      - {name: b1, capability: do.pure}
      - {name: b2, capability: do.pure}
    else_if:
      - if: look.middle
        then:
          - {name: m, capability: do.pure}
    else:
      - name: nested
        steps:
          - {name: s, capability: do.pure}
  - {name: join, capability: do.pure}
)";

TEST(Condition, TakesTheFirstCaseThatHoldsAndSkipsTheRest) {
  struct Case {
    Json looked;
    std::vector<std::string> calls;
    std::string branch;
  };
  for (const Case& one : {Case{{{"big", true}, {"middle", true}}, {"look", "b1", "b2", "join"}, "then"},
                          Case{{{"big", false}, {"middle", true}}, {"look", "m", "join"}, "else_if[0]"},
                          Case{{{"big", false}, {"middle", false}}, {"look", "s", "join"}, "else"}}) {
    RunDriver run(DefinitionOfSteps(kChoice));
    run.RunToEnd([&](const StartStep& step, int) { return step.step_id == "look" ? Ok(one.looked) : Ok(); }, 8);
    EXPECT_EQ(run.Status(), "COMPLETED") << one.branch;
    EXPECT_EQ(run.calls, one.calls);
    EXPECT_EQ(*run.Step("choose").outputs, Json({{"branch", one.branch}}));
    for (const StepView& step : run.View().steps) {
      const bool called = std::find(one.calls.begin(), one.calls.end(), step.name) != one.calls.end();
      const bool scope = step.name == "choose" || (step.name == "nested" && one.branch == "else");
      EXPECT_EQ(step.status, called || scope ? "COMPLETED" : "SKIPPED") << step.name;
    }
  }
}

TEST(Condition, NoCaseTakenGoesOnBehindIt) {
  RunDriver run(DefinitionOfSteps(R"(
  - name: choose
    if: "false"
    then: [{name: never, capability: do.pure}]
  - {name: join, capability: do.pure, depends_on: [never, choose]}
)"));
  run.RunToEnd([](const StartStep&, int) { return Ok(); });
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.calls, (std::vector<std::string>{"join"}));
  EXPECT_EQ(*run.Step("choose").outputs, Json({{"branch", "none"}}));
}

TEST(Condition, WhatCannotBeToldFailsTheStep) {
  RunDriver run(DefinitionOfSteps(kChoice));
  run.RunToEnd([](const StartStep&, int) { return Ok({{"big", "yes"}}); });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.View().failed_step, "choose");
  EXPECT_THAT(run.Step("choose").error, HasSubstr("'if' of then"));
}

TEST(When, SkipsAStepAndWhatDependsOnItGoesOn) {
  for (const bool holds : {true, false}) {
    RunDriver run(DefinitionOfSteps(R"(
  - {name: look, capability: do.pure}
  - {name: maybe, capability: do.effect, when: look.go}
  - {name: nap, wait: 1h, when: look.go}
  - {name: last, capability: do.pure}
)"));
    run.Claim();
    run.Pump();
    run.Finish("look", Ok({{"go", holds}}));
    if (holds) {
      EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("maybe"));
      run.Finish("maybe", Ok());
      EXPECT_EQ(run.Step("nap").status, "WAITING");
      ASSERT_TRUE(run.FireNextTimer());
    } else {
      EXPECT_EQ(run.Step("maybe").status, "SKIPPED");
      EXPECT_EQ(run.Step("nap").status, "SKIPPED");
    }
    EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("last"));
    run.Finish("last", Ok());
    EXPECT_EQ(run.Status(), "COMPLETED");
  }
}

TEST(When, IsAskedAsSoonAsThePausedRunGoesOn) {
  RunDriver run(DefinitionOfSteps(R"(
  - {name: look, capability: do.pure}
  - {name: maybe, capability: do.effect, when: look.go}
)"));
  run.Claim();
  run.Pump();
  run.Post("pause");
  run.Finish("look", Ok({{"go", true}}));
  EXPECT_EQ(run.Step("maybe").status, "PENDING");
  EXPECT_THAT(StepIdsOf(run.Pump(8)), IsEmpty());
  run.Post("resume");
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("maybe"));
}

}  // namespace
}  // namespace acl::workflow::test
