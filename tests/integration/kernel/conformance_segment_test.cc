// Journals that roll over, on every store: the head moves into the next journal, whoever claims reads across, and what is dropped by age is
// what nobody needs.
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/journal/segment.h"
#include "shared/kernel/roll.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

constexpr milliseconds kAnHour{3'600'000}, kForEver{1'000 * kAnHour};

class SegmentConformance : public StoreConformance {
 protected:
  WorkerSessionId Lasting() { return Open(kForEver); }
  Holder Again(Holder& holder, const WorkerSessionId& session) {
    EXPECT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
    return ClaimOne(session, holder.subject());
  }
  DropAnswer Drop(int max = 100) {
    auto answer = store().DropSegments(kAnHour, max);
    EXPECT_TRUE(answer.ok()) << answer.message();
    return answer ? *answer : DropAnswer{};
  }
  // Two events, then a journal that begins with event 3, which says what it stands on, and event 4.
  Holder Rolled(const WorkerSessionId& session) {
    Holder holder = ClaimNew(session);
    MustCommit(holder, holder.Item());
    MustCommit(holder, holder.RollingItem());
    return holder;
  }
  static std::vector<std::int64_t> Numbers(const std::vector<Event>& events) {
    std::vector<std::int64_t> numbers;
    for (const Event& event : events) numbers.push_back(event.seq);
    return numbers;
  }
  using Seqs = std::vector<std::int64_t>;
};

TEST_P(SegmentConformance, TheHeadMovesIntoTheNextJournalAndClaimsReadAcross) {
  const WorkerSessionId session = Lasting();
  Holder holder = ClaimNew(session);
  MustCommit(holder, holder.Item());
  const JournalId first = holder.claimed().head.journal;
  const CommitItem item = holder.RollingItem(2);
  MustCommit(holder, item);
  MustCommit(holder, holder.Item());
  Holder next = Again(holder, session);
  const Head& head = next.claimed().head;
  EXPECT_EQ(head.seq, 6);
  EXPECT_EQ(head.journal_first, 3);
  EXPECT_EQ(head.journal, JournalIdAt(holder.subject(), 3));
  ASSERT_TRUE(next.claimed().snapshot);
  EXPECT_EQ(next.claimed().snapshot->id, item.snapshot->id);
  EXPECT_EQ(Numbers(next.claimed().events), (Seqs{3, 4, 5, 6}));
  const std::vector<Event> all = Journal(holder.subject());
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[1].journal, first);
  for (std::size_t i = 2; i < all.size(); ++i) EXPECT_EQ(all[i].journal, head.journal);
  const auto payload = ParsePayload(all[2]);
  ASSERT_TRUE(payload.ok());
  const auto start = ParseSegmentStart(*payload);
  ASSERT_TRUE(start.ok()) << start.message();
  EXPECT_EQ(*start, (SegmentStart{first, all[1].chain, 2, head.state_root}));
  auto view = queries().GetSubject(holder.subject());
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->head.journal_first, 3);
  EXPECT_EQ(view->head.journal, head.journal);
  const auto restored = Restore(holder.subject(), next.claimed().snapshot, next.claimed().events, {});
  ASSERT_TRUE(restored.ok()) << restored.message();
  EXPECT_TRUE(MatchesHead(*restored, head.seq, head.chain, head.state_root));
}

