// What is due, as a relay reads it, and claims of the rows that messages name.
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class DueConformance : public StoreConformance {
 protected:
  // Due rows of all shards in the order of the answers.
  std::vector<DueRow> Due(const std::vector<ReadyKey>& marks = {}, int max = 100) {
    std::vector<DueRow> all;
    for (int shard = 0; shard < kReadyShards; ++shard) {
      auto answer = store().DueReadyOf(shard, marks, max);
      EXPECT_TRUE(answer) << answer.message();
      if (!answer) continue;
      for (DueRow& row : answer->rows) {
        EXPECT_EQ(row.key.shard, shard);
        EXPECT_EQ(ReadyShard(row.key.subject), shard);
        all.push_back(std::move(row));
      }
    }
    return all;
  }
  std::vector<ReadyKey> Keys(const std::vector<DueRow>& rows) {
    std::vector<ReadyKey> keys;
    for (const DueRow& row : rows) keys.push_back(row.key);
    return keys;
  }
  Result<ClaimAnswer> ClaimKeys(const WorkerSessionId& session, std::vector<ReadyKey> keys) {
    ClaimRequest request = Request(session);
    request.keys = std::move(keys);
    return store().Claim(request);
  }
};

TEST_P(DueConformance, SaysTheWholeKeyAndTheHints) {
  CreateItem item = NewItem();
  item.priority = 2;
  item.required_version = 3;
  item.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  Create(item);
  auto due = Due();
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].key.queue, queue_);
  EXPECT_EQ(due[0].key.priority, 2);
  EXPECT_EQ(due[0].key.subject, item.subject);
  EXPECT_EQ(due[0].kind, item.kind);
  EXPECT_EQ(due[0].required_version, 3);
  EXPECT_EQ(due[0].event_seq, std::int64_t(item.events.size()));
  EXPECT_GT(due[0].token.value, 0);
  EXPECT_EQ(due[0].traceparent, item.traceparent);
}

TEST_P(DueConformance, KnowsOfNoTraceWhereThereIsNone) {
  Create();
  ASSERT_EQ(Due().size(), 1u);
  EXPECT_EQ(Due()[0].traceparent, "");
}

TEST_P(DueConformance, BehindTheMarkOnlyAndAtMostSoMany) {
  for (int i = 0; i < 40; ++i) Create();
  for (int shard = 0; shard < kReadyShards; ++shard) {
    auto all = store().DueReadyOf(shard, {}, 100);
    ASSERT_TRUE(all);
    std::vector<ReadyKey> walked;
    std::vector<ReadyKey> marks;
    for (;;) {
      auto some = store().DueReadyOf(shard, marks, 3);
      ASSERT_TRUE(some);
      ASSERT_LE(some->rows.size(), 3u);
      if (some->rows.empty()) break;
      for (const DueRow& row : some->rows) walked.push_back(row.key);
      marks = {some->rows.back().key};
    }
    EXPECT_EQ(walked, Keys(all->rows)) << "page by page is the same as at once";
    EXPECT_TRUE(std::is_sorted(walked.begin(), walked.end(), [](const ReadyKey& a, const ReadyKey& b) {
      return std::tie(a.ready_at, a.subject) < std::tie(b.ready_at, b.subject);
    }));
  }
  EXPECT_EQ(Due().size(), 40u);
}

TEST_P(DueConformance, EveryQueueAndPriorityIsALaneOfItsOwn) {
  for (int priority : {3, 0}) {
    for (const char* more : {"", "-b"}) {
      CreateItem item = NewItem();
      item.queue = queue_ + more;
      item.priority = priority;
      Create(item);
    }
  }
  auto all = Due();
  ASSERT_EQ(all.size(), 4u);
  ReadyKey mark = all[0].key;
  mark.ready_at += std::chrono::hours(1);
  auto rest = Due({mark});
  EXPECT_EQ(rest.size(), 3u) << "a mark holds for its lane";
}

