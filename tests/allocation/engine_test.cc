// What happens next is decided, and becomes events and state, or nothing has happened: a decision leaves the state it was made on as it
// was.

#include <gtest/gtest.h>

#include "shared/base/memory.h"
#include "shared/kernel/fold.h"
#include "tests/allocation/fail_allocation.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using acl::test::FailEachAllocation;

struct Outcome {
  std::vector<std::string> events;
  std::string root;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// As a worker's turn does it.
Outcome Take(const SubjectKind& kind, const Document& before, const Input& input, WallTime now) {
  Document state = before;
  Outcome outcome;
  Decision decision = kind.Decide(state, input, now);
  for (EventDraft& draft : decision.events) {
    outcome.events.push_back(draft.type);
    auto folded = Fold(kind, state, std::move(draft));
    EXPECT_TRUE(folded.ok());
  }
  const Next next = kind.WhatNext(state, {.now = now, .running = {}, .free_slots = 4});
  for (const StartStep& start : next.start) outcome.events.push_back("start " + start.step_id);
  outcome.root = ToHex(state.Root());
  return outcome;
}

void ExpectWholeOrNothing(const RunDriver& run, const Input& input) {
  const std::string root = ToHex(run.state.Root());
  const Outcome expected = Take(*run.kind, run.state, input, run.now);
  int good = 0;
  const int asked = FailEachAllocation([&] {
    std::optional<Outcome> outcome;
    if (WithinMemory([&] { outcome = Take(*run.kind, run.state, input, run.now); })) {
      EXPECT_EQ(*outcome, expected);
      ++good;
    }
    (void)WithinMemory([&] { EXPECT_EQ(ToHex(run.state.Root()), root); });
  });
  EXPECT_GT(asked, 50);
  EXPECT_GE(good, 1);
  EXPECT_EQ(Take(*run.kind, run.state, input, run.now), expected);
}

WorkflowDefinition TwoSteps() {
  StepDefinition second = MakeStep("second", "do.effect", {"first"});
  second.inputs = {{"text", "{{first.words | join('-')}}"}, {"all", "{{first}}"}};
  return MakeDefinition({MakeStep("first"), second, MakeStep("third", "do.pure")});
}

TEST(Allocation, ARunBeginsOrDoesNot) {
  RunDriver run(TwoSteps());
  ExpectWholeOrNothing(run, ResumedInput{});
}

TEST(Allocation, AStepThatEndedIsRecordedOrNot) {
  RunDriver run(TwoSteps());
  run.Claim();
  (void)run.Pump();
  const Json outputs = {{"words", {"a word that is long enough", "another"}}, {"success", true}};
  ExpectWholeOrNothing(run, StepFinishedInput{"first", 1, Ok(outputs), {}});
  ExpectWholeOrNothing(run, StepFinishedInput{"first", 1, Fails("it does not work", true), {}});
  ExpectWholeOrNothing(run, StepFinishedInput{"first", 1, Fails("it will not work", false), {}});
}

TEST(Allocation, ACancelIsDecidedOnOrNot) {
  RunDriver run(TwoSteps());
  run.Claim();
  (void)run.Pump();
  ExpectWholeOrNothing(run,
                       InboxInput{*InboxId::Parse("018f0000-0000-7000-8000-000000000001"), "cancel", {{"reason", "no longer needed"}}});
}

}  // namespace
}  // namespace acl::workflow::test
