// Create and grant, the worker's part: how much room it tells of, what it makes of hints.
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreGrants : public CoreBench {
 protected:
  // Made and granted to this core's session, which has not heard of it.
  SubjectId Granted(const CounterOptions& options = {.steps = 1, .effects = "p"}) {
    CreateItem item = counter->MakeCreateItem(SubjectId{ids.Make()}, options);
    item.grant_to = core->session();
    auto outcome = memory.Create({&item, 1});
    EXPECT_TRUE(outcome.ok() && outcome->front().granted);
    return item.subject;
  }
  void Hint(const SubjectId& subject) { core->OnGrantHint(clock.Steady(), core->session(), {subject}); }
  int Room() const { return told.rooms.empty() ? 0 : told.rooms.back(); }
};

TEST_F(CoreGrants, RoomIsToldOnceNothingWaitsAndOnlyWhenItChanges) {
  config.run_slots = 3;
  config.claim_batch = 2;
  core = std::make_unique<WorkerCore>(config, kinds, random, &told, helpers);
  core->Start(clock.Steady());
  for (int i = 0; i < 2; ++i) Create({.steps = 1, .effects = "p"});
  Settle();
  EXPECT_EQ(core->held(), 2);
  EXPECT_EQ(told.rooms, std::vector<int>{1}) << "after a claim that found all there was, and not before";
  Hint(Granted());
  Settle();
  EXPECT_EQ(core->held(), 3);
  EXPECT_EQ(Room(), 0);
  while (!steps.empty()) {
    EndStep();
    Settle();
  }
  EXPECT_EQ(core->held(), 0);
  EXPECT_EQ(Room(), 3);
}

TEST_F(CoreGrants, TakesWhatItWasGranted) {
  StartCore();
  const SubjectId subject = Granted();
  EXPECT_EQ(core->held(), 0);
  Hint(subject);
  Settle();
  EXPECT_EQ(core->held(), 1);
  EXPECT_EQ(core->counts().claimed, 1);
  EndStep();
  Settle();
  EXPECT_TRUE(Look(subject).closed);
}

TEST_F(CoreGrants, AnInputThatCameBeforeTheHintIsRead) {
  StartCore();
  const SubjectId subject = Granted();
  ASSERT_TRUE(memory.Post({subject, InboxId{ids.Make()}, "stop", "{}", {}}).ok());
  Hint(subject);
  Settle();
  EXPECT_TRUE(Look(subject).inbox.empty());
}

TEST_F(CoreGrants, AHintThatComesTwiceOrIsOfAnotherSessionIsNothing) {
  StartCore();
  const SubjectId subject = Granted();
  core->OnGrantHint(clock.Steady(), WorkerSessionId{ids.Make()}, {subject});
  Settle();
  EXPECT_EQ(core->held(), 0);
  Hint(subject);
  Hint(subject);
  Settle();
  Hint(subject);
  Settle();
  EXPECT_EQ(core->held(), 1);
  EXPECT_EQ(core->counts().claimed, 1);
  EXPECT_EQ(steps.size(), 1u);
}

// The answer was on its way for so long that the run was released and claimed under a newer token.
TEST_F(CoreGrants, ALateAnswerDoesNotTakeTheNewerHoldingAway) {
  StartCore();
  const SubjectId subject = Granted();
  Hint(subject);
  const auto read = Await<command::ReadGrants>();
  auto late = ExecuteCommand(executor, read, clock.Steady());
  ASSERT_TRUE(memory.ReleaseLease(subject, core->session(), Look(subject).token).ok());
  Live(milliseconds(1'000));
  ASSERT_EQ(core->held(), 1);
  const Token newer = Look(subject).token;
  late(*core, clock.Steady());
  Settle();
  EXPECT_EQ(core->held(), 1);
  EXPECT_EQ(core->counts().claimed, 1);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].call.token, newer);
}

TEST_F(CoreGrants, WhatWasNotHeardOfIsReleasedSoonAfterALineIsLost) {
  StartCore();
  const SubjectId unheard = Granted();
  core->OnDoorbell(clock.Steady(), false);
  Live(milliseconds(3'000));
  EXPECT_EQ(told.released.size(), 1u) << "not only with the next reconciliation, a minute later";
  EXPECT_EQ(core->held(), 1) << "and claimed anew";
  EXPECT_GT(Look(unheard).grants.size(), 1u);
}

// While a claim is out nobody knows which of them are its: they are asked about again, and still as young ones.
TEST_F(CoreGrants, AClaimThatIsOutPutsThatOffAndNoMore) {
  config.session.ttl = milliseconds(60'000);
  StartCore();
  Granted();
  core->OnDoorbell(clock.Steady(), false);
  core->OnWorkHint(clock.Steady());
  std::optional<command::Claim> out;
  for (int round = 0; round < 30; ++round) {
    Advance(milliseconds(100));
    for (auto commands = Take(); !commands.empty(); commands = Take()) {
      for (const Command& command : commands) {
        const auto* claim = std::get_if<command::Claim>(&command);
        if (claim && !out) {
          out = *claim;
        } else {
          ExecuteOne(command);
        }
      }
    }
  }
  ASSERT_TRUE(out);
  EXPECT_TRUE(told.released.empty());
  ExecuteOne(*out);
  Live(milliseconds(5'000));
  EXPECT_EQ(told.released.size(), 1u);
}

TEST_F(CoreGrants, WhatCouldNotBeReadIsReleasedSoon) {
  StartCore();
  const SubjectId subject = Granted();
  store.FailNext("ReadGrants", FaultyStore::Fault::kUnavailable);
  Hint(subject);
  Settle();
  EXPECT_EQ(core->held(), 0);
  EXPECT_EQ(told.unavailable.size(), 1u);
  Live(milliseconds(3'000));
  EXPECT_EQ(core->held(), 1);
}

TEST_F(CoreGrants, ADrainingWorkerHasNoRoomAndGivesBackWhatItHearsOf) {
  StartCore();
  EXPECT_GT(Room(), 0);
  const SubjectId subject = Granted();
  Hint(subject);
  core->Drain(clock.Steady());
  Settle();
  Live(milliseconds(200));
  EXPECT_EQ(Room(), 0);
  EXPECT_TRUE(core->finished());
  EXPECT_FALSE(Look(subject).holder);
  EXPECT_FALSE(Look(subject).closed);
}

TEST_F(CoreGrants, WhatIsMoreThanItAskedForIsReleased) {
  config.run_slots = config.granted_unheard = 1;
  config.step_slots = 8;
  StartCore();
  for (int i = 0; i < 3; ++i) Hint(Granted());
  Settle();
  EXPECT_EQ(core->held(), 2) << "what it holds, and what may have been on its way";
  EXPECT_EQ(told.released.size(), 1u);
}

TEST_F(CoreGrants, WithoutAWindowThereIsNoRoom) {
  config.granted_unheard = 0;
  StartCore();
  EXPECT_TRUE(told.rooms.empty());
}

}  // namespace
}  // namespace acl::test
