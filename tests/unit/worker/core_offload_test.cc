// Items whose payloads are too large for a row: stored first, committed then; what is slow or away delays their subjects only.
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreOffload : public CoreBench {
 protected:
  CoreOffload() { config.offload_bytes = 100; }
  // A new subject whose first step has ended and is not committed yet.
  SubjectId RunOneStep() {
    const SubjectId subject = Create(CounterOptions{.steps = 1, .effects = "p"});
    Live(milliseconds(500));
    EndStep();
    return subject;
  }
};

TEST_F(CoreOffload, ALargePayloadIsStoredBeforeItsItemIsCommitted) {
  StartCore();
  const SubjectId subject = RunOneStep();
  const auto store_payloads = Await<command::StorePayloads>();
  EXPECT_EQ(store_payloads.subject, subject);
  ASSERT_FALSE(store_payloads.contents.empty());
  Live(milliseconds(500));
  EXPECT_EQ(Look(subject).head.seq, 1) << "nothing is committed before";
  ASSERT_TRUE(memory.PutContents(store_payloads.contents));
  core->OnOffloaded(clock.Steady(), subject, store_payloads.token, Status());
  Live(milliseconds(500));
  ASSERT_GT(Look(subject).head.seq, 1);
  EXPECT_TRUE(Look(subject).events[1].offloaded);
  EXPECT_EQ(Look(subject).events[1].content_hash, store_payloads.contents[0].first);
}

TEST_F(CoreOffload, AnUnreachableStoreIsTriedAgain) {
  StartCore();
  for (int i = 0; i < 3; ++i) store.FailNext("PutContents", FaultyStore::Fault::kUnavailable);
  const SubjectId subject = RunOneStep();
  Live(milliseconds(10'000));
  EXPECT_GT(Look(subject).head.seq, 1);
  EXPECT_EQ(std::count(told.unavailable.begin(), told.unavailable.end(), std::string(call::kStoreLarge)), 3);
}

TEST_F(CoreOffload, OtherSubjectsDoNotWait) {
  StartCore();
  const SubjectId slow = RunOneStep();
  const auto store_payloads = Await<command::StorePayloads>();  // and never answered
  EXPECT_EQ(store_payloads.subject, slow);
  const SubjectId other = RunOneStep();
  Live(milliseconds(2'000));
  EXPECT_GT(Look(other).head.seq, 1);
  EXPECT_EQ(Look(slow).head.seq, 1);
}

TEST_F(CoreOffload, ARunWhoseContentsAreAwayIsNotClaimedAgainAtOnce) {
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
  told.released.clear();
  StartCore();
  Live(milliseconds(2'000));
  EXPECT_EQ(Look(subject).grants.size(), grants + 1) << "each claim writes";
  ASSERT_EQ(told.released.size(), 1u);
  Live(milliseconds(4'000));
  EXPECT_EQ(Look(subject).grants.size(), grants + 2) << "and is made again some seconds later";
  store.contents_away = false;
  Live(milliseconds(6'000));
  EXPECT_EQ(core->held(), 1);
}

}  // namespace
}  // namespace acl::test
