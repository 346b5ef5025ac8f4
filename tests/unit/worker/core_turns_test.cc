// Who gets the next commit, the next slot and the next look, when there is not enough for all.
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreTurns : public CoreBench {
 protected:
  CoreTurns() {
    config.retry_min = milliseconds(20);
    config.retry_max = milliseconds(200);
  }
  std::set<SubjectId> locked;  // somebody else has their lease rows

  // Time passes; a commit of locked subjects alone is answered "busy".
  void Pump(milliseconds time) {
    for (milliseconds passed{0}; passed < time && !core->finished(); passed += milliseconds(10)) {
      Advance(milliseconds(10));
      for (auto commands = Take(); !commands.empty(); commands = Take()) {
        for (const Command& command : commands) One(command);
      }
    }
  }
  void One(const Command& command) {
    const auto* commit = std::get_if<command::Commit>(&command);
    if (!commit) return ExecuteOne(command);
    const auto is_locked = [&](const CommitItem& item) { return locked.contains(item.subject); };
    if (!std::all_of(commit->items->begin(), commit->items->end(), is_locked)) return ExecuteOne(command);
    const CommitOutcome busy{CommitOutcome::Kind::kBusy, 0, ""};
    core->OnCommitted(clock.Steady(), commit->batch, std::vector<CommitOutcome>(commit->items->size(), busy));
  }
};

TEST_F(CoreTurns, RunsThatOthersHoldUpHoldUpNobodyElse) {
  StartCore();
  const std::set<SubjectId> both = {Create({.steps = 3, .effects = "i"}), Create({.steps = 3, .effects = "i"})};
  core->OnWorkHint(clock.Steady());
  Live(milliseconds(300));
  ASSERT_EQ(steps.size(), 2u);
  locked = both;
  EndStep();
  Pump(milliseconds(50));
  EndStep();
  Pump(milliseconds(50));  // each of them in a batch of its own, as many as there are commits at once
  const SubjectId free = Create({.steps = 1, .effects = "i"});
  core->OnWorkHint(clock.Steady());
  Pump(milliseconds(2'000));
  ASSERT_EQ(steps.size(), 1u);
  EndStep();
  Pump(milliseconds(500));
  EXPECT_TRUE(Look(free).closed);
  locked.clear();
  Pump(milliseconds(500));
  EXPECT_EQ(steps.size(), 2u) << "and they go on when they are let go";
}

TEST_F(CoreTurns, ADrainGivesBackWhatIsIdleWhileACommitIsOnItsWay) {
  config.drain_deadline = milliseconds(1'000);
  StartCore();
  Create({.steps = 3, .effects = "i"});
  Create({.steps = 3, .effects = "i"});
  core->OnWorkHint(clock.Steady());
  Live(milliseconds(300));
  ASSERT_EQ(core->held(), 2);
  EndStep();
  core->Drain(clock.Steady());
  std::optional<command::Commit> slow;  // never answered
  bool released = false;
  for (int round = 0; round < 300 && !released; ++round) {
    Advance(milliseconds(10));
    for (const Command& command : Take()) {
      const auto* commit = std::get_if<command::Commit>(&command);
      if (commit && !slow) {
        slow = *commit;
        continue;
      }
      released = released || (commit && commit->items->front().disposition == Disposition::kRelease);
      ExecuteOne(command);
    }
  }
  EXPECT_TRUE(released) << "its step did not end in time";
}

TEST_F(CoreTurns, NoMoreStepsThanSlotsWhateverIsOnItsWay) {
  config.step_slots = 1;
  StartCore();
  Create({.steps = 3, .effects = "i"});
  core->OnWorkHint(clock.Steady());
  const auto first = Await<command::Commit>();
  Create({.steps = 3, .effects = "i"});
  core->OnWorkHint(clock.Steady());
  for (int round = 0; round < 20; ++round) {
    Advance(milliseconds(10));
    for (const Command& command : Take()) ExecuteOne(command);
  }
  ExecuteOne(first);
  Settle();
  EXPECT_EQ(core->running_steps(), 1);
}

TEST_F(CoreTurns, ASlotGoesToTheNextNotToTheSameAgain) {
  config.step_slots = 1;
  StartCore();
  const std::vector<SubjectId> runs{Create({.steps = 30, .effects = "i"}), Create({.steps = 30, .effects = "i"}),
                                    Create({.steps = 30, .effects = "i"})};
  core->OnWorkHint(clock.Steady());
  Live(milliseconds(200));
  ASSERT_EQ(core->held(), 3);
  for (int n = 0; n < 15; ++n) {
    ASSERT_EQ(steps.size(), 1u);
    EndStep();
    Live(milliseconds(20), milliseconds(10));
  }
  for (const SubjectId& run : runs) EXPECT_GE(EventsOf(run, "step.completed"), 4);
}

// The claim is granted, and what it granted takes long to restore: the session lives on, and asks what it holds.
TEST_F(CoreTurns, WhatASlowClaimWasGrantedIsNotReleased) {
  config.reconcile_every = milliseconds(1'000);
  StartCore();
  std::vector<SubjectId> runs;
  for (int n = 0; n < 5; ++n) runs.push_back(Create({.steps = 3, .effects = "r"}));
  core->OnWorkHint(clock.Steady());
  const auto claim = Await<command::Claim>();
  auto report = ExecuteCommand(executor, claim, clock.Steady());
  Live(milliseconds(3'500));
  EXPECT_TRUE(told.released.empty());
  report(*core, clock.Steady());
  Settle();
  EXPECT_EQ(core->held(), 5);
  EXPECT_EQ(steps.size(), 5u);
  while (!steps.empty()) EndStep(), Live(milliseconds(20), milliseconds(10));
  for (const SubjectId& run : runs) EXPECT_TRUE(Look(run).closed) << "under the token it was granted";
}

// One commit for both costs the database little more than one for each.
class CoreRounds : public CoreTurns {
 protected:
  // One run waits for the commit of another, whose next step begins when that is answered.
  void OneWaitsAsAnotherBegins() {
    config.commits_at_once = 1;
    StartCore();
    for (int n = 0; n < 2; ++n) Create({.steps = 3, .effects = "i"});
    core->OnWorkHint(clock.Steady());
    Live(milliseconds(300));
    ASSERT_EQ(steps.size(), 2u);
    EndStep();
    const auto first = Await<command::Commit>();
    EndStep();
    ASSERT_TRUE(Commits().empty());
    ExecuteOne(first);
    ASSERT_TRUE(Commits().empty()) << "the step that begins in this round is waited for";
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_TRUE(core->waits_a_round());
    EXPECT_LE(core->NextWake(clock.Steady()), clock.Steady());
  }
  // Of this round.
  std::vector<command::Commit> Commits() {
    std::vector<command::Commit> commits;
    for (const Command& command : Take()) {
      if (const auto* commit = std::get_if<command::Commit>(&command)) {
        commits.push_back(*commit);
      } else {
        ExecuteOne(command);
      }
    }
    return commits;
  }
};

TEST_F(CoreRounds, AQuickStepGoesWithTheRunThatWaits) {
  OneWaitsAsAnotherBegins();
  EndStep();
  const auto commits = Commits();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits.front().items->size(), 2u);
  EXPECT_FALSE(core->waits_a_round());
}

TEST_F(CoreRounds, ASlowStepIsWaitedForOneRoundOnly) {
  OneWaitsAsAnotherBegins();
  const auto commits = Commits();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits.front().items->size(), 1u);
}

}  // namespace
}  // namespace acl::test
