// Items whose payloads are too large for a row: stored first, committed then; what is slow or away delays their subjects only.
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreAside : public CoreBench {
 protected:
  CoreAside() { config.apart_bytes = 100; }
  // A new subject whose first step has ended and is not committed yet.
  SubjectId RunOneStep() {
    const SubjectId subject = Create(CounterOptions{.steps = 1, .effects = "p"});
    Live(milliseconds(500));
    EndStep();
    return subject;
  }
};

TEST_F(CoreAside, ALargePayloadIsStoredBeforeItsItemIsCommitted) {
  StartCore();
  const SubjectId subject = RunOneStep();
  const auto stash = Await<command::Stash>();
  EXPECT_EQ(stash.subject, subject);
  ASSERT_FALSE(stash.contents.empty());
  Live(milliseconds(500));
  EXPECT_EQ(Look(subject).head.seq, 1) << "nothing is committed before";
  ASSERT_TRUE(memory.PutContents(stash.contents));
  core->OnStashed(clock.Steady(), subject, stash.token, Status());
  Live(milliseconds(500));
  ASSERT_GT(Look(subject).head.seq, 1);
  EXPECT_TRUE(Look(subject).events[1].apart);
  EXPECT_EQ(Look(subject).events[1].content_hash, stash.contents[0].first);
}

TEST_F(CoreAside, AnUnreachableStoreIsTriedAgain) {
  StartCore();
  for (int i = 0; i < 3; ++i) store.FailNext("PutContents", FaultyStore::Fault::kUnavailable);
  const SubjectId subject = RunOneStep();
  Live(milliseconds(10'000));
  EXPECT_GT(Look(subject).head.seq, 1);
  EXPECT_EQ(std::count(told.unavailable.begin(), told.unavailable.end(), std::string(call::kStoreLarge)), 3);
}

TEST_F(CoreAside, OtherSubjectsDoNotWait) {
  StartCore();
  const SubjectId slow = RunOneStep();
  const auto stash = Await<command::Stash>();  // and never answered
  EXPECT_EQ(stash.subject, slow);
  const SubjectId other = RunOneStep();
  Live(milliseconds(2'000));
  EXPECT_GT(Look(other).head.seq, 1);
  EXPECT_EQ(Look(slow).head.seq, 1);
}

TEST_F(CoreAside, ARunWhoseContentsAreAwayIsNotClaimedAgainAtOnce) {
  const SubjectId subject = Create(CounterOptions{.steps = 40, .effects = "p"});
  StartCore();
  for (int i = 0; i < 2; ++i) {
    Live(milliseconds(300));
    ASSERT_FALSE(steps.empty());
    EndStep();
  }
  Live(milliseconds(300));
  core->Drain(clock.Steady());
  EndStep();
  Live(milliseconds(5'000));
  ASSERT_TRUE(core->finished());
  store.contents_away = true;  // in the store its payloads lie apart
  const std::size_t grants = Look(subject).grants.size();
  told.given_back.clear();
  StartCore();
  Live(milliseconds(2'000));
  EXPECT_EQ(Look(subject).grants.size(), grants + 1) << "each claim writes";
  ASSERT_EQ(told.given_back.size(), 1u);
  Live(milliseconds(4'000));
  EXPECT_EQ(Look(subject).grants.size(), grants + 2) << "and is made again some seconds later";
  store.contents_away = false;
  Live(milliseconds(6'000));
  EXPECT_EQ(core->held(), 1);
}

}  // namespace
}  // namespace acl::test
