// SIGNAL steps: a signal counts before the step's turn as behind it, twice if it was sent twice, and its time may pass.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/definition/loader.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::HasSubstr;

TEST(Signals, OneThatCameBeforeTheStepsTurnCounts) {
  RunDriver run(DefinitionOfSteps(R"(
  - {name: a, capability: do.pure}
  - {name: one, wait_for_signal: go}
  - {name: two, wait_for_signal: go}
)"));
  run.Claim();
  run.Pump();
  run.Post("signal", {{"name", "go"}, {"payload", 1}});
  run.Post("signal", {{"name", "go"}, {"payload", 1}});
  run.Post("signal", {{"name", "other"}, {"payload", 9}});
  run.Finish("a", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(*run.Step("two").outputs, Json::parse(R"({"received":true,"payload":1})"));
}

TEST(Signals, TheStepThatWaitedLongestTakesTheFirst) {
  RunDriver run(DefinitionOfSteps(R"(
  - name: both
    steps:
      - {name: one, wait_for_signal: go}
      - {name: two, wait_for_signal: go}
)"));
  run.Claim();
  EXPECT_EQ(run.Ask().waiting->reason, "signal");
  run.Post("signal", {{"name", "go"}, {"payload", "first"}});
  EXPECT_EQ((*run.Step("one").outputs)["payload"], "first");
  EXPECT_EQ(run.Step("two").status, "WAITING");
  run.Crash();
  run.Post("signal", {{"name", "go"}, {"payload", "second"}});
  EXPECT_EQ((*run.Step("two").outputs)["payload"], "second");
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Signals, TimeoutWithAndWithoutADefault) {
  RunDriver some(DefinitionOfSteps("  - {name: s, wait_for_signal: {name: go, timeout: 1h, default: {x: 1}}}\n"));
  some.Claim();
  ASSERT_TRUE(some.FireNextTimer());
  EXPECT_EQ(some.Status(), "COMPLETED");
  EXPECT_EQ(*some.Step("s").outputs, Json::parse(R"({"received":false,"payload":{"x":1}})"));
  RunDriver none(DefinitionOfSteps("  - {name: s, wait_for_signal: {name: go, timeout: 1h}}\n"));
  none.Claim();
  ASSERT_TRUE(none.FireNextTimer());
  EXPECT_EQ(none.Status(), "ROLLED_BACK");
  EXPECT_THAT(none.View().error, HasSubstr("no signal 'go' came in time"));
}

}  // namespace
}  // namespace acl::workflow::test
