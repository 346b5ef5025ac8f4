// Steps in steps: PARALLEL, SEQUENCE, CONDITION, FOREACH; what runs when, what a failure takes with it, and what is undone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "shared/spec/loader.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

WorkflowSpec Loads(const std::string& steps) {
  Loaded loaded = LoadWorkflow("name: test\nmetadata: {owner: tester}\nsteps:\n" + steps, *TestCapabilities(), {});
  for (const Finding& finding : loaded.findings) EXPECT_NE(finding.severity, Finding::Severity::kError) << FormatFinding("", finding);
  return loaded.spec ? *loaded.spec : WorkflowSpec{};
}

std::vector<std::string> Ids(const std::vector<Started>& started) {
  std::vector<std::string> ids;
  for (const Started& one : started) ids.push_back(one.step.step_id);
  return ids;
}

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
  RunDriver run(Loads(kFork));
  run.Claim();
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("first"));
  run.Finish("first", Ok());
  EXPECT_EQ(run.Step("both").status, "RUNNING");
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("left", "r1"));
  run.Finish("r1", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("r2"));
  run.Finish("left", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), IsEmpty());
  run.Finish("r2", Ok());
  EXPECT_EQ(run.Step("right").status, "COMPLETED");
  EXPECT_EQ(run.Step("both").status, "COMPLETED");
  EXPECT_EQ(*run.Step("both").outputs, Json::parse(R"({"order":["left","right"]})"));
  EXPECT_EQ(*run.Step("right").outputs, Json::parse(R"({"order":["r1","r2"]})"));
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("last"));
  run.Finish("last", Ok({{"x", 1}}));
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.View().outputs, Json({{"x", 1}}));
}

TEST(Parallel, ATakeoverInTheMiddleLosesNothing) {
  RunDriver run(Loads(kFork));
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
  RunDriver run(Loads(kFork));
  run.Claim();
  run.Pump(8);
  run.Finish("first", Ok());
  run.Pump(8);
  run.Finish("r1", Ok());
  run.Pump(8);
  run.Finish("left", Ok());
  run.Finish("r2", Fails("broken", false));
  EXPECT_EQ(run.View().rolling_back, true);
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("undo:left"));
  run.Finish("undo:left", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("undo:r1"));
  run.Finish("undo:r1", Ok());
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.View().failed_step, "r2");
}

