// A compensation that failed, finished afterwards by a person's word: tried once more, or given up, by a run of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/workflow/step_id.h"
#include "shared/workflow/undo_run.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StepDefinition Booked(std::string name) {
  StepDefinition step = MakeStep(std::move(name));
  step.compensation = CompensationDefinition{"do.keyed", {{"was", "{{" + step.name + ".done}}"}}, "", {}};
  return step;
}

WorkflowDefinition Trip() {
  StepDefinition fails = MakeStep("f");
  fails.retry.max_attempts = 1;
  WorkflowDefinition definition = MakeDefinition({Booked("a"), Booked("b"), Booked("c"), fails});
  definition.global_compensation_steps = {{"do.idempotent", {{"run", "{{run_id}}"}}, "", {}}, {"do.pure", Json::object(), "", {}}};
  definition.global_compensation_names = {"first", "second"};
  return definition;
}

RunDriver::Script But(std::set<std::string> failing) {
  failing.insert("f");
  return [failing](const StartStep& step, int) { return failing.contains(step.step_id) ? Fails("no") : Ok({{"done", step.step_id}}); };
}

RunDriver Ended(const std::set<std::string>& failing) {
  RunDriver run(Trip());
  run.RunToEnd(But(failing));
  EXPECT_TRUE(run.View().closed);
  return run;
}

Result<CreateItem> ItemOf(const RunDriver& ended, Finish finish) {
  CreateRequest request;
  finish.by = "ann";
  finish.reason = "the bank is back";
  const auto run = SubjectId::Parse(TextOf(ended.state.Find("run"), "run_id"));
  request.subject = FinishIdOf(*run, LeftUndone(ended.state, finish.step_id), ended.now);
  return MakeFinishItem(*ended.kind, ended.state, finish, std::move(request));
}

TEST(Finish, TriedOnceMoreItIsThatCompensationAloneUnderItsFirstKey) {
  const RunDriver ended = Ended({"undo:b"});
  EXPECT_THAT(ended.View().not_undone, ElementsAre("undo:b"));
  auto item = ItemOf(ended, {.step_id = "b"});
  ASSERT_TRUE(item) << item.message();
  RunDriver run(std::move(*item));
  EXPECT_EQ(run.View().undo_of, TextOf(ended.state.Find("run"), "run_id"));
  std::vector<std::string> keys;
  std::vector<Json> inputs;
  run.RunToEnd([&](const StartStep& step, int) {
    keys.push_back(step.idempotency_key);
    inputs.push_back(step.call["inputs"]);
    return Ok();
  });
  EXPECT_THAT(run.calls, ElementsAre("undo:b"));
  EXPECT_THAT(inputs, ElementsAre(Json({{"was", "b"}})));
  EXPECT_THAT(keys, ElementsAre(IdempotencyKeyOf(RunDriver::RunId().ToString(), "undo:b")));
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.View().finishes, "undo:b");
  EXPECT_EQ(run.View().finish_by, "ann");
  EXPECT_TRUE(run.View().not_undone.empty());
  ASSERT_EQ(run.compensations.size(), 1u);
  EXPECT_EQ(run.compensations[0].step_id + " " + run.compensations[0].status, "b executed");
}

TEST(Finish, SurvivesACrashAndMayFailAgainAndBeTriedAgain) {
  const RunDriver ended = Ended({"undo:a", "undo:c"});
  EXPECT_THAT(ended.View().not_undone, ElementsAre("undo:c", "undo:a"));
  RunDriver second(std::move(*ItemOf(ended, {.step_id = "undo:a"})));
  second.Claim();
  second.Pump();
  second.Crash();
  second.RunToEnd(But({"undo:a"}));
  EXPECT_EQ(second.Status(), "FAILED");
  EXPECT_THAT(second.View().not_undone, ElementsAre("undo:a")) << "c is the first run's";
  RunDriver third(std::move(*ItemOf(second, {.step_id = "a"})));
  std::string key;
  third.RunToEnd([&](const StartStep& step, int) {
    key = step.idempotency_key;
    return Ok();
  });
  EXPECT_EQ(key, IdempotencyKeyOf(RunDriver::RunId().ToString(), "undo:a"));
  EXPECT_EQ(third.Status(), "ROLLED_BACK");
}

TEST(Finish, AGlobalOneIsDoneAloneAndNamesTheFirstRun) {
  const RunDriver ended = Ended({"undo:/global[0]"});
  RunDriver run(std::move(*ItemOf(ended, {.step_id = "undo:/global[0]"})));
  Json inputs;
  run.RunToEnd([&](const StartStep& step, int) {
    inputs = step.call["inputs"];
    return Ok();
  });
  EXPECT_THAT(run.calls, ElementsAre("undo:/global[0]"));
  EXPECT_EQ(inputs["run"], RunDriver::RunId().ToString());
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

TEST(Finish, GivenUpItEndsAtOnceAndSaysWho) {
  const RunDriver ended = Ended({"undo:b"});
  RunDriver run(std::move(*ItemOf(ended, {.step_id = "b", .skip = true})));
  run.RunToEnd(But({}));
  EXPECT_TRUE(run.calls.empty());
  EXPECT_TRUE(run.View().closed);
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_THAT(run.View().not_undone, ElementsAre("undo:b"));
  EXPECT_THAT(run.Last("workflow.ended")["not_undone"][0]["error"].get<std::string>(), HasSubstr("given up by ann: the bank is back"));
}

TEST(Finish, WhatCannotBeFinishedSaysWhy) {
  const RunDriver ended = Ended({"undo:b"});
  EXPECT_THAT(ItemOf(ended, {.step_id = "a"}).message(), HasSubstr("no compensation of 'a' is left"));
  EXPECT_THAT(ItemOf(ended, {.step_id = "nothing"}).message(), HasSubstr("no compensation of 'nothing' is left"));

  WorkflowDefinition strict = Trip();
  strict.strict_templates = true;
  strict.steps[1].compensation->inputs = {{"was", "{{nobody.knows}}"}};
  RunDriver run(strict);
  run.RunToEnd(But({}));
  EXPECT_THAT(ItemOf(run, {.step_id = "b"}).message(), HasSubstr("now as then"));
  RunDriver skipped(std::move(*ItemOf(run, {.step_id = "b", .skip = true})));
  skipped.RunToEnd(But({}));
  EXPECT_EQ(skipped.Status(), "FAILED");

  RunDriver open(Trip());
  open.Claim();
  EXPECT_THAT(ItemOf(open, {.step_id = "a"}).message(), HasSubstr("has not ended"));
}

TEST(Finish, OneRunAloneMayFinishIt) {
  const RunDriver ended = Ended({"undo:b", "undo:c"});
  const auto first = ItemOf(ended, {.step_id = "b"}), again = ItemOf(ended, {.step_id = "undo:b", .skip = true});
  EXPECT_EQ(first->subject, again->subject) << "whoever is first makes it, and the other is told";
  EXPECT_NE(first->subject, ItemOf(ended, {.step_id = "c"})->subject);
}

}  // namespace
}  // namespace acl::workflow::test