TEST_P(SegmentConformance, WithOthersInTheBatchEachMovesAlone) {
  const WorkerSessionId session = Lasting();
  Holder rolls = ClaimNew(session), stays = ClaimNew(session), fenced = ClaimNew(session);
  ASSERT_TRUE(store().ReleaseLease(fenced.subject(), session, fenced.token()));
  const std::vector<CommitItem> items = {stays.Item(), rolls.RollingItem(), fenced.RollingItem()};
  auto outcomes = store().Commit(items);
  ASSERT_TRUE(outcomes.ok()) << outcomes.message();
  EXPECT_EQ(outcomes->at(0).kind, Outcome::kCommitted) << outcomes->at(0).error;
  EXPECT_EQ(outcomes->at(1).kind, Outcome::kCommitted) << outcomes->at(1).error;
  EXPECT_EQ(outcomes->at(2).kind, Outcome::kFenced);
  EXPECT_EQ(View(rolls.subject()).head.journal, JournalIdAt(rolls.subject(), 2));
  EXPECT_EQ(View(stays.subject()).head.journal, stays.claimed().head.journal);
  EXPECT_EQ(View(fenced.subject()).head.journal, fenced.claimed().head.journal);
  EXPECT_EQ(View(fenced.subject()).head.journal_first, 1);
  auto read = store().ReadBack(items);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->at(1).kind, Outcome::kCommitted);
}

TEST_P(SegmentConformance, WhatIsNoRollIsRejected) {
  const WorkerSessionId session = Lasting();
  Holder holder = ClaimNew(session);
  MustCommit(holder, holder.Item());
  const auto rejected = [&](const char* why, const std::function<void(CommitItem&)>& change) {
    CommitItem item = holder.RollingItem();
    change(item);
    EXPECT_EQ(CommitKind(item), Outcome::kRejected) << why;
  };
  rejected("no snapshot goes with it", [](CommitItem& item) { item.snapshot.reset(); });
  rejected("its snapshot is of before", [](CommitItem& item) { item.snapshot->last_event_seq = 1; });
  rejected("an event stands in the old journal", [&](CommitItem& item) { item.events[1].journal = holder.claimed().head.journal; });
  rejected("it begins with another event", [&](CommitItem& item) {
    item = holder.Item(2);
    item.begins_journal = item.events[0].journal;
  });
  EXPECT_EQ(CommitKind(holder.RollingItem()), Outcome::kCommitted);
}

TEST_P(SegmentConformance, AttemptsThatAreOpenAreReadInTheNextJournalToo) {
  const WorkerSessionId session = Lasting();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(2);
  item.attempts = {Attempt("done"), Attempt("open"), Attempt("beside", 1), Attempt("beside", 2)};
  item.completions = {Completion("done", 1, 2)};
  MustCommit(holder, item);
  item = holder.RollingItem();
  item.attempts = {Attempt("new"), Attempt("newer")};
  MustCommit(holder, item);
  const auto open = [&](const Holder& of) {
    std::set<std::string> steps;
    for (const AttemptRow& row : of.claimed().attempts) steps.insert(row.step_id + "/" + std::to_string(row.attempt_id));
    EXPECT_EQ(steps.size(), of.claimed().attempts.size()) << "one is read twice";
    return steps;
  };
  using Steps = std::set<std::string>;
  holder = Again(holder, session);
  EXPECT_EQ(open(holder), (Steps{"open/1", "beside/1", "beside/2", "new/1", "newer/1"}));
  MustCommit(holder, holder.RollingItem());  // those of before go on into the next
  holder = Again(holder, session);
  EXPECT_EQ(open(holder), (Steps{"open/1", "beside/1", "beside/2", "new/1", "newer/1"}));
  item = holder.Item(2);
  item.completions = {Completion("open", 1, item.base_seq + 1), Completion("new", 1, item.base_seq + 2)};
  MustCommit(holder, item);
  holder = Again(holder, session);
  EXPECT_EQ(open(holder), (Steps{"beside/1", "beside/2", "newer/1"}));
}

TEST_P(SegmentConformance, ASnapshotThatEndsAJournalStaysWithTheTwoNewest) {
  const WorkerSessionId session = Lasting();
  Holder holder = Rolled(session);
  for (int i = 0; i < 4; ++i) {
    CommitItem item = holder.Item();
    Snapshot snapshot;
    snapshot.id = NewUuid7();
    snapshot.last_event_seq = item.base_seq;
    snapshot.chain = holder.Item(0).chain;
    snapshot.inline_state = "{}";
    item.snapshot = snapshot;
    MustCommit(holder, item);
  }
  Advance(2 * kAnHour);
  EXPECT_EQ(Drop().segments, 1) << "the snapshot that ends it is there";
  EXPECT_EQ(Numbers(Journal(holder.subject())).front(), 3);
}