TEST(Parallel, FailWaitLetsTheOtherBranchesEndFirst) {
  RunDriver run(Loads(R"(
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
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("b1", "g1"));
  run.Finish("b1", Fails("broken", false));
  EXPECT_EQ(run.Status(), "RUNNING");
  EXPECT_EQ(run.Step("b2").status, "CANCELLED");
  EXPECT_EQ(run.Step("b3").status, "CANCELLED");
  EXPECT_EQ(run.Step("bad").status, "FAILED");
  run.Finish("g1", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("g2"));
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
  RunDriver run(Loads(R"(
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

TEST(Parallel, NoMoreThanItSaysAtOnce) {
  RunDriver run(Loads(R"(
  - name: all
    max_concurrent: 2
    steps:
      - {name: a, capability: do.pure}
      - {name: b, capability: do.pure}
      - {name: c, capability: do.pure}
      - {name: d, capability: do.pure, depends_on: [a]}
)"));
  run.Claim();
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("a", "b"));
  run.Finish("a", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("c"));
  run.Finish("b", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("d"));
  run.Finish("c", Ok());
  run.Finish("d", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Parallel, CallsBesideEachOtherGoTogether) {
  RunDriver run(Loads(R"(
  - {name: a, capability: do.pure}
  - {name: p, capability: do.pure, step_type: PARALLEL}
  - {name: q, capability: do.pure, step_type: PARALLEL}
  - {name: z, capability: do.pure}
)"));
  run.Claim();
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("a"));
  run.Finish("a", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("p", "q"));
  run.Finish("q", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), IsEmpty());
  run.Finish("p", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("z"));
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
    RunDriver run(Loads(kChoice));
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
  RunDriver run(Loads(R"(
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
  RunDriver run(Loads(kChoice));
  run.RunToEnd([](const StartStep&, int) { return Ok({{"big", "yes"}}); });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.View().failed_step, "choose");
  EXPECT_THAT(run.Step("choose").error, HasSubstr("'if' of then"));
}

TEST(When, SkipsAStepAndWhatDependsOnItGoesOn) {
  for (const bool holds : {true, false}) {
    RunDriver run(Loads(R"(
  - {name: look, capability: do.pure}
  - {name: maybe, capability: do.effect, when: look.go}
  - {name: nap, wait: 1h, when: look.go}
  - {name: last, capability: do.pure}
)"));
    run.Claim();
    run.Pump();
    run.Finish("look", Ok({{"go", holds}}));
    if (holds) {
      EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("maybe"));
      run.Finish("maybe", Ok());
      EXPECT_EQ(run.Step("nap").status, "WAITING");
      ASSERT_TRUE(run.FireNextTimer());
    } else {
      EXPECT_EQ(run.Step("maybe").status, "SKIPPED");
      EXPECT_EQ(run.Step("nap").status, "SKIPPED");
    }
    EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("last"));
    run.Finish("last", Ok());
    EXPECT_EQ(run.Status(), "COMPLETED");
  }
}

TEST(When, IsAskedAsSoonAsThePausedRunGoesOn) {
  RunDriver run(Loads(R"(
  - {name: look, capability: do.pure}
  - {name: maybe, capability: do.effect, when: look.go}
)"));
  run.Claim();
  run.Pump();
  run.Post("pause");
  run.Finish("look", Ok({{"go", true}}));
  EXPECT_EQ(run.Step("maybe").status, "PENDING");
  EXPECT_THAT(Ids(run.Pump(8)), IsEmpty());
  run.Post("resume");
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("maybe"));
}

TEST(Foreach, EachItemIsAStepOfItsOwnAndResultsStandInTheOrderOfTheList) {
  RunDriver run(Loads(R"(
  - {name: each, capability: do.effect, foreach: [ann, bob, cyd], inputs: {who: "{{item}}", number: "{{item_index}}"}}
  - {name: last, capability: do.pure, inputs: {all: "{{each.results}}"}}
)"));
  run.Claim();
  auto started = run.Pump(8);
  ASSERT_THAT(Ids(started), ElementsAre("each[0]", "each[1]", "each[2]"));
  EXPECT_EQ(started[1].step.call["inputs"], Json::parse(R"({"who":"bob","number":1})"));
  run.Finish("each[2]", Ok({{"n", 2}}));
  run.Finish("each[0]", Ok({{"n", 0}}));
  run.Finish("each[1]", Ok({{"n", 1}}));
  EXPECT_EQ(*run.Step("each").outputs, Json::parse(R"({"results":[{"n":0},{"n":1},{"n":2}],"count":3,"failed":[]})"));
  started = run.Pump(8);
  ASSERT_THAT(Ids(started), ElementsAre("last"));
  EXPECT_EQ(started[0].step.call["inputs"]["all"], Json::parse(R"([{"n":0},{"n":1},{"n":2}])"));
  run.Finish("last", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Foreach, ABodyOfSeveralStepsSeesItsOwnItemOnly) {
  RunDriver run(Loads(R"(
  - {name: list, capability: do.pure}
  - name: each
    foreach: {in: "{{list.people}}", as: person}
    max_concurrent: 2
    steps:
      - {name: greet, capability: do.pure, inputs: {to: "{{person.name}}"}}
      - {name: nap, wait: "{{person.nap}}"}
      - {name: part, capability: do.pure, inputs: {said: "{{greet.said}}"}}
)"));
  run.Claim();
  run.Pump();
  run.Finish("list", Ok({{"people", Json::parse(R"([{"name":"a","nap":1},{"name":"b","nap":2},{"name":"c","nap":3}])")}}));
  auto started = run.Pump(8);
  ASSERT_THAT(Ids(started), ElementsAre("each[0]/greet", "each[1]/greet"));
  EXPECT_EQ(started[1].step.call["inputs"], Json({{"to", "b"}}));
  run.Finish("each[1]/greet", Ok({{"said", "hi b"}}));
  run.Finish("each[0]/greet", Ok({{"said", "hi a"}}));
  ASSERT_TRUE(run.FireNextTimer());
  started = run.Pump(8);
  ASSERT_THAT(Ids(started), ElementsAre("each[0]/part"));
  EXPECT_EQ(started[0].step.call["inputs"], Json({{"said", "hi a"}}));
  run.Crash();
  started = run.Pump(8);
  ASSERT_THAT(Ids(started), ElementsAre("each[0]/part"));
  run.Finish("each[0]/part", Ok({{"done", "a"}}));
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("each[2]/greet"));  // the next item begins as one ends
  run.Finish("each[2]/greet", Ok({{"said", "hi c"}}));
  ASSERT_TRUE(run.FireNextTimer());
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_THAT(Ids(run.Pump(8)), UnorderedElementsAre("each[1]/part", "each[2]/part"));
  run.Finish("each[2]/part", Ok({{"done", "c"}}));
  run.Finish("each[1]/part", Ok({{"done", "b"}}));
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ((*run.Var("each"))["results"], Json::parse(R"([{"done":"a"},{"done":"b"},{"done":"c"}])"));
}

TEST(Foreach, AnItemMayFailAsOftenAsItSays) {
  RunDriver run(Loads(R"(
  - name: each
    foreach: {in: [0, 1, 2, 3], max_failures: 1}
    steps:
      - {name: try, capability: do.effect, max_retries: 1}
      - {name: more, capability: do.pure}
  - {name: last, capability: do.pure}
)"));
  run.RunToEnd(
      [](const StartStep& step, int) {
        return step.step_id == "each[2]/try" ? Fails("broken", false) : Ok({{"ok", step.step_id}});
      },
      8);
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ((*run.Var("each"))["failed"], Json({2}));
  EXPECT_EQ((*run.Var("each"))["results"][2], Json());
  EXPECT_EQ((*run.Var("each"))["results"][3], Json({{"ok", "each[3]/more"}}));
  EXPECT_EQ(std::count(run.calls.begin(), run.calls.end(), "each[2]/more"), 0);
}

TEST(Foreach, TooManyFailuresFailItAndItemsThatCompletedAreUndone) {
  RunDriver run(Loads(R"(
  - {name: each, capability: do.effect, foreach: {in: [0, 1, 2]}, max_concurrent: 1, max_retries: 1, compensation: {capability: do.pure, inputs: {i: "{{item}}"}}}
  - {name: last, capability: do.pure}
)"));
  std::vector<Json> undone;
  run.RunToEnd([&](const StartStep& step, int) {
    if (step.step_id.starts_with("undo:")) undone.push_back(step.call["inputs"]);
    return step.step_id == "each[2]" ? Fails("broken", false) : Ok();
  });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.calls, (std::vector<std::string>{"each[0]", "each[1]", "each[2]", "undo:each[1]", "undo:each[0]"}));
  EXPECT_EQ(undone, (std::vector<Json>{{{"i", 1}}, {{"i", 0}}}));
  EXPECT_THAT(run.View().error, HasSubstr("1 of 3 items failed (max_failures is 0)"));
  EXPECT_THAT(run.View().error, HasSubstr("step 'each[2]' failed: broken"));
}

TEST(Foreach, AnItemIsTriedAgainOnItsOwn) {
  RunDriver run(Loads("  - {name: each, capability: do.effect, foreach: [0, 1], retry: {backoff: fixed, initial_delay: 10s}}\n"));
  run.Claim();
  run.Pump(8);
  run.Finish("each[0]", Fails());
  run.Finish("each[1]", Ok());
  EXPECT_THAT(Ids(run.Pump(8)), IsEmpty());
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_THAT(Ids(run.Pump(8)), ElementsAre("each[0]"));
  run.Finish("each[0]", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Foreach, InAForeach) {
  RunDriver run(Loads(R"(
  - name: outer
    foreach: {in: [[a, b], [c]], as: row}
    steps:
      - name: inner
        foreach: {in: "{{row}}", as: cell}
        steps:
          - {name: x, capability: do.pure, inputs: {at: "{{row_index}}/{{cell_index}} {{cell}}"}}
          - {name: y, capability: do.pure}
)"));
  std::map<std::string, Json> at;
  run.RunToEnd([&](const StartStep& step, int) {
    at[step.step_id] = step.call["inputs"];
    return Ok({{"id", step.step_id}});
  });
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(at["outer[0]/inner[1]/x"], Json({{"at", "0/1 b"}}));
  EXPECT_EQ(at["outer[1]/inner[0]/x"], Json({{"at", "1/0 c"}}));
  EXPECT_EQ(at.size(), 6u);
  EXPECT_EQ((*run.Var("outer"))["results"][0]["results"][1]["id"], "outer[0]/inner[1]/y");
}

TEST(Foreach, AnEmptyListAndNoList) {
  RunDriver none(Loads("  - {name: each, capability: do.pure, foreach: []}\n"));
  none.Claim();
  EXPECT_EQ(none.Status(), "COMPLETED");
  EXPECT_EQ((*none.Var("each"))["results"], Json::array());
  RunDriver wrong(Loads("  - {name: a, capability: do.pure}\n  - {name: each, capability: do.pure, foreach: '{{a.list}}'}\n"));
  wrong.RunToEnd([](const StartStep&, int) { return Ok({{"list", 7}}); });
  EXPECT_EQ(wrong.Status(), "ROLLED_BACK");
  EXPECT_THAT(wrong.Step("each").error, HasSubstr("'foreach'"));
}

// The cost of an item does not grow with their number.
TEST(Foreach, TenThousandItemsAtAFlatCost) {
  Json items = Json::array();
  for (int i = 0; i < 10'000; ++i) items.push_back(i);
  WorkflowSpec spec = Loads("  - {name: each, capability: do.pure, foreach: []}\n");
  spec.steps[0].foreach->list = items;
  RunDriver run(spec);
  run.Claim();
  std::size_t early = 0, late = 0;
  for (int done = 0; done < 10'000; ++done) {
    auto started = run.Pump(1);
    ASSERT_EQ(started.size(), 1u) << done;
    run.Finish(started[0].step.step_id, Ok());
    if (done == 100) early = run.events.back().payload->size();
    if (done == 9'000) late = run.events.back().payload->size();
  }
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_LT(late, early * 3 / 2) << early;
}

}  // namespace
}  // namespace acl::workflow::test
