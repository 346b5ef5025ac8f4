// Dispatches in a worker's memory: slots, the clock rule, results that are kept until they are delivered or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/dispatch_runs.h"

namespace acl {
namespace {

using Outcome = StepResult::Outcome;
using testing::IsEmpty;
using testing::SizeIs;

struct DispatchRunsTest : testing::Test {
  ClaimedDispatch Granted(const std::string& step, std::optional<WallTime> deadline = {}) {
    StartStep start;
    start.step_id = step;
    start.call = {{"capability", "do"}, {"inputs", Json::object()}};
    start.timeout = milliseconds(1'000);
    ClaimedDispatch dispatch;
    dispatch.subject = subject;
    dispatch.id = DispatchIdOf(subject, step, 1);
    start.effect = effect;
    dispatch.row = {step, 1, "gpu", 1, OfferToText(start, {}, Json::object()), deadline};
    dispatch.token = Token{7};
    return dispatch;
  }
  void Take(const std::string& step) { dispatches.Take(now, Granted(step), now + milliseconds(5'000)); }
  std::vector<DispatchRuns::Start> Begin(int slots, bool trusted = true) { return dispatches.Begin(now, db_now, trusted, slots); }
  DispatchResult Said(const DispatchReport& report) { return *ResultFromJson(*ParseJson(report.payload)); }
  void Deliver(const DispatchReport& report, Result<PostAnswer> answer) {
    dispatches.OnDelivered(now, report.dispatch, report.token, answer);
  }
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
  DispatchRuns dispatches{{"w1"}, random, observer};
};

TEST_F(DispatchRunsTest, BeginsWithinTheSlotsInTheOrderOfTheGrants) {
  Take("b");
  Take("a");
  EXPECT_EQ(dispatches.busy(), 2);
  auto first = Begin(1);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].call.step.step_id, "b");
  EXPECT_EQ(std::string(first[0].call.scope), "run/step");
  EXPECT_EQ(first[0].call.token, Token{7});
  EXPECT_THAT(Begin(0), IsEmpty());
  EXPECT_TRUE(dispatches.OnStepDone(now, subject, Token{7}, "b", 1, Done()));
  EXPECT_EQ(dispatches.busy(), 1);
  EXPECT_THAT(Begin(1), SizeIs(1));
}

TEST_F(DispatchRunsTest, DamageIsReportedForTheRunsHolder) {
  Take("a");
  ASSERT_THAT(Begin(1), SizeIs(1));
  StepResult result;
  result.outcome = Outcome::kFailed;
  result.error = result.damaged = "content ab is gone";
  EXPECT_TRUE(dispatches.OnStepDone(now, subject, Token{7}, "a", 1, result));
  const auto reports = dispatches.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  Json text = *ParseJson(reports[0].payload);
  EXPECT_EQ(DamageIn(text), "content ab is gone");
  const DispatchResult said = Said(reports[0]);
  EXPECT_EQ(said.result.outcome, Outcome::kFailed);
  EXPECT_EQ(said.result.damaged, "content ab is gone");
  EXPECT_TRUE(said.repeatable) << "a pure step";
  AcknowledgeDamage(text);
  EXPECT_EQ(DamageIn(text), "");
  EXPECT_EQ(ResultFromJson(text)->result.outcome, Outcome::kNotStarted) << "released by a person: made again, not counted";
  Json once = {{"step_id", "a"}, {"attempt", 1}, {"outcome", "failed"}, {"damaged", "x"}, {"repeatable", false}};
  AcknowledgeDamage(once);
  EXPECT_EQ(ResultFromJson(once)->result.outcome, Outcome::kFailed) << "an effect that may not be repeated";
}

TEST_F(DispatchRunsTest, AResultIsKeptUntilItIsDelivered) {
  Take("a");
  Begin(1);
  dispatches.OnStepDone(now, subject, Token{7}, "a", 1, Done());
  auto reports = dispatches.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].state, "done");
  EXPECT_EQ(Said(reports[0]).result.outputs["x"], 1);
  EXPECT_EQ(Said(reports[0]).worker, "w1");
  EXPECT_THAT(dispatches.TakeReports(now), IsEmpty()) << "in flight";
  dispatches.ForgetRunning();  // the session is lost: the result stays
  for (Code code : {Code::kUnavailable, Code::kTimeout, Code::kOutcomeUnknown}) {
    Deliver(reports[0], Error{code, "away"});
    EXPECT_THAT(dispatches.TakeReports(now), IsEmpty()) << "not at once";
    ASSERT_TRUE(dispatches.NextWake());
    now = *dispatches.NextWake();
    ASSERT_THAT(dispatches.TakeReports(now), SizeIs(1));
  }
  Deliver(reports[0], PostAnswer{true, {}, "default"});
  EXPECT_TRUE(dispatches.empty());
  EXPECT_EQ(dispatches.counts().kept, 3);
  EXPECT_EQ(dispatches.counts().replayed, 1);
}

TEST_F(DispatchRunsTest, ARefusedResultIsCountedAndForgotten) {
  Take("a");
  Begin(1);
  dispatches.OnStepDone(now, subject, Token{7}, "a", 1, Done());
  Deliver(dispatches.TakeReports(now).at(0), Error{Code::kLeaseLost, "it is lost"});
  EXPECT_EQ(dispatches.counts().refused, 1);
  EXPECT_TRUE(dispatches.empty());
}

TEST_F(DispatchRunsTest, WhatCannotBeStoredIsSaidInsteadOnce) {
  Take("a");
  Begin(1);
  dispatches.OnStepDone(now, subject, Token{7}, "a", 1, Done());
  Deliver(dispatches.TakeReports(now).at(0), Error{Code::kInvalid, "too large"});
  auto again = dispatches.TakeReports(now);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(Said(again[0]).result.outcome, Outcome::kFailed);
  EXPECT_THAT(Said(again[0]).result.error, testing::HasSubstr("too large"));
  Deliver(again[0], Error{Code::kInvalid, "still"});
  EXPECT_TRUE(dispatches.empty());
}

TEST_F(DispatchRunsTest, NothingBeginsUnderAGrantThatMayBeOver) {
  Take("old");
  now += milliseconds(5'000);
  EXPECT_THAT(Begin(5), IsEmpty());
  Take("untrusted");
  EXPECT_THAT(Begin(5, false), IsEmpty());
  auto reports = dispatches.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(2));
  for (const DispatchReport& report : reports) EXPECT_EQ(Said(report).result.outcome, Outcome::kNotStarted);
}

TEST_F(DispatchRunsTest, NothingBeginsAfterTheStepsTime) {
  dispatches.Take(now, Granted("late", db_now), now + milliseconds(5'000));
  dispatches.Take(now, Granted("short", db_now + milliseconds(300)), now + milliseconds(5'000));
  auto starts = Begin(5);
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].call.step.timeout, milliseconds(300));
  EXPECT_EQ(Said(dispatches.TakeReports(now).at(0)).result.outcome, Outcome::kTimedOut);
}

TEST_F(DispatchRunsTest, DrainGivesBackWhatWaitsAndLetsTheRestEnd) {
  Take("runs");
  auto started = Begin(1);
  Take("waits");
  dispatches.ReleaseWaiting("drain");
  auto reports = dispatches.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(Said(reports[0]).step_id, "waits");
  EXPECT_FALSE(started[0].stop.stopped());
  dispatches.StopRunning();
  EXPECT_TRUE(started[0].stop.stopped());
}

TEST_F(DispatchRunsTest, AnUnwantedDispatchIsStoppedOrNeverBegun) {
  Take("runs");
  auto started = Begin(1);
  Take("waits");
  dispatches.OnUnwanted(DispatchIdOf(subject, "runs", 1));
  dispatches.OnUnwanted(DispatchIdOf(subject, "waits", 1));
  dispatches.OnUnwanted(DispatchIdOf(subject, "unknown", 1));
  EXPECT_TRUE(started[0].stop.stopped());
  EXPECT_THAT(Begin(5), IsEmpty());
  auto reports = dispatches.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].state, "cancelled");
}

TEST_F(DispatchRunsTest, AGrantThatWasNeverHeardOfIsEnded) {
  Take("known");
  dispatches.OnHeld(
      now, {{DispatchIdOf(subject, "known", 1), Token{7}, {"known", 1}}, {DispatchIdOf(subject, "unknown", 2), Token{9}, {"unknown", 2}}});
  auto reports = dispatches.TakeReports(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].token, Token{9});
  EXPECT_EQ(Said(reports[0]).step_id, "unknown");
  EXPECT_EQ(Said(reports[0]).attempt_id, 2);
  EXPECT_EQ(Said(reports[0]).result.outcome, Outcome::kNotStarted);
}

TEST_F(DispatchRunsTest, ARunnerPastItsDeadlineAndGraceIsDropped) {
  Take("hangs");
  auto started = Begin(1);
  now = *dispatches.NextWake();
  dispatches.OnTime(now);
  EXPECT_TRUE(started[0].stop.stopped());
  EXPECT_EQ(Said(dispatches.TakeReports(now).at(0)).result.outcome, Outcome::kTimedOut);
  EXPECT_EQ(dispatches.lost(), 1) << "its thread is not to be had";
  EXPECT_TRUE(dispatches.OnStepDone(now, subject, Token{7}, "hangs", 1, Done())) << "too late, and ours";
  EXPECT_EQ(dispatches.lost(), 0);
}

TEST_F(DispatchRunsTest, WhatADroppedRunnerDidIsNotDoneAgainIfThatDoesHarm) {
  effect = EffectClass::kNonIdempotent;
  Take("hangs");
  Begin(1);
  now = *dispatches.NextWake();
  dispatches.OnTime(now);
  EXPECT_EQ(Said(dispatches.TakeReports(now).at(0)).result.outcome, Outcome::kUnknown);
}

// An asynchronous failover lost its result, not its start: the new primary says that this session holds it.
TEST_F(DispatchRunsTest, WhatEndedHereAndIsHeldAgainIsOfUnknownOutcome) {
  effect = EffectClass::kNonIdempotent;
  Take("posted");
  Begin(1);
  dispatches.OnStepDone(now, subject, Token{7}, "posted", 1, Done());
  const DispatchReport report = dispatches.TakeReports(now).at(0);
  Deliver(report, PostAnswer{});
  ASSERT_TRUE(dispatches.empty());
  dispatches.OnHeld(now, {{report.dispatch, Token{7}, {"posted", 1}}});
  const auto said = Said(dispatches.TakeReports(now).at(0));
  EXPECT_EQ(said.result.outcome, Outcome::kUnknown);
  EXPECT_FALSE(said.repeatable);
  dispatches.OnHeld(now, {{DispatchIdOf(subject, "posted", 2), Token{9}, {"posted", 2}}});
  EXPECT_EQ(Said(dispatches.TakeReports(now).at(0)).result.outcome, Outcome::kNotStarted) << "another attempt";
}

TEST_F(DispatchRunsTest, WhatRanForLongIsRememberedFromItsEnd) {
  effect = EffectClass::kNonIdempotent;
  Take("posted");
  Begin(1);
  const auto run_another = [&](const std::string& step) {
    Take(step);
    Begin(1);
    dispatches.OnStepDone(now, subject, Token{7}, step, 1, Done());
    const DispatchReport ended = dispatches.TakeReports(now).at(0);
    Deliver(ended, PostAnswer{});
  };
  now += std::chrono::hours(1);
  run_another("another");
  dispatches.OnStepDone(now, subject, Token{7}, "posted", 1, Done());
  const DispatchReport report = dispatches.TakeReports(now).at(0);
  Deliver(report, PostAnswer{});
  run_another("a third");
  dispatches.OnHeld(now, {{report.dispatch, Token{7}, {"posted", 1}}});
  EXPECT_EQ(Said(dispatches.TakeReports(now).at(0)).result.outcome, Outcome::kUnknown);
}

TEST_F(DispatchRunsTest, WhatEndedHereAndMayRunAgainDoesAndCountsForNothing) {
  Take("put");
  Begin(1);
  dispatches.OnStepDone(now, subject, Token{7}, "put", 1, Done());
  const DispatchReport report = dispatches.TakeReports(now).at(0);
  Deliver(report, PostAnswer{});
  dispatches.OnHeld(now, {{report.dispatch, Token{7}, {"put", 1}}});
  EXPECT_EQ(Said(dispatches.TakeReports(now).at(0)).result.outcome, Outcome::kNotStarted);
}

TEST_F(DispatchRunsTest, WhatMayHaveBeenForgottenIsOfUnknownOutcomeToo) {
  effect = EffectClass::kNonIdempotent;
  DispatchRuns few({.worker_name = "w1", .remembered_for = milliseconds(60'000), .remembered = 2}, random, observer);
  const auto run = [&](const std::string& step) {
    few.Take(now, Granted(step), now + milliseconds(5'000));
    few.Begin(now, db_now, true, 1);
    few.OnStepDone(now, subject, Token{7}, step, 1, Done());
    const DispatchReport report = few.TakeReports(now).at(0);
    few.OnDelivered(now, report.dispatch, report.token, PostAnswer{});
  };
  const auto held = [&](const std::string& step) {
    few.OnHeld(now, {{DispatchIdOf(subject, step, 1), Token{7}, {step, 1}}});
    return Said(few.TakeReports(now).at(0)).result.outcome;
  };
  run("a"), run("b");
  EXPECT_EQ(held("other"), Outcome::kNotStarted);
  run("c");
  EXPECT_EQ(held("a"), Outcome::kUnknown) << "forgotten before its time";
  now += milliseconds(60'000);
  EXPECT_EQ(held("yet another"), Outcome::kNotStarted) << "by now it would be forgotten anyway";
}

TEST_F(DispatchRunsTest, AnOfferOfANewerProgramFailsByName) {
  ClaimedDispatch dispatch = Granted("a");
  dispatch.row.payload = R"({"v": 99, "call": {}, "effect": "pure"})";
  dispatches.Take(now, dispatch, now + milliseconds(5'000));
  EXPECT_THAT(Begin(5), IsEmpty());
  EXPECT_THAT(Said(dispatches.TakeReports(now).at(0)).result.error, testing::HasSubstr("a newer program wrote it"));
}

TEST_F(DispatchRunsTest, FilesOfAResultKeepWhatTheirAttemptFound) {
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
