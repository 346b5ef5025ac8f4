// CHILD steps: a run of its own does the step; what it gives back, what stops it, and how it is undone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/definition/loader.h"
#include "shared/kernel/create.h"
#include "shared/workflow/approvals.h"
#include "shared/workflow/undo_run.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::HasSubstr;

constexpr const char* kParent = R"(
name: parent
metadata: {owner: tester}
max_execution_time_seconds: 600
workflows:
  leg:
    inputs: {to: {type: string, required: true}}
    steps:
      - {name: book, capability: do.effect, inputs: {to: "{{to}}"}, compensation: {capability: do.pure, inputs: {to: "{{to}}"}}}
      - {name: pay, capability: do.effect, compensation: {capability: do.pure}}
steps:
  - {name: first, capability: do.effect, compensation: {capability: do.pure}}
  - {name: trip, child: {workflow: leg, inputs: {to: "{{first.city}}"}}}
  - {name: last, capability: do.effect, inputs: {paid: "{{trip.receipt}}"}, max_retries: 1}
)";

WorkflowDefinition ParentDefinition(const std::string& text = kParent) { return DefinitionOfFile(text); }

// The run that the last CHILD step of the parent asked for, as a coordinator makes it.
RunDriver ChildOf(const RunDriver& parent, const Document* undone = nullptr) {
  const OutboxRow& row = parent.outbox.back();
  EXPECT_EQ(row.topic, "create/workflow");
  const Json asked = *ParseJson(row.payload);
  CreateRequest request;
  request.subject = *SubjectId::Parse(row.key);
  request.parent = CreateRequest::Parent{RunDriver::RunId(), asked["step_id"], asked["depth"]};
  if (undone) {
    auto item = MakeUndoItem(*parent.kind, *undone, std::move(request));
    EXPECT_TRUE(item.ok()) << item.error();
    RunDriver child(std::move(*item));
    child.now = parent.now;
    return child;
  }
  request.inputs = asked["inputs"];
  if (asked.contains("requesters")) request.requesters = asked["requesters"].get<std::vector<std::string>>();
  RunDriver child(*ChildDefinitionOf(*parent.state.Find("spec"), asked["workflow"]), std::move(request));
  child.now = parent.now;
  return child;
}

// What the child said last comes to its parent.
void Tell(RunDriver& parent, const RunDriver& child) {
  const auto said =
      std::find_if(child.outbox.rbegin(), child.outbox.rend(), [](const auto& one) { return one.topic == "post/child_ended"; });
  ASSERT_NE(said, child.outbox.rend());
  const OutboxRow& row = *said;
  EXPECT_EQ(row.key, RunDriver::RunId().ToString());
  parent.Post("child_ended", {{"from", child.created.subject.ToString()}, {"said", *ParseJson(row.payload)}});
}

StepResult Answer(const StartStep& step, int) {
  if (step.step_id == "first") return Ok({{"city", "Rome"}});
  if (step.step_id == "pay") return Ok({{"receipt", 17}});
  return Ok();
}

// A parent and the child of its step, which completes; then the parent fails.
struct Family {
  Family()
      : parent(ParentDefinition()), child([this] {
          parent.RunToEnd(Answer);
          return ChildOf(parent);
        }()) {}
  void Fail() {
    child.RunToEnd(Answer);
    Tell(parent, child);
    parent.Pump();
    parent.Finish("last", Fails("broken", false));
  }
  RunDriver parent, child;
};

TEST(Child, ItsOutputsAreTheStepsAndNobodyHoldsTheParentMeanwhile) {
  RunDriver parent(ParentDefinition());
  parent.RunToEnd(Answer);
  EXPECT_EQ(parent.Step("trip").status, "RUNNING");
  ASSERT_TRUE(parent.Ask().waiting);
  EXPECT_EQ(parent.Ask().waiting->reason, "child");
  RunDriver child = ChildOf(parent);
  EXPECT_EQ(*child.state.Find("inputs"), Json({{"to", "Rome"}}));
  child.RunToEnd(Answer);
  EXPECT_EQ(child.Status(), "COMPLETED");
  parent.Crash();
  Tell(parent, child);
  EXPECT_EQ(*parent.Step("trip").outputs, Json({{"receipt", 17}}));
  auto started = parent.Pump();
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].step.call["inputs"], Json({{"paid", 17}}));
  parent.Finish("last", Ok());
  EXPECT_EQ(parent.Status(), "COMPLETED");
}

TEST(Child, ThatFailsFailsItsStepWithItsReason) {
  RunDriver parent(ParentDefinition());
  parent.RunToEnd(Answer);
  RunDriver child = ChildOf(parent);
  child.RunToEnd([](const StartStep& step, int) { return step.step_id == "pay" ? Fails("no money", false) : Ok(); });
  EXPECT_EQ(child.Status(), "ROLLED_BACK");
  Tell(parent, child);
  EXPECT_THAT(parent.View().error, HasSubstr("ended ROLLED_BACK: step 'pay' failed: no money"));
  parent.RunToEnd(Answer);
  EXPECT_EQ(parent.Status(), "ROLLED_BACK");
  EXPECT_EQ(parent.calls, (std::vector<std::string>{"first", "undo:first"}));
}

