// Which of the held subjects a round looks at: those that may have something to say, in turn, and those whose timer is due.
#include "worker/held_subjects.h"

#include <gtest/gtest.h>

#include "shared/base/uuid7.h"
#include "shared/kernel/fold.h"
#include "shared/kernel/memory_store.h"
#include "tests/support/counter_kind.h"
#include "tests/support/manual_clock.h"

namespace acl::test {
namespace {

class HeldSubjectsTest : public ::testing::Test {
 protected:
  HeldSubjectsTest() {
    SessionRequest request;
    request.ttl = milliseconds(60'000);
    session_ = store_.OpenSession(request)->session;
    context_.now = clock_.Wall();
    context_.free_slots = 4;
  }
  // Created, claimed and held.
  SubjectId Hold(const CounterOptions& options = {2, "i"}) {
    CreateItem item = kind_.MakeCreateItem(SubjectId{NewUuid7()}, options);
    EXPECT_TRUE(store_.Create({&item, 1}).ok());
    ClaimRequest claim;
    claim.session = session_;
    Claimed claimed = store_.Claim(claim)->claimed.at(0);
    auto restored =
        Restore(claimed.subject, claimed.snapshot, claimed.events, [&](const Hash256& hash) { return store_.GetContent(hash); });
    const SubjectId subject = claimed.subject;
    held_.Take(subject, std::make_unique<LeasedSubject>(std::move(claimed), std::move(*restored), kind_, session_, SubjectLimits{}));
    return subject;
  }
  std::vector<SubjectId> InTurn(const SubjectId& first = {}, bool all = false) {
    held_.Look(context_.now);
    std::vector<SubjectId> ids;
    for (const LeasedSubject* run : held_.InTurn(first, all)) ids.push_back(run->subject());
    return ids;
  }
  // Builds its item and commits it.
  std::vector<StepCall> Say(const SubjectId& subject) {
    LeasedSubject* run = held_.Change(subject);
    auto built = run->BuildItem(context_);
    EXPECT_TRUE(built.ok() && built->has_value());
    EXPECT_TRUE(InTurn().empty()) << "it waits for its commit";
    auto outcomes = store_.Commit({&**built, 1});
    run = held_.Change(subject);
    EXPECT_EQ(run->OnOutcome(outcomes->front()), LeasedSubject::After::kGoOn);
    return run->TakeStarts();
  }

  ManualClock clock_;
  MemoryStore store_{clock_};
  const CounterKind kind_;
  WorkerSessionId session_;
  BuildContext context_;
  HeldSubjects held_;
};

TEST_F(HeldSubjectsTest, WhoWaitsForAStepIsNotAskedUntilItEnds) {
  const SubjectId subject = Hold();
  EXPECT_EQ(InTurn(), std::vector{subject});
  EXPECT_EQ(held_.CountReady(context_, 5, false), 1u);
  const auto starts = Say(subject);
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_TRUE(InTurn().empty());
  EXPECT_EQ(held_.CountReady(context_, 5, false), 0u);
  EXPECT_EQ(InTurn({}, true), std::vector{subject}) << "all means all";
  held_.Change(subject)->OnStepDone(starts[0].step.step_id, starts[0].attempt_id, {});
  EXPECT_EQ(InTurn(), std::vector{subject});
}

TEST_F(HeldSubjectsTest, TurnsBeginWhereTheLastEnded) {
  std::vector<SubjectId> ids = {Hold(), Hold(), Hold()};
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(InTurn(), ids);
  EXPECT_EQ(InTurn(ids[1]), (std::vector{ids[1], ids[2], ids[0]}));
  EXPECT_EQ(InTurn(ids[1], true), (std::vector{ids[1], ids[2], ids[0]}));
  EXPECT_EQ(held_.CountReady(context_, 2, false), 2u) << "no more than asked for";
  held_.Erase(ids[1]);
  EXPECT_EQ(InTurn(ids[1]), (std::vector{ids[2], ids[0]}));
  EXPECT_EQ(held_.size(), 2u);
  EXPECT_EQ(held_.Change(ids[1]), nullptr);
}

TEST_F(HeldSubjectsTest, ATimerThatIsDueCounts) {
  const SubjectId subject = Hold();
  const auto starts = Say(subject);
  StepResult failed;
  failed.outcome = StepResult::Outcome::kFailed;
  failed.retryable = true;
  held_.Change(subject)->OnStepDone(starts.at(0).step.step_id, starts[0].attempt_id, failed);
  EXPECT_TRUE(Say(subject).empty()) << "it is tried again later";
  EXPECT_TRUE(InTurn().empty());
  const auto timer = held_.NextTimer();
  ASSERT_TRUE(timer);
  EXPECT_GT(*timer, context_.now);
  context_.now = *timer;
  EXPECT_EQ(InTurn(), std::vector{subject});
  held_.Erase(subject);
  EXPECT_FALSE(held_.NextTimer());
}

}  // namespace
}  // namespace acl::test
