// Store conformance: claim (docs/architecture.md#claim, docs/architecture.md#ready).
#include <gmock/gmock.h>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class ClaimConformance : public StoreConformance {};

TEST_P(ClaimConformance, OfNothingIsEmpty) {
  auto answer = store().Claim(Request(Open(), 10));
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_TRUE(answer->claimed.empty());
  EXPECT_EQ(answer->dropped, 0);
  EXPECT_EQ(answer->quarantined, 0);
  EXPECT_GT(MicrosOf(answer->db_now), 0);
}

TEST_P(ClaimConformance, RaisesTheTokenAndLeavesAHistoryRow) {
  CreateItem create = NewItem();
  auto created = store().Create({&create, 1});
  ASSERT_TRUE(created);
  WorkerSessionId session = Open();
  Holder holder = ClaimOne(session, create.subject);
  EXPECT_GT(holder.token(), created->at(0).token);
  const Claimed& claimed = holder.claimed();
  EXPECT_EQ(claimed.kind, "counter");
  EXPECT_EQ(claimed.queue, queue_);
  EXPECT_EQ(claimed.project, kDefaultProject);
  EXPECT_EQ(claimed.head.seq, 1);
  EXPECT_EQ(claimed.wake, 0);
  EXPECT_EQ(claimed.takeovers_without_progress, 0);
  EXPECT_FALSE(claimed.snapshot);
  ASSERT_EQ(claimed.events.size(), 1u);
  EXPECT_TRUE(Verify(claimed.events[0], ChainStart(create.subject)));
  EXPECT_EQ(claimed.events[0].chain, claimed.head.chain);
  EXPECT_TRUE(claimed.attempts.empty() && claimed.inbox.empty() && claimed.timers.empty());
  auto grants = queries().Grants(create.subject);
  ASSERT_TRUE(grants);
  ASSERT_EQ(grants->size(), 1u);
  EXPECT_EQ(grants->at(0).token, holder.token());
  EXPECT_EQ(grants->at(0).session, session);
  EXPECT_EQ(grants->at(0).head_seq, 1);
  EXPECT_EQ(grants->at(0).takeovers_without_progress, 0);
  SubjectView view = View(create.subject);
  EXPECT_EQ(view.state, OpenState::kLeased);
  EXPECT_EQ(view.holder, session);
  EXPECT_EQ(view.holder_name, "worker");
}

TEST_P(ClaimConformance, TwoClaimersNeverShare) {
  for (int i = 0; i < 5; ++i) Create();
  auto first = ClaimUpTo(Open(), 3), second = ClaimUpTo(Open(), 10);
  EXPECT_EQ(first.size(), 3u) << "never more than asked for";
  EXPECT_EQ(second.size(), 2u);
  for (const Claimed& a : first) {
    for (const Claimed& b : second) EXPECT_NE(a.subject, b.subject);
  }
}

// Leases first: what is in the subjects is read when they are held.
TEST_P(ClaimConformance, ContentsCanBeReadLater) {
  const WorkerSessionId before = Open();
  Holder worked = ClaimNew(before);
  CommitItem step = worked.Item(2);
  step.attempts = {Attempt("s")};
  step.timers_set = {{"t", WallTimeFromMicros(4'000'000'000'000'000)}};
  MustCommit(worked, step);
  ASSERT_TRUE(store().ReleaseLease(worked.subject(), before, worked.token()));
  const InboxPost first = NewPost(worked.subject(), "one");
  MustPost(first);
  const SubjectId fresh = Create();

  const WorkerSessionId session = Open();
  ClaimRequest request = Request(session, 10);
  request.contents_later = true;
  auto answer = store().Claim(request);
  ASSERT_TRUE(answer) << answer.error();
  std::vector<Claimed>& claimed = answer->claimed;
  ASSERT_EQ(claimed.size(), 2u);
  for (const Claimed& one : claimed) {
    EXPECT_TRUE(one.unread && one.events.empty() && one.inbox.empty() && one.timers.empty());
    EXPECT_EQ(View(one.subject).holder, session) << "the lease is held";
    EXPECT_EQ(queries().Grants(one.subject)->back().token, one.token);
  }
  const InboxPost second = NewPost(worked.subject(), "two");
  MustPost(second);
  const auto granted = claimed;
  ASSERT_TRUE(store().ReadClaimed(claimed));
  ASSERT_EQ(claimed.size(), 2u);
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    const Claimed& one = claimed[i];
    EXPECT_FALSE(one.unread);
    EXPECT_EQ(one.subject, granted[i].subject);
    EXPECT_EQ(one.token, granted[i].token);
    EXPECT_EQ(one.wake, granted[i].wake) << "of before what was read: who gives back over an unread input is told";
    EXPECT_EQ(one.db_now, granted[i].db_now);
    EXPECT_EQ(one.kind, "counter");
    EXPECT_EQ(one.queue, queue_);
    Hash256 chain = ChainStart(one.subject);
    for (const Event& event : one.events) {
      EXPECT_TRUE(Verify(event, chain));
      chain = event.chain;
    }
    EXPECT_EQ(chain, one.head.chain);
    if (one.subject == fresh) continue;
    EXPECT_EQ(one.head.seq, worked.seq());
    EXPECT_EQ(one.attempts.size(), 1u);
    EXPECT_EQ(one.timers.size(), 1u);
    ASSERT_EQ(one.inbox.size(), 2u);
    EXPECT_EQ(one.inbox[0].id, first.id);
    EXPECT_EQ(one.inbox[1].id, second.id);
  }
  // Who lost the lease meanwhile reads too, and is fenced.
  ExpireAndReap();
  Holder late(claimed[0], session);
  const WorkerSessionId other = Open();
  for (Claimed& again : ClaimUpTo(other, 10)) {
    Holder next(std::move(again), other);
    MustCommit(next, next.Item());
  }
  ASSERT_TRUE(store().ReadClaimed(claimed));
  EXPECT_EQ(claimed[0].head.seq, late.claimed().head.seq + 1);
  EXPECT_EQ(CommitKind(Holder(claimed[0], session).Item()), CommitOutcome::Kind::kFenced);
  EXPECT_EQ(CommitKind(late.Item()), CommitOutcome::Kind::kFenced);
  std::vector<Claimed> nobody(1);
  nobody[0].subject = SubjectId{NewUuid7()}, nobody[0].token = Token{1}, nobody[0].unread = true;
  ASSERT_TRUE(store().ReadClaimed(nobody));
  EXPECT_TRUE(nobody[0].unread);
}

TEST_P(ClaimConformance, AsksOnlyItsQueues) {
  CreateItem here = NewItem(), there = NewItem();
  there.queue = "elsewhere";
  Create(here);
  Create(there);
  WorkerSessionId session = Open();
  auto claimed = ClaimUpTo(session, 10);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].subject, here.subject);
  ClaimRequest request = Request(session, 10);
  request.queues = {"nowhere", "elsewhere"};
  auto answer = store().Claim(request);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->claimed.size(), 1u);
  EXPECT_EQ(answer->claimed[0].subject, there.subject);
}