TEST_P(SegmentConformance, OldJournalsAreDroppedAndNothingElse) {
  const WorkerSessionId session = Lasting();
  Holder holder = Rolled(session), young = ClaimNew(session), single = ClaimNew(session);
  EXPECT_EQ(store().DropSegments(kAnHour / 2, 100).code(), Code::kInvalid) << "somebody may be reading it";
  EXPECT_EQ(Drop().segments, 0) << "not long enough ago";
  MustCommit(young, young.Item());
  Advance(2 * kAnHour);
  MustCommit(holder, holder.RollingItem());
  MustCommit(young, young.RollingItem());
  const DropAnswer dropped = Drop();
  EXPECT_EQ(dropped.segments, 1);
  EXPECT_EQ(dropped.events, 2);
  EXPECT_FALSE(dropped.more);
  EXPECT_EQ(Numbers(Journal(holder.subject())), (Seqs{3, 4, 5, 6}));
  EXPECT_EQ(Numbers(Journal(young.subject())), (Seqs{1, 2, 3, 4}));
  EXPECT_EQ(Drop().segments, 0) << "once";
  Advance(2 * kAnHour);
  EXPECT_EQ(Drop(1).segments, 1) << "in batches";
  EXPECT_EQ(Drop(1).segments, 1);
  EXPECT_EQ(Drop(1).segments, 0) << "the last journal stays, and so does the only one";
  EXPECT_EQ(Numbers(Journal(holder.subject())), (Seqs{5, 6}));
  EXPECT_EQ(Journal(single.subject()).size(), 1u);
  // The holder goes on undisturbed, and whoever comes after it.
  MustCommit(holder, holder.Item());
  Holder next = Again(holder, session);
  const auto restored = Restore(next.subject(), next.claimed().snapshot, next.claimed().events, {});
  ASSERT_TRUE(restored.ok()) << restored.message();
  EXPECT_TRUE(MatchesHead(*restored, 7, next.claimed().head.chain, next.claimed().head.state_root));
}

TEST_P(SegmentConformance, StepsOfDroppedJournalsStayWhatTheyAre) {
  const WorkerSessionId session = Lasting();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(3);
  item.attempts = {Attempt("done"), Attempt("late"), Attempt("open")};
  item.completions = {Completion("done", 1, 2)};
  MustCommit(holder, item);
  MustCommit(holder, holder.RollingItem());
  Advance(2 * kAnHour);
  ASSERT_EQ(Drop().segments, 1);
  holder = Again(holder, session);
  EXPECT_EQ(holder.claimed().attempts.size(), 2u) << "those that are open";
  item = holder.Item();
  item.attempts = {Attempt("done", 2)};
  item.completions = {Completion("done", 2, item.base_seq + 1)};
  EXPECT_EQ(CommitKind(item), Outcome::kRejected) << "it completed in a journal that is gone";
  item = holder.Item();
  item.completions = {Completion("never", 1, item.base_seq + 1)};
  EXPECT_EQ(CommitKind(item), Outcome::kRejected) << "no attempt of it was ever made";
  item = holder.Item();
  item.completions = {Completion("late", 1, item.base_seq + 1)};
  MustCommit(holder, item);  // by an attempt of a journal that is gone
  auto attempts = queries().Attempts(holder.subject());
  ASSERT_TRUE(attempts.ok());
  std::map<std::string, bool> completed;
  for (const AttemptView& view : *attempts) completed[view.step_id] = view.completed_at.has_value();
  EXPECT_EQ(completed, (std::map<std::string, bool>{{"done", true}, {"late", true}, {"open", false}}));
}