TEST(Child, IsUndoneInItsPlaceByARunThatTakesBackAllItDid) {
  Family family;
  RunDriver& parent = family.parent;
  family.Fail();
  EXPECT_TRUE(parent.View().rolling_back);
  EXPECT_TRUE(parent.Pump().empty());
  EXPECT_EQ(parent.Ask().waiting->reason, "child");
  RunDriver undo = ChildOf(parent, &family.child.state);
  EXPECT_NE(undo.created.subject, family.child.created.subject);
  EXPECT_EQ(undo.created.listing->status, "FAILED");
  std::vector<Json> undone;
  undo.RunToEnd([&](const StartStep& step, int) {
    undone.push_back(step.call["inputs"]);
    return Ok();
  });
  EXPECT_EQ(undo.calls, (std::vector<std::string>{"undo:pay", "undo:book"}));
  EXPECT_EQ(undone[1], Json({{"to", "Rome"}}));
  EXPECT_EQ(undo.Status(), "ROLLED_BACK");
  parent.Crash();
  Tell(parent, undo);
  EXPECT_EQ(parent.Last("compensation.completed")["undoes"], "trip");
  parent.RunToEnd(Answer);
  EXPECT_EQ(parent.Status(), "ROLLED_BACK");
  EXPECT_EQ(parent.calls.back(), "undo:first");
}

TEST(Child, WhatCannotBeUndoneIsListed) {
  Family family;
  RunDriver& parent = family.parent;
  family.Fail();
  RunDriver undo = ChildOf(parent, &family.child.state);
  undo.RunToEnd([](const StartStep& step, int) { return step.step_id == "undo:pay" ? Fails("the till is shut", false) : Ok(); });
  EXPECT_EQ(undo.Status(), "FAILED");
  Tell(parent, undo);
  parent.RunToEnd(Answer);
  EXPECT_EQ(parent.Status(), "FAILED");
  EXPECT_THAT(parent.Last("workflow.ended")["not_undone"][0]["error"].get<std::string>(), HasSubstr("1 compensation(s) failed"));
}

TEST(Child, IsStoppedWithItsParentAndWaitedFor) {
  for (const bool compensate : {true, false}) {
    RunDriver parent(ParentDefinition());
    parent.RunToEnd(Answer);
    RunDriver child = ChildOf(parent);
    child.Claim();
    child.Pump();
    child.Finish("book", Ok());
    parent.Post("cancel", {{"compensate", compensate}});
    EXPECT_EQ(parent.outbox.back().topic, "post/parent_stops");
    EXPECT_EQ(parent.outbox.back().key, child.created.subject.ToString());
    EXPECT_FALSE(parent.View().closed);
    child.Post("parent_stops", {{"said", *ParseJson(parent.outbox.back().payload)}});
    child.RunToEnd(Answer);
    EXPECT_EQ(child.Status(), "FAILED");
    EXPECT_EQ(child.calls.back(), compensate ? "undo:book" : "book");
    Tell(parent, child);
    EXPECT_EQ(parent.Step("trip").status, "CANCELLED");
    parent.RunToEnd(Answer);
    EXPECT_TRUE(parent.View().closed);
  }
}

TEST(Child, AnEndThatIsNotWaitedForIsRefused) {
  RunDriver parent(ParentDefinition());
  parent.RunToEnd(Answer);
  RunDriver child = ChildOf(parent);
  child.RunToEnd(Answer);
  Tell(parent, child);
  Tell(parent, child);  // told twice
  EXPECT_EQ(parent.Types().back(), "input.refused");
  parent.Post("child_ended", {{"from", RunDriver::RunId().ToString()}, {"said", {{"step_id", "trip"}, {"status", "COMPLETED"}}}});
  EXPECT_EQ(parent.Types().back(), "input.refused");
  EXPECT_EQ(parent.completions.count("trip"), 1u);
}

