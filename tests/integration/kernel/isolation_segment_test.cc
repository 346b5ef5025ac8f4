// Journals are dropped beside commits and beside one another, in real transactions.
#include "shared/kernel/roll.h"
#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {
namespace {

auto Dropping() {
  return [](KernelStore& store) { return store.DropSegments(kLeastJournalRetention, 10); };
}

class SegmentIsolation : public IsolationTest {
 protected:
  // A step completed in its first journal, which ended two hours ago.
  Holder Rolled() {
    Holder holder = ClaimNew(*a_, Open(*a_, milliseconds(360'000'000)));
    CommitItem item = holder.Item(2);
    item.attempts = {{"done", 1, {}, item.events[0].timestamp}};
    item.completions = {{"done", 1, item.events[1].timestamp, Hash256{}, item.events[1].seq}};
    EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
    holder.Landed(item);
    item = holder.RollingItem();
    EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
    holder.Landed(item);
    stage_->Advance(milliseconds(7'200'000));
    return holder;
  }
  std::int64_t EventsLeft() { return stage_->db().Count("SELECT count(*) FROM journal_rows"); }
};

TEST_F(SegmentIsolation, WhoCommitsWhileJournalsAreDroppedComesAgain) {
  Holder holder = Rolled();
  Gate gate(*stage_, "drop_locked", *c_);
  auto dropped = c_->Start(Dropping());
  ASSERT_TRUE(gate.AwaitArrival());
  const CommitItem item = holder.Item();
  EXPECT_EQ(CommitOne(*a_, item), Outcome::kBusy);
  gate.Open();
  auto answer = dropped.get();
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->segments, 1);
  EXPECT_EQ(answer->events, 3);
  EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
  holder.Landed(item);
  CommitItem again = holder.Item();
  again.attempts = {{"done", 2, {}, again.events[0].timestamp}};
  again.completions = {{"done", 2, again.events[0].timestamp, Hash256{}, again.events[0].seq}};
  auto twice = a_->store().Commit({&again, 1});
  ASSERT_TRUE(twice) << twice.message();
  EXPECT_EQ(twice->front().kind, Outcome::kRejected) << "it completed in a journal that is gone";
}

TEST_F(SegmentIsolation, JournalsOfWhoCommitsAreDroppedAnotherTime) {
  Holder holder = Rolled();
  Gate gate(*stage_, "commit_proved", *a_);
  auto committed = a_->Start(Committing(holder.Item()));
  ASSERT_TRUE(gate.AwaitArrival());
  auto answer = c_->store().DropSegments(kLeastJournalRetention, 10);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->segments, 0);
  gate.Open();
  EXPECT_EQ(Kind(committed.get()), Outcome::kCommitted);
  answer = c_->store().DropSegments(kLeastJournalRetention, 10);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->segments, 1);
  EXPECT_EQ(EventsLeft(), 3);
}

TEST_F(SegmentIsolation, TwoWhoDropDropOnce) {
  Rolled();
  Gate gate(*stage_, "drop_locked", *c_);
  auto dropped = c_->Start(Dropping());
  ASSERT_TRUE(gate.AwaitArrival());
  auto other = b_->store().DropSegments(kLeastJournalRetention, 10);
  ASSERT_TRUE(other) << other.message();
  EXPECT_EQ(other->segments, 0);
  gate.Open();
  auto answer = dropped.get();
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->segments, 1);
  EXPECT_EQ(EventsLeft(), 2);
}

// A process that dies in it has dropped nothing.
TEST_F(SegmentIsolation, WhatIsCutOffDropsNothing) {
  Rolled();
  Gate gate(*stage_, "drop_locked", *c_);
  auto dropped = c_->Start(Dropping());
  ASSERT_TRUE(gate.AwaitArrival());
  stage_->db().Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'c' AND datname = current_database()");
  EXPECT_FALSE(dropped.get());
  gate.Open();
  EXPECT_EQ(EventsLeft(), 5);
  EXPECT_EQ(stage_->db().Count("SELECT count(*) FROM journal_segments WHERE dropped_at IS NOT NULL"), 0);
}

}  // namespace
}  // namespace acl::test
