// Failure, compensation, cancel, pause.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shared/workflow/events.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Outcome = StepResult::Outcome;

StepDefinition Compensated(std::string name, std::string capability = "do.pure", Json inputs = Json::object(),
                           std::vector<std::string> depends_on = {}) {
  StepDefinition step = MakeStep(std::move(name), std::move(capability), std::move(depends_on));
  step.compensation = CompensationDefinition{"do.pure", std::move(inputs), "", {}};
  return step;
}

StepDefinition Once(StepDefinition step) {
  step.retry.max_attempts = 1;
  return step;
}

// Every step whose name begins with "f" fails, and every compensation named.
RunDriver::Script FailingF(std::set<std::string> failing_undos = {}) {
  return [failing_undos](const StartStep& step, int) {
    if (step.step_id.starts_with("f") || failing_undos.contains(step.step_id)) return Fails("no");
    return Ok({{"done", step.step_id}});
  };
}

// docs/reference/other-runtimes.md#a-reference-run.
TEST(Rollback, ReferenceRun) {
  RunDriver run(MakeDefinition({Compensated("a"), Compensated("b"), Once(Compensated("f"))}));
  run.RunToEnd(FailingF());
  EXPECT_THAT(run.calls, ElementsAre("a", "b", "f", "undo:b", "undo:a"));
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_TRUE(run.View().closed);
  EXPECT_EQ(run.View().failed_step, "f");
  EXPECT_EQ(run.listing->status, "ROLLED_BACK");
  std::vector<std::string> log;
  for (const CompensationRow& row : run.compensations) log.push_back(row.step_id + " " + row.status);
  EXPECT_THAT(log, ElementsAre("a pending", "b pending", "b executed", "a executed"));
}

