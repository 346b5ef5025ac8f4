// Named interleavings around the commit: against theft, the reaper, a busy and a fenced item (issue 3, section 3).
#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {
namespace {

class CommitIsolation : public IsolationTest, public ::testing::WithParamInterface<bool> {
 protected:
  CommitIsolation() { in_a_batch_ = GetParam(); }
};

TEST_P(CommitIsolation, CommitFirstThenTheft) {
  WorkerSessionId session = Open(*a_, milliseconds(600'000));
  Holder holder = ClaimNew(*a_, session);
  CommitItem item = holder.Item();
  Gate gate(*stage_, "commit_proved", *a_);
  auto commit = a_->Start(Committing(item));
  ASSERT_TRUE(gate.AwaitArrival());
  // The proof holds the lease row: the reaper may declare the session dead, but it cannot take the lease yet.
  EXPECT_EQ(ExpireAndReap(), 0);
  gate.Open();
  EXPECT_EQ(Kind(commit.get()), Outcome::kCommitted);
  EXPECT_EQ(ExpireAndReap(), 1);
  Holder next = Claim(*b_, Open(*b_), holder.subject());
  EXPECT_EQ(next.claimed().head.seq, 2) << "the next holder sees the last commit";
  EXPECT_EQ(next.claimed().events.size(), 2u);
}

TEST_P(CommitIsolation, TheftFirstThenCommit) {
  WorkerSessionId session = Open(*a_);
  Holder holder = ClaimNew(*a_, session);
  CommitItem item = holder.Item();
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_leases_locked", *c_);
  auto reap = c_->Start([](KernelStore& store) { return store.Reap(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, item), Outcome::kBusy) << "the lease row is locked: goes with the next batch, never waits";
  gate.Open();
  auto reaped = reap.get();
  ASSERT_TRUE(reaped) << reaped.error();
  EXPECT_EQ(reaped->leases_freed, 1);
  EXPECT_EQ(CommitOne(*a_, item), Outcome::kFenced);
  EXPECT_EQ(HeadSeq(holder.subject()), 1);
}

TEST_P(CommitIsolation, TheftWhileTheCommitsSnapshotIsOld) {
  // The commit's statement took its snapshot while the lease was still its own; it must judge the row as it is now.
  WorkerSessionId session = Open(*a_);
  Holder holder = ClaimNew(*a_, session);
  Gate gate(*stage_, "commit_snapshot_taken", *a_);
  auto commit = a_->Start(Committing(holder.Item()));
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(ExpireAndReap(), 1);
  Holder next = Claim(*b_, Open(*b_), holder.subject());
  EXPECT_EQ(CommitOne(*b_, next.Item()), Outcome::kCommitted);
  gate.Open();
  EXPECT_EQ(Kind(commit.get()), Outcome::kFenced);
  EXPECT_EQ(HeadSeq(holder.subject()), 2);
}

TEST_P(CommitIsolation, TheftByAClaimThatHasNotReadYet) {
  WorkerSessionId session = Open(*a_);
  Holder holder = ClaimNew(*a_, session);
  EXPECT_EQ(ExpireAndReap(), 1);
  WorkerSessionId next = Open(*b_);
  Gate gate(*stage_, "claim_token_raised", *b_);
  auto claim = b_->Start([next](KernelStore& store) { return store.Claim(Request(next)); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, holder.Item()), Outcome::kBusy);
  gate.Open();
  ASSERT_EQ(claim.get()->claimed.size(), 1u);
  EXPECT_EQ(CommitOne(*a_, holder.Item()), Outcome::kFenced);
}

TEST_P(CommitIsolation, CommitBetweenTheDeathOfTheSessionAndTheReapOfItsLease) {
  WorkerSessionId session = Open(*a_);
  Holder holder = ClaimNew(*a_, session);
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_chosen", *c_);
  auto reap = c_->Start([](KernelStore& store) { return store.Reap(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  // The session is dead, the token is not raised: nobody else can have started.
  EXPECT_EQ(CommitOne(*a_, holder.Item()), Outcome::kCommitted);
  gate.Open();
  ASSERT_EQ(reap.get()->leases_freed, 1);
  EXPECT_EQ(Claim(*b_, Open(*b_), holder.subject()).claimed().head.seq, 2);
}

TEST_P(CommitIsolation, ReleaseBetweenTheChoiceAndTheLockOfTheReaper) {
  WorkerSessionId session = Open(*a_);
  Holder holder = ClaimNew(*a_, session);
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_chosen", *c_);
  auto reap = c_->Start([](KernelStore& store) { return store.Reap(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, holder.Item(1, Disposition::kClose)), Outcome::kCommitted);
  gate.Open();
  EXPECT_EQ(reap.get()->leases_freed, 0) << "given up meanwhile: not the reaper's any more";
}

TEST_P(CommitIsolation, ABatchWithOneFencedAndOneBusyItem) {
  WorkerSessionId session = Open(*a_);
  std::vector<Holder> holders;
  for (int i = 0; i < 5; ++i) holders.push_back(ClaimNew(*a_, session));
  ASSERT_TRUE(a_->store().ReleaseLease(holders[1].subject(), session, holders[1].token()));
  auto locked = std::make_unique<HeldLock>(stage_->db().conninfo(),
                                           "SELECT 1 FROM leases WHERE subject_id = '" + holders[3].subject().ToString() + "' FOR UPDATE");
  std::vector<CommitItem> items;
  for (std::size_t i = 0; i < 5; ++i) items.push_back(holders[i].Item(1, i == 4 ? Disposition::kRelease : Disposition::kKeep));
  auto outcomes = a_->store().Commit(items);
  ASSERT_TRUE(outcomes) << outcomes.error();
  std::vector<Outcome> kinds;
  for (const auto& outcome : *outcomes) kinds.push_back(outcome.kind);
  EXPECT_THAT(kinds,
              ::testing::ElementsAre(Outcome::kCommitted, Outcome::kFenced, Outcome::kCommitted, Outcome::kBusy, Outcome::kCommitted));
  locked.reset();
  EXPECT_EQ(CommitOne(*a_, items[3]), Outcome::kCommitted) << "busy: goes with the next batch";
}

TEST_P(CommitIsolation, TwoBatchesOfTheSameItemLandOnce) {
  // The first request's answer is thought lost and it is sent again while it is still running.
  WorkerSessionId session = Open(*a_);
  Holder holder = ClaimNew(*a_, session);
  CommitItem item = holder.Item();
  Gate gate(*stage_, "commit_proved", *a_);
  auto first = a_->Start(Committing(item));
  ASSERT_TRUE(gate.AwaitArrival());
  auto second = b_->Start(Committing(item));  // proofs do not exclude each other; the head does
  gate.Open();
  std::vector<Outcome> kinds{Kind(first.get()), Kind(second.get())};
  EXPECT_THAT(kinds, ::testing::UnorderedElementsAre(Outcome::kCommitted, Outcome::kFenced));
  EXPECT_EQ(HeadSeq(holder.subject()), 2);
}

INSTANTIATE_TEST_SUITE_P(Commits, CommitIsolation, ::testing::Bool(),
                         [](const auto& form) { return std::string(form.param ? "InABatch" : "Alone"); });

}  // namespace
}  // namespace acl::test
