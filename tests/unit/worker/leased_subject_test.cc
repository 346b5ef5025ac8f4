#include "worker/leased_subject.h"

#include <gtest/gtest.h>

#include "shared/base/uuid7.h"
#include "shared/kernel/fold.h"
#include "shared/kernel/memory_store.h"
#include "tests/support/counter_kind.h"
#include "tests/support/manual_clock.h"

namespace acl::test {
namespace {

class LeasedSubjectTest : public ::testing::Test {
 protected:
  // A run of the counter's kind, claimed.
  void SetUp() override {
    CreateItem item = kind_.MakeCreateItem(SubjectId{NewUuid7()}, {1, "p", true});
    ASSERT_TRUE(store_.Create(std::span(&item, 1)).ok());
    SessionRequest request;
    request.ttl = milliseconds(60'000);
    auto session = store_.OpenSession(request);
    ASSERT_TRUE(session.ok()) << session.message();
    ClaimRequest claim;
    claim.session = session->session;
    auto answer = store_.Claim(claim);
    ASSERT_TRUE(answer.ok() && answer->claimed.size() == 1u);
    Claimed claimed = answer->claimed.front();
    auto restored =
        Restore(claimed.subject, claimed.snapshot, claimed.events, [&](const Hash256& hash) { return store_.GetContent(hash); });
    ASSERT_TRUE(restored.ok()) << restored.message();
    SubjectLimits limits;
    limits.hold_wait = milliseconds(0);
    context_.now = claimed.db_now;
    context_.free_slots = 1;
    run_.emplace(std::move(claimed), *restored, kind_, session->session, limits);
  }
  // The inbox rows that its next item consumes, if it has one; it lands.
  std::vector<InboxId> Consumes() {
    auto built = run_->BuildItem(context_);
    EXPECT_TRUE(built.ok()) << built.message();
    if (!built || !*built) return {};
    CommitOutcome landed;
    landed.kind = CommitOutcome::Kind::kCommitted;
    run_->OnOutcome(landed);
    return (*built)->consumed_inbox;
  }

  ManualClock clock_;
  MemoryStore store_{clock_};
  CounterKind kind_;
  BuildContext context_;
  std::optional<LeasedSubject> run_;
};

// A database that went back (an asynchronous failover) has a lower wake-up counter than the holder has read. What it reads now counts: else
// every release would be `moved`, for ever.
TEST_F(LeasedSubjectTest, ReleasesUnderTheCounterItReadLast) {
  run_->OnInbox({{}, 1});
  run_->OnInbox({{}, 0});
  for (int i = 0; i < 10; ++i) {
    auto built = run_->BuildItem(context_);
    ASSERT_TRUE(built.ok()) << built.message();
    if (*built && (*built)->disposition == Disposition::kRelease) {
      EXPECT_EQ((*built)->expected_wake, 0);
      return;
    }
    if (*built) {
      auto outcomes = store_.Commit(std::span(&**built, 1));
      ASSERT_TRUE(outcomes.ok()) << outcomes.message();
      ASSERT_EQ(run_->OnOutcome(outcomes->front()), LeasedSubject::After::kGoOn);
    }
    for (const StepCall& call : run_->TakeStarts()) {
      StepResult result;
      result.outputs = Json{{"add", 1}};
      run_->OnStepDone(call.step.step_id, call.attempt_id, result);
    }
  }
  FAIL() << "it never waited";
}

// An answer that was read before the consuming item landed still shows the row; one that was asked for afterwards shows it only if the
// database has lost that item.
TEST_F(LeasedSubjectTest, ConsumesAgainWhatAFailoverBroughtBack) {
  Consumes();  // what it began with
  InboxRow row;
  row.id = InboxId{NewUuid7()};
  row.kind = "timer";
  row.payload = "{}";
  run_->BeginReadingInbox();
  run_->OnInbox({{row}, 1});
  EXPECT_EQ(Consumes(), std::vector{row.id});
  run_->OnInbox({{row}, 1});
  EXPECT_TRUE(Consumes().empty()) << "asked for before";
  run_->BeginReadingInbox();
  run_->OnInbox({{row}, 1});
  EXPECT_EQ(Consumes(), std::vector{row.id});
  run_->OnInbox({{row}, 1});
  EXPECT_TRUE(Consumes().empty());
}

// What was said while a run was in quarantine may end it: the journal tells of the release first.
TEST_F(LeasedSubjectTest, HearsOfItsReleaseBeforeWhatWasSaidMeanwhile) {
  Consumes();
  std::vector<InboxRow> rows;
  for (const char* kind : {"signal", "quarantine_released", "signal", "quarantine_released"}) {
    InboxRow& row = rows.emplace_back();
    row.id = InboxId{NewUuid7()};
    row.kind = kind;
    row.payload = "{}";
  }
  run_->OnInbox({rows, 4});
  EXPECT_EQ(Consumes(), (std::vector{rows[1].id, rows[3].id, rows[0].id, rows[2].id}));
}

}  // namespace
}  // namespace acl::test
