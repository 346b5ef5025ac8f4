// FOREACH: each item a step of its own, results in order, failures it stands, undo, and a cost that does not grow.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/definition/loader.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Foreach, EachItemIsAStepOfItsOwnAndResultsStandInTheOrderOfTheList) {
  RunDriver run(DefinitionOfSteps(R"(
  - {name: each, capability: do.effect, foreach: [ann, bob, cyd], inputs: {who: "{{item}}", number: "{{item_index}}"}}
  - {name: last, capability: do.pure, inputs: {all: "{{each.results}}"}}
)"));
  run.Claim();
  auto started = run.Pump(8);
  ASSERT_THAT(StepIdsOf(started), ElementsAre("each[0]", "each[1]", "each[2]"));
  EXPECT_EQ(started[1].step.call["inputs"], Json::parse(R"({"who":"bob","number":1})"));
  run.Finish("each[2]", Ok({{"n", 2}}));
  run.Finish("each[0]", Ok({{"n", 0}}));
  run.Finish("each[1]", Ok({{"n", 1}}));
  EXPECT_EQ(*run.Step("each").outputs, Json::parse(R"({"results":[{"n":0},{"n":1},{"n":2}],"count":3,"failed":[]})"));
  started = run.Pump(8);
  ASSERT_THAT(StepIdsOf(started), ElementsAre("last"));
  EXPECT_EQ(started[0].step.call["inputs"]["all"], Json::parse(R"([{"n":0},{"n":1},{"n":2}])"));
  run.Finish("last", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Foreach, ABodyOfSeveralStepsSeesItsOwnItemOnly) {
  RunDriver run(DefinitionOfSteps(R"(
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
  ASSERT_THAT(StepIdsOf(started), ElementsAre("each[0]/greet", "each[1]/greet"));
  EXPECT_EQ(started[1].step.call["inputs"], Json({{"to", "b"}}));
  run.Finish("each[1]/greet", Ok({{"said", "hi b"}}));
  run.Finish("each[0]/greet", Ok({{"said", "hi a"}}));
  ASSERT_TRUE(run.FireNextTimer());
  started = run.Pump(8);
  ASSERT_THAT(StepIdsOf(started), ElementsAre("each[0]/part"));
  EXPECT_EQ(started[0].step.call["inputs"], Json({{"said", "hi a"}}));
  run.Crash();
  started = run.Pump(8);
  ASSERT_THAT(StepIdsOf(started), ElementsAre("each[0]/part"));
  run.Finish("each[0]/part", Ok({{"done", "a"}}));
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("each[2]/greet"));  // the next item begins as one ends
  run.Finish("each[2]/greet", Ok({{"said", "hi c"}}));
  ASSERT_TRUE(run.FireNextTimer());
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), UnorderedElementsAre("each[1]/part", "each[2]/part"));
  run.Finish("each[2]/part", Ok({{"done", "c"}}));
  run.Finish("each[1]/part", Ok({{"done", "b"}}));
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ((*run.Var("each"))["results"], Json::parse(R"([{"done":"a"},{"done":"b"},{"done":"c"}])"));
}

TEST(Foreach, AnItemMayFailAsOftenAsItSays) {
  RunDriver run(DefinitionOfSteps(R"(
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
  RunDriver run(DefinitionOfSteps(R"(
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
  RunDriver run(
      DefinitionOfSteps("  - {name: each, capability: do.effect, foreach: [0, 1], retry: {backoff: fixed, initial_delay: 10s}}\n"));
  run.Claim();
  run.Pump(8);
  run.Finish("each[0]", Fails());
  run.Finish("each[1]", Ok());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), IsEmpty());
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_THAT(StepIdsOf(run.Pump(8)), ElementsAre("each[0]"));
  run.Finish("each[0]", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Foreach, InAForeach) {
  RunDriver run(DefinitionOfSteps(R"(
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
  RunDriver none(DefinitionOfSteps("  - {name: each, capability: do.pure, foreach: []}\n"));
  none.Claim();
  EXPECT_EQ(none.Status(), "COMPLETED");
  EXPECT_EQ((*none.Var("each"))["results"], Json::array());
  RunDriver wrong(DefinitionOfSteps("  - {name: a, capability: do.pure}\n  - {name: each, capability: do.pure, foreach: '{{a.list}}'}\n"));
  wrong.RunToEnd([](const StartStep&, int) { return Ok({{"list", 7}}); });
  EXPECT_EQ(wrong.Status(), "ROLLED_BACK");
  EXPECT_THAT(wrong.Step("each").error, HasSubstr("'foreach'"));
}

// The cost of an item does not grow with their number.
TEST(Foreach, TenThousandItemsAtAFlatCost) {
  Json items = Json::array();
  for (int i = 0; i < 10'000; ++i) items.push_back(i);
  WorkflowDefinition definition = DefinitionOfSteps("  - {name: each, capability: do.pure, foreach: []}\n");
  definition.steps[0].foreach->list = items;
  RunDriver run(definition);
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

// Much that calls nothing is decided a part at a time.
TEST(Foreach, ManyItemsThatAreSkippedAtOnceGoByParts) {
  WorkflowDefinition definition =
      DefinitionOfSteps("  - {name: each, foreach: [], steps: [{name: never, capability: do.pure, when: 'false'}]}\n");
  for (int i = 0; i < 3'000; ++i) definition.steps[0].foreach->list.push_back(i);
  RunDriver run(definition);
  run.Claim();
  EXPECT_LT(run.events.size(), 1'100u);
  EXPECT_EQ(run.Ask().waiting->reason, "timer");
  int parts = 1;
  for (; !run.View().closed && parts < 10; ++parts) ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(parts, 4);
  EXPECT_FALSE(run.state.Find("items:each")) << "the list is not kept";
}

TEST(Foreach, TheUndoOfItsCallMayNameItsOutputs) {
  RunDriver run(DefinitionOfSteps(R"(
  - {name: each, capability: do.effect, foreach: [7, 8], compensation: {capability: do.pure, inputs: {id: "{{each.id}}"}}}
  - {name: last, capability: do.effect, max_retries: 1}
)"));
  std::vector<Json> undone;
  run.RunToEnd([&](const StartStep& step, int) {
    if (step.step_id.starts_with("undo:")) undone.push_back(step.call["inputs"]);
    return step.step_id == "last" ? Fails("broken", false) : Ok({{"id", step.step_id}});
  });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(undone, (std::vector<Json>{{{"id", "each[1]"}}, {{"id", "each[0]"}}}));
}

}  // namespace
}  // namespace acl::workflow::test
