// Attempts, back-off, timeouts, takeovers, uncertain outcomes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/workflow/backoff.h"
#include "shared/workflow/step_id.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Outcome = StepResult::Outcome;

WorkflowDefinition OneStep(const std::string& capability, int max_attempts = 3) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("s", capability)});
  definition.steps[0].retry.max_attempts = max_attempts;
  return definition;
}

TEST(Retry, MaxRetriesCountsAttemptsWithAKnownOutcome) {
  RunDriver run(OneStep("do.pure", 3));
  run.RunToEnd([](const StartStep&, int) { return Fails("disk full"); });
  EXPECT_THAT(run.calls, ElementsAre("s", "s", "s"));
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.Step("s").attempts, 3);
  EXPECT_EQ(run.Step("s").status, "FAILED");
  EXPECT_EQ(run.Events("step.attempt_failed").size(), 2u);
  EXPECT_EQ(run.Last("step.failed")["error"], "disk full");
  EXPECT_THAT(run.View().error, HasSubstr("disk full"));
}

TEST(Retry, AResultThatMayNotBeRetriedFailsAtOnce) {
  RunDriver run(OneStep("do.pure", 3));
  run.RunToEnd([](const StartStep&, int) { return Fails("bad input", false); });
  EXPECT_EQ(run.calls.size(), 1u);
  EXPECT_EQ(run.Step("s").attempts, 1);
}

TEST(Retry, AnUnknownCapabilityFailsWhenItRuns) {
  RunDriver run(OneStep("crm.create_account", 3));
  run.Claim();
  EXPECT_EQ(run.Pump().size(), 1u);
  run.Finish("s", Fails("no such capability"));
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

TEST(Retry, SuccessFalseIsAFailureUnlessTheCapabilitySaysItIsData) {
  RunDriver failing(OneStep("do.pure", 1));
  failing.RunToEnd([](const StartStep&, int) { return Ok({{"success", false}, {"error_message", "Source not found: x"}}); });
  EXPECT_EQ(failing.Status(), "ROLLED_BACK");
  EXPECT_EQ(failing.Step("s").error, "Source not found: x");
  RunDriver data(OneStep("data.false", 1));
  data.RunToEnd([](const StartStep&, int) { return Ok({{"success", false}, {"exit_code", 2}}); });
  EXPECT_EQ(data.Status(), "COMPLETED");
}

TEST(Retry, OutputsThatCannotBeStoredFailTheStep) {
  RunDriver run(OneStep("do.pure", 3));
  run.RunToEnd([](const StartStep&, int) { return Ok({{"text", std::string("a\0b", 3)}}); });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.calls.size(), 1u);
}

TEST(Retry, OfARunThatStopsNoRetryIsShown) {
  WorkflowDefinition definition =
      MakeDefinition({MakeStep("first"), MakeStep("a", "do.idempotent", {"first"}), MakeStep("b", "do.idempotent", {"first"})});
  definition.steps[1].retry.initial_delay = seconds(60);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("first", Ok());
  run.Pump(2);
  run.Finish("a", Fails());
  EXPECT_TRUE(run.Step("a").next_retry.has_value());
  run.Post("cancel");
  ASSERT_EQ(run.Status(), "FAILED");
  ASSERT_FALSE(run.View().closed) << "b has not ended";
  EXPECT_FALSE(run.Step("a").next_retry.has_value()) << "it will not come";
  EXPECT_EQ(run.Step("a").status, "CANCELLED");
}

TEST(Retry, ADelayIsATimerAndNothingStartsBeforeIt) {
  WorkflowDefinition definition = OneStep("do.effect", 3);
  definition.steps[0].retry.backoff = RetryPolicy::Backoff::kFixed;
  definition.steps[0].retry.initial_delay = seconds(10);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  WallTime due = run.now + seconds(10);
  run.Finish("s", Fails());
  ASSERT_TRUE(run.timers.contains("retry:s"));
  EXPECT_EQ(run.timers["retry:s"], due);
  EXPECT_TRUE(run.Pump().empty());
  ASSERT_TRUE(run.Ask().waiting);
  EXPECT_EQ(run.Ask().waiting->reason, "retry");
  EXPECT_EQ(run.Ask().waiting->next_wake, due);
  EXPECT_EQ(run.Step("s").next_retry, due);
  EXPECT_EQ(run.View().waiting, "retry");

  auto before = run.events.size();
  run.PostTimer("retry:s", due - seconds(1));  // another timer's time
  run.PostTimer("retry:nobody", due);
  run.PostTimer("else", due);
  run.PostTimer("retry:s", due);  // too early
  EXPECT_EQ(run.events.size(), before);
  run.now = due;
  run.PostTimer("retry:s", due);
  EXPECT_EQ(run.events.size(), before + 1);
  run.PostTimer("retry:s", due);  // once more: stale
  EXPECT_EQ(run.events.size(), before + 1);
  EXPECT_EQ(run.Pump().size(), 1u);
}

