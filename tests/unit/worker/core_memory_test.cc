// Not enough memory: the run that wanted it is released and goes on a little later, and no other run is touched.
#include <gmock/gmock.h>

#include <new>

#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

// Decides as the kind below it, but for as many times as it is told.
class HungryKind final : public SubjectKind {
 public:
  explicit HungryKind(std::shared_ptr<const SubjectKind> below) : below_(std::move(below)) {}

  std::string_view Name() const override { return below_->Name(); }
  Decision Decide(const Document& state, const Input& input, WallTime now) const override {
    if (refuse > 0 && std::holds_alternative<StepFinishedInput>(input)) {
      --refuse;
      throw std::bad_alloc();
    }
    return below_->Decide(state, input, now);
  }
  Delta Evolve(const Document& state, const EventDraft& draft) const override { return below_->Evolve(state, draft); }
  Next WhatNext(const Document& state, const NextContext& context) const override { return below_->WhatNext(state, context); }

  mutable int refuse = 0;

 private:
  const std::shared_ptr<const SubjectKind> below_;
};

class CoreMemory : public CoreBench {
 protected:
  CoreMemory() { kinds.Add(hungry); }
  void EndAll() {
    for (int round = 0; round < 200; ++round) {
      while (!steps.empty()) EndStep();
      Settle();
      Advance(milliseconds(100));
      Settle();
    }
  }
  // Until its next claim is due.
  milliseconds PauseOf(const SubjectId& subject) {
    for (const auto& row : memory.Ready()) {
      if (row.subject == subject) return std::chrono::duration_cast<milliseconds>(row.ready_at - clock.Wall());
    }
    ADD_FAILURE() << "nothing will claim it";
    return {};
  }
  void PostCancel(const SubjectId& subject) {
    ASSERT_TRUE(memory.Post({subject, InboxId{ids.Make()}, "cancel", "{}", std::nullopt}));
    Live(milliseconds(1'000));
  }
  std::shared_ptr<HungryKind> hungry = std::make_shared<HungryKind>(counter);
};

TEST_F(CoreMemory, ARunThatCannotBeDecidedOnIsReleasedAndGoesOnLater) {
  const SubjectId one = Create({.steps = 2, .effects = "p"}), other = Create({.steps = 2, .effects = "p"});
  StartCore();
  ASSERT_EQ(core->held(), 2);
  hungry->refuse = 1;
  EndStep();
  Settle();
  EXPECT_EQ(core->held(), 1) << "the other one is still held";
  ASSERT_EQ(told.released.size(), 1u);
  EXPECT_NE(told.released[0].find("not enough memory"), std::string::npos);
  EXPECT_TRUE(told.sessions_lost.empty());
  EndAll();
  for (const SubjectId& subject : {one, other}) {
    EXPECT_TRUE(Look(subject).closed);
    EXPECT_EQ(Look(subject).completions.size(), 2u);
  }
  EXPECT_TRUE(told.quarantines.empty());
}

TEST_F(CoreMemory, ARunThatDoesNotFitSaysSoAndIsTriedMoreAndMoreSeldom) {
  const SubjectId subject = Create({.steps = 1, .effects = "p"});
  store.starves = true;
  StartCore();
  milliseconds last{0};
  for (int n = 0; n < 12; ++n) {
    EXPECT_EQ(Look(subject).waiting.value_or(Waiting{}).reason, "memory");
    const milliseconds pause = PauseOf(subject);
    EXPECT_GE(pause, last);
    last = pause;
    Advance(pause);
    Live(milliseconds(1'000));
  }
  EXPECT_GT(last, milliseconds(200'000));
  EXPECT_LE(last, kMostMemoryPause);
  EXPECT_THAT(told.released.back(), testing::HasSubstr("MiB"));
  EXPECT_TRUE(told.quarantines.empty());
  store.starves = false;
  Advance(last);
  Live(milliseconds(1'000));
  EndAll();
  EXPECT_TRUE(Look(subject).closed);
}

TEST_F(CoreMemory, ACancelOfARunThatDoesNotFitComesToAPerson) {
  const SubjectId subject = Create({.steps = 1, .effects = "p"});
  store.starves = true;
  StartCore();
  PostCancel(subject);
  EXPECT_FALSE(Look(subject).quarantined()) << "there may be memory in a moment";
  for (int n = 0; n < 3; ++n) {
    Advance(MemoryPause(n + 1));
    Live(milliseconds(1'000));
  }
  ASSERT_TRUE(Look(subject).quarantined());
  ASSERT_EQ(told.quarantines.size(), 1u);
  EXPECT_THAT(told.quarantines[0], testing::AllOf(testing::HasSubstr("its cancel waits"), testing::HasSubstr("quarantine release")));
}

TEST_F(CoreMemory, ADecisionThatNeverFitsIsTriedMoreAndMoreSeldomAndItsCancelComesToAPerson) {
  const SubjectId subject = Create({.steps = 2, .effects = "p"});
  StartCore();
  hungry->refuse = 1'000;
  for (int n = 1; n <= 4; ++n) {
    ASSERT_FALSE(steps.empty());
    EndStep();
    Settle();
    EXPECT_EQ(Look(subject).waiting.value_or(Waiting{}).reason, "memory");
    EXPECT_NEAR(double(PauseOf(subject).count()), double(MemoryPause(n).count()), 500.0);
    Advance(PauseOf(subject));
    Live(milliseconds(1'000));
  }
  ASSERT_FALSE(steps.empty());
  ASSERT_TRUE(memory.Post({subject, InboxId{ids.Make()}, "cancel", "{}", std::nullopt}));
  core->OnSubjectHint(clock.Steady(), subject);
  EndStep();
  Settle();
  EXPECT_TRUE(Look(subject).quarantined());
}

TEST_F(CoreMemory, WhatCannotBeReadTogetherIsReadOneByOne) {
  config.claim_batch = 2;
  std::vector<SubjectId> all;
  for (int n = 0; n < 6; ++n) all.push_back(Create({.steps = 1, .effects = "p"}));
  const SubjectId large = all[4];
  store.too_large = {large};
  StartCore();
  EndAll();
  for (const SubjectId& subject : all) {
    EXPECT_EQ(Look(subject).closed, subject != large);
    EXPECT_EQ(Look(subject).quarantined(), subject == large);
  }
}

TEST_F(CoreMemory, ACommandThatWasNotCarriedOutIsAskedForAgain) {
  const SubjectId subject = Create({.steps = 2, .effects = "i"});
  StartCore();
  EndStep();
  const auto commit = Await<command::Commit>();
  NotExecuted(commit, clock.Steady())(*core, clock.Steady());
  EndAll();
  EXPECT_TRUE(Look(subject).closed);
  EXPECT_EQ(Look(subject).completions.size(), 2u);
}

TEST_F(CoreMemory, AfterAllWasLetGoOfANewSessionGoesOn) {
  const SubjectId subject = Create({.steps = 2, .effects = "p"});
  StartCore();
  core->LoseAll(clock.Steady(), "for want of memory");
  EXPECT_EQ(core->held(), 0);
  steps.clear();
  Advance(kTtl + milliseconds(100));
  ASSERT_TRUE(memory.Reap(10).ok());
  Settle();
  EndAll();
  EXPECT_TRUE(Look(subject).closed);
  EXPECT_EQ(told.sessions_lost.size(), 1u);
}

}  // namespace
}  // namespace acl::test
