// CONTINUE_AS_NEW steps: another run goes on in this one's place, with inputs of its own, the files and the signals that nobody took.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/kernel/create.h"
#include "shared/workflow/next_run.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::HasSubstr;

constexpr const char* kLoop = R"(
name: loop
metadata: {owner: tester}
inputs:
  round: {type: integer, default: 1}
  seen: {type: array, default: []}
steps:
  - {name: work, capability: do.effect, inputs: {round: "{{round}}"}}
  - name: again
    if: round < 3
    then:
      - {name: next, continue_as_new: {round: "{{work.next}}", seen: "{{work.seen}}"}}
)";

StepResult Work(const StartStep& step, int) {
  const std::int64_t round = step.call["inputs"].value("round", 0);
  return Ok({{"next", round + 1}, {"seen", {round}}});
}

// The run that the last one asked for, as a coordinator makes it.
RunDriver NextAfter(const RunDriver& before) {
  const OutboxRow& row = before.outbox.front();
  EXPECT_EQ(row.topic, "create/workflow");
  CreateRequest request;
  request.subject = *SubjectId::Parse(row.key);
  auto item = MakeNextItem(*before.kind, before.state, *ParseJson(row.payload), std::move(request));
  EXPECT_TRUE(item.ok()) << item.error();
  RunDriver next(std::move(*item));
  next.now = before.now;
  return next;
}

TEST(ContinueAsNew, GoesOnUntilTheConditionSaysNo) {
  RunDriver first(DefinitionOfFile(kLoop));
  first.RunToEnd(Work);
  EXPECT_EQ(first.Status(), "COMPLETED");
  ASSERT_EQ(first.outbox.size(), 1u);
  EXPECT_EQ(first.View().continued_as, first.outbox.front().key);
  RunDriver second = NextAfter(first);
  EXPECT_EQ(*second.state.Find("inputs"), Json({{"round", 2}, {"seen", {1}}}));
  EXPECT_EQ(second.View().continued_from, RunDriver::RunId().ToString());
  EXPECT_EQ(second.View().number, 1);
  EXPECT_EQ(TextOf(second.state.Find("run"), "session_id"), RunDriver::RunId().ToString());
  second.RunToEnd(Work);
  RunDriver third = NextAfter(second);
  EXPECT_EQ(third.View().first, RunDriver::RunId().ToString());
  EXPECT_EQ(third.View().number, 2);
  third.RunToEnd(Work);
  EXPECT_EQ(third.Status(), "COMPLETED");
  EXPECT_TRUE(third.outbox.empty());
  EXPECT_EQ(third.View().continued_as, "");
}

TEST(ContinueAsNew, CostsTheSameInEveryRound) {
  RunDriver run(DefinitionOfFile(kLoop));
  run.RunToEnd(Work);
  const std::size_t events = run.events.size();
  RunDriver next = NextAfter(run);
  next.RunToEnd(Work);
  EXPECT_EQ(next.events.size(), events);
}

TEST(ContinueAsNew, SignalsThatNobodyTookGoWithIt) {
  RunDriver first(DefinitionOfFile(R"(
name: inbox
metadata: {owner: tester}
steps:
  - {name: one, wait_for_signal: order}
  - {name: next, continue_as_new: {}}
)"));
  first.Claim();
  first.Post("signal", {{"name", "other"}, {"payload", 7}});
  first.Post("signal", {{"name", "order"}, {"payload", 1}});
  EXPECT_EQ(first.Status(), "COMPLETED");
  RunDriver second = NextAfter(first);
  second.Claim();
  EXPECT_EQ(second.Step("one").status, "WAITING");
  second.Post("signal", {{"name", "order"}, {"payload", 2}});
  EXPECT_EQ(second.Status(), "COMPLETED");
  const Json* kept = second.state.Find("signals");
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->at("kept").at("other").size(), 1u);
  RunDriver third = NextAfter(second);
  EXPECT_EQ(third.state.Find("signals")->at("next"), 3);
}

