// Leases first: what claims were granted is restored when those that follow are answered.
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreRestores : public CoreBench {
 protected:
  CoreRestores() {
    config.claim_batch = 2;
    config.run_slots = 10;
  }
  void CreateMany(int count) {
    for (int i = 0; i < count; ++i) subjects.push_back(Create({.steps = 1, .effects = "p"}));
  }
  void Start() {
    core = std::make_unique<WorkerCore>(config, kinds, random, &told, helpers);
    core->Start(clock.Steady());
  }
  void ExpectAllClosed() {
    for (const SubjectId& subject : subjects) EXPECT_TRUE(Look(subject).closed);
  }
  std::vector<SubjectId> subjects;
};

TEST_F(CoreRestores, TheNextClaimGoesBeforeWhatTheLastWasGrantedIsRestored) {
  CreateMany(5);
  Start();
  const auto first = Await<command::Claim>();
  EXPECT_TRUE(first.room_for_more);
  ExecuteOne(first);
  EXPECT_EQ(core->held(), 2);
  EXPECT_TRUE(steps.empty());
  const auto commands = Take();
  ASSERT_EQ(commands.size(), 1u) << "and nothing is restored beside it";
  const auto* second = std::get_if<command::Claim>(&commands.front());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->request.max, 4);
  ExecuteOne(*second);
  EXPECT_EQ(core->held(), 5);
  EXPECT_EQ(core->counts().claimed, 3) << "a claim that found less than it asked for restores what it got";
  Settle();
  EXPECT_EQ(core->counts().claimed, 5);
  while (!steps.empty()) {
    EndStep();
    Settle();
  }
  ExpectAllClosed();
}

TEST_F(CoreRestores, TheLastClaimThatThereIsRoomForRestores) {
  config.run_slots = 6;
  CreateMany(8);
  Start();
  ExecuteOne(Await<command::Claim>());
  const auto last = Await<command::Claim>();
  EXPECT_EQ(last.request.max, 4);
  EXPECT_FALSE(last.room_for_more);
  ExecuteOne(last);
  EXPECT_EQ(core->counts().claimed, 4);
  EXPECT_EQ(core->held(), 6);
}

TEST_F(CoreRestores, AClaimThatFailsHoldsUpNothing) {
  CreateMany(5);
  Start();
  ExecuteOne(Await<command::Claim>());
  store.FailNext("Claim", FaultyStore::Fault::kUnavailable);
  ExecuteOne(Await<command::Claim>());
  ExecuteOne(Await<command::Restore>());
  EXPECT_EQ(core->counts().claimed, 2);
}

TEST_F(CoreRestores, BehindAFullClaimLeasesAloneAreAskedFor) {
  config.run_slots = 20;
  CreateMany(8);
  Start();
  const auto first = Await<command::Claim>();
  EXPECT_FALSE(first.request.contents_later) << "it may be the only one";
  ExecuteOne(first);
  const auto second = Await<command::Claim>();
  EXPECT_TRUE(second.request.contents_later);
  ExecuteOne(second);
  EXPECT_EQ(core->held(), 6);
  store.FailNext("ReadClaimed", FaultyStore::Fault::kUnavailable);
  ExecuteOne(Await<command::Claim>());
  EXPECT_EQ(core->held(), 8) << "what could not be read is held all the same";
  EXPECT_EQ(core->counts().claimed, 0);
  ExecuteOne(Await<command::Restore>());
  EXPECT_EQ(core->counts().claimed, 2);
  store.FailNext("ReadClaimed", FaultyStore::Fault::kUnavailable);
  ExecuteOne(Await<command::Restore>());
  EXPECT_EQ(core->counts().claimed, 2);
  EXPECT_EQ(told.unavailable.size(), 1u);
  Live(milliseconds(500));
  EXPECT_EQ(core->counts().claimed, 8) << "and asked for again";
  for (int i = 0; i < 8; ++i) {
    ASSERT_FALSE(steps.empty());
    EndStep();
    Settle();
  }
  ExpectAllClosed();
}

TEST_F(CoreRestores, WhatWaitsIsKnownToReconciliation) {
  config.reconcile_every = milliseconds(1'000);
  CreateMany(3);
  Start();
  ExecuteOne(Await<command::Claim>());
  const auto restore = Await<command::Restore>();
  Live(5 * kTtl, milliseconds(7));  // no claim is out at each of its answers
  EXPECT_TRUE(told.released.empty());
  ExecuteOne(restore);
  EXPECT_EQ(core->counts().claimed, 3);
}

TEST_F(CoreRestores, AnInputThatCameWhileItWaitedIsRead) {
  CreateMany(2);
  Start();
  ExecuteOne(Await<command::Claim>());
  const auto restore = Await<command::Restore>();
  ASSERT_TRUE(memory.Post({subjects.front(), InboxId{ids.Make()}, "stop", "{}", {}}).ok());
  core->OnSubjectHint(clock.Steady(), subjects.front());
  ExecuteOne(restore);
  Settle();
  EXPECT_TRUE(Look(subjects.front()).inbox.empty());
}

TEST_F(CoreRestores, OfASessionThatWasLostItIsNothing) {
  CreateMany(2);
  Start();
  ExecuteOne(Await<command::Claim>());
  const auto restore = Await<command::Restore>();
  clock.Advance(2 * kTtl);
  ASSERT_TRUE(memory.Reap(10).ok());
  Live(milliseconds(5'000));
  ASSERT_EQ(told.sessions_lost.size(), 1u);
  EXPECT_EQ(core->held(), 2) << "claimed anew";
  const auto claimed = core->counts().claimed;
  ExecuteOne(restore);
  EXPECT_EQ(core->counts().claimed, claimed);
  while (!steps.empty()) {
    EndStep();
    Settle();
  }
  ExpectAllClosed();
}

TEST_F(CoreRestores, WhoDrainsGivesItBack) {
  CreateMany(2);
  Start();
  ExecuteOne(Await<command::Claim>());
  const auto restore = Await<command::Restore>();
  core->Drain(clock.Steady());
  Live(milliseconds(200));
  EXPECT_FALSE(core->finished()) << "it holds leases";
  ExecuteOne(restore);
  Settle();
  EXPECT_TRUE(core->finished());
  for (const SubjectId& subject : subjects) EXPECT_FALSE(Look(subject).holder);
}

}  // namespace
}  // namespace acl::test
