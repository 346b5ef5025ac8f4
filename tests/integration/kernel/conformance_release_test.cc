// Store conformance: keep, release, close against the wake-up counter; reading an unknown outcome back.
#include <gmock/gmock.h>

#include "shared/base/uuid7.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class ReleaseConformance : public StoreConformance {
 protected:
  CommitOutcome ReadBack(const CommitItem& item) {
    auto outcomes = store().ReadBack({&item, 1});
    EXPECT_TRUE(outcomes) << outcomes.error();
    return outcomes ? outcomes->at(0) : CommitOutcome{Outcome::kRejected, 0, {}};
  }
};

TEST_P(ReleaseConformance, AReleasedSubjectWaitsUntilSomethingWakesIt) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.waiting = Waiting{"person", std::nullopt};
  MustCommit(holder, item);
  EXPECT_TRUE(ClaimUpTo(session, 10).empty());
  SubjectView view = View(holder.subject());
  EXPECT_EQ(view.state, OpenState::kWaiting);
  EXPECT_EQ(view.waiting_reason, "person");
  EXPECT_FALSE(view.holder);
  EXPECT_EQ(view.token, holder.token()) << "release keeps the token";
  MustPost(NewPost(holder.subject()));
  Holder next = ClaimOne(session, holder.subject());
  EXPECT_GT(next.token(), holder.token());
  EXPECT_EQ(next.claimed().takeovers_without_progress, 0);
}

TEST_P(ReleaseConformance, AReleasePausedByAPersonShowsSo) {
  Holder holder = ClaimNew(Open());
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.waiting = Waiting{"paused", std::nullopt};
  MustCommit(holder, item);
  EXPECT_EQ(View(holder.subject()).state, OpenState::kPaused);
}

TEST_P(ReleaseConformance, ARequeueIsClaimableAtOnceOrFromItsTimeOn) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  MustCommit(holder, item);
  holder = ClaimOne(session, holder.subject());
  item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  item.not_before = holder.claimed().db_now + milliseconds(20'000);
  MustCommit(holder, item);
  EXPECT_TRUE(ClaimUpTo(session, 10).empty());
  Advance(milliseconds(20'001));
  ClaimOne(session, holder.subject());
}

TEST_P(ReleaseConformance, AReleaseIsRefusedOnceAnInputCameIn) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  PostAnswer posted = MustPost(NewPost(holder.subject()));
  EXPECT_EQ(posted.holder, session);
  CommitOutcome outcome = CommitOne(holder.Item(1, Disposition::kRelease));
  EXPECT_EQ(outcome.kind, Outcome::kMoved);
  EXPECT_EQ(outcome.wake, 1);
  EXPECT_EQ(Journal(holder.subject()).size(), 1u) << "refused whole";
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox);
  ASSERT_EQ(inbox->rows.size(), 1u);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.expected_wake = inbox->wake;
  item.consumed_inbox = {inbox->rows[0].id};
  MustCommit(holder, item);
  EXPECT_EQ(harness().UnreadInbox(holder.subject()), 0);
}

TEST_P(ReleaseConformance, ACloseIsRefusedOnceAnInputCameIn) {
  Holder holder = ClaimNew(Open());
  MustPost(NewPost(holder.subject()));
  EXPECT_EQ(CommitKind(holder.Item(1, Disposition::kClose)), Outcome::kMoved);
  EXPECT_EQ(View(holder.subject()).state, OpenState::kLeased);
  CommitItem item = holder.Item(1, Disposition::kClose);
  item.expected_wake = 1;
  MustCommit(holder, item);
  EXPECT_EQ(View(holder.subject()).state, OpenState::kClosed);
}

TEST_P(ReleaseConformance, AKeepingCommitIsToldOfTheInput) {
  Holder holder = ClaimNew(Open());
  CommitItem item = holder.Item();
  CommitOutcome outcome = CommitOne(item);
  EXPECT_EQ(outcome.kind, Outcome::kCommitted);
  EXPECT_EQ(outcome.wake, 0);
  holder.Landed(item);
  MustPost(NewPost(holder.subject()));
  MustPost(NewPost(holder.subject()));
  outcome = CommitOne(holder.Item());
  EXPECT_EQ(outcome.kind, Outcome::kCommitted);
  EXPECT_EQ(outcome.wake, 2);
}

