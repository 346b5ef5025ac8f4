// Each row of the table of endings (shared/capability/endings.h) that the engine decides by effect alone, brought about.

#include "shared/capability/endings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using Outcome = StepResult::Outcome;
using testing::HasSubstr;

// What became of a step, told from what is recorded of it.
Follows Of(const RunDriver& run) {
  const StepView step = run.Step("s");
  if (step.status == "UNCERTAIN") return Follows::kUnknown;
  if (step.status == "CANCELLED") return Follows::kCancelled;
  if (step.status == "COMPLETED") return Follows::kCompleted;
  if (step.status == "FAILED") return Follows::kFailed;
  return step.attempts > 0 ? Follows::kFailedAgain : Follows::kAgain;
}

RunDriver Begun(const std::string& capability, bool compensated = false) {
  StepDefinition step = MakeStep("s", capability);
  if (compensated) step.compensation = CompensationDefinition{"do.idempotent", Json::object(), "", {}};
  RunDriver run(MakeDefinition({step}));
  run.Claim();
  EXPECT_EQ(run.Pump().size(), 1u);
  return run;
}

StepResult Stopped(const std::string& error) {
  StepResult result = Ends(Outcome::kCancelled);
  result.error = error;
  return result;
}

RunDriver Cancelled(const std::string& capability, bool compensated) {
  RunDriver run = Begun(capability, compensated);
  run.Post("cancel", {{"compensate", true}});
  run.Finish("s", Stopped("it was killed because the step was stopped"));
  return run;
}

using Row = std::function<RunDriver(const std::string& capability)>;
RunDriver WorkerLost(const std::string& capability) {
  RunDriver run = Begun(capability);
  run.Crash();
  return run;
}
RunDriver Drained(const std::string& capability) {
  RunDriver run = Begun(capability);
  run.Finish("s", Stopped("its worker was drained"));
  return run;
}
RunDriver DoesNotComeBack(const std::string& capability) {  // as the worker's watchdog says it (worker/dispatch_runs.h, Dropped)
  RunDriver run = Begun(capability);
  run.Finish("s", Ends(capability == "do.effect" ? Outcome::kUnknown : Outcome::kTimedOut));
  return run;
}
RunDriver NotBegun(const std::string& capability) {
  RunDriver run = Begun(capability);
  run.Finish("s", Ends(Outcome::kNotStarted));
  return run;
}

const std::map<std::string, std::vector<std::string>> kCapabilities = {
    {"non_idempotent", {"do.effect"}},
    {"pure, read, idempotent", {"do.pure", "do.read", "do.idempotent"}},
    {"any", {"do.pure", "do.read", "do.idempotent", "do.effect"}},
};

TEST(Endings, OfEffects) {
  const std::map<std::string, Row> rows = {
      {"its worker is lost while it runs", WorkerLost},
      {"its worker is drained and stops it at the end of its time", Drained},
      {"it does not come back at its timeout", DoesNotComeBack},
      {"its run is cancelled, or fails beside it", [](const std::string& id) { return Cancelled(id, false); }},
      {"its run is cancelled, or fails beside it, and the step names no compensation",
       [](const std::string& id) { return Cancelled(id, false); }},
      {"its run is cancelled, or fails beside it, and the step names a compensation",
       [](const std::string& id) { return Cancelled(id, true); }},
      {"not begun: its worker drains, or is not sure of its session", NotBegun},
  };
  std::size_t checked = 0;
  for (const Ending& ending : Endings()) {
    const auto capabilities = kCapabilities.find(std::string(ending.what));
    if (capabilities == kCapabilities.end()) continue;
    const auto row = rows.find(std::string(ending.how));
    ASSERT_NE(row, rows.end()) << "a row that nobody tests: " << ending.how;
    for (const std::string& capability : capabilities->second) {
      SCOPED_TRACE(capability + ": " + std::string(ending.how));
      const RunDriver run = row->second(capability);
      // A pure or read step of a cancelled run has no record of its own: nothing of it was begun as far as the journal knows.
      if (ending.follows == Follows::kCancelled && capability != "do.effect" && capability != "do.idempotent") {
        EXPECT_TRUE(run.View().closed);
        EXPECT_FALSE(run.completions.contains("s"));
      } else {
        EXPECT_EQ(FollowsText(Of(run)), FollowsText(ending.follows));
      }
      ++checked;
    }
  }
  EXPECT_EQ(checked, 5u + 4u * 3u + 4u);
}

TEST(Endings, TheReasonOfADrainIsShown) {
  const RunDriver run = Drained("do.effect");
  EXPECT_THAT(run.Last("step.uncertain")["why"].get<std::string>(), HasSubstr("its worker was drained"));
}

TEST(Endings, AnUnknownOutcomeIsWhatTheStepSays) {
  for (const auto& [on_unknown, follows] :
       {std::pair(UnknownOutcome::kAsk, Follows::kUnknown), std::pair(UnknownOutcome::kRetry, Follows::kFailedAgain),
        std::pair(UnknownOutcome::kFail, Follows::kFailed)}) {
    StepDefinition step = MakeStep("s", "do.effect");
    step.on_unknown_outcome = on_unknown;
    RunDriver run(MakeDefinition({step}));
    run.Claim();
    run.Pump();
    run.Finish("s", Ends(Outcome::kUnknown));
    EXPECT_EQ(FollowsText(Of(run)), FollowsText(follows));
  }
}

// A dispatched program that is stopped at its step's timeout has run; one that nobody took has not.
TEST(Endings, OfADispatchedStepAtItsStepTimeout) {
  for (const bool taken : {true, false}) {
    StepDefinition step = MakeStep("s", "do.effect");
    step.queue = "gpu";
    step.step_timeout = std::chrono::seconds(30);
    RunDriver run(MakeDefinition({step}));
    run.Claim();
    run.Pump();
    ASSERT_TRUE(run.FireNextTimer());
    const int attempt = run.dispatches["s"].attempt_id;
    run.dispatches.erase("s");
    DispatchResult ended{.step_id = "s", .attempt_id = attempt, .result = Stopped("killed"), .worker = "w", .token = taken ? 5 : 0};
    run.Post("dispatch_result", *ParseJson(ResultToText(ended)));
    EXPECT_EQ(run.Step("s").status, taken ? "UNCERTAIN" : "FAILED");
  }
}

}  // namespace
}  // namespace acl::workflow::test