TEST(Rollback, ACompensationMayNameItsAttemptsAndTheirTime) {
  WorkflowDefinition definition = MakeDefinition({Compensated("a"), Once(MakeStep("f"))});
  definition.steps[0].compensation->max_attempts = 2;
  definition.steps[0].compensation->timeout = seconds(7);
  definition.global_compensation_steps.resize(2);
  for (CompensationDefinition& global : definition.global_compensation_steps) global.capability = "do.pure";
  definition.global_compensation_steps[0].max_attempts = 1;
  definition.global_compensation_steps[0].timeout = seconds(9);
  definition.global_compensation_names = {"g", "h"};
  RunDriver run(definition);
  std::map<std::string, std::int64_t> timeouts;
  run.RunToEnd([&](const StartStep& step, int) {
    timeouts[step.step_id] = step.timeout.count();
    return step.step_id == "a" ? Ok() : Fails("no");
  });
  EXPECT_THAT(run.calls,
              ElementsAre("a", "f", "undo:a", "undo:a", "undo:/global[0]", "undo:/global[1]", "undo:/global[1]", "undo:/global[1]"));
  EXPECT_EQ(timeouts["undo:a"], 7'000);
  EXPECT_EQ(timeouts["undo:/global[0]"], 9'000);
  EXPECT_EQ(timeouts["undo:/global[1]"], 300'000);
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_EQ(run.Last("workflow.ended")["not_undone"].size(), 3u);
  ASSERT_EQ(run.View().compensations.size(), 3u);
  EXPECT_EQ(run.View().compensations[0].max_attempts, 2);
  EXPECT_EQ(run.View().compensations[2].max_attempts, 3);
}

TEST(Rollback, AStrictCompensationThatMissesAReferenceIsNotCalledAndListed) {
  WorkflowDefinition definition = MakeDefinition({Compensated("a", "do.pure", {{"x", "{{a.gone}}"}}), Once(MakeStep("f"))});
  definition.strict_templates = true;
  RunDriver run(definition);
  run.RunToEnd(FailingF());
  EXPECT_THAT(run.calls, ElementsAre("a", "f"));
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_THAT(run.View().compensations[0].error, HasSubstr("nothing answers {{a.gone}}"));
  EXPECT_THAT(run.View().warnings, ElementsAre("compensation of step 'a': nothing answered {{a.gone}}; it will fail if it is needed"));
}

TEST(Rollback, ReverseOrderOfCompletionNotOfTheFile) {
  RunDriver run(MakeDefinition({MakeStep("s"), Compensated("a", "do.idempotent", Json::object(), {"s"}),
                                Compensated("b", "do.idempotent", Json::object(), {"s"}), Once(MakeStep("f", "do.pure", {"a", "b"}))}));
  run.Claim();
  run.Pump();
  run.Finish("s", Ok());
  run.Pump(2);
  run.Finish("b", Ok());
  run.Finish("a", Ok());
  run.RunToEnd(FailingF());
  EXPECT_THAT(run.calls, ElementsAre("s", "a", "b", "f", "undo:a", "undo:b"));
}

TEST(Rollback, InputsAreThoseRightAfterTheStepCompleted) {
  RunDriver run(MakeDefinition(
      {Compensated("a", "do.pure", {{"id", "{{id}}"}, {"dotted", "{{a.id}}"}, {"all", "{{a}}"}}), MakeStep("b"), Once(MakeStep("f"))}));
  run.Claim();
  run.Pump();
  run.Finish("a", Ok({{"id", 1}}));
  run.Pump();
  run.Finish("b", Ok({{"id", 2}, {"a", "gone"}}));
  run.Pump();
  run.Finish("f", Fails());
  auto started = run.Pump();
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].step.call["inputs"], Json({{"id", 1}, {"dotted", 1}, {"all", {{"id", 1}}}}));
}

FileChange File(const std::string& path, std::uint8_t content) {
  FileChange change;
  change.path = path;
  change.hash = Hash256{content};
  change.size = content;
  return change;
}

TEST(Rollback, TheEnginePutsOldFilesBackItself) {
  CreateRequest request;
  request.files = {File("old.txt", 1)};
  RunDriver run(MakeDefinition({MakeStep("w1", "file.write"), MakeStep("w2", "file.write"), Compensated("c"), Once(MakeStep("f"))}),
                request);
  const Json old_entry = *run.state.Find("file:old.txt");
  run.RunToEnd([&](const StartStep& step, int) {
    if (step.step_id == "f") return Fails();
    StepResult result = Ok();
    if (step.step_id == "w1") result.files = {File("old.txt", 2), File("new.txt", 3)};
    if (step.step_id == "w2") result.files = {File("old.txt", 4)};
    return result;
  });
  EXPECT_THAT(run.calls, ElementsAre("w1", "w2", "c", "f", "undo:c"));
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(*run.state.Find("file:old.txt"), old_entry);
  EXPECT_EQ(run.state.Find("file:new.txt"), nullptr);
  EXPECT_EQ(run.Events("compensation.completed").size(), 3u);
}

TEST(Rollback, FilesOfAProgramAreTakenBackToo) {
  RunDriver run(MakeDefinition({MakeStep("p", "file.run"), Once(MakeStep("f"))}));
  run.RunToEnd([&](const StartStep& step, int) {
    if (step.step_id == "f") return Fails();
    StepResult result = Ok();
    result.files = {File("made.txt", 3)};
    return result;
  });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.state.Find("file:made.txt"), nullptr);
}

// A program whose run is cancelled has left no files: nothing hangs on what became of it.
TEST(Rollback, FilesOfAnAttemptThatWasStoppedNeedNobody) {
  RunDriver run(MakeDefinition({MakeStep("p", "file.run")}));
  run.Claim();
  run.Pump();
  run.Post("cancel", {{"compensate", true}});
  run.Finish("p", Ends(Outcome::kUnknown));
  EXPECT_EQ(run.Step("p").status, "CANCELLED");
  EXPECT_TRUE(run.View().closed);
}

// `d` was a file; a step put a folder in its place, and another, whose own compensation leaves it, made something there.
TEST(Rollback, AFileThatCannotComeBackIsListed) {
  CreateRequest request;
  request.files = {File("d", 1), File("keep", 1)};
  RunDriver run(MakeDefinition({MakeStep("turn", "file.write"), Compensated("fill", "file.write"), Once(MakeStep("f"))}), request);
  run.RunToEnd([&](const StartStep& step, int) {
    if (step.step_id == "f") return Fails();
    StepResult result = Ok();
    FileChange folder;
    folder.path = "d";
    folder.is_dir = true;
    folder.mode = 0755;
    if (step.step_id == "turn") result.files = {folder, File("keep", 2)};
    if (step.step_id == "fill") result.files = {File("d/x", 3)};
    return result;
  });
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_NE(run.state.Find("file:d/x"), nullptr);
  EXPECT_TRUE(run.state.Find("file:d")->contains("dir"));
  const Json ended = run.Last("workflow.ended");
  ASSERT_EQ(ended["not_undone"].size(), 1u);
  EXPECT_EQ(ended["not_undone"][0]["step_id"], "undo:turn");
  EXPECT_THAT(ended["not_undone"][0]["error"].get<std::string>(), HasSubstr("/workspace/d/x has been made below it"));
}

