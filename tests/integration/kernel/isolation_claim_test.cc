// Named interleavings of claims, sessions and reaps. Those of creates: isolation_create_test.cc.
#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {
namespace {

class ClaimIsolation : public IsolationTest {
 protected:
  auto Claiming(const WorkerSessionId& session, int max = 1) {
    return [session, max](KernelStore& store) { return store.Claim(Request(session, max)); };
  }
};

TEST_F(ClaimIsolation, RenewalOfAnExpiredSessionIsRefusedAfterALockWait) {
  // The renewal starts in time and waits for the row, which is locked but not changed; meanwhile the session expires.
  WorkerSessionId session = Open(*a_, milliseconds(1'500));
  auto lock = std::make_unique<HeldLock>(stage_->db().conninfo(), "SELECT 1 FROM worker_sessions FOR UPDATE");
  auto beat = a_->Start([session](KernelStore& store) { return store.Heartbeat(session, milliseconds(60'000)); });
  ASSERT_TRUE(stage_->AwaitBlocked("a"));
  // Waits for the database's clock to pass the end of the session.
  stage_->db().Exec("SELECT pg_sleep_until(expires_at + interval '1 millisecond') FROM worker_sessions");
  lock.reset();
  auto answer = beat.get();
  ASSERT_FALSE(answer) << "a dead lease was renewed";
  EXPECT_EQ(answer.code(), Code::kLeaseLost);
}

TEST_F(ClaimIsolation, TheClaimsStatementIsOlderThanTheHoldersLastCommit) {
  // b's claim begins (its statement has its snapshot), a commits once more and loses the lease, then b gets it.
  WorkerSessionId old_session = Open(*a_), session = Open(*b_, milliseconds(6'000'000));
  Holder old = ClaimNew(*a_, old_session);
  Gate gate(*stage_, "claim_session_locked", *b_);
  auto claim = b_->Start(Claiming(session));
  ASSERT_TRUE(gate.AwaitArrival());
  CommitItem last = old.Item(1);
  last.attempts = {{"step", 1, Token{}, last.last_timestamp}};
  last.completions = {{"step", 1, last.last_timestamp, Hash256{}, 2}};
  EXPECT_EQ(CommitOne(*a_, last), Outcome::kCommitted);
  old.Landed(last);
  EXPECT_EQ(ExpireAndReap(), 1);
  stage_->Advance(milliseconds(60'000));  // the claim read the clock before: the ready row must be due for it
  gate.Open();
  auto answer = claim.get();
  ASSERT_TRUE(answer) << answer.error();
  ASSERT_EQ(answer->claimed.size(), 1u);
  EXPECT_EQ(answer->claimed[0].head.seq, 2) << "the old holder's last commit is missing: its effect would be repeated";
  EXPECT_EQ(answer->claimed[0].events.size(), 2u);
  EXPECT_TRUE(answer->claimed[0].attempts.empty());
  Holder next(answer->claimed[0], session);
  EXPECT_EQ(CommitOne(*b_, next.Item()), Outcome::kCommitted);
}

TEST_F(ClaimIsolation, TheClaimHasTheReadyRowWhenADirectCommandAppends) {
  SubjectId subject = Create();
  WorkerSessionId session = Open(*b_);
  Gate gate(*stage_, "claim_ready_locked", *b_);
  auto claim = b_->Start(Claiming(session));
  ASSERT_TRUE(gate.AwaitArrival());
  auto direct =
      a_->store().Direct(subject, [](const Claimed& claimed) -> Result<CommitItem> { return Holder(claimed, WorkerSessionId{}).Item(3); });
  ASSERT_TRUE(direct) << direct.error();
  gate.Open();
  auto answer = claim.get();
  ASSERT_TRUE(answer) << answer.error();
  ASSERT_EQ(answer->claimed.size(), 1u);
  EXPECT_EQ(answer->claimed[0].head.seq, 4);
  EXPECT_EQ(answer->claimed[0].events.size(), 4u);
}

TEST_F(ClaimIsolation, TwoClaimersGetDifferentSubjects) {
  for (const char* mark : {"claim_ready_locked", "claim_leases_locked", "claim_token_raised"}) {
    SCOPED_TRACE(mark);
    SubjectId first = Create();
    WorkerSessionId one = Open(*a_), two = Open(*b_);
    Gate gate(*stage_, mark, *a_);
    auto claim = a_->Start(Claiming(one));
    ASSERT_TRUE(gate.AwaitArrival());
    EXPECT_TRUE(b_->store().Claim(Request(two, 10))->claimed.empty()) << "passed by, never waited for";
    SubjectId second = Create();
    Claim(*b_, two, second);
    gate.Open();
    auto answer = claim.get();
    ASSERT_TRUE(answer) << answer.error();
    ASSERT_EQ(answer->claimed.size(), 1u);
    EXPECT_EQ(answer->claimed[0].subject, first);
  }
}

TEST_F(ClaimIsolation, AClaimBesideTheReapOfItsSession) {
  SubjectId subject = Create();
  WorkerSessionId session = Open(*a_);
  Gate gate(*stage_, "claim_session_locked", *a_);
  auto claim = a_->Start(Claiming(session));
  ASSERT_TRUE(gate.AwaitArrival());
  // The session's time is over, but a grant stands beside it: it is not declared dead under the claim.
  stage_->Advance(milliseconds(700'000));
  auto reaped = c_->store().Reap(10);
  ASSERT_TRUE(reaped) << reaped.error();
  EXPECT_EQ(reaped->sessions_died, 0);
  gate.Open();
  ASSERT_EQ(claim.get()->claimed.size(), 1u);
  EXPECT_EQ(ExpireAndReap(), 1) << "what was granted is freed by the next reap";
  Claim(*b_, Open(*b_), subject);
}

TEST_F(ClaimIsolation, AClaimBehindTheReapOfItsSessionIsRefused) {
  Create();
  WorkerSessionId session = Open(*a_);
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_session_locked", *c_);
  auto reap = c_->Start([](KernelStore& store) { return store.Reap(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  auto claim = a_->Start(Claiming(session));
  ASSERT_TRUE(stage_->AwaitBlocked("a")) << "a grant waits for the marking";
  gate.Open();
  EXPECT_EQ(reap.get()->sessions_died, 1);
  auto answer = claim.get();
  ASSERT_FALSE(answer) << "a dead session was granted a lease that nobody would reap";
  EXPECT_EQ(answer.code(), Code::kLeaseLost);
}

TEST_F(ClaimIsolation, AHeartbeatBehindTheReapOfItsSessionIsRefused) {
  WorkerSessionId session = Open(*a_);
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_session_locked", *c_);
  auto reap = c_->Start([](KernelStore& store) { return store.Reap(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  auto beat = a_->Start([session](KernelStore& store) { return store.Heartbeat(session, milliseconds(60'000)); });
  ASSERT_TRUE(stage_->AwaitBlocked("a"));
  gate.Open();
  EXPECT_EQ(reap.get()->sessions_died, 1);
  EXPECT_EQ(beat.get().code(), Code::kLeaseLost);
}

TEST_F(ClaimIsolation, TwoReapersFreeALeaseOnce) {
  WorkerSessionId session = Open(*a_);
  Holder holder = ClaimNew(*a_, session);
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_chosen", *c_);
  auto first = c_->Start([](KernelStore& store) { return store.Reap(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(b_->store().Reap(10)->leases_freed, 1);
  Holder next = Claim(*b_, Open(*b_), holder.subject());
  gate.Open();
  EXPECT_EQ(first.get()->leases_freed, 0) << "it has a new, living holder";
  EXPECT_EQ(CommitOne(*b_, next.Item()), Outcome::kCommitted);
}

TEST_F(ClaimIsolation, TwoProcessesAskForTheSameJob) {
  WorkerSessionId one = Open(*a_), two = Open(*b_);
  Gate gate(*stage_, "leader_lease_locked", *a_);
  ASSERT_TRUE(*b_->store().HoldLeaderLease("reaper", two, milliseconds(1'000)));
  stage_->Advance(milliseconds(2'000));
  auto take = a_->Start([one](KernelStore& store) { return store.HoldLeaderLease("reaper", one, milliseconds(60'000)); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_FALSE(*b_->store().HoldLeaderLease("reaper", two, milliseconds(60'000))) << "another process is taking it";
  gate.Open();
  auto taken = take.get();
  ASSERT_TRUE(taken) << taken.error();
  EXPECT_TRUE(*taken);
}

}  // namespace
}  // namespace acl::test
