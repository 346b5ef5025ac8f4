// Store conformance: what has begun goes first (docs/architecture.md#begun-first), by both ways of claiming. How many new runs start before
// it is counted, never timed.
#include <gmock/gmock.h>

#include <set>

#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

// One look in four takes what is new first. So many in a row do so in one of 10^14 runs of this test.
constexpr int kMostNewInARow = 24;

class BegunConformance : public StoreConformance {
 protected:
  // A run that began, held by a session; behind it `backlog` new runs wait.
  Holder BeginBefore(int backlog, const WorkerSessionId& session) {
    Holder holder = ClaimNew(session);
    MustCommit(holder, holder.Item(1));
    CreateMany(backlog);
    return holder;
  }
  void Begin(const Claimed& claimed, const WorkerSessionId& session) {
    Holder holder(claimed, session);
    MustCommit(holder, holder.Item(1));
  }
  void CreateMany(int count) {
    std::vector<CreateItem> items;
    for (int i = 0; i < count; ++i) items.push_back(NewItem());
    if (count > 0) {
      EXPECT_TRUE(store().Create(items));
    }
  }
  // New runs that were claimed, one at a time, before this one was; -1: it never was.
  int StartedBefore(const SubjectId& begun) {
    const WorkerSessionId session = Open();
    for (int started = 0;; ++started) {
      const auto claimed = ClaimUpTo(session, 1);
      if (claimed.empty()) return -1;
      if (claimed[0].subject == begun) return started;
    }
  }
  void ExpectFirst(const SubjectId& begun) {
    EXPECT_THAT(StartedBefore(begun), testing::AllOf(testing::Ge(0), testing::Le(kMostNewInARow)));
  }
};

TEST_P(BegunConformance, ARunThatIsTakenOverGoesFirst) {
  Holder holder = BeginBefore(60, Open());
  ExpireAndReap();
  ExpectFirst(holder.subject());
}

// By each way back: an unheard grant, a release of nothing, a worker that died.
TEST_P(BegunConformance, WhatNeverBeganHasNotBegunBecauseItWasReleased) {
  for (int way = 0; way < 3; ++way) {
    const WorkerSessionId session = Open();
    Holder holder = ClaimNew(session);
    CreateMany(200);
    Advance(milliseconds(10));
    if (way == 0) {
      ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
    } else if (way == 1) {
      CommitItem release = holder.Item(0, Disposition::kRelease);
      release.requeue = true;
      MustCommit(holder, release);
    } else {
      ExpireAndReap();
    }
    EXPECT_GT(StartedBefore(holder.subject()), kMostNewInARow) << way;
    while (!ClaimUpTo(Open(), 100).empty()) continue;
  }
}

TEST_P(BegunConformance, ARunThatIsWokenGoesFirst) {
  Holder holder = BeginBefore(60, Open());
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.waiting = Waiting{"person", {}};
  MustCommit(holder, item);
  MustPost(NewPost(holder.subject()));
  ExpectFirst(holder.subject());
}