TEST(Rollback, AnExplicitCompensationWinsOverTheCapabilitysUndo) {
  RunDriver run(MakeDefinition({Compensated("w", "file.write"), Once(MakeStep("f"))}));
  run.RunToEnd([&](const StartStep& step, int) {
    if (step.step_id == "f") return Fails();
    StepResult result = Ok();
    if (step.step_id == "w") result.files = {File("x", 2)};
    return result;
  });
  EXPECT_THAT(run.calls, ElementsAre("w", "f", "undo:w"));
  EXPECT_NE(run.state.Find("file:x"), nullptr);
}

TEST(Rollback, AFailingCompensationIsRetriedThenRecordedAndTheRestGoesOn) {
  RunDriver run(MakeDefinition({Compensated("a"), Compensated("b"), Compensated("c"), Once(MakeStep("f"))}));
  run.RunToEnd(FailingF({"undo:b"}));
  EXPECT_THAT(run.calls, ElementsAre("a", "b", "c", "f", "undo:c", "undo:b", "undo:b", "undo:b", "undo:a"));
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_TRUE(run.View().closed);
  Json ended = run.Last("workflow.ended");
  ASSERT_EQ(ended["not_undone"].size(), 1u);
  EXPECT_EQ(ended["not_undone"][0]["step_id"], "undo:b");
  EXPECT_EQ(ended["not_undone"][0]["error"], "no");
  EXPECT_THAT(*run.listing->error_message, HasSubstr("undo:b"));
  EXPECT_EQ(run.listing->status, "FAILED");
  EXPECT_EQ(run.View().compensations[1].status, "FAILED");
  EXPECT_EQ(run.View().compensations[1].attempts, 3);
}

