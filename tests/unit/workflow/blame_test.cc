// Which step of a run that killed its workers is to blame (shared/kernel/suspicion.h says when).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::HasSubstr;
using Outcome = StepResult::Outcome;

// Three steps that run beside one another.
RunDriver ThreeBeside() {
  RunDriver run(MakeDefinition({MakeStep("first"), MakeStep("a", "do.idempotent", {"first"}), MakeStep("b", "do.idempotent", {"first"}),
                                MakeStep("c", "do.idempotent", {"first"})}));
  run.Claim();
  run.Pump();
  run.Finish("first", Ok());
  return run;
}

// `in_flight`: which of them are when the n-th worker dies.
RunDriver KilledFiveTimes(const std::function<std::vector<std::string>(int)>& in_flight) {
  RunDriver run = ThreeBeside();
  for (int death = 1; death <= 5; ++death) {
    const auto wanted = in_flight(death);
    for (const Started& started : run.Pump(3)) {
      const std::string& id = started.step.step_id;
      if (std::find(wanted.begin(), wanted.end(), id) == wanted.end()) run.Finish(id, Ends(Outcome::kNotStarted));
    }
    run.Crash(death);
  }
  return run;
}

TEST(Blame, OnlyTheStepThatWasInFlightAtEachDeathIsBlamed) {
  RunDriver run = KilledFiveTimes([](int death) { return std::vector<std::string>{"b", death % 2 == 0 ? "a" : "c"}; });
  EXPECT_EQ(run.Step("b").status, "FAILED");
  EXPECT_THAT(run.Step("b").error, HasSubstr("of its steps this one was in flight each time"));
  for (const char* innocent : {"a", "c"}) {
    EXPECT_NE(run.Step(innocent).status, "FAILED") << innocent;
    EXPECT_EQ(run.Step(innocent).error, "") << innocent;
  }
}

TEST(Blame, IfTwoWereInFlightAtEachDeathItIsSaidThatItCannotBeTold) {
  RunDriver run = KilledFiveTimes([](int death) { return std::vector<std::string>{"a", "b", death == 3 ? "" : "c"}; });
  for (const char* suspect : {"a", "b"})
    EXPECT_THAT(run.Step(suspect).error, HasSubstr("the steps 'a', 'b' were in flight each time: which of them kills cannot be told"));
  EXPECT_EQ(run.Step("c").error, "");
}

TEST(Blame, IfNoneWasInFlightAtEachDeathNoneIsBlamed) {
  RunDriver run = KilledFiveTimes([](int death) { return std::vector<std::string>{death % 2 == 0 ? "a" : "b"}; });
  EXPECT_EQ(run.Status(), "RUNNING") << "the kernel quarantines it after the next";
  for (const char* step : {"a", "b"}) EXPECT_EQ(run.Step(step).error, "") << step;
}

// A worker that died between its claim and its first commit: nothing says what was in flight, and the kernel quarantines the run.
TEST(Blame, AfterAReleaseTheDeathsAreCountedAnew) {
  RunDriver run(MakeDefinition({MakeStep("kills", "do.idempotent")}));
  run.Claim();
  for (int alone = 2; alone <= 5; ++alone) {  // the first is not known of
    run.Pump();
    run.Crash(alone);
  }
  EXPECT_NE(run.Step("kills").status, "FAILED");
  run.Post("quarantine_released", {{"reason", "kills_its_worker"}});
  for (int alone = 1; alone <= 5; ++alone) {
    run.Pump();
    run.Crash(alone);
  }
  EXPECT_EQ(run.Step("kills").status, "FAILED");
  EXPECT_THAT(run.Step("kills").error, HasSubstr("of its steps this one was in flight each time"));
}

TEST(Blame, DeathsBeforeAStepCompletedDoNotCount) {
  RunDriver run = ThreeBeside();
  for (int death = 1; death <= 3; ++death) {
    run.Pump(3);
    run.Crash(death);
  }
  run.Pump(3);
  run.Finish("a", Ok());
  for (int death = 1; death <= 5; ++death) {
    run.Pump(death == 1 ? 0 : 2);
    if (death < 4) run.Finish("b", Ends(Outcome::kNotStarted));
    run.Crash(death);
  }
  EXPECT_THAT(run.Step("c").error, HasSubstr("of its steps this one"));
  EXPECT_EQ(run.Step("b").error, "");
}

}  // namespace
}  // namespace acl::workflow::test