TEST(Retry, DelaysFollowThePolicyAndJitterIsDeterministic) {
  RetryPolicy policy;
  policy.initial_delay = milliseconds(100);
  policy.max_delay = milliseconds(1000);
  policy.backoff = RetryPolicy::Backoff::kFixed;
  EXPECT_EQ(RetryDelay(policy, 5, "k"), milliseconds(100));
  policy.backoff = RetryPolicy::Backoff::kLinear;
  EXPECT_EQ(RetryDelay(policy, 5, "k"), milliseconds(500));
  policy.backoff = RetryPolicy::Backoff::kExponential;
  EXPECT_EQ(RetryDelay(policy, 1, "k"), milliseconds(100));
  EXPECT_EQ(RetryDelay(policy, 4, "k"), milliseconds(800));
  EXPECT_EQ(RetryDelay(policy, 50, "k"), milliseconds(1000));
  EXPECT_EQ(RetryDelay(policy, 100'000, "k"), milliseconds(1000));  // overflow ends at the cap
  policy.jitter = 0.5;
  std::set<milliseconds> seen;
  for (int i = 0; i < 100; ++i) {
    std::string key = "key" + std::to_string(i);
    auto delay = RetryDelay(policy, 3, key);
    EXPECT_EQ(delay, RetryDelay(policy, 3, key));
    EXPECT_GE(delay, milliseconds(200));
    EXPECT_LE(delay, milliseconds(400));
    seen.insert(delay);
  }
  EXPECT_GT(seen.size(), 30u);
}

// Every policy at every attempt: never longer than allowed, never shorter than before, and nothing times whatever is nothing.
TEST(Retry, NoDelayOverflowsHoweverManyAttemptsThereWere) {
  using Backoff = RetryPolicy::Backoff;
  for (const Backoff backoff : {Backoff::kFixed, Backoff::kLinear, Backoff::kExponential}) {
    for (const std::int64_t initial : {0, 1, 1000}) {
      for (const double multiplier : {1.0, 2.0, 100.0}) {
        const RetryPolicy policy{.max_attempts = 1000,
                                 .backoff = backoff,
                                 .initial_delay = milliseconds(initial),
                                 .max_delay = milliseconds(60'000),
                                 .multiplier = multiplier};
        milliseconds before{0};
        for (int failures = 1; failures <= 1000; ++failures) {
          const auto delay = RetryDelay(policy, failures, "k");
          ASSERT_GE(delay, before) << int(backoff) << " " << initial << " " << multiplier << " " << failures;
          ASSERT_LE(delay, initial == 0 ? milliseconds(0) : policy.max_delay);
          before = delay;
        }
      }
    }
  }
}

TEST(Retry, AFailureMaySayThatTheNextAttemptIsNotToComeSooner) {
  WorkflowDefinition definition = OneStep("do.effect", 3);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  StepResult busy = Fails("429");
  busy.retry_after = seconds(30);
  const WallTime due = run.now + seconds(30);
  run.Finish("s", busy);
  EXPECT_EQ(run.timers["retry:s"], due);
  ASSERT_TRUE(run.FireNextTimer());
  run.Pump();
  run.Finish("s", Fails("again"));
  EXPECT_FALSE(run.timers.contains("retry:s")) << "only that attempt's";

  definition.steps[0].step_timeout = seconds(20);
  RunDriver late(definition);
  late.Claim();
  late.Pump();
  late.Finish("s", busy);
  EXPECT_EQ(late.Status(), "ROLLED_BACK") << "it asks for more time than the step has";
}

TEST(Timeout, AttemptsAreBoundedByTheStepsTime) {
  WorkflowDefinition definition = OneStep("do.idempotent", 10);
  definition.steps[0].attempt_timeout = seconds(60);
  definition.steps[0].step_timeout = seconds(100);
  RunDriver run(definition);
  run.Claim();
  EXPECT_EQ(run.Pump()[0].step.timeout, seconds(60));
  run.now += seconds(60);
  run.Finish("s", Ends(Outcome::kTimedOut));
  EXPECT_EQ(run.Last("step.attempt_failed")["timed_out"], true);
  EXPECT_EQ(run.Pump()[0].step.timeout, seconds(40));
  run.now += seconds(40);
  run.Finish("s", Ends(Outcome::kTimedOut));
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_THAT(run.Step("s").error, HasSubstr("step timeout of 100 s"));
}

TEST(Timeout, TheRunsDeadlineEndsItAndCancelsWhatRuns) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a"), MakeStep("b", "do.effect")});
  definition.max_execution_time = seconds(30);
  RunDriver run(definition);
  run.Claim();
  EXPECT_EQ(run.timers["deadline"], run.now + seconds(30));
  EXPECT_EQ(run.View().deadline, run.now + seconds(30));
  run.Pump();
  run.Finish("a", Ok());
  run.Pump();
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_THAT(run.cancelled, ElementsAre("b", "*"));
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_FALSE(run.View().closed);
  EXPECT_EQ(run.View().reason, "timeout");
  run.Finish("b", Ends(Outcome::kCancelled));
  EXPECT_EQ(run.Step("b").status, "CANCELLED");
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

// ---- takeovers

TEST(Takeover, RepeatableStepsRunAgainWithTheSameKeyAndInputsAndDoNotCount) {
  for (const char* capability : {"do.idempotent", "do.keyed"}) {
    WorkflowDefinition definition =
        MakeDefinition({MakeStep("a", "do.pure"), MakeStep("side", "do.pure", {"a"}), MakeStep("s", capability, {"a"})});
    definition.steps[2].inputs = {{"v", "{{value}}"}};
    definition.steps[2].retry.max_attempts = 1;
    RunDriver run(definition);
    run.Claim();
    run.Pump();
    run.Finish("a", Ok({{"value", 1}}));
    auto first = run.Pump(2);
    ASSERT_EQ(first.size(), 2u);
    EXPECT_EQ(first[1].step.idempotency_key, IdempotencyKeyOf(RunDriver::RunId().ToString(), "s")) << "as docs/reference/events.md says";
    run.Finish("side", Ok({{"value", 2}}));  // the variable moves on; the step's inputs do not
    run.Crash();
    EXPECT_EQ(run.Last("step.attempt_lost")["step_id"], "s");
    auto second = run.Pump(2);
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].step.idempotency_key, first[1].step.idempotency_key);
    EXPECT_EQ(second[0].step.call, first[1].step.call);
    EXPECT_EQ(second[0].step.call["inputs"]["v"], 1);
    EXPECT_EQ(second[0].attempt_id, 2);
    EXPECT_EQ(run.Step("s").attempts, 0);
    run.Finish("s", Ok());
    EXPECT_EQ(run.Status(), "COMPLETED");
    EXPECT_EQ(run.Step("s").attempts, 1);
  }
}

TEST(Takeover, LostAttemptsAreShownAndTheFifthDeathAloneFailsTheStep) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a", "do.pure"), MakeStep("s", "do.idempotent", {"a"})});
  definition.steps[0].compensation = CompensationDefinition{"do.idempotent", Json{{"text", "undo"}}, "", {}};
  definition.enable_auto_rollback = true;
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("a", Ok());
  for (int alone = 0; alone < 5; ++alone) {
    run.Pump();
    run.Crash(alone);
    EXPECT_EQ(run.Step("s").attempts_lost, alone + 1);
    EXPECT_EQ(run.Step("s").attempts, 0);
    EXPECT_EQ(run.Status(), "RUNNING");
  }
  EXPECT_EQ(ViewToJson(run.View())["steps"][1]["attempts_lost"], 5);
  run.Pump();
  run.Crash(5);
  EXPECT_EQ(run.Step("s").status, "FAILED");
  EXPECT_THAT(run.Step("s").error, HasSubstr("of its steps this one was in flight each time"));
  EXPECT_EQ(run.Status(), "FAILED");
  ASSERT_EQ(run.Pump().size(), 1u) << "and what was done is undone";
}