TEST(Rollback, GlobalCompensationsRunLastInFileOrder) {
  WorkflowDefinition definition = MakeDefinition({Compensated("a"), Once(MakeStep("f"))});
  definition.global_compensation_steps = {{"do.idempotent", {{"v", "{{done}}"}}, "", {}}, {"do.pure", Json::object(), "", {}}};
  definition.global_compensation_names = {"first", "second"};
  RunDriver run(definition);
  run.RunToEnd(FailingF());
  EXPECT_THAT(run.calls, ElementsAre("a", "f", "undo:a", "undo:/global[0]", "undo:/global[1]"));
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

TEST(Rollback, WithoutAutoRollbackNothingIsUndone) {
  WorkflowDefinition definition = MakeDefinition({Compensated("a"), Once(MakeStep("f"))});
  definition.enable_auto_rollback = false;
  RunDriver run(definition);
  run.RunToEnd(FailingF());
  EXPECT_THAT(run.calls, ElementsAre("a", "f"));
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_TRUE(run.View().closed);
}

TEST(Rollback, SurvivesACrashAtAnyPointWithEachUndoDoneOnce) {
  for (std::size_t crash_at = 0; crash_at < 10; ++crash_at) {
    WorkflowDefinition definition = MakeDefinition({Compensated("a"), Compensated("b"), Once(MakeStep("f"))});
    for (auto& step : definition.steps) {
      if (step.compensation) step.compensation->capability = "do.idempotent";
    }
    RunDriver run(definition);
    run.Claim();
    for (std::size_t i = 0; i < 40 && !run.View().closed; ++i) {
      if (i == crash_at) run.Crash();
      auto started = run.Pump();
      if (i == crash_at) {
        run.Crash();
        started = run.Pump();
      }
      for (auto& [step, attempt] : started) run.Finish(step.step_id, FailingF()(step, attempt));
    }
    EXPECT_EQ(run.Status(), "ROLLED_BACK");
    EXPECT_TRUE(run.completions.contains("undo:a") && run.completions.contains("undo:b"));
    EXPECT_EQ(run.Events("compensation.completed").size(), 2u);
  }
}

TEST(Rollback, ACompensationWithAnUnknownOutcomeWaitsForAPerson) {
  WorkflowDefinition definition = MakeDefinition({Compensated("a"), Once(MakeStep("f"))});
  definition.steps[0].compensation->capability = "do.effect";
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("a", Ok());
  run.Pump();
  run.Finish("f", Fails());
  run.Pump();
  run.Crash();
  EXPECT_EQ(run.Ask().waiting->reason, "uncertain");
  run.Post("resolve", {{"step_id", "undo:a"}, {"decision", "completed"}});
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

// ---- what runs while the run fails

TEST(Stopping, RunningEffectsEndFirstAndAreUndoneIfTheyCompleted) {
  RunDriver run(MakeDefinition({MakeStep("s"), Once(MakeStep("f", "do.pure", {"s"})), Compensated("e", "do.effect", Json::object(), {"s"}),
                                MakeStep("p", "do.pure", {"s"})}));
  run.Claim();
  run.Pump();
  run.Finish("s", Ok());
  EXPECT_EQ(run.Pump(3).size(), 3u);
  run.Finish("f", Fails());
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_THAT(run.cancelled, ElementsAre("e", "*"));
  EXPECT_TRUE(run.Pump(3).empty());
  auto before = run.events.size();
  run.Finish("p", Ok({{"x", 1}}));  // a pure result of a stopping run leaves nothing behind
  EXPECT_EQ(run.events.size(), before);
  EXPECT_EQ(run.Var("x"), nullptr);
  run.Finish("e", Ok());  // it was quicker than the cancel
  EXPECT_EQ(run.Step("e").status, "COMPLETED");
  auto undo = run.Pump(3);
  ASSERT_EQ(undo.size(), 1u);
  EXPECT_EQ(undo[0].step.step_id, "undo:e");
  run.Finish("undo:e", Ok());
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

TEST(Stopping, ALostIdempotentStepWithAnUndoIsRunOnceMoreToLearnWhatItDid) {
  RunDriver run(MakeDefinition({MakeStep("s"), Once(MakeStep("f", "do.pure", {"s"})),
                                Compensated("e", "do.idempotent", Json::object(), {"s"}), MakeStep("i", "do.idempotent", {"s"})}));
  run.Claim();
  run.Pump();
  run.Finish("s", Ok());
  EXPECT_EQ(run.Pump(3).size(), 3u);
  run.Finish("f", Fails());
  run.Crash();
  EXPECT_EQ(run.Step("i").status, "CANCELLED");  // nothing to undo: nobody needs to know
  auto again = run.Pump(3);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].step.step_id, "e");
  run.Crash();
  EXPECT_EQ(run.Pump(3).size(), 1u);
  run.Finish("e", Ok());
  EXPECT_EQ(run.Pump(3)[0].step.step_id, "undo:e");
}

TEST(Stopping, AnUncertainStepWithAnUndoHoldsTheRollbackForAPerson) {
  RunDriver run(MakeDefinition({MakeStep("s"), Once(MakeStep("f", "do.pure", {"s"})), Compensated("e", "do.effect", Json::object(), {"s"}),
                                MakeStep("n", "do.effect", {"s"})}));
  run.Claim();
  run.Pump();
  run.Finish("s", Ok());
  run.Pump(3);
  run.Crash();  // e and n uncertain
  run.Pump(3);
  run.Finish("f", Fails());
  EXPECT_EQ(run.Step("n").status, "CANCELLED");
  EXPECT_EQ(run.Step("e").status, "UNCERTAIN");
  EXPECT_EQ(run.Ask().waiting->reason, "uncertain");
  run.Post("resolve", {{"step_id", "e"}, {"decision", "completed"}});
  EXPECT_EQ(run.Pump()[0].step.step_id, "undo:e");
}

// ---- cancel, pause, resume

TEST(Cancel, EndsFailedWithOrWithoutCompensation) {
  for (bool compensate : {false, true}) {
    RunDriver run(MakeDefinition({Compensated("a"), MakeStep("b", "do.idempotent")}));
    run.Claim();
    run.Pump();
    run.Finish("a", Ok());
    run.Pump();
    run.Post("cancel", {{"reason", "not needed"}, {"compensate", compensate}, {"by", "ann"}});
    EXPECT_EQ(run.Status(), "FAILED");
    EXPECT_THAT(run.cancelled, ElementsAre("b", "*"));
    run.Finish("b", Ends(Outcome::kCancelled));
    run.RunToEnd(FailingF());
    EXPECT_EQ(run.Status(), "FAILED");
    EXPECT_EQ(run.View().reason, "cancelled");
    EXPECT_EQ(run.View().error, "cancelled: not needed");
    EXPECT_TRUE(run.View().closed);
    EXPECT_EQ(run.completions.contains("undo:a"), compensate);
    EXPECT_TRUE(run.timers.empty());
  }
}

TEST(Cancel, OfAFinishedRunIsRefusedWithAnEvent) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.RunToEnd(FailingF());
  run.Post("cancel");
  run.Post("signal", {{"name", "go"}});
  EXPECT_EQ(run.Events("input.refused").size(), 2u);
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Cancel, BeforeTheFirstStep) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.Claim();
  run.Post("cancel");
  EXPECT_TRUE(run.View().closed);
  EXPECT_EQ(run.listing->status, "FAILED");
}

