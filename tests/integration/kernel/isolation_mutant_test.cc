// The isolation tests and the checkers have teeth: the same interleavings on SQL from which one safety rule was taken out must show
// the violation. Stage::Edit fails the test if the text to be taken out is not there.
#include "shared/base/sha256.h"
#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<Stage::Edit> OnEach(const std::vector<const char*>& statements, const std::string& from, const std::string& to) {
  std::vector<Stage::Edit> edits;
  for (const char* statement : statements) edits.push_back({statement, from, to});
  return edits;
}

// Every form that gives leases back.
std::vector<Stage::Edit> CloseWhateverCame() {
  const std::vector<const char*> forms{"commit.full", "commit.rows", "commit.ready", "commit.run", "commit.last"};
  auto edits = OnEach(forms, "AND g.now_wake = g.wake ", "");
  for (auto& edit : OnEach(forms, " AND l.wake = g.wake", "")) edits.push_back(edit);
  return edits;
}

class MutantIsolation : public IsolationTest {
 protected:
  void SetUp() override { expect_clean_ = false; }
  static std::vector<Stage::Edit> OnCommits(const std::string& from, const std::string& to) {
    return OnEach({"commit.full", "commit.rows", "commit.ready", "commit.run", "commit.keep", "commit.one", "commit.first", "commit.last"},
                  from, to);
  }
};

TEST_F(MutantIsolation, WithoutTheFenceAStaleHolderWrites) {
  auto edits = OnCommits("l.session_id IS NOT DISTINCT FROM i.session AND l.token = i.token AND l.state = 0 AS mine", "true AS mine");
  for (const bool in_a_batch : {false, true}) {
    SCOPED_TRACE(in_a_batch ? "in a batch" : "alone");
    in_a_batch_ = in_a_batch;
    Prepare(edits);
    Holder holder = ClaimNew(*a_, Open(*a_));
    Gate gate(*stage_, "commit_snapshot_taken", *a_);
    auto commit = a_->Start(Committing(holder.Item()));
    ASSERT_TRUE(gate.AwaitArrival());
    EXPECT_EQ(ExpireAndReap(), 1);
    Claim(*b_, Open(*b_), holder.subject());
    gate.Open();
    EXPECT_EQ(Kind(commit.get()), Outcome::kCommitted) << "the mutant lets the stale commit through";
    EXPECT_THAT(stage_->Violations(), Contains(HasSubstr("one writer per token")));
  }
}