TEST_P(DueConformance, NotBeforeItsTime) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  item.not_before = holder.claimed().db_now + milliseconds(5'000);
  const auto outcomes = store().Commit({&item, 1});
  ASSERT_TRUE(outcomes) << outcomes.message();
  EXPECT_EQ(outcomes->front().ready_at, WallTime{}) << "nobody is told of it before its time";
  EXPECT_TRUE(Due().empty());
  Advance(milliseconds(6'000));
  EXPECT_EQ(Due().size(), 1u);
}

TEST_P(DueConformance, WhoReleasesHearsTheTimeOfTheRowThatIsLeft) {
  const WorkerSessionId session = Open();
  std::vector<Holder> holders{ClaimNew(session), ClaimNew(session), ClaimNew(session)};
  std::vector<CommitItem> items{holders[0].Item(1), holders[1].Item(1, Disposition::kRelease), holders[2].Item(1, Disposition::kRelease)};
  items[1].requeue = items[2].requeue = true;
  const auto outcomes = store().Commit(items);
  ASSERT_TRUE(outcomes) << outcomes.message();
  EXPECT_EQ((*outcomes)[0].ready_at, WallTime{}) << "kept";
  std::map<SubjectId, WallTime> told{{items[1].subject, (*outcomes)[1].ready_at}, {items[2].subject, (*outcomes)[2].ready_at}};
  const auto due = Due();
  ASSERT_EQ(due.size(), 2u);
  for (const DueRow& row : due) EXPECT_EQ(row.key.ready_at, told.at(row.key.subject));
  auto again = store().ReadBack(items);
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ((*again)[1].ready_at, WallTime{});
}

TEST_P(DueConformance, AKeyClaimsItsRowOnceAndNoOther) {
  SubjectId wanted = Create();
  Create();
  auto due = Due();
  std::erase_if(due, [&](const DueRow& row) { return row.key.subject != wanted; });
  ASSERT_EQ(due.size(), 1u);
  auto answer = ClaimKeys(Open(), {due[0].key, due[0].key});
  ASSERT_TRUE(answer) << answer.message();
  ASSERT_EQ(answer->claimed.size(), 1u);
  EXPECT_EQ(answer->claimed[0].subject, wanted);
  EXPECT_GT(answer->claimed[0].token, due[0].token);
  auto again = ClaimKeys(Open(), Keys(due));
  ASSERT_TRUE(again) << again.message();
  EXPECT_TRUE(again->claimed.empty()) << "whose ready row is gone is dropped";
  EXPECT_EQ(again->missing, 1);
  EXPECT_EQ(again->dropped, 0);
  EXPECT_EQ(Due().size(), 1u) << "the other row is still there";
}

TEST_P(DueConformance, AKeyOfAnEarlierTimeIsNotTheRow) {
  Create();
  auto due = Due();
  ASSERT_EQ(due.size(), 1u);
  ReadyKey other = due[0].key;
  other.ready_at -= std::chrono::microseconds(1);
  auto answer = ClaimKeys(Open(), {other});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->claimed.empty());
  EXPECT_EQ(answer->missing, 1);
  EXPECT_EQ(Due().size(), 1u);
}

TEST_P(DueConformance, KeysOfClosedAndHeldSubjectsAreDropped) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.requeue = true;
  item.not_before = holder.claimed().db_now + milliseconds(5'000);
  MustCommit(holder, item);
  MustPost(NewPost(holder.subject()));
  holder = ClaimOne(session, holder.subject());
  Advance(milliseconds(6'000));
  auto due = Due();
  ASSERT_EQ(due.size(), 1u);
  auto answer = ClaimKeys(Open(), Keys(due));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->claimed.empty());
  EXPECT_EQ(answer->dropped, 1);
  EXPECT_EQ(answer->missing, 0);
  EXPECT_TRUE(Due().empty()) << "dropped once, then gone";
}

// Claims by their keys as one who gave all of them back under these tokens.
class StickyConformance : public DueConformance {
 protected:
  std::vector<Claimed> ClaimAgain(const WorkerSessionId& session, const std::map<SubjectId, Token>& released) {
    ClaimRequest request = Request(session);
    request.keys = Keys(Due());
    request.released_token = [&](const SubjectId& subject) {
      const auto it = released.find(subject);
      return it == released.end() ? Token{} : it->second;
    };
    auto answer = store().Claim(request);
    EXPECT_TRUE(answer) << answer.message();
    return answer ? answer->claimed : std::vector<Claimed>();
  }
  // Held once, with an open attempt, a timer and two events more, and given back with work to do.
  std::vector<Holder> Released(const WorkerSessionId& session, int count) {
    std::vector<Holder> holders;
    for (int n = 0; n < count; ++n) holders.push_back(ClaimNew(session));
    for (Holder& holder : holders) {
      CommitItem item = holder.Item(2, Disposition::kRelease);
      item.attempts = {Attempt("s")};
      item.timers_set = {{"later", WallTimeFromMicros(4'000'000'000'000'000)}};
      item.requeue = true;
      MustCommit(holder, item);
    }
    return holders;
  }
};

TEST_P(StickyConformance, WhatNobodyHeldSinceIsGrantedWithoutItsJournal) {
  const WorkerSessionId session = Open();
  const Holder sticky = Released(session, 2).front();
  MustPost(NewPost(sticky.subject()));
  auto claimed = ClaimAgain(session, {{sticky.subject(), sticky.token()}});
  ASSERT_EQ(claimed.size(), 2u);
  if (claimed[0].subject != sticky.subject()) std::swap(claimed[0], claimed[1]);
  EXPECT_TRUE(claimed[0].sticky);
  EXPECT_GT(claimed[0].token, sticky.token()) << "a grant like any other";
  EXPECT_EQ(claimed[0].head.seq, 3);
  EXPECT_TRUE(claimed[0].events.empty() && claimed[0].attempts.empty() && !claimed[0].snapshot);
  EXPECT_EQ(claimed[0].inbox.size(), 1u) << "what came in meanwhile";
  EXPECT_EQ(claimed[0].timers.size(), 1u);
  EXPECT_FALSE(claimed[1].sticky);
  EXPECT_EQ(claimed[1].events.size(), 3u);
  EXPECT_EQ(claimed[1].attempts.size(), 1u);
}

TEST_P(StickyConformance, WhatAnotherHeldOrCouldHaveHeldSinceIsNot) {
  const WorkerSessionId session = Open();
  const std::vector<Holder> holders = Released(session, 3);
  const Holder &taken = holders[0], &reaped = holders[1], &changed = holders[2];
  const std::map<SubjectId, Token> released{
      {taken.subject(), taken.token()}, {reaped.subject(), reaped.token()}, {changed.subject(), changed.token()}};
  const auto only = [&](const SubjectId& subject) {
    auto due = Due();
    std::erase_if(due, [&](const DueRow& row) { return row.key.subject != subject; });
    return Keys(due);
  };
  const WorkerSessionId third = Open();
  auto held = ClaimKeys(third, only(taken.subject()));
  ASSERT_EQ(held->claimed.size(), 1u);
  Holder holder(held->claimed[0], third);
  CommitItem back = holder.Item(0, Disposition::kRelease);
  back.requeue = true;
  MustCommit(holder, back);
  ASSERT_EQ(ClaimKeys(Open(milliseconds(1'000)), only(reaped.subject()))->claimed.size(), 1u);
  ASSERT_TRUE(store().Direct(changed.subject(),
                             [&](const Claimed& claimed) -> Result<CommitItem> { return Holder(claimed, WorkerSessionId{}).Item(1); }));
  Advance(milliseconds(2'000));
  ASSERT_TRUE(store().Reap(10));
  const auto claimed = ClaimAgain(Open(), released);
  ASSERT_EQ(claimed.size(), 3u);
  for (const Claimed& one : claimed) {
    EXPECT_FALSE(one.sticky);
    EXPECT_EQ(one.events.size(), one.subject == changed.subject() ? 4u : 3u);
    EXPECT_EQ(one.attempts.size(), 1u);
  }
}

TEST_P(DueConformance, KeysForANewerProgramOrAnotherKindStay) {
  CreateItem newer = NewItem(), other = NewItem();
  newer.required_version = 2;
  other.kind = "project";
  Create(newer);
  Create(other);
  ClaimRequest request = Request(Open());
  request.keys = Keys(Due());
  request.known_version = 1;
  request.kinds = {"counter"};
  auto answer = store().Claim(request);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->claimed.empty());
  EXPECT_EQ(answer->missing, 2);
  EXPECT_EQ(Due().size(), 2u);
}

TEST_P(DueConformance, ADeadSessionGetsNoKeys) {
  Create();
  WorkerSessionId session = Open();
  ASSERT_TRUE(store().CloseSession(session));
  EXPECT_EQ(ClaimKeys(session, Keys(Due())).code(), Code::kLeaseLost);
  EXPECT_EQ(Due().size(), 1u);
}

TEST_P(DueConformance, OnlyWhatHasWaitedLong) {
  Create();
  ClaimRequest request = Request(Open(), 10);
  request.min_age = milliseconds(30'000);
  EXPECT_TRUE(store().Claim(request)->claimed.empty());
  Advance(milliseconds(31'000));
  SubjectId young = Create();
  request.session = Open();
  auto answer = store().Claim(request);
  ASSERT_TRUE(answer) << answer.message();
  ASSERT_EQ(answer->claimed.size(), 1u);
  EXPECT_NE(answer->claimed[0].subject, young);
}

INSTANTIATE_TEST_SUITE_P(Stores, DueConformance, ::testing::ValuesIn(AllStores()), FactoryName);
INSTANTIATE_TEST_SUITE_P(Stores, StickyConformance, ::testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