TEST_P(SegmentConformance, WhatIsLockedOrQuarantinedIsPassedBy) {
  const WorkerSessionId session = Lasting();
  Holder locked = Rolled(session), damaged = Rolled(session);
  ASSERT_TRUE(store().Quarantine(damaged.subject(), session, damaged.token(), "corrupt", "the test says so"));
  Advance(2 * kAnHour);
  {
    const auto lock = harness().LockLease(locked.subject());
    EXPECT_EQ(Drop().segments, 0);
  }
  EXPECT_EQ(Drop().segments, 1);
  EXPECT_EQ(Journal(damaged.subject()).size(), 4u) << "its evidence stays";
  ASSERT_TRUE(store().ReleaseQuarantine(damaged.subject(), "somebody"));
  EXPECT_EQ(Drop().segments, 1);
}

TEST_P(SegmentConformance, ADirectCommandRollsToo) {
  const WorkerSessionId session = Lasting();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.waiting = Waiting{"person", std::nullopt};
  MustCommit(holder, item);
  auto outcome = store().Direct(holder.subject(), [&](const Claimed& claimed) -> Result<CommitItem> {
    EXPECT_EQ(claimed.head.journal_first, 1);
    return Holder(claimed, WorkerSessionId{}).RollingItem();
  });
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  ASSERT_EQ(outcome->kind, Outcome::kCommitted) << outcome->error;
  outcome = store().Direct(holder.subject(), [&](const Claimed& claimed) -> Result<CommitItem> {
    EXPECT_EQ(claimed.head.journal_first, 3);
    EXPECT_EQ(claimed.head.journal, JournalIdAt(claimed.subject, 3));
    EXPECT_EQ(Numbers(claimed.events), (Seqs{3, 4}));
    return Holder(claimed, WorkerSessionId{}).Item();
  });
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_EQ(outcome->kind, Outcome::kCommitted) << outcome->error;
  Advance(2 * kAnHour);
  EXPECT_EQ(Drop().events, 2);
}

// A chunk that only the closing snapshot has is kept for as long as the journal behind it.
TEST_P(SegmentConformance, ChunksOfAClosingSnapshotAreKeptAsLongAsItIs) {
  const auto put = [&](const std::string& bytes) {
    const std::pair<Hash256, std::string> content{Sha256(bytes), bytes};
    EXPECT_TRUE(store().PutContents({&content, 1}));
    return content.first;
  };
  const auto there = [&](const Hash256& hash) { return store().GetContent(hash).ok(); };
  const auto collect = [&] {
    Advance(2 * kAnHour);
    EXPECT_TRUE(store().CollectContents(kAnHour, {}, 100).ok());
  };
  const Hash256 closing = put("only at the end of the journal"), both = put("also later"), later = put("later");
  Holder holder = ClaimNew(Lasting());
  CommitItem item = holder.RollingItem();
  item.snapshot->inline_state.reset();
  item.snapshot->chunks = {closing, both};
  MustCommit(holder, item);
  for (const auto& chunks : std::vector<std::vector<Hash256>>{{both}, {later}, {later}, {later}}) {
    item = holder.Item();
    Snapshot snapshot;
    snapshot.id = NewUuid7();
    snapshot.last_event_seq = item.base_seq;
    snapshot.chain = holder.Item(0).chain;
    snapshot.chunks = chunks;
    item.snapshot = snapshot;
    MustCommit(holder, item);
  }
  collect();
  EXPECT_TRUE(there(closing) && there(both) && there(later));
  ASSERT_EQ(Drop().segments, 1) << "event 1: the journal behind it begins the kept ones, its closing snapshot stays";
  collect();
  EXPECT_TRUE(there(closing) && there(both) && there(later));
  MustCommit(holder, holder.RollingItem());
  Advance(2 * kAnHour);
  ASSERT_EQ(Drop().segments, 1);
  collect();
  EXPECT_FALSE(there(closing) || there(both) || there(later)) << "they were of states before the journal that is kept";
}

INSTANTIATE_TEST_SUITE_P(Stores, SegmentConformance, ::testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