TEST_P(ReleaseConformance, InputsAreConsumedByIdNeverUpTo) {
  Holder holder = ClaimNew(Open());
  InboxPost first = NewPost(holder.subject()), second = NewPost(holder.subject()), third = NewPost(holder.subject());
  for (const auto& post : {first, second, third}) MustPost(post);
  CommitItem item = holder.Item();
  item.consumed_inbox = {third.id, InboxId{NewUuid7()}};
  MustCommit(holder, item);
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox);
  ASSERT_EQ(inbox->rows.size(), 2u);
  EXPECT_EQ(inbox->rows[0].id, first.id);
  EXPECT_EQ(inbox->rows[1].id, second.id);
  EXPECT_EQ(inbox->wake, 3) << "consuming does not move the counter";
}

TEST_P(ReleaseConformance, AnotherSubjectsInputIsNotConsumed) {
  WorkerSessionId session = Open();
  Holder mine = ClaimNew(session), other = ClaimNew(session);
  InboxPost post = NewPost(other.subject());
  MustPost(post);
  CommitItem item = mine.Item();
  item.consumed_inbox = {post.id};
  CommitOne(item);
  EXPECT_EQ(harness().UnreadInbox(other.subject()), 1);
}

TEST_P(ReleaseConformance, AClosedSubjectTakesNothingMore) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  Close(holder);
  EXPECT_EQ(store().Post(NewPost(holder.subject())).code(), Code::kConflict);
  EXPECT_TRUE(ClaimUpTo(session, 10).empty());
  EXPECT_EQ(View(holder.subject()).token, holder.token()) << "close keeps the token";
}

// ---- reading back

TEST_P(ReleaseConformance, ReadBackTellsWhetherItLanded) {
  Holder holder = ClaimNew(Open());
  CommitItem item = holder.Item(2);
  EXPECT_EQ(ReadBack(item).kind, Outcome::kBusy) << "not landed, still mine: send again";
  MustPost(NewPost(holder.subject()));
  MustCommit(holder, item);
  CommitOutcome outcome = ReadBack(item);
  EXPECT_EQ(outcome.kind, Outcome::kCommitted);
  EXPECT_EQ(outcome.wake, 1) << "with the counter, as the lost answer had";
}

TEST_P(ReleaseConformance, ReadBackOfReleaseAndClose) {
  WorkerSessionId session = Open();
  for (Disposition disposition : {Disposition::kRelease, Disposition::kClose}) {
    for (int events : {0, 1}) {
      Holder holder = ClaimNew(session);
      CommitItem item = holder.Item(events, disposition);
      EXPECT_EQ(ReadBack(item).kind, Outcome::kBusy);
      MustCommit(holder, item);
      EXPECT_EQ(ReadBack(item).kind, Outcome::kCommitted) << "events " << events << ", disposition " << int(disposition);
    }
  }
}

TEST_P(ReleaseConformance, ReadBackAfterALossIsFenced) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item();
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  Holder next = ClaimOne(Open(), holder.subject());
  EXPECT_EQ(ReadBack(item).kind, Outcome::kFenced);
  CommitItem theirs = next.Item();
  MustCommit(next, theirs);
  EXPECT_EQ(ReadBack(item).kind, Outcome::kFenced) << "somebody else's event stands at my sequence number";
  EXPECT_EQ(ReadBack(theirs).kind, Outcome::kCommitted);
  CommitItem nowhere = next.Item();
  nowhere.subject = SubjectId{NewUuid7()};
  EXPECT_EQ(ReadBack(nowhere).kind, Outcome::kFenced);
}

TEST_P(ReleaseConformance, ReadBackAnswersItemByItem) {
  WorkerSessionId session = Open();
  Holder landed = ClaimNew(session), waiting = ClaimNew(session), lost = ClaimNew(session);
  CommitItem item = landed.Item();
  std::vector<CommitItem> items{item, waiting.Item(), lost.Item()};
  MustCommit(landed, item);
  ASSERT_TRUE(store().ReleaseLease(lost.subject(), session, lost.token()));
  auto outcomes = store().ReadBack(items);
  ASSERT_TRUE(outcomes) << outcomes.error();
  ASSERT_EQ(outcomes->size(), 3u);
  EXPECT_EQ(outcomes->at(0).kind, Outcome::kCommitted);
  EXPECT_EQ(outcomes->at(1).kind, Outcome::kBusy);
  EXPECT_EQ(outcomes->at(2).kind, Outcome::kFenced);
}

INSTANTIATE_TEST_SUITE_P(Stores, ReleaseConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