TEST_P(ClaimConformance, TakesOnlyKindsItKnows) {
  CreateItem counter = NewItem(), project = NewItem();
  project.kind = "workflow";
  Create(counter);
  Create(project);
  ClaimRequest request = Request(Open(), 10);
  request.kinds = {"workflow"};
  auto answer = store().Claim(request);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->claimed.size(), 1u);
  EXPECT_EQ(answer->claimed[0].subject, project.subject);
  EXPECT_EQ(answer->dropped, 0) << "another kind's row stays for those who know it";
  request.kinds = {"other", "counter"};
  EXPECT_EQ(store().Claim(request)->claimed.size(), 1u);
}

TEST_P(ClaimConformance, TakesOnlyVersionsItKnows) {
  CreateItem newer = NewItem();
  newer.required_version = 2;
  Create(newer);
  WorkerSessionId session = Open();
  ClaimRequest request = Request(session);
  request.known_version = 1;
  auto answer = store().Claim(request);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->claimed.empty());
  EXPECT_EQ(answer->dropped, 0);
  request.known_version = 2;
  EXPECT_EQ(store().Claim(request)->claimed.size(), 1u);
}

TEST_P(ClaimConformance, AReleaseCanAskForANewerVersion) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  item.required_version = 3;
  MustCommit(holder, item);
  ClaimRequest request = Request(session);
  request.known_version = 2;
  EXPECT_TRUE(store().Claim(request)->claimed.empty());
  request.known_version = 3;
  EXPECT_EQ(store().Claim(request)->claimed.size(), 1u);
}

TEST_P(ClaimConformance, LowerPrioritiesGoLast) {
  std::vector<SubjectId> by_priority(4);
  for (int priority : {3, 1, 0, 2}) {
    CreateItem item = NewItem();
    item.priority = priority;
    by_priority[std::size_t(priority)] = Create(item);
  }
  WorkerSessionId session = Open();
  for (const SubjectId& expected : by_priority) {
    auto claimed = ClaimUpTo(session, 1);
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].subject, expected);
  }
}