TEST_P(BegunConformance, ARunWhoseTimerFiresGoesFirst) {
  Holder holder = BeginBefore(60, Open());
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.timers_set = {{"retry", holder.claimed().db_now + milliseconds(1'000)}};
  item.waiting = Waiting{"retry", item.timers_set[0].fire_at};
  MustCommit(holder, item);
  Advance(milliseconds(2'000));
  auto fired = store().FireTimers(100);
  ASSERT_TRUE(fired) << fired.error();
  EXPECT_EQ(fired->fired, 1);
  ExpectFirst(holder.subject());
}

TEST_P(BegunConformance, ARunThatIsReleasedGoesFirst) {
  const WorkerSessionId session = Open();
  Holder holder = BeginBefore(60, session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  MustCommit(holder, item);
  ExpectFirst(holder.subject());
}

TEST_P(BegunConformance, AGrantThatWasNeverHeardGoesFirst) {
  const WorkerSessionId session = Open();
  Holder holder = BeginBefore(60, session);
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  ExpectFirst(holder.subject());
}

TEST_P(BegunConformance, ARunThatIsReleasedFromQuarantineGoesFirst) {
  const WorkerSessionId session = Open();
  Holder holder = BeginBefore(60, session);
  ASSERT_TRUE(store().Quarantine(holder.subject(), session, holder.token(), "reason", "detail"));
  ASSERT_TRUE(store().ReleaseQuarantine(holder.subject(), "anna"));
  ExpectFirst(holder.subject());
}

TEST_P(BegunConformance, ADispatchedStepAndItsResultGoFirst) {
  Holder holder = BeginBefore(60, Open());
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.attempts = {Attempt("a")};
  item.dispatches = {{"a", 1, queue_, 1, "{\"v\":1}", std::nullopt}};
  item.waiting = Waiting{"dispatch", {}};
  MustCommit(holder, item);
  const WorkerSessionId session = Open();
  ClaimRequest request = Request(session);
  request.max_dispatches = 1;
  std::vector<ClaimedDispatch> taken;
  for (int started = 0; taken.empty(); ++started) {
    ASSERT_LE(started, kMostNewInARow);
    auto answer = store().Claim(request);
    ASSERT_TRUE(answer) << answer.error();
    taken = answer->dispatches;
  }
  ASSERT_TRUE(store().FinishDispatch({taken[0].id, taken[0].token, "done", "{\"outcome\":\"done\"}"}));
  ExpectFirst(holder.subject());
}

// Neither waits for ever: three of four places for what has begun, one for what is new, and all of them for one if the other does not wait.
TEST_P(BegunConformance, WhatIsNewHasItsShare) {
  const WorkerSessionId session = Open();
  CreateMany(80);
  const auto begun = ClaimUpTo(session, 80);
  ASSERT_EQ(begun.size(), 80u);
  CreateMany(80);
  std::set<SubjectId> old;
  for (const Claimed& one : begun) {
    old.insert(one.subject);
    Begin(one, session);
    ASSERT_TRUE(store().ReleaseLease(one.subject, session, one.token));
  }
  const WorkerSessionId other = Open();
  int fresh = 0;
  for (int n = 0; n < 80; ++n) {
    const auto claimed = ClaimUpTo(other, 1);
    ASSERT_EQ(claimed.size(), 1u);
    fresh += old.contains(claimed[0].subject) ? 0 : 1;
  }
  EXPECT_GE(fresh, 1) << "of 80 claims a quarter is expected";
  EXPECT_LE(fresh, 55);
  EXPECT_EQ(ClaimUpTo(other, 100).size(), 80u) << "a claim takes what there is of both";
}

TEST_P(BegunConformance, APriorityGoesBeforeIt) {
  CreateItem low = NewItem();
  low.priority = 2;
  Create(low);
  const WorkerSessionId session = Open();
  Holder holder = ClaimOne(session, low.subject);
  for (int i = 0; i < 20; ++i) Create();  // of priority 1
  ASSERT_TRUE(store().ReleaseLease(low.subject, session, holder.token()));
  EXPECT_EQ(StartedBefore(low.subject), 20);
}

// The driver that is told by messages learns with each claim that something begun waits, and looks for that alone.
TEST_P(BegunConformance, AClaimByKeysSaysWhetherSomethingBegunWaits) {
  CreateMany(4);
  std::vector<ReadyKey> keys;
  for (int shard = 0; shard < kReadyShards; ++shard) {
    auto rows = store().DueReadyOf(shard, {}, 100);
    ASSERT_TRUE(rows) << rows.error();
    for (const DueRow& row : rows->rows) keys.push_back(row.key);
  }
  ASSERT_EQ(keys.size(), 4u);
  const WorkerSessionId session = Open();
  ClaimRequest request = Request(session);
  const auto claim = [&](int n) {
    request.keys = {keys[std::size_t(n)]};
    auto answer = store().Claim(request);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? *answer : ClaimAnswer{};
  };
  const ClaimAnswer first = claim(0);
  ASSERT_EQ(first.claimed.size(), 1u);
  EXPECT_FALSE(first.begun_waits) << "what waits is new";
  Begin(first.claimed[0], session);
  ASSERT_TRUE(store().ReleaseLease(first.claimed[0].subject, session, first.claimed[0].token));
  EXPECT_TRUE(claim(1).begun_waits);
  request.min_age = milliseconds(600'000);
  EXPECT_FALSE(claim(2).begun_waits) << "not for so long";

  ClaimRequest look = Request(session, 10);
  look.begun_only = true;
  auto begun = store().Claim(look);
  ASSERT_TRUE(begun) << begun.error();
  ASSERT_EQ(begun->claimed.size(), 1u) << "and not the new one";
  EXPECT_EQ(begun->claimed[0].subject, first.claimed[0].subject);
  request.min_age = milliseconds(0);
  EXPECT_FALSE(claim(3).begun_waits);
}

INSTANTIATE_TEST_SUITE_P(Stores, BegunConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
