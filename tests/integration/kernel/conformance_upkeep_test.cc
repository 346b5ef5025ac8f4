// Store conformance: reap, reconciliation, quarantine, loop leases, contents (docs/architecture.md#reap).
#include <gmock/gmock.h>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class UpkeepConformance : public StoreConformance {
 protected:
  ReapAnswer Reap(int max = 1000) {
    auto answer = store().Reap(max);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? *answer : ReapAnswer{};
  }
};

// ---- reap

TEST_P(UpkeepConformance, ReapingNothingIsNothing) {
  ReapAnswer answer = Reap();
  EXPECT_EQ(answer.sessions_died, 0);
  EXPECT_EQ(answer.leases_freed, 0);
  EXPECT_FALSE(answer.more);
}

TEST_P(UpkeepConformance, ReapingTellsWhenTheNextOneDies) {
  EXPECT_EQ(Reap().next_death, std::nullopt) << "nobody lives";
  const WorkerSessionId first = Open(milliseconds(100'000));
  Open(milliseconds(600'000));
  const auto in = [this](int from, int to) {
    const auto next = Reap().next_death;
    return next && *next > milliseconds(from) && *next <= milliseconds(to);
  };
  EXPECT_TRUE(in(60'000, 100'000)) << "by the earlier of the two";
  EXPECT_TRUE(store().Heartbeat(first, milliseconds(300'000)));
  EXPECT_TRUE(in(200'000, 300'000)) << "later: it was heard of";
  Advance(milliseconds(300'001));
  EXPECT_EQ(Reap().next_death, milliseconds(0)) << "just ended: look again";
  EXPECT_TRUE(in(200'000, 300'000)) << "the dead one does not count";
}

TEST_P(UpkeepConformance, AnExpiredSessionDiesAndItsLeasesGetANewToken) {
  WorkerSessionId dying = Open(milliseconds(100'000)), living = Open(milliseconds(600'000));
  Holder lost = ClaimNew(dying), kept = ClaimNew(living);
  Advance(milliseconds(100'001));
  ReapAnswer answer = Reap();
  EXPECT_EQ(answer.sessions_died, 1);
  EXPECT_EQ(answer.leases_freed, 1);
  EXPECT_FALSE(answer.more);
  SubjectView view = View(lost.subject());
  EXPECT_FALSE(view.holder);
  EXPECT_GT(view.token, lost.token()) << "every reap takes a new token";
  EXPECT_EQ(view.state, OpenState::kReady);
  EXPECT_EQ(CommitKind(lost.Item()), Outcome::kFenced);
  EXPECT_EQ(CommitKind(lost.Item(1, Disposition::kClose)), Outcome::kFenced);
  EXPECT_EQ(CommitKind(kept.Item()), Outcome::kCommitted);
  Holder next = ClaimOne(living, lost.subject());
  EXPECT_GT(next.token(), view.token);
  EXPECT_EQ(Reap().leases_freed, 0);
}

TEST_P(UpkeepConformance, ACommitDoesNotLookAtTheClock) {
  WorkerSessionId session = Open(milliseconds(1'000));
  Holder holder = ClaimNew(session);
  Advance(milliseconds(5'000));
  MustCommit(holder, holder.Item());  // expired, but until the token is raised nobody else can have started
  Reap();
  EXPECT_EQ(CommitKind(holder.Item()), Outcome::kFenced);
}

TEST_P(UpkeepConformance, LeasesAreFreedInBoundedBatchesUntilNoneIsLeft) {
  WorkerSessionId session = Open(milliseconds(100'000));
  std::vector<CreateItem> creates;
  for (int i = 0; i < 25; ++i) creates.push_back(NewItem());
  ASSERT_TRUE(store().Create(creates));
  ASSERT_EQ(ClaimUpTo(session, 25).size(), 25u);
  Advance(milliseconds(100'001));
  int freed = 0, rounds = 0;
  for (bool more = true; more && rounds < 10; ++rounds) {
    ReapAnswer answer = Reap(10);
    EXPECT_LE(answer.leases_freed, 10);
    freed += answer.leases_freed;
    more = answer.more;
  }
  EXPECT_EQ(freed, 25);
  EXPECT_LE(rounds, 4);
  EXPECT_EQ(ClaimUpTo(Open(), 100).size(), 25u);
}

TEST_P(UpkeepConformance, ALockedLeaseIsLeftForTheNextReap) {
  WorkerSessionId session = Open(milliseconds(100'000));
  Holder locked = ClaimNew(session), free = ClaimNew(session);
  Advance(milliseconds(100'001));
  auto guard = harness().LockLease(locked.subject());
  EXPECT_EQ(Reap().leases_freed, 1);
  EXPECT_FALSE(View(free.subject()).holder);
  guard.reset();
  EXPECT_EQ(Reap().leases_freed, 1);
  EXPECT_FALSE(View(locked.subject()).holder);
}

TEST_P(UpkeepConformance, ACleanlyClosedSessionsLeasesAreFreedToo) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  ASSERT_TRUE(store().CloseSession(session));
  EXPECT_EQ(Reap().leases_freed, 1);
  EXPECT_EQ(CommitKind(holder.Item()), Outcome::kFenced);
  ClaimOne(Open(), holder.subject());
}

TEST_P(UpkeepConformance, AReapedSubjectKeepsItsInputs) {
  Holder holder = ClaimNew(Open());
  MustPost(NewPost(holder.subject()));
  ExpireAndReap();
  Holder next = ClaimOne(Open(), holder.subject());
  EXPECT_EQ(next.claimed().inbox.size(), 1u);
  EXPECT_EQ(next.claimed().wake, 1);
}

// ---- takeovers without progress: conformance_suspicion_test.cc

TEST_P(UpkeepConformance, ReleaseAndGivingBackAreNotCounted) {
  SubjectId subject = Create();
  for (int i = 0; i < 4; ++i) {
    WorkerSessionId session = Open();
    Holder holder = ClaimOne(session, subject);
    EXPECT_EQ(holder.claimed().takeovers_without_progress, 0);
    if (i % 2 == 0) {
      ASSERT_TRUE(store().ReleaseLease(subject, session, holder.token()));
    } else {
      CommitItem item = holder.Item(0, Disposition::kRelease);
      item.requeue = true;
      MustCommit(holder, item);
    }
  }
}

// ---- reconciliation

TEST_P(UpkeepConformance, HeldByNamesLeasesOlderThanAsked) {
  WorkerSessionId session = Open(), other = Open();
  Holder old = ClaimNew(session);
  ClaimNew(other);
  Advance(milliseconds(20'000));
  ClaimNew(session);
  auto held = store().HeldBy(session, milliseconds(15'000));
  ASSERT_TRUE(held);
  ASSERT_EQ(held->size(), 1u);
  EXPECT_EQ(held->at(0).first, old.subject());
  EXPECT_EQ(held->at(0).second, old.token());
  EXPECT_EQ(store().HeldBy(session, milliseconds(0))->size(), 2u);
}

TEST_P(UpkeepConformance, GivingBackFreesWithoutACommit) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  ASSERT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  SubjectView view = View(holder.subject());
  EXPECT_EQ(view.state, OpenState::kReady);
  EXPECT_EQ(view.token, holder.token()) << "the token is kept";
  EXPECT_EQ(CommitKind(holder.Item()), Outcome::kFenced) << "the proof includes the session";
  EXPECT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token())) << "twice is no error";
  Holder next = ClaimOne(Open(), holder.subject());
  EXPECT_TRUE(store().ReleaseLease(holder.subject(), session, holder.token()));
  EXPECT_EQ(CommitKind(next.Item()), Outcome::kCommitted) << "a late giving back does not disturb the next holder";
}

// ---- quarantine

TEST_P(UpkeepConformance, AQuarantinedSubjectRunsOnlyAfterAPersonsRelease) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  ASSERT_TRUE(store().Quarantine(holder.subject(), session, holder.token(), "corrupt", "event 1: chain"));
  EXPECT_EQ(CommitKind(holder.Item()), Outcome::kFenced);
  EXPECT_EQ(View(holder.subject()).state, OpenState::kQuarantined);
  auto quarantined = queries().Quarantined(false);
  ASSERT_TRUE(quarantined);
  ASSERT_EQ(quarantined->size(), 1u);
  EXPECT_EQ(quarantined->at(0).reason, "corrupt");
  EXPECT_EQ(quarantined->at(0).detail, "event 1: chain");
  MustPost(NewPost(holder.subject()));
  EXPECT_TRUE(ClaimUpTo(session, 10).empty()) << "an input waits, too";
  EXPECT_EQ(store()
                .Direct(holder.subject(),
                        [](const Claimed&) -> Result<CommitItem> {
                          return Error{Code::kInternal, "called"};
                        })
                .code(),
            Code::kConflict);
  ASSERT_TRUE(store().ReleaseQuarantine(holder.subject(), "anna"));
  EXPECT_EQ(store().ReleaseQuarantine(holder.subject(), "anna").code(), Code::kNotFound);
  EXPECT_TRUE(queries().Quarantined(false)->empty());
  auto all = queries().Quarantined(true);
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).released_by, "anna");
  EXPECT_TRUE(all->at(0).released_at);
  Holder next = ClaimOne(session, holder.subject());
  ASSERT_EQ(next.claimed().inbox.size(), 2u);
  const InboxRow& told = next.claimed().inbox[1];
  EXPECT_EQ(told.kind, "quarantine_released");
  const auto payload = ParseJson(told.payload);
  ASSERT_TRUE(payload) << told.payload;
  EXPECT_EQ(*payload, (Json{{"reason", "corrupt"}, {"by", "anna"}}));
  EXPECT_EQ(next.claimed().wake, 2);
}

TEST_P(UpkeepConformance, OnlyTheHolderQuarantines) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  EXPECT_EQ(store().Quarantine(holder.subject(), Open(), holder.token(), "r", "d").code(), Code::kLeaseLost);
  EXPECT_EQ(store().Quarantine(holder.subject(), session, Token{holder.token().value - 1}, "r", "d").code(), Code::kLeaseLost);
  EXPECT_EQ(CommitKind(holder.Item()), Outcome::kCommitted);
  EXPECT_EQ(store().ReleaseQuarantine(holder.subject(), "anna").code(), Code::kNotFound);
}

// ---- contents

TEST_P(UpkeepConformance, ContentsComeBackByteForByte) {
  std::vector<std::pair<Hash256, std::string>> contents;
  std::string big(3 * 1024 * 1024 + 17, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = char(i * 31 + i / 251);
  for (std::string bytes : {std::string(), std::string("small"), std::string("\0\xff\n\\x", 5), big})
    contents.emplace_back(Sha256(bytes), bytes);
  ASSERT_TRUE(store().PutContents(contents));
  ASSERT_TRUE(store().PutContents(contents)) << "write-once: again is no error";
  for (const auto& [hash, bytes] : contents) {
    auto read = store().GetContent(hash);
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(*read == bytes) << "size " << bytes.size();
  }
  EXPECT_EQ(store().GetContent(Sha256("never put")).code(), Code::kNotFound);
  // Together it is the same; the large one may be left out.
  auto together = store().GetContents(std::vector<Hash256>{contents[1].first, Sha256("never put"), contents[3].first});
  ASSERT_TRUE(together) << together.error();
  together->erase(contents[3].first);
  EXPECT_EQ(*together, (std::map<Hash256, std::string>{{contents[1].first, contents[1].second}}));
}

TEST_P(UpkeepConformance, ContentsUnderAWrongHashAreRefused) {
  std::vector<std::pair<Hash256, std::string>> contents{{Sha256("right"), "right"}, {Sha256("other"), "wrong"}};
  Status put = store().PutContents(contents);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.code(), Code::kInvalid);
  EXPECT_EQ(store().GetContent(Sha256("other")).code(), Code::kNotFound);
}

// ---- retention

TEST_P(UpkeepConformance, OldSessionsAndKeysGoAndNothingElse) {
  const auto day = std::chrono::duration_cast<milliseconds>(std::chrono::hours(24));
  WorkerSessionId holding = Open(), ended = Open(), living = Open(std::chrono::duration_cast<milliseconds>(std::chrono::hours(1000)));
  CreateItem item = NewItem();
  item.request_key = "submit";
  ASSERT_TRUE(store().Create({&item, 1}));
  Holder holder = ClaimOne(holding, item.subject);
  InboxPost post = NewPost(item.subject);
  post.request_key = "post";
  MustPost(post);
  ASSERT_TRUE(store().CloseSession(ended));
  Reap();
  Advance(6 * day);
  auto kept = store().Retain(7 * day, 30 * day, 100);
  ASSERT_TRUE(kept) << kept.error();
  EXPECT_EQ(kept->sessions, 0);
  EXPECT_EQ(kept->request_keys, 0);
  EXPECT_EQ(store().Post(post)->replayed, true);

  ASSERT_TRUE(store().CloseSession(holding));  // dead, and its lease is not freed yet
  Advance(2 * day);
  EXPECT_EQ(store().Retain(7 * day, 30 * day, 100)->sessions, 1) << "the one that ended 8 days ago";
  Advance(8 * day);
  EXPECT_EQ(store().Retain(7 * day, 30 * day, 100)->sessions, 0) << "a lease names it";
  Reap();
  EXPECT_EQ(store().Retain(7 * day, 30 * day, 100)->sessions, 1);
  EXPECT_TRUE(store().Heartbeat(living, day)) << "the living one stays";

  Advance(15 * day);
  EXPECT_EQ(store().Retain(7 * day, 30 * day, 1)->request_keys, 1) << "in batches";
  EXPECT_EQ(store().Retain(7 * day, 30 * day, 1)->request_keys, 1);
  EXPECT_EQ(store().Retain(7 * day, 30 * day, 1)->request_keys, 0);
  post.id = InboxId{NewUuid7()};
  EXPECT_EQ(store().Post(post)->replayed, false) << "a new request from now on";
}

// ---- loops

TEST_P(UpkeepConformance, JobsAreTakenTogetherAndHeldOneByOne) {
  WorkerSessionId one = Open(milliseconds(600'000)), two = Open(milliseconds(600'000));
  ASSERT_TRUE(*store().HoldLeaderLease("b", two, milliseconds(100'000)));
  const std::vector<std::string> names = {"c", "b", "a"};
  auto held = store().HoldLeaderLeases(names, one, milliseconds(100'000));
  ASSERT_TRUE(held) << held.error();
  ASSERT_EQ(held->size(), 3u);
  EXPECT_TRUE((*held)[0] && (*held)[0]->name == "c");
  EXPECT_FALSE((*held)[1]) << "another has it";
  EXPECT_TRUE((*held)[2] && (*held)[2]->name == "a");
}

TEST_P(UpkeepConformance, AJobHasOneHolderAndItsTokensOnlyGrow) {
  WorkerSessionId one = Open(milliseconds(600'000)), two = Open(milliseconds(600'000));
  auto first = store().HoldLeaderLease("reaper", one, milliseconds(100'000));
  ASSERT_TRUE(first) << first.error();
  ASSERT_TRUE(*first);
  EXPECT_EQ((*first)->name, "reaper");
  EXPECT_FALSE(*store().HoldLeaderLease("reaper", two, milliseconds(100'000)));
  EXPECT_TRUE(*store().HoldLeaderLease("timers", two, milliseconds(100'000))) << "another job";
  Advance(milliseconds(60'000));
  auto renewed = store().HoldLeaderLease("reaper", one, milliseconds(100'000));
  ASSERT_TRUE(renewed && *renewed);
  EXPECT_GE((*renewed)->token, (*first)->token);
  Advance(milliseconds(60'000));
  EXPECT_FALSE(*store().HoldLeaderLease("reaper", two, milliseconds(100'000))) << "renewed";
  Advance(milliseconds(50'000));
  auto taken = store().HoldLeaderLease("reaper", two, milliseconds(100'000));
  ASSERT_TRUE(taken && *taken);
  EXPECT_GT((*taken)->token, (*renewed)->token);
  EXPECT_FALSE(*store().HoldLeaderLease("reaper", one, milliseconds(100'000)));
}

// As a coordinator does: its session is of its jobs alone, no row says that it lives, and nobody may take that for death.
TEST_P(UpkeepConformance, AJobIsHeldByWhoNeverOpenedASession) {
  const WorkerSessionId one{NewUuid7()}, two{NewUuid7()};
  ASSERT_TRUE(*store().HoldLeaderLease("reaper", one, milliseconds(100'000)));
  EXPECT_FALSE(*store().HoldLeaderLease("reaper", two, milliseconds(100'000)));
  EXPECT_TRUE(*store().HoldLeaderLease("reaper", one, milliseconds(100'000)));
  Advance(milliseconds(110'000));
  EXPECT_TRUE(*store().HoldLeaderLease("reaper", two, milliseconds(100'000)));
}

INSTANTIATE_TEST_SUITE_P(Stores, UpkeepConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
