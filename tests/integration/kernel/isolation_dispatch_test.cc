// Named interleavings of a dispatch's ends with each other, with its taking, and with the lease of its run changing hands: it is granted
// once and exactly one of result, loss and withdrawal becomes an inbox row.
#include "shared/kernel/dispatch.h"
#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {
namespace {

class DispatchIsolation : public IsolationTest {
 protected:
  static CommitItem Offering(const Holder& holder, Disposition disposition) {
    CommitItem item = holder.Item(1, disposition);
    item.attempts = {{"a", 1, Token{}, holder.claimed().db_now}};
    item.dispatches = {{"a", 1, "default", 1, "{}", std::nullopt}};
    if (disposition == Disposition::kRelease) item.waiting = Waiting{"dispatch", std::nullopt};
    return item;
  }
  // Given back with a dispatch out.
  SubjectId Offered() {
    Holder holder = ClaimNew(*a_, Open(*a_));
    EXPECT_EQ(CommitOne(*a_, Offering(holder, Disposition::kRelease)), Outcome::kCommitted);
    return holder.subject();
  }
  Holder Holding() {
    Holder holder = ClaimNew(*a_, Open(*a_));
    CommitItem item = Offering(holder, Disposition::kKeep);
    EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
    holder.Landed(item);
    return holder;
  }
  static ClaimRequest Taking(const WorkerSessionId& session) {
    ClaimRequest request = Request(session, 10);
    request.kinds = {"dispatch"};
    request.max_dispatches = 10;
    return request;
  }
  ClaimedDispatch Take(Actor& actor) {
    auto answer = actor.store().Claim(Taking(Open(actor)));
    if (!answer || answer->dispatches.size() != 1) {
      ADD_FAILURE() << "no dispatch: " << (answer ? "" : answer.message());
      return {};
    }
    return answer->dispatches[0];
  }
  static auto Finishing(const ClaimedDispatch& dispatch) {
    return [report = DispatchReport{dispatch.id, dispatch.token, "done", R"({"outcome":"succeeded"})"}](KernelStore& store) {
      return store.FinishDispatch(report);
    };
  }
  static CommitItem WantedBack(const Holder& holder) {
    CommitItem item = holder.Item();
    item.dispatches_cancelled = {{"a", 1}};
    return item;
  }
  std::string State(const SubjectId& subject) {
    return stage_->db().Query("SELECT state FROM dispatches WHERE subject_id = '" + subject.ToString() + "'").at(0).at(0).value_or("");
  }
  // Time runs out for every session; answers how many dispatches are lost.
  int LoseAll() {
    stage_->Advance(milliseconds(700'000));
    auto reaped = c_->store().Reap(100);
    EXPECT_TRUE(reaped) << reaped.error();
    return reaped ? reaped->dispatches_lost : -1;
  }
};

TEST_F(DispatchIsolation, AResultUnderWayIsNotLost) {
  const SubjectId subject = Offered();
  ClaimedDispatch dispatch = Take(*b_);
  Gate gate(*stage_, "dispatch_lease_raised", *b_);
  auto finish = b_->Start(Finishing(dispatch));
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(LoseAll(), 0) << "its lease is locked: passed by";
  gate.Open();
  ASSERT_TRUE(finish.get());
  EXPECT_EQ(LoseAll(), 0);
  EXPECT_EQ(State(subject), "done");
  EXPECT_EQ(Unread(subject), 1);
}

TEST_F(DispatchIsolation, AResultBehindALossIsRefused) {
  const SubjectId subject = Offered();
  ClaimedDispatch dispatch = Take(*b_);
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_leases_locked", *c_);
  auto reap = c_->Start([](KernelStore& store) { return store.Reap(100); });
  ASSERT_TRUE(gate.AwaitArrival());
  auto finish = b_->Start(Finishing(dispatch));
  ASSERT_TRUE(stage_->AwaitBlocked("b")) << "it waits for the lease, not for the dispatch";
  gate.Open();
  EXPECT_EQ(reap.get()->dispatches_lost, 1);
  EXPECT_EQ(finish.get().code(), Code::kLeaseLost);
  EXPECT_EQ(State(subject), "lost");
  EXPECT_EQ(Unread(subject), 1);
}

TEST_F(DispatchIsolation, AFrozenWorkersResultIsRefusedThoughItLookedAtARunningDispatch) {
  const SubjectId subject = Offered();
  ClaimedDispatch dispatch = Take(*b_);
  Gate gate(*stage_, "dispatch_found", *b_);
  auto finish = b_->Start(Finishing(dispatch));
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(LoseAll(), 1);
  gate.Open();
  EXPECT_EQ(finish.get().code(), Code::kLeaseLost);
  EXPECT_EQ(State(subject), "lost");
  EXPECT_EQ(Unread(subject), 1);
}

TEST_F(DispatchIsolation, TheSameResultTwiceAtOnceIsTakenOnce) {
  const SubjectId subject = Offered();
  ClaimedDispatch dispatch = Take(*b_);
  Gate gate(*stage_, "dispatch_lease_raised", *b_);
  auto first = b_->Start(Finishing(dispatch));
  ASSERT_TRUE(gate.AwaitArrival());
  auto second = c_->Start(Finishing(dispatch));
  ASSERT_TRUE(stage_->AwaitBlocked("c"));
  gate.Open();
  EXPECT_FALSE(first.get()->replayed);
  auto again = second.get();
  ASSERT_TRUE(again) << again.error();
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(Unread(subject), 1);
}

TEST_F(DispatchIsolation, ACancelBesideAResultChangesNothing) {
  Holder holder = Holding();
  ClaimedDispatch dispatch = Take(*b_);
  Gate gate(*stage_, "dispatch_lease_raised", *b_);
  auto finish = b_->Start(Finishing(dispatch));
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, WantedBack(holder)), Outcome::kCommitted) << "a keeping commit never waits for a poster";
  auto settled = a_->store().ReapDispatches(holder.subject(), 10);
  ASSERT_TRUE(settled) << settled.error();
  EXPECT_EQ(settled->withdrawn, 0);
  gate.Open();
  ASSERT_TRUE(finish.get());
  EXPECT_EQ(State(holder.subject()), "done");
  EXPECT_EQ(Unread(holder.subject()), 1);
}

TEST_F(DispatchIsolation, ACancelBeforeTheGrantIsSeenByIt) {
  Holder holder = Holding();
  const WorkerSessionId taker = Open(*b_);
  Gate gate(*stage_, "claim_ready_locked", *b_);
  auto claim = b_->Start([taker](KernelStore& store) { return store.Claim(Taking(taker)); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, WantedBack(holder)), Outcome::kCommitted);
  gate.Open();
  auto answer = claim.get();
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_TRUE(answer->dispatches.empty());
  EXPECT_EQ(answer->dropped, 1);
  EXPECT_EQ(a_->store().ReapDispatches(holder.subject(), 10)->withdrawn, 1);
  EXPECT_EQ(Unread(holder.subject()), 1);
}

TEST_F(DispatchIsolation, AWithdrawalPassesByATaskThatIsBeingGranted) {
  Holder holder = Holding();
  const WorkerSessionId taker = Open(*b_);
  Gate gate(*stage_, "claim_dispatches_locked", *b_);
  auto claim = b_->Start([taker](KernelStore& store) { return store.Claim(Taking(taker)); });
  ASSERT_TRUE(gate.AwaitArrival());
  auto wanted = a_->Start(Committing(WantedBack(holder)));
  ASSERT_TRUE(stage_->AwaitBlocked("a")) << "the flag waits for the grant";
  EXPECT_EQ(c_->store().ReapDispatches(holder.subject(), 10)->withdrawn, 0);
  gate.Open();
  auto answer = claim.get();
  ASSERT_TRUE(answer) << answer.error();
  ASSERT_EQ(answer->dispatches.size(), 1u);
  EXPECT_EQ(Kind(wanted.get()), Outcome::kCommitted);
  EXPECT_EQ(c_->store().ReapDispatches(holder.subject(), 10)->withdrawn, 0) << "its taker says how it ends";
  auto heard = b_->store().Heartbeat(taker, milliseconds(600'000));
  ASSERT_TRUE(heard) << heard.error();
  EXPECT_EQ(heard->unwanted.size(), 1u);
  EXPECT_TRUE(Finishing(answer->dispatches[0])(b_->store()));
  EXPECT_EQ(Unread(holder.subject()), 1);
}

TEST_F(DispatchIsolation, TwoTakersOneGrant) {
  const SubjectId subject = Offered();
  const WorkerSessionId first = Open(*b_), second = Open(*c_);
  // A second row, as if the offer had been made twice: what decides is the dispatch's own state.
  stage_->db().Exec(
      "INSERT INTO ready SELECT queue, priority, shard, ready_at - interval '1 ms', subject_id, kind, required_version FROM ready WHERE "
      "kind = "
      "'dispatch'");
  Gate gate(*stage_, "claim_dispatches_locked", *b_);
  auto claim = b_->Start([first](KernelStore& store) {
    ClaimRequest request = Taking(first);
    request.max = request.max_dispatches = 1;
    return store.Claim(request);
  });
  ASSERT_TRUE(gate.AwaitArrival());
  auto other = c_->store().Claim(Taking(second));
  ASSERT_TRUE(other) << other.error();
  EXPECT_TRUE(other->dispatches.empty()) << "locked: passed by, not waited for";
  gate.Open();
  EXPECT_EQ(claim.get()->dispatches.size(), 1u);
  other = c_->store().Claim(Taking(second));
  ASSERT_TRUE(other) << other.error();
  EXPECT_TRUE(other->dispatches.empty());
  EXPECT_EQ(other->dropped, 1);
  EXPECT_EQ(State(subject), "started");
}

TEST_F(DispatchIsolation, AGrantBesideTheReapOfItsSessionIsLostAndNotForgotten) {
  const SubjectId subject = Offered();
  const WorkerSessionId taker = Open(*b_, milliseconds(1'000));
  Gate gate(*stage_, "claim_dispatches_locked", *b_);
  auto claim = b_->Start([taker](KernelStore& store) { return store.Claim(Taking(taker)); });
  ASSERT_TRUE(gate.AwaitArrival());
  stage_->db().Exec("UPDATE worker_sessions SET expires_at = expires_at - interval '2 s' WHERE session_id = '" + taker.ToString() + "'");
  auto reaped = c_->store().Reap(100);  // its session is locked by the grant: passed by
  ASSERT_TRUE(reaped) << reaped.error();
  EXPECT_EQ(reaped->sessions_died, 0);
  gate.Open();
  ASSERT_TRUE(claim.get());
  reaped = c_->store().Reap(100);
  ASSERT_TRUE(reaped) << reaped.error();
  EXPECT_EQ(reaped->dispatches_lost, 1);
  EXPECT_EQ(State(subject), "lost");
}

TEST_F(DispatchIsolation, AResultWhileTheRunIsClaimedReachesTheNewHolder) {
  Holder old = Holding();
  ClaimedDispatch dispatch = Take(*c_);
  EXPECT_EQ(a_->store().ReleaseLease(old.subject(), old.Item().session, old.token()).ok(), true);
  const WorkerSessionId next = Open(*b_);
  Gate gate(*stage_, "claim_leases_locked", *b_);
  auto claim = b_->Start([next](KernelStore& store) { return store.Claim(Request(next)); });
  ASSERT_TRUE(gate.AwaitArrival());
  auto finish = c_->Start(Finishing(dispatch));
  ASSERT_TRUE(stage_->AwaitBlocked("c"));
  gate.Open();
  auto answer = claim.get();
  ASSERT_TRUE(answer && answer->claimed.size() == 1u);
  auto finished = finish.get();
  ASSERT_TRUE(finished) << finished.error();
  EXPECT_EQ(finished->holder, next);
  Holder holder(answer->claimed[0], next);
  EXPECT_EQ(CommitOne(*b_, holder.Item(1, Disposition::kRelease)), Outcome::kMoved) << "no release past a result that was not read";
  EXPECT_EQ(CommitOne(*a_, old.Item()), Outcome::kFenced);
  EXPECT_EQ(Unread(old.subject()), 1);
}

TEST_F(DispatchIsolation, AResultBehindARelease) {
  Holder holder = Holding();
  ClaimedDispatch dispatch = Take(*b_);
  Gate gate(*stage_, "commit_given", *a_);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.waiting = Waiting{"dispatch", std::nullopt};
  auto commit = a_->Start(Committing(item));
  ASSERT_TRUE(gate.AwaitArrival());
  auto finish = b_->Start(Finishing(dispatch));
  ASSERT_TRUE(stage_->AwaitBlocked("b"));
  gate.Open();
  EXPECT_EQ(Kind(commit.get()), Outcome::kCommitted);
  auto finished = finish.get();
  ASSERT_TRUE(finished) << finished.error();
  EXPECT_FALSE(finished->holder) << "the result itself makes the run ready";
  EXPECT_EQ(Claim(*c_, Open(*c_), holder.subject()).claimed().inbox.size(), 1u);
}

}  // namespace
}  // namespace acl::test
