// Named interleavings of outside inputs and timers with releasing and closing commits: no acknowledged input is ever lost.
#include "shared/postgres/connection.h"
#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {
namespace {

// Commits of one item and of several are made by other statements: everything runs in both ways.
class WakeIsolation : public IsolationTest, public ::testing::WithParamInterface<bool> {
 protected:
  WakeIsolation() { in_a_batch_ = GetParam(); }
  // Runs with a release and with a close: both prove the wake-up counter in the same way.
  void ForEachEnd(const std::function<void(Disposition)>& run) {
    for (Disposition end : {Disposition::kRelease, Disposition::kClose}) {
      SCOPED_TRACE(end == Disposition::kClose ? "close" : "release");
      run(end);
    }
  }
  Holder WithTimer() {
    Holder holder = ClaimNew(*a_, Open(*a_));
    CommitItem item = holder.Item();
    item.timers_set = {{"t", holder.claimed().db_now + milliseconds(1'000)}};
    EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
    holder.Landed(item);
    stage_->Advance(milliseconds(2'000));
    return holder;
  }
};

TEST_P(WakeIsolation, SignalLandsAfterTheCommitsSnapshot) {
  ForEachEnd([&](Disposition end) {
    Holder holder = ClaimNew(*a_, Open(*a_));
    CommitItem item = holder.Item(1, end);
    Gate gate(*stage_, "commit_snapshot_taken", *a_);
    auto commit = a_->Start(Committing(item));
    ASSERT_TRUE(gate.AwaitArrival());
    auto posted = b_->store().Post(NewPost(holder.subject()));  // acknowledged
    ASSERT_TRUE(posted) << posted.error();
    gate.Open();
    EXPECT_EQ(Kind(commit.get()), Outcome::kMoved);
    EXPECT_EQ(Unread(holder.subject()), 1);
    auto inbox = a_->store().ReadInbox(holder.subject(), holder.token());
    ASSERT_TRUE(inbox) << inbox.error();
    item.expected_wake = inbox->wake;
    item.consumed_inbox = {inbox->rows.at(0).id};
    EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
  });
}

TEST_P(WakeIsolation, SignalBeginsWhileTheCommitHasTheLease) {
  ForEachEnd([&](Disposition end) {
    Holder holder = ClaimNew(*a_, Open(*a_));
    Gate gate(*stage_, "commit_given", *a_);
    auto commit = a_->Start(Committing(holder.Item(1, end)));
    ASSERT_TRUE(gate.AwaitArrival());
    InboxPost post = NewPost(holder.subject());
    auto posted = b_->Start([post](KernelStore& store) { return store.Post(post); });
    ASSERT_TRUE(stage_->AwaitBlocked("b")) << "a post waits for the releasing or closing commit";
    gate.Open();
    EXPECT_EQ(Kind(commit.get()), Outcome::kCommitted);
    auto answer = posted.get();
    if (end == Disposition::kClose) {
      ASSERT_FALSE(answer) << "not acknowledged: the subject was closed before";
      EXPECT_EQ(answer.code(), Code::kConflict);
      EXPECT_EQ(Unread(holder.subject()), 0);
    } else {
      ASSERT_TRUE(answer) << answer.error();
      EXPECT_FALSE(answer->holder) << "released before: the post itself makes it ready";
      Claim(*b_, Open(*b_), holder.subject());
    }
  });
}

TEST_P(WakeIsolation, SignalIsInsertedButNotCommitted) {
  ForEachEnd([&](Disposition end) {
    Holder holder = ClaimNew(*a_, Open(*a_));
    Gate gate(*stage_, "post_woken", *b_);
    InboxPost post = NewPost(holder.subject());
    auto posted = b_->Start([post](KernelStore& store) { return store.Post(post); });
    ASSERT_TRUE(gate.AwaitArrival());
    EXPECT_EQ(CommitOne(*a_, holder.Item(1, end)), Outcome::kBusy) << "never waits for a poster";
    gate.Open();
    ASSERT_TRUE(posted.get());
    EXPECT_EQ(CommitOne(*a_, holder.Item(1, end)), Outcome::kMoved);
    CommitItem item = holder.Item(1, end);
    item.expected_wake = 1;
    item.consumed_inbox = {post.id};
    EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
  });
}

TEST_P(WakeIsolation, AKeepingCommitAndAWakeUpDoNotWaitForEachOther) {
  Holder holder = ClaimNew(*a_, Open(*a_));
  Gate gate(*stage_, "commit_proved", *a_);
  CommitItem item = holder.Item();
  auto commit = a_->Start(Committing(item));
  ASSERT_TRUE(gate.AwaitArrival());
  ASSERT_TRUE(b_->store().Post(NewPost(holder.subject()))) << "not behind the commit";
  gate.Open();
  EXPECT_EQ(Kind(commit.get()), Outcome::kCommitted);
  holder.Landed(item);
  EXPECT_EQ(CommitOne(*a_, holder.Item(1, Disposition::kRelease)), Outcome::kMoved);
  auto inbox = a_->store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox);
  EXPECT_EQ(inbox->rows.size(), 1u);
}

TEST_P(WakeIsolation, CancelAgainstReleaseWhoeverIsFirst) {
  // Cancel before the release's proof, beside it, and after it: it is always either moved or ready.
  for (const char* mark : {"commit_snapshot_taken", "commit_given"}) {
    SCOPED_TRACE(mark);
    Holder holder = ClaimNew(*a_, Open(*a_));
    CommitItem release = holder.Item(1, Disposition::kRelease);
    release.waiting = Waiting{"person", std::nullopt};
    Gate gate(*stage_, mark, *a_);
    auto commit = a_->Start(Committing(release));
    ASSERT_TRUE(gate.AwaitArrival());
    InboxPost cancel = NewPost(holder.subject(), "cancel");
    auto posted = b_->Start([cancel](KernelStore& store) { return store.Post(cancel); });
    bool beside = std::string(mark) == "commit_given";
    if (beside) {
      ASSERT_TRUE(stage_->AwaitBlocked("b"));
    } else {
      ASSERT_TRUE(posted.get());
    }
    gate.Open();
    Outcome kind = Kind(commit.get());
    EXPECT_EQ(kind, beside ? Outcome::kCommitted : Outcome::kMoved);
    if (beside) {
      ASSERT_TRUE(posted.get());
      Holder next = Claim(*b_, Open(*b_), holder.subject());
      ASSERT_EQ(next.claimed().inbox.size(), 1u);
      EXPECT_EQ(next.claimed().inbox[0].kind, "cancel");
    }
  }
}

TEST_P(WakeIsolation, TimerChosenThenTheSubjectCloses) {
  Holder holder = WithTimer();
  Gate gate(*stage_, "timers_chosen", *c_);
  auto fire = c_->Start([](KernelStore& store) { return store.FireTimers(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, holder.Item(1, Disposition::kClose)), Outcome::kCommitted);
  gate.Open();
  auto fired = fire.get();
  ASSERT_TRUE(fired) << fired.error();
  EXPECT_EQ(fired->fired, 0);
  EXPECT_EQ(Unread(holder.subject()), 0);
}

TEST_P(WakeIsolation, TimerHasTheLeaseWhenTheSubjectCloses) {
  Holder holder = WithTimer();
  Gate gate(*stage_, "timers_locked", *c_);
  auto fire = c_->Start([](KernelStore& store) { return store.FireTimers(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, holder.Item(1, Disposition::kClose)), Outcome::kBusy);
  gate.Open();
  ASSERT_EQ(fire.get()->fired, 1);
  EXPECT_EQ(CommitOne(*a_, holder.Item(1, Disposition::kClose)), Outcome::kMoved) << "it fired first: the holder must see it";
  EXPECT_EQ(Unread(holder.subject()), 1);
}

TEST_P(WakeIsolation, TimerComesWhileTheClosingCommitHasTheLease) {
  Holder holder = WithTimer();
  Gate gate(*stage_, "commit_given", *a_);
  auto commit = a_->Start(Committing(holder.Item(1, Disposition::kClose)));
  ASSERT_TRUE(gate.AwaitArrival());
  auto fired = c_->store().FireTimers(10);
  ASSERT_TRUE(fired) << fired.error();
  EXPECT_EQ(fired->fired, 0) << "passed by, never waited for";
  gate.Open();
  EXPECT_EQ(Kind(commit.get()), Outcome::kCommitted);
  EXPECT_EQ(c_->store().FireTimers(10)->fired, 0);
}

// As a keeping commit does that clears it: it proves with a lock that firing lets pass.
TEST_P(WakeIsolation, FiringPassesByATimerThatSomebodyIsClearing) {
  const Holder one = WithTimer(), other = WithTimer();
  pg::ConnectionSettings settings;
  settings.conninfo = stage_->db().conninfo();
  auto clearing = pg::Connection::Open(settings);
  ASSERT_TRUE(clearing && (*clearing)->Begin().ok());
  ASSERT_TRUE((*clearing)->RunScript("DELETE FROM timers WHERE subject_id = '" + one.subject().ToString() + "'"));
  auto fired = c_->store().FireTimers(10);
  ASSERT_TRUE(fired) << fired.error();
  EXPECT_EQ(fired->fired, 1);
  EXPECT_EQ(Unread(other.subject()), 1);
  (*clearing)->Rollback();
  EXPECT_EQ(c_->store().FireTimers(10)->fired, 1) << "it was not cleared after all";
  EXPECT_EQ(Unread(one.subject()), 1);
}

TEST_P(WakeIsolation, TwoFirersFireATimerOnce) {
  Holder holder = WithTimer();
  Gate gate(*stage_, "timers_chosen", *c_);
  auto first = c_->Start([](KernelStore& store) { return store.FireTimers(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(b_->store().FireTimers(10)->fired, 1);
  gate.Open();
  EXPECT_EQ(first.get()->fired, 0);
  EXPECT_EQ(Unread(holder.subject()), 1);
}

TEST_P(WakeIsolation, APostWaitsForADirectCommandAndIsNotLost) {
  SubjectId subject = Create(false);
  Gate gate(*stage_, "direct_locked", *a_);
  auto direct = a_->Start([subject](KernelStore& store) {
    return store.Direct(subject, [](const Claimed& claimed) -> Result<CommitItem> { return Holder(claimed, WorkerSessionId{}).Item(); });
  });
  ASSERT_TRUE(gate.AwaitArrival());
  InboxPost post = NewPost(subject);
  auto posted = b_->Start([post](KernelStore& store) { return store.Post(post); });
  ASSERT_TRUE(stage_->AwaitBlocked("b"));
  gate.Open();
  auto outcome = direct.get();
  ASSERT_TRUE(outcome) << outcome.error();
  EXPECT_EQ(outcome->kind, Outcome::kCommitted) << outcome->error;
  ASSERT_TRUE(posted.get());
  EXPECT_EQ(Claim(*b_, Open(*b_), subject).claimed().head.seq, 2);
}

INSTANTIATE_TEST_SUITE_P(Commits, WakeIsolation, ::testing::Bool(),
                         [](const auto& form) { return std::string(form.param ? "InABatch" : "Alone"); });

}  // namespace
}  // namespace acl::test