TEST(Takeover, AStepThatIsNotRunningIsNotFailedForTheRun) {
  RunDriver run(OneStep("do.pure"));
  run.Claim();
  run.Pump();
  run.Crash(5);
  EXPECT_EQ(run.Status(), "RUNNING") << "a pure step left no trace: the kernel quarantines the run";
  run.Pump();
  run.Finish("s", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Takeover, PureAndReadStepsLeaveNoTraceAndRunAgain) {
  for (const char* capability : {"do.pure", "do.read"}) {
    RunDriver run(OneStep(capability));
    run.Claim();
    run.Pump();
    auto before = run.events.size();
    run.Crash();
    EXPECT_EQ(run.events.size(), before);
    EXPECT_EQ(run.Pump().size(), 1u);
  }
}

TEST(Takeover, AnEffectThatMayHaveHappenedWaitsForAPerson) {
  RunDriver run(OneStep("do.effect"));
  run.Claim();
  run.Pump();
  EXPECT_TRUE(run.timers.contains("deadline"));
  run.now += seconds(100);
  run.Crash();
  EXPECT_EQ(run.Step("s").status, "UNCERTAIN");
  EXPECT_TRUE(run.Pump().empty());
  ASSERT_TRUE(run.Ask().waiting);
  EXPECT_EQ(run.Ask().waiting->reason, "uncertain");
  EXPECT_THAT(run.View().uncertain, ElementsAre("s"));
  EXPECT_FALSE(run.timers.contains("deadline"));  // a person's time does not count
  run.Crash();
  EXPECT_EQ(run.Events("step.uncertain").size(), 1u);
  EXPECT_EQ(run.calls.size(), 1u);
}

TEST(Takeover, OnUnknownOutcomeOfTheStepDecides) {
  WorkflowDefinition definition = OneStep("do.effect");
  definition.steps[0].on_unknown_outcome = UnknownOutcome::kRetry;
  RunDriver again(definition);
  again.Claim();
  again.Pump();
  again.Crash();
  EXPECT_EQ(again.Pump().size(), 1u);
  definition.steps[0].on_unknown_outcome = UnknownOutcome::kFail;
  RunDriver fails(definition);
  fails.Claim();
  fails.Pump();
  fails.Crash();
  EXPECT_EQ(fails.Status(), "ROLLED_BACK");
  EXPECT_THAT(fails.Step("s").error, HasSubstr("outcome unknown"));
  EXPECT_EQ(fails.calls.size(), 1u);
}

// A compensation says it for itself: what its step says is not asked.
TEST(Takeover, OnUnknownOutcomeOfACompensationDecides) {
  const auto undoing = [](UnknownOutcome outcome) {
    WorkflowDefinition definition = MakeDefinition({MakeStep("a"), MakeStep("f")});
    definition.steps[0].on_unknown_outcome = UnknownOutcome::kFail;
    definition.steps[0].compensation = CompensationDefinition{.capability = "do.effect", .on_unknown_outcome = outcome};
    definition.steps[1].retry.max_attempts = 1;
    RunDriver run(*DefinitionFromJson(DefinitionToJson(definition)));
    run.Claim();
    run.Pump();
    run.Finish("a", Ok());
    run.Pump();
    run.Finish("f", Fails());
    EXPECT_EQ(run.Pump().size(), 1u);
    run.Crash();
    return run;
  };
  RunDriver asks = undoing(UnknownOutcome::kAsk);
  EXPECT_THAT(asks.View().uncertain, ElementsAre("undo:a"));
  RunDriver again = undoing(UnknownOutcome::kRetry);
  ASSERT_EQ(again.Pump().size(), 1u);
  again.Finish("undo:a", Ok());
  EXPECT_EQ(again.Status(), "ROLLED_BACK");
  RunDriver fails = undoing(UnknownOutcome::kFail);
  EXPECT_EQ(fails.Status(), "FAILED");
  EXPECT_EQ(fails.Last("workflow.ended")["not_undone"].size(), 1u);
}

TEST(Takeover, AttemptsWithAKnownOutcomeAreNotLostOnes) {
  WorkflowDefinition definition = OneStep("do.effect", 3);
  definition.steps[0].retry.initial_delay = seconds(5);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("s", Fails());
  run.Crash();  // its attempt row is open, its outcome known
  EXPECT_EQ(run.Step("s").status, "RETRY_WAIT");
  EXPECT_EQ(run.Events("step.uncertain").size(), 0u);
}

TEST(Unknown, ALiveUnknownOutcomeOfAnEffectAsksToo) {
  RunDriver run(OneStep("do.effect"));
  run.Claim();
  run.Pump();
  run.Finish("s", Ends(Outcome::kUnknown));
  EXPECT_EQ(run.Step("s").status, "UNCERTAIN");
}

TEST(Unknown, ARepeatableStepIsTriedAgainButNotForEver) {
  RunDriver run(OneStep("do.idempotent", 3));
  run.RunToEnd([](const StartStep&, int) { return Ends(Outcome::kUnknown); });
  EXPECT_EQ(run.calls.size(), 3u);
  EXPECT_EQ(run.Step("s").status, "UNCERTAIN");  // it may have happened: a person says
}

TEST(Unknown, NotStartedDoesNotCount) {
  RunDriver run(OneStep("do.effect", 1));
  run.Claim();
  run.Pump();
  run.Finish("s", Ends(Outcome::kNotStarted));
  EXPECT_EQ(run.Last("attempt.not_started")["attempt"], 1);
  EXPECT_EQ(run.Step("s").attempts, 0);
  run.Pump();
  run.Finish("s", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Unknown, AResultOfAnAttemptThatIsNotTheCurrentOneIsDropped) {
  RunDriver run(OneStep("do.idempotent"));
  run.Claim();
  run.Pump();
  run.Crash();
  run.Pump();
  auto before = run.events.size();
  run.running["s"] = 1;
  run.Finish("s", Ok());
  EXPECT_EQ(run.events.size(), before);
}

// ---- resolve

RunDriver Uncertain() {
  WorkflowDefinition definition = MakeDefinition({MakeStep("s", "do.effect"), MakeStep("t")});
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.now += seconds(100);
  run.Crash();
  return run;
}

TEST(Resolve, AsCompletedWithOutputs) {
  RunDriver run = Uncertain();
  run.now += seconds(50'000);
  run.Post("resolve", {{"step_id", "s"}, {"decision", "completed"}, {"outputs", {{"id", 7}}}, {"by", "ann"}});
  EXPECT_EQ(run.Step("s").status, "COMPLETED");
  EXPECT_EQ((*run.Var("s"))["id"], 7);
  EXPECT_EQ(run.completions["s"], 1);
  EXPECT_EQ(run.timers["deadline"], run.now + seconds(3500));
  EXPECT_EQ(run.Pump()[0].step.step_id, "t");
}

TEST(Resolve, AsFailed) {
  RunDriver run = Uncertain();
  run.Post("resolve", {{"step_id", "s"}, {"decision", "failed"}, {"by", "ann"}});
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_THAT(run.Step("s").error, HasSubstr("ann"));
}

TEST(Resolve, AsToBeRunAgainWithTheSameKey) {
  RunDriver run = Uncertain();
  const std::string key = IdempotencyKeyOf(RunDriver::RunId().ToString(), "s");
  run.Post("resolve", {{"step_id", "s"}, {"decision", "retry"}});
  auto started = run.Pump();
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].step.idempotency_key, key);
  EXPECT_EQ(started[0].attempt_id, 2);
}

TEST(Resolve, WhatDoesNotFitIsRefusedWithAnEvent) {
  RunDriver run = Uncertain();
  run.Post("resolve", {{"step_id", "t"}, {"decision", "retry"}});
  run.Post("resolve", {{"step_id", "nobody"}, {"decision", "retry"}});
  run.Post("resolve", {{"step_id", "s"}, {"decision", "maybe"}});
  run.Post("resolve", {{"step_id", "s"}, {"decision", "completed"}, {"outputs", 5}});
  run.Post("dance");
  EXPECT_EQ(run.Events("input.refused").size(), 5u);
  EXPECT_EQ(run.Step("s").status, "UNCERTAIN");
}

}  // namespace
}  // namespace acl::workflow::test
