// Runs that come back by a message to the worker that had them last (worker/sticky_cache.h).
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreSticky : public CoreBench {
 protected:
  CoreSticky() { config.subject.go_on = false; }

  std::vector<ReadyKey> Keys() {
    std::vector<ReadyKey> keys;
    for (int shard = 0; shard < kReadyShards; ++shard) {
      const auto due = memory.DueReadyOf(shard, {}, 100);
      for (const DueRow& row : due->rows) keys.push_back(row.key);
    }
    return keys;
  }
  // The next claim is of what messages name.
  void ClaimByKeys() {
    core->OnWorkHint(clock.Steady());
    auto claim = Await<command::Claim>();
    claim.request.keys = Keys();
    ASSERT_FALSE(claim.request.keys->empty());
    ExecuteOne(claim);
    Settle();
  }
  // A run of two steps whose first has ended: released, and on its way to whoever reads its message.
  SubjectId FirstStepDone() {
    StartCore();
    const SubjectId subject = Create({.steps = 2, .effects = "i"});
    ClaimByKeys();
    EXPECT_EQ(steps.size(), 1u);
    EndStep();
    Settle();
    EXPECT_EQ(core->held(), 0);
    return subject;
  }
  WorkerSessionId OpenOther() {
    SessionRequest request;
    request.worker_name = "other";
    request.ttl = milliseconds(60'000);
    return memory.OpenSession(request)->session;
  }
  void ExpectEndsAsUsual(const SubjectId& subject) {
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps.front().call.step.step_id, Look(subject).attempts.back().step_id);
    EndStep();
    Settle();
    EXPECT_TRUE(Look(subject).closed);
    EXPECT_EQ(EventsOf(subject, "step.completed"), 2);
    EXPECT_TRUE(told.quarantines.empty());
  }
};

TEST_F(CoreSticky, WhatNobodyHeldSinceIsNotReadAgain) {
  const SubjectId subject = FirstStepDone();
  const auto replayed = core->counts().events_replayed;
  EXPECT_EQ(core->counts().claimed_sticky, 0);
  ClaimByKeys();
  EXPECT_EQ(core->counts().claimed_sticky, 1);
  EXPECT_EQ(core->counts().events_replayed, replayed);
  ExpectEndsAsUsual(subject);
}

// So that nobody looks for it: the relay's own words for the row.
TEST_F(CoreSticky, TheRowThatIsLeftIsToldAsTheRelayWouldSayIt) {
  const SubjectId subject = FirstStepDone();
  const auto due = memory.DueReadyOf(ReadyShard(subject), {}, 100);
  ASSERT_EQ(due->rows.size(), 1u);
  ASSERT_EQ(told.ready.size(), 1u);
  EXPECT_EQ(EncodeStepMessage(told.ready.front()), EncodeStepMessage(MessageFor(due->rows.front())));
  EXPECT_TRUE(told.all_ready_told);
}

TEST_F(CoreSticky, WhatAnotherHeldSinceIsRestored) {
  const SubjectId subject = FirstStepDone();
  ClaimRequest request;
  request.session = OpenOther();
  request.keys = Keys();
  const auto claimed = memory.Claim(request);
  ASSERT_EQ(claimed->claimed.size(), 1u);
  ASSERT_TRUE(memory.ReleaseLease(subject, request.session, claimed->claimed[0].token));
  ClaimByKeys();
  EXPECT_EQ(core->counts().claimed_sticky, 0);
  ExpectEndsAsUsual(subject);
}

TEST_F(CoreSticky, AStateThatIsNotTheHeadsIsForgottenAndTheJournalRead) {
  const SubjectId subject = FirstStepDone();
  store.other_head = true;  // as after a failover that lost the last commit
  ClaimByKeys();
  store.other_head = false;
  EXPECT_EQ(core->held(), 0);
  EXPECT_EQ(told.released.size(), 1u);
  EXPECT_TRUE(told.quarantines.empty()) << "nothing is wrong with the run";
  ClaimByKeys();
  EXPECT_EQ(core->counts().claimed_sticky, 0);
  ExpectEndsAsUsual(subject);
}

TEST_F(CoreSticky, AStateForgottenMeanwhileCostsAClaim) {
  const SubjectId subject = FirstStepDone();
  core->OnWorkHint(clock.Steady());
  auto claim = Await<command::Claim>();
  claim.request.keys = Keys();
  const Token released = claim.request.released_token(subject);
  EXPECT_GT(released.value, 0);
  claim.cache->Forget(subject);
  claim.request.released_token = [=](const SubjectId&) { return released; };
  ExecuteOne(claim);
  Settle();
  EXPECT_EQ(told.released.size(), 1u);
  ClaimByKeys();
  ExpectEndsAsUsual(subject);
}

TEST_F(CoreSticky, WhoseAttemptFailedIsRestored) {
  config.subject.hold_wait = milliseconds(0);  // released until it is tried again
  StartCore();
  const SubjectId subject = Create({.steps = 1, .effects = "i"});
  ClaimByKeys();
  EndStep(StepResult::Outcome::kFailed);
  Settle();
  ASSERT_EQ(core->held(), 0);
  ASSERT_EQ(Look(subject).attempts.size(), 1u);
  Advance(milliseconds(800));
  ASSERT_EQ(memory.FireTimers(10)->fired, 1);
  ClaimByKeys();
  EXPECT_EQ(core->counts().claimed_sticky, 0) << "which attempts there were is the database's to say";
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].call.attempt_id, 2);
}

TEST_F(CoreSticky, WithoutMemoryForItEverythingIsRestored) {
  config.sticky_bytes = 0;
  const SubjectId subject = FirstStepDone();
  ClaimByKeys();
  EXPECT_EQ(core->counts().claimed_sticky, 0);
  ExpectEndsAsUsual(subject);
}

TEST_F(CoreSticky, TheMemoryIsBoundedAndTheLongestKeptGoesFirst) {
  StickyCache cache(3 * 1024 + 512);
  std::vector<SubjectId> subjects;
  for (int n = 1; n <= 5; ++n) {
    subjects.push_back(SubjectId{ids.Make()});
    StickyCache::State state;
    state.token = Token{n};
    cache.Put(subjects.back(), std::move(state));
  }
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_LE(cache.bytes(), std::size_t(3 * 1024 + 512));
  EXPECT_EQ(cache.ReleasedToken(subjects[1]).value, 0);
  EXPECT_EQ(cache.ReleasedToken(subjects[2]).value, 3);
  StickyCache::State newer;
  newer.token = Token{9};
  cache.Put(subjects[2], std::move(newer));
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.Take(subjects[2])->token.value, 9);
  EXPECT_FALSE(cache.Take(subjects[2]));
  cache.Forget(subjects[3]), cache.Forget(subjects[4]);
  EXPECT_EQ(cache.bytes(), 0u);
}

}  // namespace
}  // namespace acl::test
