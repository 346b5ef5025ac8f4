// Dispatched steps: what goes out, what comes back, and what a run does meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/capability/manifest.h"
#include "shared/workflow/state.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using Outcome = StepResult::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StepDefinition Away(std::string name, std::string capability = "do.pure", std::vector<std::string> depends_on = {}) {
  StepDefinition step = MakeStep(std::move(name), std::move(capability), std::move(depends_on));
  step.queue = "gpu";
  return step;
}

RunDriver Begun(std::vector<StepDefinition> steps) {
  RunDriver run(MakeDefinition(std::move(steps)));
  run.Claim();
  run.Pump();
  return run;
}

StepResult Withdrawn() { return Ends(Outcome::kCancelled); }

TEST(Dispatch, AStepOnAnotherQueueGoesOutAsATaskAndTheRunWaitsForIt) {
  RunDriver run = Begun({MakeStep("a"), Away("b"), MakeStep("c")});
  run.Finish("a", Ok({{"x", 7}}));
  EXPECT_THAT(run.Pump(), IsEmpty());  // nothing to run here
  ASSERT_TRUE(run.dispatches.contains("b"));
  EXPECT_EQ(run.dispatches["b"].queue, "gpu");
  EXPECT_EQ(run.dispatches["b"].priority, 1);
  Json event = run.Last("step.dispatched");
  EXPECT_EQ(event["queue"], "gpu");
  EXPECT_EQ(event["attempt"], 1);
  EXPECT_FALSE(event["idempotency_key"].get<std::string>().empty());
  EXPECT_EQ(run.Step("b").status, "RUNNING");
  EXPECT_EQ(run.Step("b").queue, "gpu");
  EXPECT_EQ(run.View().waiting, "dispatch");
  ASSERT_TRUE(run.Ask().waiting);
  EXPECT_EQ(run.Ask().waiting->reason, "dispatch");

  run.FinishDispatch("b", Ok({{"y", 8}}));
  Json done = run.Last("step.completed");
  EXPECT_EQ(done["worker"], "w9");
  EXPECT_EQ(done["dispatch_token"], 77);
  EXPECT_TRUE(done.contains("inbox_id"));
  EXPECT_EQ(run.Step("b").queue, "");
  EXPECT_EQ((*run.Var("b"))["y"], 8);
  EXPECT_EQ(run.completions["b"], 1);
  run.Pump();
  run.Finish("c", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Dispatch, AnotherPriorityAloneIsAnotherPlaceToo) {
  StepDefinition urgent = MakeStep("u");
  urgent.priority = 0;
  RunDriver run = Begun({urgent});
  ASSERT_TRUE(run.dispatches.contains("u"));
  EXPECT_EQ(run.dispatches["u"].queue, "default");
  EXPECT_EQ(run.dispatches["u"].priority, 0);
}

TEST(Dispatch, TheOfferHoldsTheCallItsKeyAndTheRunsFiles) {
  CreateRequest request;
  FileChange file;
  file.path = "in/a.txt";
  file.hash = Hash256{9};
  file.size = 4;
  request.files = {file};
  StepDefinition step = Away("b", "do.idempotent");
  step.inputs = {{"text", "{{start}}!"}};
  step.attempt_timeout = std::chrono::seconds(9);
  WorkflowDefinition definition = MakeDefinition({step});
  definition.initial_state = {{"start", "go"}};
  RunDriver run(definition, request);
  run.Claim();
  run.Pump();
  auto offer = OfferFromText("b", run.dispatches["b"].payload);
  ASSERT_TRUE(offer.ok()) << offer.error();
  EXPECT_EQ(offer->step.call["inputs"]["text"], "go!");
  EXPECT_EQ(offer->step.effect, EffectClass::kIdempotent);
  EXPECT_EQ(offer->step.timeout, std::chrono::seconds(9));
  EXPECT_EQ(offer->step.idempotency_key, run.Last("step.dispatched")["idempotency_key"]);
  auto entry = FindFile(offer->files, "in/a.txt");
  ASSERT_TRUE(entry.ok() && *entry);
  EXPECT_EQ((*entry)->hash, Hash256{9});
}

TEST(Dispatch, StepsOfTwoQueuesAndOneHereOverlap) {
  StepDefinition other = Away("c");
  other.queue = "cpu";
  other.depends_on = {"s"};
  RunDriver run = Begun(
      {MakeStep("s"), Away("b", "do.pure", {"s"}), other, MakeStep("d", "do.pure", {"s"}), MakeStep("e", "do.pure", {"b", "c", "d"})});
  run.Finish("s", Ok());
  EXPECT_EQ(run.Pump(1).size(), 1u);
  EXPECT_EQ(run.dispatches.size(), 2u);
  EXPECT_TRUE(run.running.contains("d"));
  EXPECT_FALSE(run.Ask().waiting) << "one runs here";
  run.FinishDispatch("c", Ok());
  run.Finish("d", Ok());
  EXPECT_EQ(run.Ask().waiting->reason, "dispatch");
  run.FinishDispatch("b", Ok());
  EXPECT_EQ(run.Pump().size(), 1u);
  run.Finish("e", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Dispatch, FullSlotsKeepNoDispatchBack) {
  RunDriver run =
      Begun({MakeStep("s"), MakeStep("long", "do.pure", {"s"}), MakeStep("more", "do.pure", {"s"}), Away("b", "do.pure", {"s"})});
  run.Finish("s", Ok());
  run.Pump(1);
  EXPECT_TRUE(run.running.contains("long"));
  run.Pump(0);
  EXPECT_TRUE(run.dispatches.contains("b"));
}

TEST(Dispatch, ManyDispatchesGoOutAFewAtATime) {
  std::vector<StepDefinition> steps{MakeStep("s")};
  for (int i = 0; i < 100; ++i) steps.push_back(Away("t" + std::to_string(i), "do.pure", {"s"}));
  RunDriver run = Begun(std::move(steps));
  run.Finish("s", Ok());
  run.Pump();
  EXPECT_EQ(run.dispatches.size(), kMaxDispatchesOut);
  EXPECT_EQ(run.Ask().waiting->reason, "dispatch");
  while (!run.dispatches.empty()) {
    run.FinishDispatch(run.dispatches.begin()->first, Ok());
    run.Pump();
  }
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Dispatch, AFailureIsTriedAgainAsAnotherDispatchAndCounts) {
  StepDefinition step = Away("b");
  step.retry.max_attempts = 2;
  RunDriver run = Begun({step});
  run.FinishDispatch("b", Fails("first"));
  EXPECT_EQ(run.Last("step.attempt_failed")["error"], "first");
  run.Pump();
  EXPECT_EQ(run.dispatches["b"].attempt_id, 2);
  run.FinishDispatch("b", Fails("second"));
  EXPECT_EQ(run.View().error, "step 'b' failed: second");
  EXPECT_EQ(run.Step("b").attempts, 2);
}

TEST(Dispatch, EveryAttemptSendsTheSameKeyAndInputs) {
  StepDefinition step = Away("b");
  step.inputs = {{"t", "{{v}}"}};
  RunDriver run = Begun({step});
  const std::string first = run.dispatches["b"].payload;
  run.FinishDispatch("b", Fails());
  run.Pump();
  EXPECT_EQ(run.dispatches["b"].payload, first);
}

TEST(Dispatch, ATakeoverLeavesDispatchesAlone) {
  RunDriver run = Begun({Away("b", "do.effect")});
  const auto before = run.events.size();
  run.Crash();
  EXPECT_EQ(run.events.size(), before);
  EXPECT_EQ(run.Ask().waiting->reason, "dispatch");
  run.FinishDispatch("b", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Dispatch, ALostDispatchRunsAgainUnlessItsEffectForbids) {
  RunDriver run = Begun({Away("b", "do.idempotent")});
  run.LoseDispatch("b");
  EXPECT_THAT(run.Last("step.attempt_lost")["why"].get<std::string>(), HasSubstr("worker 'w9'"));
  EXPECT_EQ(run.Step("b").attempts, 0) << "does not count";
  run.Pump();
  EXPECT_EQ(run.dispatches["b"].attempt_id, 2);

  RunDriver asks = Begun({Away("b", "do.effect")});
  asks.LoseDispatch("b");
  EXPECT_EQ(asks.Step("b").status, "UNCERTAIN");
  EXPECT_EQ(asks.Ask().waiting->reason, "uncertain");
  asks.Post("resolve", {{"step_id", "b"}, {"decision", "retry"}, {"by", "p"}});
  asks.Pump();
  EXPECT_EQ(asks.dispatches["b"].attempt_id, 2);
}

TEST(Dispatch, ATaskThatKillsItsWorkersWaitsAndThenFails) {
  RunDriver run = Begun({Away("b")});
  for (int i = 1; i < 5; ++i) {
    run.LoseDispatch("b");
    if (i >= 2) {
      EXPECT_EQ(run.Ask().waiting->reason, "retry") << i;
      ASSERT_TRUE(run.FireNextTimer());
    }
    run.Pump();
    ASSERT_TRUE(run.dispatches.contains("b")) << i;
  }
  run.LoseDispatch("b");
  EXPECT_THAT(run.View().error, HasSubstr("5 workers in a row"));
}

TEST(Dispatch, LossesThatAreNotTheStepsDoingDoNotAddUp) {
  RunDriver run = Begun({Away("b")});
  for (int i = 0; i < 20; ++i) {
    run.LoseDispatch("b", false);
    run.Pump();
    ASSERT_TRUE(run.dispatches.contains("b"));
  }
}

TEST(Dispatch, CancelWantsEveryDispatchBackAndWaitsForTheirEnds) {
  RunDriver run = Begun({MakeStep("s"), Away("b", "do.pure", {"s"}), Away("c", "do.effect", {"s"})});
  run.Finish("s", Ok());
  run.Pump();
  run.Post("cancel", {{"compensate", true}});
  EXPECT_THAT(run.wanted_back, ElementsAre("b", "c"));
  EXPECT_FALSE(run.View().closed);
  EXPECT_EQ(run.Ask().waiting->reason, "dispatch");
  run.FinishDispatch("b", Withdrawn());
  EXPECT_EQ(run.Step("b").status, "CANCELLED");
  run.FinishDispatch("c", Ok());  // it had ended when it was asked to stop: kept, it may have to be undone
  EXPECT_EQ(run.Step("c").status, "COMPLETED");
  EXPECT_TRUE(run.View().closed);
  EXPECT_EQ(run.Status(), "FAILED");
}

TEST(Dispatch, APausedRunKeepsWhatComesBackAndSendsNothingMore) {
  RunDriver run = Begun({Away("b"), Away("c")});
  run.Post("pause");
  run.FinishDispatch("b", Ok());
  EXPECT_EQ(run.Step("b").status, "COMPLETED");
  run.Pump();
  EXPECT_TRUE(run.dispatches.empty());
  EXPECT_EQ(run.Ask().waiting->reason, "paused");
  run.Post("resume");
  run.Pump();
  EXPECT_TRUE(run.dispatches.contains("c"));
}

TEST(Dispatch, TheStepTimeoutCountsTheWaitForAWorker) {
  StepDefinition step = Away("b");
  step.step_timeout = std::chrono::seconds(30);
  RunDriver run = Begun({step});
  ASSERT_TRUE(run.dispatches["b"].deadline);
  EXPECT_EQ(*run.dispatches["b"].deadline, run.now + std::chrono::seconds(30));
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_THAT(run.wanted_back, ElementsAre("b"));
  const int attempt = run.dispatches["b"].attempt_id;
  run.dispatches.erase("b");
  run.Post("dispatch_result", *ParseJson(WithdrawnDispatchText({"b", attempt})));
  EXPECT_THAT(run.View().error, HasSubstr("step timeout of 30 s passed before a worker of queue 'gpu' took it"));
  EXPECT_TRUE(run.View().closed);
}

TEST(Dispatch, TheRunsDeadlineWantsDispatchesBack) {
  WorkflowDefinition definition = MakeDefinition({Away("b")});
  definition.max_execution_time = std::chrono::seconds(5);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_THAT(run.wanted_back, ElementsAre("b"));
  run.LoseDispatch("b");
  EXPECT_TRUE(run.View().closed);
  EXPECT_EQ(run.View().reason, "timeout");
}

TEST(Dispatch, TheCompensationOfADispatchedStepGoesToTheSameQueue) {
  StepDefinition step = Away("b", "do.idempotent");
  step.compensation = CompensationDefinition{"do.idempotent", {{"v", "{{y}}"}}, "", {}};
  StepDefinition bad = MakeStep("c");
  bad.retry.max_attempts = 1;
  RunDriver run = Begun({step, bad});
  run.FinishDispatch("b", Ok({{"y", 3}}));
  run.Pump();
  run.Finish("c", Fails());
  run.Pump();
  ASSERT_TRUE(run.dispatches.contains("undo:b"));
  EXPECT_EQ(run.dispatches["undo:b"].queue, "gpu");
  EXPECT_EQ(run.Ask().waiting->reason, "dispatch");
  run.LoseDispatch("undo:b");
  run.Pump();
  run.FinishDispatch("undo:b", Ok());
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

TEST(Dispatch, FilesComeBackWithTheResultUnderTheRuleOfOverlappingSteps) {
  RunDriver run = Begun({MakeStep("s"), Away("b", "file.write", {"s"}), MakeStep("c", "file.write", {"s"})});
  run.Finish("s", Ok());
  run.Pump();
  FileChange change;
  change.path = "f";
  change.hash = Hash256{1};
  change.found = Hash256{};
  StepResult here = Ok(), there = Ok();
  here.files = {change};
  run.Finish("c", here);
  change.hash = Hash256{2};
  there.files = {change};
  run.FinishDispatch("b", there);
  EXPECT_THAT(run.View().error, HasSubstr("/workspace/f, which another step changed while it ran"));
  EXPECT_EQ((*FindFile(run.state, "f")).has_value(), false) << "rolled back";
}

TEST(Dispatch, AnUnexpectedResultIsRefusedByName) {
  RunDriver run = Begun({Away("b")});
  run.Post("dispatch_result", {{"step_id", "b"}, {"attempt", 9}, {"outcome", "succeeded"}});
  EXPECT_THAT(run.Last("input.refused")["reason"].get<std::string>(), HasSubstr("no dispatch of attempt 9"));
  run.Post("dispatch_result", {{"step_id", "b"}});
  EXPECT_THAT(run.Last("input.refused")["reason"].get<std::string>(), HasSubstr("outcome"));
  EXPECT_TRUE(run.dispatches.contains("b"));
}

TEST(Dispatch, TooManyFilesFailTheStepWithTheWayOut) {
  CreateRequest request;
  for (int i = 0; i < 9'000; ++i) {
    FileChange file;
    file.path = "data/some-rather-long-name-of-a-file-" + std::to_string(i);
    file.hash = Hash256{1};
    request.files.push_back(file);
  }
  RunDriver run(MakeDefinition({Away("b")}), request);
  run.Claim();
  run.Pump();
  EXPECT_TRUE(run.dispatches.empty());
  EXPECT_THAT(run.View().error, HasSubstr("run it on the run's own queue"));
}

}  // namespace
}  // namespace acl::workflow::test