TEST(ContinueAsNew, WaitsForAllElseAndIsDroppedWhenTheRunFails) {
  const std::string text = R"(
name: both
metadata: {owner: tester}
steps:
  - {name: begin, capability: do.pure}
  - {name: next, continue_as_new: {}, depends_on: [begin]}
  - {name: slow, capability: do.effect, depends_on: [begin], max_retries: 1}
)";
  RunDriver good(DefinitionOfFile(text));
  good.Claim();
  good.Pump();
  good.Finish("begin", Ok());
  good.Pump();
  EXPECT_EQ(good.Step("next").status, "COMPLETED");
  EXPECT_EQ(good.Status(), "RUNNING");
  EXPECT_TRUE(good.outbox.empty());
  good.Finish("slow", Ok());
  EXPECT_EQ(good.outbox.size(), 1u);
  RunDriver bad(DefinitionOfFile(text));
  bad.Claim();
  bad.Pump();
  bad.Finish("begin", Ok());
  bad.Pump();
  bad.Finish("slow", Fails("broken", false));
  EXPECT_EQ(bad.Status(), "ROLLED_BACK");
  EXPECT_TRUE(bad.outbox.empty());
  EXPECT_EQ(bad.View().continued_as, "");
}

TEST(ContinueAsNew, InputsThatDoNotFitFailTheStep) {
  RunDriver run(DefinitionOfFile(kLoop));
  run.RunToEnd([](const StartStep&, int) { return Ok({{"next", "two"}, {"seen", Json::array()}}); });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_THAT(run.View().error, HasSubstr("continue_as_new: input 'round' must be an integer"));
}

TEST(ContinueAsNew, ContinuesOnce) {
  RunDriver run(DefinitionOfFile(R"(
name: twice
metadata: {owner: tester}
steps:
  - {name: one, continue_as_new: {}}
  - {name: two, continue_as_new: {}}
)"));
  run.RunToEnd(Work);
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_THAT(run.View().error, HasSubstr("step 'one' continues this run as another already"));
}

TEST(ContinueAsNew, AParentHearsOfTheLastAndStopsTheOneThatRuns) {
  const std::string text = R"(
name: parent
metadata: {owner: tester}
workflows:
  loop:
    inputs: {round: {type: integer, default: 1}}
    steps:
      - {name: work, capability: do.effect, inputs: {round: "{{round}}"}}
      - {name: again, if: round < 2, then: [{name: next, continue_as_new: {round: "{{work.next}}"}}]}
      - {name: result, capability: do.pure, inputs: {round: "{{round}}"}}
steps:
  - {name: all, child: loop}
)";
  for (const bool in_order : {true, false}) {
    RunDriver parent(DefinitionOfFile(text));
    parent.RunToEnd(Work);
    CreateRequest request;
    request.subject = *SubjectId::Parse(parent.outbox.back().key);
    request.parent = CreateRequest::Parent{RunDriver::RunId(), "all", 1};
    RunDriver child(*ChildDefinitionOf(*parent.state.Find("spec"), "loop"), std::move(request));
    child.RunToEnd(Work);
    ASSERT_EQ(child.outbox.size(), 2u);  // the next run, and a word to the parent
    EXPECT_EQ(child.outbox[1].topic, "post/child_continued");
    const Json continued = {{"from", child.created.subject.ToString()}, {"said", *ParseJson(child.outbox[1].payload)}};
    RunDriver next = NextAfter(child);
    if (in_order) {
      parent.Post("child_continued", continued);
      EXPECT_EQ(parent.Step("all").child, next.created.subject.ToString());
    }
    next.RunToEnd(Work);
    ASSERT_EQ(next.outbox.back().topic, "post/child_ended");
    parent.Post("child_ended", {{"from", next.created.subject.ToString()}, {"said", *ParseJson(next.outbox.back().payload)}});
    if (!in_order) parent.Post("child_continued", continued);  // too late, and of no meaning
    EXPECT_EQ(parent.Status(), "COMPLETED") << in_order;
  }
  RunDriver parent(DefinitionOfFile(text));
  parent.RunToEnd(Work);
  const std::string child = parent.outbox.back().key;
  parent.Post("cancel", {{"reason", "enough"}});
  const std::string next = "01890000-0000-7000-8000-000000000009";
  parent.Post("child_continued", {{"from", child}, {"said", {{"step_id", "all"}, {"first", child}, {"next", next}}}});
  EXPECT_EQ(parent.outbox.back().topic, "post/parent_stops");
  EXPECT_EQ(parent.outbox.back().key, next);
}

}  // namespace
}  // namespace acl::workflow::test
