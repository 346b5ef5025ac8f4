// Tasks in a worker's memory: slots, the clock rule, results that are kept until they are delivered or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/task_runs.h"

namespace acl {
namespace {

using Outcome = StepResult::Outcome;
using testing::IsEmpty;
using testing::SizeIs;

struct TaskRunsTest : testing::Test {
  ClaimedTask Granted(const std::string& step, std::optional<WallTime> deadline = {}) {
    StartStep start;
    start.step_id = step;
    start.call = {{"capability", "do"}, {"inputs", Json::object()}};
    start.timeout = milliseconds(1'000);
    ClaimedTask task;
    task.subject = subject;
    task.id = TaskIdOf(subject, step, 1);
    start.effect = effect;
    task.row = {step, 1, "gpu", 1, OfferToText(start, {}, Json::object()), deadline};
    task.token = Token{7};
    return task;
  }
  void Take(const std::string& step) { tasks.Take(now, Granted(step), now + milliseconds(5'000)); }
  std::vector<TaskRuns::Start> Begin(int slots, bool trusted = true) { return tasks.Begin(now, db_now, trusted, slots); }
  TaskResult Said(const TaskReport& report) { return *ResultFromJson(*ParseJson(report.payload)); }
  void Deliver(const TaskReport& report, Result<PostAnswer> answer) { tasks.OnDelivered(now, report.task, report.token, answer); }
  StepResult Done() {
    StepResult result;
    result.outputs = {{"x", 1}};
    return result;
  }

  EffectClass effect = EffectClass::kIdempotent;
  SubjectId subject = *SubjectId::Parse("01890000-0000-7000-8000-000000000001");
  SteadyTime now{std::chrono::seconds(100)};
  WallTime db_now = WallTimeFromMicros(1'800'000'000'000'000);
  SeededRandom random{1};
  WorkerObserver observer;
  TaskRuns tasks{{"w1"}, random, observer};
};

TEST_F(TaskRunsTest, BeginsWithinTheSlotsInTheOrderOfTheGrants) {
  Take("b");
  Take("a");
  EXPECT_EQ(tasks.busy(), 2);
  auto first = Begin(1);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].call.step.step_id, "b");
  EXPECT_EQ(std::string(first[0].call.scope), "run/step");
  EXPECT_EQ(first[0].call.token, Token{7});
  EXPECT_THAT(Begin(0), IsEmpty());
  EXPECT_TRUE(tasks.OnStepDone(now, subject, Token{7}, "b", 1, Done()));
  EXPECT_EQ(tasks.busy(), 1);
  EXPECT_THAT(Begin(1), SizeIs(1));
}

TEST_F(TaskRunsTest, DamageIsReportedForTheRunsHolder) {
  Take("a");
  ASSERT_THAT(Begin(1), SizeIs(1));
  StepResult result;
  result.outcome = Outcome::kFailed;
  result.error = result.damaged = "content ab is gone";
  EXPECT_TRUE(tasks.OnStepDone(now, subject, Token{7}, "a", 1, result));
  const auto reports = tasks.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  Json text = *ParseJson(reports[0].payload);
  EXPECT_EQ(DamageIn(text), "content ab is gone");
  const TaskResult said = Said(reports[0]);
  EXPECT_EQ(said.result.outcome, Outcome::kFailed);
  EXPECT_EQ(said.result.damaged, "content ab is gone");
  EXPECT_TRUE(said.repeatable) << "a pure step";
  SettleDamage(text);
  EXPECT_EQ(DamageIn(text), "");
  EXPECT_EQ(ResultFromJson(text)->result.outcome, Outcome::kNotStarted) << "released by a person: made again, not counted";
  Json once = {{"step_id", "a"}, {"attempt", 1}, {"outcome", "failed"}, {"damaged", "x"}, {"repeatable", false}};
  SettleDamage(once);
  EXPECT_EQ(ResultFromJson(once)->result.outcome, Outcome::kFailed) << "an effect that may not be repeated";
}

TEST_F(TaskRunsTest, AResultIsKeptUntilItIsDelivered) {
  Take("a");
  Begin(1);
  tasks.OnStepDone(now, subject, Token{7}, "a", 1, Done());
  auto reports = tasks.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].state, "done");
  EXPECT_EQ(Said(reports[0]).result.outputs["x"], 1);
  EXPECT_EQ(Said(reports[0]).worker, "w1");
  EXPECT_THAT(tasks.TakeReports(now), IsEmpty()) << "in flight";
  tasks.ForgetRunning();  // the session is lost: the result stays
  for (Code code : {Code::kUnavailable, Code::kTimeout, Code::kOutcomeUnknown}) {
    Deliver(reports[0], Error{code, "away"});
    EXPECT_THAT(tasks.TakeReports(now), IsEmpty()) << "not at once";
    ASSERT_TRUE(tasks.NextWake());
    now = *tasks.NextWake();
    ASSERT_THAT(tasks.TakeReports(now), SizeIs(1));
  }
  Deliver(reports[0], PostAnswer{true, {}, "default"});
  EXPECT_TRUE(tasks.empty());
  EXPECT_EQ(tasks.counts().kept, 3);
  EXPECT_EQ(tasks.counts().replayed, 1);
}

TEST_F(TaskRunsTest, ARefusedResultIsCountedAndForgotten) {
  Take("a");
  Begin(1);
  tasks.OnStepDone(now, subject, Token{7}, "a", 1, Done());
  Deliver(tasks.TakeReports(now).at(0), Error{Code::kLeaseLost, "it is lost"});
  EXPECT_EQ(tasks.counts().refused, 1);
  EXPECT_TRUE(tasks.empty());
}

TEST_F(TaskRunsTest, WhatCannotBeStoredIsSaidInsteadOnce) {
  Take("a");
  Begin(1);
  tasks.OnStepDone(now, subject, Token{7}, "a", 1, Done());
  Deliver(tasks.TakeReports(now).at(0), Error{Code::kInvalid, "too large"});
  auto again = tasks.TakeReports(now);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(Said(again[0]).result.outcome, Outcome::kFailed);
  EXPECT_THAT(Said(again[0]).result.error, testing::HasSubstr("too large"));
  Deliver(again[0], Error{Code::kInvalid, "still"});
  EXPECT_TRUE(tasks.empty());
}

TEST_F(TaskRunsTest, NothingBeginsUnderAGrantThatMayBeOver) {
  Take("old");
  now += milliseconds(5'000);
  EXPECT_THAT(Begin(5), IsEmpty());
  Take("untrusted");
  EXPECT_THAT(Begin(5, false), IsEmpty());
  auto reports = tasks.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(2));
  for (const TaskReport& report : reports) EXPECT_EQ(Said(report).result.outcome, Outcome::kNotStarted);
}

TEST_F(TaskRunsTest, NothingBeginsAfterTheStepsTime) {
  tasks.Take(now, Granted("late", db_now), now + milliseconds(5'000));
  tasks.Take(now, Granted("short", db_now + milliseconds(300)), now + milliseconds(5'000));
  auto starts = Begin(5);
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].call.step.timeout, milliseconds(300));
  EXPECT_EQ(Said(tasks.TakeReports(now).at(0)).result.outcome, Outcome::kTimedOut);
}

TEST_F(TaskRunsTest, DrainGivesBackWhatWaitsAndLetsTheRestEnd) {
  Take("runs");
  auto started = Begin(1);
  Take("waits");
  tasks.GiveBackWaiting("drain");
  auto reports = tasks.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(Said(reports[0]).step_id, "waits");
  EXPECT_FALSE(started[0].stop.stopped());
  tasks.StopRunning();
  EXPECT_TRUE(started[0].stop.stopped());
}

TEST_F(TaskRunsTest, AnUnwantedTaskIsStoppedOrNeverBegun) {
  Take("runs");
  auto started = Begin(1);
  Take("waits");
  tasks.OnUnwanted(TaskIdOf(subject, "runs", 1));
  tasks.OnUnwanted(TaskIdOf(subject, "waits", 1));
  tasks.OnUnwanted(TaskIdOf(subject, "unknown", 1));
  EXPECT_TRUE(started[0].stop.stopped());
  EXPECT_THAT(Begin(5), IsEmpty());
  auto reports = tasks.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].state, "cancelled");
}

TEST_F(TaskRunsTest, AGrantThatWasNeverHeardOfIsEnded) {
  Take("known");
  tasks.OnHeld(now, {{TaskIdOf(subject, "known", 1), Token{7}, {"known", 1}}, {TaskIdOf(subject, "unknown", 2), Token{9}, {"unknown", 2}}});
  auto reports = tasks.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].token, Token{9});
  EXPECT_EQ(Said(reports[0]).step_id, "unknown");
  EXPECT_EQ(Said(reports[0]).attempt_id, 2);
  EXPECT_EQ(Said(reports[0]).result.outcome, Outcome::kNotStarted);
}

TEST_F(TaskRunsTest, ARunnerPastItsDeadlineAndGraceIsDropped) {
  Take("hangs");
  auto started = Begin(1);
  now = *tasks.NextWake();
  tasks.OnTime(now);
  EXPECT_TRUE(started[0].stop.stopped());
  EXPECT_EQ(Said(tasks.TakeReports(now).at(0)).result.outcome, Outcome::kTimedOut);
  EXPECT_EQ(tasks.lost(), 1) << "its thread is not to be had";
  EXPECT_TRUE(tasks.OnStepDone(now, subject, Token{7}, "hangs", 1, Done())) << "too late, and ours";
  EXPECT_EQ(tasks.lost(), 0);
}

TEST_F(TaskRunsTest, WhatADroppedRunnerDidIsNotDoneAgainIfThatDoesHarm) {
  effect = EffectClass::kNonIdempotent;
  Take("hangs");
  Begin(1);
  now = *tasks.NextWake();
  tasks.OnTime(now);
  EXPECT_EQ(Said(tasks.TakeReports(now).at(0)).result.outcome, Outcome::kUnknown);
}

// An asynchronous failover lost its result, not its start: the new primary says that this session holds it.
TEST_F(TaskRunsTest, WhatEndedHereAndIsHeldAgainIsOfUnknownOutcome) {
  effect = EffectClass::kNonIdempotent;
  Take("posted");
  Begin(1);
  tasks.OnStepDone(now, subject, Token{7}, "posted", 1, Done());
  const TaskReport report = tasks.TakeReports(now).at(0);
  Deliver(report, PostAnswer{});
  ASSERT_TRUE(tasks.empty());
  tasks.OnHeld(now, {{report.task, Token{7}, {"posted", 1}}});
  const auto said = Said(tasks.TakeReports(now).at(0));
  EXPECT_EQ(said.result.outcome, Outcome::kUnknown);
  EXPECT_FALSE(said.repeatable);
  tasks.OnHeld(now, {{TaskIdOf(subject, "posted", 2), Token{9}, {"posted", 2}}});
  EXPECT_EQ(Said(tasks.TakeReports(now).at(0)).result.outcome, Outcome::kNotStarted) << "another attempt";
}

TEST_F(TaskRunsTest, WhatRanForLongIsRememberedFromItsEnd) {
  effect = EffectClass::kNonIdempotent;
  Take("posted");
  Begin(1);
  const auto run_another = [&](const std::string& step) {
    Take(step);
    Begin(1);
    tasks.OnStepDone(now, subject, Token{7}, step, 1, Done());
    const TaskReport ended = tasks.TakeReports(now).at(0);
    Deliver(ended, PostAnswer{});
  };
  now += std::chrono::hours(1);
  run_another("another");
  tasks.OnStepDone(now, subject, Token{7}, "posted", 1, Done());
  const TaskReport report = tasks.TakeReports(now).at(0);
  Deliver(report, PostAnswer{});
  run_another("a third");
  tasks.OnHeld(now, {{report.task, Token{7}, {"posted", 1}}});
  EXPECT_EQ(Said(tasks.TakeReports(now).at(0)).result.outcome, Outcome::kUnknown);
}

TEST_F(TaskRunsTest, WhatEndedHereAndMayRunAgainDoesAndCountsForNothing) {
  Take("put");
  Begin(1);
  tasks.OnStepDone(now, subject, Token{7}, "put", 1, Done());
  const TaskReport report = tasks.TakeReports(now).at(0);
  Deliver(report, PostAnswer{});
  tasks.OnHeld(now, {{report.task, Token{7}, {"put", 1}}});
  EXPECT_EQ(Said(tasks.TakeReports(now).at(0)).result.outcome, Outcome::kNotStarted);
}

TEST_F(TaskRunsTest, WhatMayHaveBeenForgottenIsOfUnknownOutcomeToo) {
  effect = EffectClass::kNonIdempotent;
  TaskRuns few({.worker_name = "w1", .remembered_for = milliseconds(60'000), .remembered = 2}, random, observer);
  const auto run = [&](const std::string& step) {
    few.Take(now, Granted(step), now + milliseconds(5'000));
    few.Begin(now, db_now, true, 1);
    few.OnStepDone(now, subject, Token{7}, step, 1, Done());
    const TaskReport report = few.TakeReports(now).at(0);
    few.OnDelivered(now, report.task, report.token, PostAnswer{});
  };
  const auto held = [&](const std::string& step) {
    few.OnHeld(now, {{TaskIdOf(subject, step, 1), Token{7}, {step, 1}}});
    return Said(few.TakeReports(now).at(0)).result.outcome;
  };
  run("a"), run("b");
  EXPECT_EQ(held("other"), Outcome::kNotStarted);
  run("c");
  EXPECT_EQ(held("a"), Outcome::kUnknown) << "forgotten before its time";
  now += milliseconds(60'000);
  EXPECT_EQ(held("yet another"), Outcome::kNotStarted) << "by now it would be forgotten anyway";
}

TEST_F(TaskRunsTest, AnOfferOfANewerProgramFailsByName) {
  ClaimedTask task = Granted("a");
  task.row.payload = R"({"v": 99, "call": {}, "effect": "pure"})";
  tasks.Take(now, task, now + milliseconds(5'000));
  EXPECT_THAT(Begin(5), IsEmpty());
  EXPECT_THAT(Said(tasks.TakeReports(now).at(0)).result.error, testing::HasSubstr("a newer program wrote it"));
}

TEST_F(TaskRunsTest, FilesOfAResultKeepWhatTheirAttemptFound) {
  StepResult result = Done();
  FileChange change{"a/b", Hash256{1}, 3, 0600, false, Hash256{2}}, gone{"c", std::nullopt, 0, 0644, false, Hash256{}};
  result.files = {change, gone};
  auto back = ResultFromJson(*ParseJson(ResultToText({"s", 3, result, false, true, "w", 5})));
  ASSERT_TRUE(back.ok()) << back.error();
  ASSERT_THAT(back->result.files, SizeIs(2));
  EXPECT_EQ(back->result.files[0].path, "a/b");
  EXPECT_EQ(back->result.files[0].hash, Hash256{1});
  EXPECT_EQ(back->result.files[0].mode, 0600);
  EXPECT_EQ(back->result.files[0].found, Hash256{2});
  EXPECT_FALSE(back->result.files[1].hash);
  EXPECT_EQ(back->result.files[1].found, Hash256{});
  EXPECT_FALSE(
      ResultFromJson({{"step_id", "s"}, {"attempt", 1}, {"outcome", "succeeded"}, {"files", {{{"path", "../x"}, {"deleted", true}}}}})
          .ok());
}

}  // namespace
}  // namespace acl