TEST(Child, FourEyesLookAtWhoSubmittedTheParentAndItsTimeStandsMeanwhile) {
  CreateRequest request;
  request.submitter = "sam";
  RunDriver parent(DefinitionOfFile(R"(
name: parent
metadata: {owner: olga}
max_execution_time_seconds: 600
workflows:
  ask: {metadata: {owner: service}, steps: [{name: gate, step_type: HUMAN_APPROVAL, approval_config: {allow_requester: false}}]}
steps:
  - {name: asks, child: {workflow: ask}}
  - {name: last, capability: do.effect}
)"),
                   request);
  parent.RunToEnd(Answer);
  EXPECT_FALSE(parent.timers.contains("deadline"));
  RunDriver child = ChildOf(parent);
  child.Claim();
  const auto asked = ReadApproval(child.state, "gate");
  ASSERT_TRUE(asked);
  EXPECT_THAT(asked->requesters, testing::IsSupersetOf({"sam", "olga"}));
  const auto approves = [&](const char* by) {
    child.Post("decide", {{"approval_id", asked->approval_id}, {"digest", asked->digest}, {"decision", "approve"}, {"by", by}});
  };
  parent.now += std::chrono::hours(24);
  child.now = parent.now;
  approves("sam");
  approves("olga");
  EXPECT_EQ(child.Status(), "PAUSED");
  approves("alice");
  EXPECT_EQ(child.Status(), "COMPLETED");
  Tell(parent, child);
  EXPECT_TRUE(parent.timers.contains("deadline"));
  parent.RunToEnd(Answer);
  EXPECT_EQ(parent.Status(), "COMPLETED");
}

TEST(Child, OncePerItem) {
  RunDriver parent(ParentDefinition(R"(
name: parent
metadata: {owner: tester}
workflows:
  one: {inputs: {n: integer}, steps: [{name: s, capability: do.pure}]}
steps:
  - {name: each, foreach: [1, 2], child: {workflow: one, inputs: {n: "{{item}}"}}}
)"));
  parent.Claim();
  ASSERT_EQ(parent.outbox.size(), 2u);
  EXPECT_NE(parent.outbox[0].key, parent.outbox[1].key);
  for (const int n : {1, 0}) {
    const Json asked = *ParseJson(parent.outbox[std::size_t(n)].payload);
    EXPECT_EQ(asked["inputs"], Json({{"n", n + 1}}));
    parent.Post("child_ended", {{"from", parent.outbox[std::size_t(n)].key},
                                {"said", {{"step_id", asked["step_id"]}, {"status", "COMPLETED"}, {"outputs", {{"n", n}}}}}});
  }
  EXPECT_EQ(parent.Status(), "COMPLETED");
  EXPECT_EQ((*parent.Var("each"))["results"], Json::parse(R"([{"n":0},{"n":1}])"));
}

TEST(Child, ThatCouldNotTakeBackWhatItDidIsListedByItsParent) {
  Family family;
  family.child.Claim();
  family.child.Pump();
  family.child.Finish("book", Ok());
  family.parent.Post("cancel", {{"compensate", true}});
  family.child.Post("parent_stops", {{"said", *ParseJson(family.parent.outbox.back().payload)}});
  family.child.RunToEnd([](const StartStep& step, int) { return step.step_id == "undo:book" ? Fails("shut", false) : Ok(); });
  EXPECT_EQ(family.child.Status(), "FAILED");
  Tell(family.parent, family.child);
  family.parent.RunToEnd(Answer);
  EXPECT_EQ(family.parent.Last("workflow.ended")["not_undone"][0]["step_id"], "trip");
}

TEST(Child, WhoseOutputsAreMoreThanAParentTakesFailsAndUndoesItself) {
  Family family;
  family.child.RunToEnd([](const StartStep& step, int) {
    return step.step_id == "pay" ? Ok({{"receipt", std::string(2 * 1024 * 1024, 'x')}}) : Ok();
  });
  EXPECT_EQ(family.child.Status(), "ROLLED_BACK");
  EXPECT_EQ(family.child.calls.back(), "undo:book");
  Tell(family.parent, family.child);
  EXPECT_THAT(family.parent.View().error, HasSubstr("more than the 1048576 that a parent takes"));
}

TEST(Child, HasNoMoreTimeThanItsParentAlsoWhileThatOnesClockStands) {
  RunDriver parent(ParentDefinition(R"(
name: parent
metadata: {owner: tester}
max_execution_time_seconds: 60
workflows: {one: {steps: [{name: s, capability: do.pure}]}}
steps:
  - name: both
    steps:
      - {name: nap, wait: 1h}
      - {name: c, child: one}
)"));
  parent.Claim();
  const Json asked = *ParseJson(parent.outbox.back().payload);
  EXPECT_EQ(*ParseWallTime(asked["deadline_at"].get<std::string>()), parent.now + std::chrono::seconds(60));
}

TEST(Child, GoesNoDeeperThanItMay) {
  CreateRequest request;
  request.parent = CreateRequest::Parent{RunDriver::RunId(), "x", kDeepestChild};
  request.subject = *SubjectId::Parse("01890000-0000-7000-8000-000000000002");
  RunDriver run(ParentDefinition(), std::move(request));
  run.RunToEnd(Answer);
  EXPECT_THAT(run.View().error, HasSubstr("go 8 deep, and no deeper"));
}

}  // namespace
}  // namespace acl::workflow::test