TEST_F(MutantIsolation, AClaimInOneStatementMissesTheLastCommit) {
  // What is read is as the claim's own statement saw it, which began before it waited.
  std::vector<Stage::Edit> edits{{"read_granted", "LANGUAGE plpgsql", "LANGUAGE plpgsql STABLE"}};
  Prepare(edits);
  WorkerSessionId session = Open(*b_, milliseconds(6'000'000));
  Holder old = ClaimNew(*a_, Open(*a_));
  Gate gate(*stage_, "claim_session_locked", *b_);
  auto claim = b_->Start([session](KernelStore& store) { return store.Claim(Request(session)); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, old.Item()), Outcome::kCommitted);
  EXPECT_EQ(ExpireAndReap(), 1);
  stage_->Advance(milliseconds(60'000));
  gate.Open();
  auto answer = claim.get();
  ASSERT_TRUE(answer) << answer.error();
  ASSERT_EQ(answer->claimed.size(), 1u);
  EXPECT_GT(answer->claimed[0].token, old.token());
  EXPECT_EQ(answer->claimed[0].head.seq, 1) << "the mutant reads the subject as it was before the last commit";
  EXPECT_EQ(HeadSeq(old.subject()), 2);
}

TEST_F(MutantIsolation, WithoutTheWakeCheckAnAcknowledgedSignalIsLost) {
  for (const bool in_a_batch : {false, true}) {
    SCOPED_TRACE(in_a_batch ? "in a batch" : "alone");
    in_a_batch_ = in_a_batch;
    Prepare(CloseWhateverCame());
    Holder holder = ClaimNew(*a_, Open(*a_));
    Gate gate(*stage_, "commit_snapshot_taken", *a_);
    auto commit = a_->Start(Committing(holder.Item(1, Disposition::kClose)));
    ASSERT_TRUE(gate.AwaitArrival());
    ASSERT_TRUE(b_->store().Post(NewPost(holder.subject()))) << "acknowledged";
    gate.Open();
    EXPECT_EQ(Kind(commit.get()), Outcome::kCommitted) << "the mutant closes over it";
    EXPECT_THAT(stage_->Violations(), Contains(HasSubstr("acknowledged input that nobody read")));
  }
}

TEST_F(MutantIsolation, WithoutTheWakeCheckAReleasedSubjectSleepsOnItsSignal) {
  Prepare(CloseWhateverCame());
  Holder holder = ClaimNew(*a_, Open(*a_));
  ASSERT_TRUE(b_->store().Post(NewPost(holder.subject())));
  EXPECT_EQ(CommitOne(*a_, holder.Item(1, Disposition::kRelease)), Outcome::kCommitted);
  EXPECT_THAT(stage_->Violations(), Contains(HasSubstr("nothing wakes it")));
}

TEST_F(MutantIsolation, ARenewalThatDoesNotLockFirstRevivesADeadSession) {
  Prepare({{"heartbeat_session", "PERFORM 1 FROM worker_sessions s WHERE s.session_id = p_session FOR NO KEY UPDATE;", ""},
           {"heartbeat_session", "v_now := clock_timestamp();", "v_now := clock_timestamp(); -- before the lock wait"}});
  WorkerSessionId session = Open(*a_, milliseconds(3'000));
  auto lock = std::make_unique<HeldLock>(stage_->db().conninfo(), "SELECT 1 FROM worker_sessions FOR UPDATE");
  auto beat = a_->Start([session](KernelStore& store) { return store.Heartbeat(session, milliseconds(60'000)); });
  ASSERT_TRUE(stage_->AwaitBlocked("a"));
  stage_->db().Exec("SELECT pg_sleep_until(expires_at + interval '1 millisecond') FROM worker_sessions");
  lock.reset();
  EXPECT_TRUE(beat.get()) << "the mutant renews what was over";
}

TEST_F(MutantIsolation, AGrantThatDoesNotLockItsSessionIsNeverReaped) {
  Prepare({{"lock_live_session", "s.dead_at IS NULL FOR KEY SHARE", "s.dead_at IS NULL"}});
  Create();
  WorkerSessionId session = Open(*a_);
  Gate gate(*stage_, "claim_session_locked", *a_);
  auto claim = a_->Start([session](KernelStore& store) { return store.Claim(Request(session)); });
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(ExpireAndReap(), 0);
  gate.Open();
  ASSERT_EQ(claim.get()->claimed.size(), 1u) << "the mutant grants to a dead session";
  EXPECT_THAT(stage_->Violations(), Contains(HasSubstr("nobody frees it")));
}

TEST_F(MutantIsolation, AGrantWithTheCreateThatDoesNotLockItsSessionIsNeverReaped) {
  const std::pair<MadeBy, const char*> forms[] = {
      {MadeBy::kPlain, "create.plain"}, {MadeBy::kKeyed, "create.keyed"}, {MadeBy::kFunction, "create_and_grant"}};
  for (const auto& [form, where] : forms) {
    Prepare({{where, "ORDER BY x.session_id FOR KEY SHARE", "ORDER BY x.session_id"}});
    const WorkerSessionId session = Open(*a_);
    const CreateItem item = GrantedItem(session, form);
    Gate gate(*stage_, "create_sessions_locked", *a_);
    auto create = a_->Start([item](KernelStore& store) { return store.Create({&item, 1}); });
    ASSERT_TRUE(gate.AwaitArrival());
    EXPECT_EQ(ExpireAndReap(), 0);
    gate.Open();
    EXPECT_TRUE(create.get()->at(0).granted) << "the mutant grants to a dead session";
    EXPECT_THAT(stage_->Violations(), Contains(HasSubstr("nobody frees it")));
  }
}

// The engine, the fence and the expected head refuse it before; this is the last one who does.
TEST_F(MutantIsolation, WithoutItsKeyAStepIsCompletedTwice) {
  // In the event's row, or, as its time is another, in a row of its own.
  for (const auto& form : {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
    const bool with_key = form.first, in_event = form.second;
    Prepare({});
    if (!with_key)
      stage_->db().Exec("DROP INDEX journal_rows_completed; ALTER TABLE other_completions DROP CONSTRAINT other_completions_pkey");
    Holder holder = ClaimNew(*a_, Open(*a_));
    const auto complete = [&](int attempt, std::int64_t seq) {
      CommitItem item = holder.Item();
      const WallTime at = in_event ? item.events.back().timestamp : WallTimeFromMicros(1'795'305'600'000'000);
      item.attempts = {{"step", attempt, Token{}, at}};
      item.completions = {{"step", attempt, at, Sha256("step"), seq}};
      const auto answer = a_->store().Commit({&item, 1});
      EXPECT_TRUE(answer) << answer.error();
      const Outcome outcome = answer ? answer->front().kind : Outcome::kBusy;
      if (outcome == Outcome::kCommitted) holder.Landed(item);
      return outcome;
    };
    EXPECT_EQ(complete(1, 2), Outcome::kCommitted);
    EXPECT_EQ(stage_->db().Count("SELECT count(*) FROM other_completions"), in_event ? 0 : 1);
    EXPECT_EQ(complete(2, 3), with_key ? Outcome::kRejected : Outcome::kCommitted);
    const auto found = stage_->Violations();
    EXPECT_EQ(found.size(), with_key ? 0u : 1u);
    if (!with_key) {
      EXPECT_THAT(found, Contains(HasSubstr("a step is completed more than once")));
    }
  }
}

}  // namespace
}  // namespace acl::test
