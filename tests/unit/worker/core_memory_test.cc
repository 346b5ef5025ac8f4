// Not enough memory: the run that wanted it is given back and goes on a little later, and no other run is touched.
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
  std::shared_ptr<HungryKind> hungry = std::make_shared<HungryKind>(counter);
};

TEST_F(CoreMemory, ARunThatCannotBeDecidedOnIsGivenBackAndGoesOnLater) {
  const SubjectId one = Create({.steps = 2, .effects = "p"}), other = Create({.steps = 2, .effects = "p"});
  StartCore();
  ASSERT_EQ(core->held(), 2);
  hungry->refuse = 1;
  EndStep();
  Settle();
  EXPECT_EQ(core->held(), 1) << "the other one is still held";
  ASSERT_EQ(told.given_back.size(), 1u);
  EXPECT_NE(told.given_back[0].find("not enough memory"), std::string::npos);
  EXPECT_TRUE(told.sessions_lost.empty());
  EndAll();
  for (const SubjectId& subject : {one, other}) {
    EXPECT_TRUE(Look(subject).closed);
    EXPECT_EQ(Look(subject).completions.size(), 2u);
  }
  EXPECT_TRUE(told.quarantines.empty());
}

TEST_F(CoreMemory, ACommandThatWasNotCarriedOutIsAskedForAgain) {
  const SubjectId subject = Create({.steps = 2, .effects = "i"});
  StartCore();
  EndStep();
  const auto commit = Await<command::Commit>();
  NotCarriedOut(commit, clock.Steady())(*core, clock.Steady());
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