TEST(Pause, NothingNewStartsRunningStepsFinishAndTheClockStops) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a", "do.idempotent"), MakeStep("b")});
  definition.max_execution_time = seconds(100);
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.now += seconds(40);
  run.Post("pause", {{"reason", "look"}, {"by", "ann"}});
  EXPECT_EQ(run.Status(), "PAUSED");
  EXPECT_EQ(run.listing->status, "PAUSED");
  EXPECT_FALSE(run.timers.contains("deadline"));
  run.Finish("a", Ok());
  EXPECT_TRUE(run.Pump().empty());
  EXPECT_EQ(run.Ask().waiting->reason, "paused");
  run.Post("pause");
  EXPECT_EQ(run.Events("input.refused").size(), 1u);
  run.now += seconds(5000);
  run.Post("resume", {{"by", "ann"}});
  EXPECT_EQ(run.timers["deadline"], run.now + seconds(60));
  run.Post("resume");
  EXPECT_EQ(run.Events("input.refused").size(), 2u);
  run.RunToEnd(FailingF());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Pause, WhatEndsWhilePausedTakesEffectOnResume) {
  RunDriver last(MakeDefinition({MakeStep("a")}));
  last.Claim();
  last.Pump();
  last.Post("pause");
  last.Finish("a", Ok());
  EXPECT_EQ(last.Status(), "PAUSED");
  last.Post("resume");
  EXPECT_EQ(last.Status(), "COMPLETED");

  RunDriver failing(MakeDefinition({Compensated("a"), Once(MakeStep("f"))}));
  failing.Claim();
  failing.Pump();
  failing.Finish("a", Ok());
  failing.Pump();
  failing.Post("pause");
  failing.Finish("f", Fails());
  EXPECT_EQ(failing.Status(), "PAUSED");
  EXPECT_TRUE(failing.Pump().empty());
  failing.Post("resume");
  EXPECT_EQ(failing.Status(), "FAILED");
  EXPECT_EQ(failing.Pump()[0].step.step_id, "undo:a");
}

TEST(Pause, ACancelEndsAPausedRun) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.Claim();
  run.Post("pause");
  run.Post("cancel");
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_TRUE(run.View().closed);
}

TEST(Signal, IsJournaled) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.Claim();
  run.Post("signal", {{"name", "go"}, {"payload", {{"x", 1}}}});
  EXPECT_EQ(run.Last("signal.received")["payload"]["x"], 1);
}

// The journal tells of a quarantine once a person has released it; nothing else changes.
TEST(Quarantine, ItsReleaseIsJournaled) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.Claim();
  const Hash256 before = run.state.Root();
  run.Post("quarantine_released", {{"reason", "checksum"}, {"by", "anna"}});
  const Json told = run.Last("subject.quarantine_released");
  EXPECT_EQ(told["reason"], "checksum");
  EXPECT_EQ(told["by"], "anna");
  EXPECT_EQ(run.state.Root(), before);
  EXPECT_EQ(run.Status(), "RUNNING");
}

// Nothing happens behind the end of a run: what comes too late is refused, a release too.
TEST(Quarantine, ItsReleaseAfterTheEndIsRefused) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.Claim();
  run.Post("cancel");
  ASSERT_EQ(run.Types().back(), event::kWorkflowEnded);
  run.Post("quarantine_released", {{"reason", "checksum"}, {"by", "anna"}});
  run.Post("dispatch_result", {{"step_id", "a"}, {"attempt", 1}, {"outcome", "lost"}});
  EXPECT_EQ(run.Events(event::kQuarantineReleased).size(), 0u);
  const auto types = run.Types();
  const auto end = std::find_if(types.begin(), types.end(), event::Ends);
  ASSERT_EQ(types.end() - end, 3);
  EXPECT_TRUE(std::all_of(end + 1, types.end(), event::MayFollowTheEnd));
  EXPECT_EQ(run.Last(event::kInputRefused)["kind"], "dispatch_result");
}

}  // namespace
}  // namespace acl::workflow::test