TEST_P(ClaimConformance, AClosedSubjectsReadyRowIsDropped) {
  WorkerSessionId session = Open();
  CreateItem create = NewItem();
  create.make_ready = false;
  Create(create);
  MustPost(NewPost(create.subject));
  MustPost(NewPost(create.subject));  // perhaps a second ready row
  Holder holder = ClaimOne(session, create.subject);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  item.not_before = holder.claimed().db_now + milliseconds(5'000);
  MustCommit(holder, item);
  MustPost(NewPost(create.subject));  // one due now, one later
  holder = ClaimOne(session, create.subject);
  Close(holder);
  Advance(milliseconds(6'000));
  auto answer = store().Claim(Request(session, 10));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->claimed.empty());
  auto again = store().Claim(Request(session, 10));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->dropped, 0) << "dropped once, then gone";
  auto queues = queries().ReadyQueues();
  ASSERT_TRUE(queues);
  EXPECT_THAT(*queues, ::testing::Not(::testing::Contains(queue_)));
}

TEST_P(ClaimConformance, AHeldSubjectsReadyRowIsDropped) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  item.not_before = holder.claimed().db_now + milliseconds(5'000);
  MustCommit(holder, item);
  MustPost(NewPost(holder.subject()));
  holder = ClaimOne(session, holder.subject());
  Advance(milliseconds(6'000));
  EXPECT_TRUE(ClaimUpTo(Open(), 10).empty()) << "held by somebody";
  EXPECT_EQ(CommitKind(holder.Item()), Outcome::kCommitted) << "and the holder was not disturbed";
}

TEST_P(ClaimConformance, ReadsOpenAttemptsUnreadInputsAndTimers) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  InboxPost first = NewPost(holder.subject(), "one"), second = NewPost(holder.subject(), "two"), third = NewPost(holder.subject(), "three");
  MustPost(first);
  MustPost(second);
  MustPost(third);
  CommitItem item = holder.Item(2);
  item.attempts = {Attempt("done"), Attempt("open"), Attempt("open", 2)};
  item.completions = {Completion("done", 1, 2)};
  item.consumed_inbox = {second.id};
  item.timers_set = {{"later", WallTimeFromMicros(4'000'000'000'000'000)}};
  MustCommit(holder, item);
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  Holder next = ClaimOne(Open(), holder.subject());
  EXPECT_GT(next.token(), holder.token());
  const Claimed& claimed = next.claimed();
  EXPECT_EQ(claimed.head.seq, 3);
  EXPECT_EQ(claimed.head.chain, item.chain);
  EXPECT_EQ(claimed.events.size(), 3u);
  EXPECT_EQ(claimed.wake, 3);
  ASSERT_EQ(claimed.attempts.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(claimed.attempts[std::size_t(i)].step_id, "open");
    EXPECT_EQ(claimed.attempts[std::size_t(i)].attempt_id, i + 1);
    EXPECT_EQ(claimed.attempts[std::size_t(i)].token, holder.token());
  }
  ASSERT_EQ(claimed.inbox.size(), 2u);
  EXPECT_EQ(claimed.inbox[0].id, first.id);
  EXPECT_EQ(claimed.inbox[0].kind, "one");
  EXPECT_EQ(claimed.inbox[0].payload, first.payload);
  EXPECT_EQ(claimed.inbox[1].id, third.id);
  ASSERT_EQ(claimed.timers.size(), 1u);
  EXPECT_EQ(claimed.timers[0].timer_id, "later");
}

TEST_P(ClaimConformance, ReadsTheNewestSnapshotAndOnlyLaterEvents) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  for (int i = 0; i < 3; ++i) {
    CommitItem item = holder.Item(2);
    Snapshot snapshot;
    snapshot.id = NewUuid7();
    snapshot.last_event_seq = item.base_seq + 1;
    snapshot.chain = item.events[0].chain;
    snapshot.inline_state = "{}";
    item.snapshot = snapshot;
    MustCommit(holder, item);
    auto newest = queries().NewestSnapshot(holder.subject());
    ASSERT_TRUE(newest);
    ASSERT_TRUE(*newest);
    EXPECT_EQ((*newest)->id, snapshot.id);
  }
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  Holder next = ClaimOne(session, holder.subject());
  ASSERT_TRUE(next.claimed().snapshot);
  EXPECT_EQ(next.claimed().snapshot->last_event_seq, 6);
  EXPECT_EQ(next.claimed().snapshot->inline_state, "{}");
  ASSERT_EQ(next.claimed().events.size(), 1u);
  EXPECT_EQ(next.claimed().events[0].seq, 7);
  EXPECT_TRUE(Verify(next.claimed().events[0], next.claimed().snapshot->chain));
}

TEST_P(ClaimConformance, ASnapshotOfChunksComesBackInOrder) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item();
  Snapshot snapshot;
  snapshot.id = NewUuid7();
  snapshot.last_event_seq = 2;
  snapshot.chain = item.chain;
  std::vector<std::pair<Hash256, std::string>> contents;
  for (const char* text : {"zebra", "ant", "mule"}) contents.emplace_back(Sha256(text), text);
  for (const auto& content : contents) snapshot.chunks.push_back(content.first);
  ASSERT_TRUE(store().PutContents(contents));
  item.snapshot = snapshot;
  MustCommit(holder, item);
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  Holder next = ClaimOne(session, holder.subject());
  ASSERT_TRUE(next.claimed().snapshot);
  EXPECT_FALSE(next.claimed().snapshot->inline_state);
  EXPECT_EQ(next.claimed().snapshot->chunks, snapshot.chunks);
  EXPECT_TRUE(next.claimed().events.empty());
}

TEST_P(ClaimConformance, PassesALockedLeaseBy) {
  SubjectId locked = Create(), free = Create();
  WorkerSessionId session = Open();
  auto guard = harness().LockLease(locked);
  auto claimed = ClaimUpTo(session, 10);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].subject, free);
  guard.reset();
  ClaimOne(session, locked);  // its ready row stayed
}

INSTANTIATE_TEST_SUITE_P(Stores, ClaimConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
