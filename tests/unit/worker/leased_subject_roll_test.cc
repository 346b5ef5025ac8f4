// A leased subject whose journal ends: the snapshot that closes it is waited for, and the next item begins the next journal.
#include <gtest/gtest.h>

#include "shared/base/uuid7.h"
#include "shared/journal/segment.h"
#include "shared/kernel/memory_store.h"
#include "tests/support/counter_kind.h"
#include "tests/support/manual_clock.h"
#include "worker/leased_subject.h"

namespace acl::test {
namespace {

class LeasedSubjectRolls : public ::testing::Test {
 protected:
  static constexpr std::int64_t kEvents = 6;

  void SetUp() override {
    CreateItem item = kind_.MakeCreateItem(SubjectId{NewUuid7()}, {50, "p"});
    subject_ = item.subject;
    ASSERT_TRUE(store_.Create(std::span(&item, 1)).ok());
    SessionRequest request;
    request.ttl = milliseconds(60'000);
    auto session = store_.OpenSession(request);
    ASSERT_TRUE(session.ok()) << session.message();
    session_ = session->session;
    Claim();
  }
  void Claim() {
    ClaimRequest claim;
    claim.session = session_;
    auto answer = store_.Claim(claim);
    ASSERT_TRUE(answer.ok() && answer->claimed.size() == 1u);
    Claimed claimed = answer->claimed.front();
    auto restored =
        Restore(claimed.subject, claimed.snapshot, claimed.events, [&](const Hash256& hash) { return store_.GetContent(hash); });
    ASSERT_TRUE(restored.ok()) << restored.message();
    SubjectLimits limits;
    limits.hold_wait = milliseconds(0);
    limits.segment_events = kEvents;
    context_.now = claimed.db_now;
    context_.free_slots = 1;
    run_.emplace(std::move(claimed), *restored, kind_, session_, limits);
  }
  // Its next item. A pure step begins without one, and is done at once.
  std::optional<CommitItem> Item() {
    for (int n = 0; n < 2; ++n) {
      auto built = run_->BuildItem(context_);
      EXPECT_TRUE(built.ok()) << built.message();
      if (!built || *built) return built ? std::move(*built) : std::nullopt;
      DoStarts();
    }
    return std::nullopt;
  }
  void DoStarts() {
    for (const StepCall& call : run_->TakeStarts()) {
      StepResult result;
      result.outputs = Json{{"add", 1}};
      run_->OnStepDone(call.step.step_id, call.attempt_id, result);
    }
  }
  CommitOutcome Send(const CommitItem& item) {
    auto outcomes = store_.Commit(std::span(&item, 1));
    EXPECT_TRUE(outcomes.ok()) << outcomes.message();
    EXPECT_TRUE(outcomes->front().error.empty()) << outcomes->front().error;
    run_->OnOutcome(outcomes->front());
    DoStarts();
    return outcomes->front();
  }
  // Until a snapshot is due, which it then is for the end of the journal.
  LeasedSubject::SnapshotJob GoOnToTheEnd() {
    for (int n = 0; n < 100; ++n) {
      if (auto job = run_->TakeSnapshotJob(context_.now)) return std::move(*job);
      auto item = Item();
      EXPECT_TRUE(item);
      if (!item) break;
      Send(*item);
    }
    ADD_FAILURE() << "no snapshot was due";
    return {};
  }
  static Snapshot Made(const LeasedSubject::SnapshotJob& job) {
    EncodedSnapshot encoded = EncodeSnapshot(job.state, job.last_event_seq, job.chain);
    encoded.snapshot.id = NewUuid7();
    encoded.snapshot.created_at = job.taken_at;
    return std::move(encoded.snapshot);
  }
  Head HeadNow() { return store_.Inspect(subject_)->head; }

  ManualClock clock_;
  MemoryStore store_{clock_};
  CounterKind kind_;
  SubjectId subject_;
  WorkerSessionId session_;
  BuildContext context_;
  std::optional<LeasedSubject> run_;
};

TEST_F(LeasedSubjectRolls, NothingIsSaidBeforeTheSnapshotIsThere) {
  const auto job = GoOnToTheEnd();
  EXPECT_EQ(job.last_event_seq, HeadNow().seq);
  EXPECT_GE(job.last_event_seq, kEvents);
  EXPECT_FALSE(run_->Ready(context_)) << "it would be ahead of the snapshot";
  BuildContext now_or_never = context_;
  now_or_never.release_now = true;
  EXPECT_TRUE(run_->Ready(now_or_never));
  run_->OnSnapshot(Made(job));
  EXPECT_TRUE(run_->Ready(context_));
  const auto item = Item();
  ASSERT_TRUE(item);
  ASSERT_TRUE(item->begins_journal);
  EXPECT_GT(item->events.size(), 1u) << "what was to be said goes with it";
  EXPECT_EQ(item->events.front().type, kJournalRolled);
  ASSERT_TRUE(item->snapshot);
  EXPECT_EQ(item->snapshot->last_event_seq, job.last_event_seq);
  EXPECT_EQ(Send(*item).kind, CommitOutcome::Kind::kCommitted);
  EXPECT_EQ(HeadNow().journal_first, job.last_event_seq + 1);
  EXPECT_FALSE(run_->TakeSnapshotJob(context_.now)) << "it has only begun";
  const auto next = GoOnToTheEnd();
  EXPECT_GE(next.last_event_seq, job.last_event_seq + kEvents);
}

TEST_F(LeasedSubjectRolls, WithoutItsSnapshotAJournalGoesOn) {
  GoOnToTheEnd();
  run_->SnapshotFailed();
  const JournalId before = HeadNow().journal;
  for (int n = 0; n < 20; ++n) {
    EXPECT_FALSE(run_->TakeSnapshotJob(context_.now)) << "not again and again while the contents are away";
    const auto item = Item();
    ASSERT_TRUE(item);
    EXPECT_FALSE(item->begins_journal);
    Send(*item);
  }
  EXPECT_EQ(HeadNow().journal, before);
}

TEST_F(LeasedSubjectRolls, AReleaseThatIsRefusedBeginsTheSameJournalAgain) {
  const auto job = GoOnToTheEnd();
  run_->OnSnapshot(Made(job));
  InboxPost post{subject_, InboxId{NewUuid7()}, "signal", "{}", std::nullopt};
  ASSERT_TRUE(store_.Post(post));
  context_.draining = context_.release_now = true;
  auto item = Item();
  ASSERT_TRUE(item && item->begins_journal);
  EXPECT_EQ(item->disposition, Disposition::kRelease);
  EXPECT_EQ(Send(*item).kind, CommitOutcome::Kind::kMoved);
  auto view = store_.ReadInbox(subject_, run_->token());
  ASSERT_TRUE(view.ok());
  run_->OnInbox(*view);
  const auto again = Item();
  ASSERT_TRUE(again && again->begins_journal);
  EXPECT_EQ(*again->begins_journal, *item->begins_journal) << "whoever decides it again says the same";
  EXPECT_EQ(Send(*again).kind, CommitOutcome::Kind::kCommitted);
  EXPECT_EQ(HeadNow().journal_first, job.last_event_seq + 1);
}

TEST_F(LeasedSubjectRolls, WhoeverTakesItOverGoesOnInTheSameJournal) {
  const auto job = GoOnToTheEnd();
  run_->OnSnapshot(Made(job));
  auto item = Item();
  ASSERT_TRUE(item);
  Send(*item);
  ASSERT_TRUE(store_.ReleaseLease(subject_, session_, run_->token()));
  Claim();
  item = Item();
  ASSERT_TRUE(item);
  for (const Event& event : item->events) EXPECT_EQ(event.journal, HeadNow().journal);
  EXPECT_EQ(Send(*item).kind, CommitOutcome::Kind::kCommitted);
  const auto next = GoOnToTheEnd();
  EXPECT_GE(next.last_event_seq, job.last_event_seq + kEvents);
  EXPECT_LE(next.last_event_seq, job.last_event_seq + kEvents + 2);
}

// A snapshot that was taken for its own sake is not of the head when it comes: no journal ends behind it.
TEST_F(LeasedSubjectRolls, ASnapshotOfBeforeTheHeadEndsNoJournal) {
  const auto job = GoOnToTheEnd();
  BuildContext drop = context_;
  drop.release_now = true;  // it could not wait
  auto built = run_->BuildItem(drop);
  ASSERT_TRUE(built.ok() && *built);
  ASSERT_FALSE((*built)->events.empty());
  CommitItem kept = **built;
  kept.disposition = Disposition::kKeep;
  CommitOutcome landed;
  landed.kind = CommitOutcome::Kind::kCommitted;
  run_->OnSnapshot(Made(job));
  run_->OnOutcome(landed);
  const auto item = Item();
  if (item) {
    EXPECT_FALSE(item->begins_journal);
  }
}

}  // namespace
}  // namespace acl::test
