// Store conformance: create (docs/architecture.md#create).
#include <gmock/gmock.h>

#include <set>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/queue/step_message.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

using Created = CreateOutcome::Kind;

class CreateConformance : public StoreConformance {
 protected:
  CreateOutcome One(const CreateItem& item) {
    auto outcomes = store().Create({&item, 1});
    EXPECT_TRUE(outcomes) << outcomes.error();
    return outcomes ? outcomes->at(0) : CreateOutcome{};
  }
  CreateItem Keyed(const std::string& key, const std::string& body) {
    CreateItem item = NewItem();
    item.request_key = key;
    item.request_hash = Sha256(body);
    return item;
  }
};

TEST_P(CreateConformance, MakesLeaseHeadSealedEventsAndAReadyRow) {
  CreateItem item = NewItem();
  Event second;
  second.type = "test.more";
  second.payload = "{\"b\":1,\"a\":2.50}";
  item.events.push_back(second);
  CreateOutcome outcome = One(item);
  EXPECT_EQ(outcome.kind, Created::kCreated);
  EXPECT_GT(outcome.token.value, 0);
  EXPECT_GE(outcome.token.epoch(), 1) << "a token carries the fleet's epoch";
  EXPECT_LT(outcome.token.value, 1ll << 53);

  auto events = Journal(item.subject);
  ASSERT_EQ(events.size(), 2u);
  Hash256 chain = ChainStart(item.subject);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(events[i].seq, std::int64_t(i + 1));
    EXPECT_EQ(events[i].token, outcome.token);
    EXPECT_EQ(events[i].journal, events[0].journal);
    Status verified = Verify(events[i], chain);
    EXPECT_TRUE(verified) << verified.error();
    chain = events[i].chain;
  }
  EXPECT_EQ(events[1].type, "test.more");
  EXPECT_EQ(events[1].payload, second.payload) << "key order and number text are kept";
  SubjectView view = View(item.subject);
  EXPECT_EQ(view.head.seq, 2);
  EXPECT_EQ(view.head.chain, chain);
  EXPECT_EQ(view.head.journal, events[0].journal);
  EXPECT_EQ(view.state, OpenState::kReady);
  EXPECT_FALSE(view.holder);
  EXPECT_TRUE(queries().Grants(item.subject)->empty()) << "create writes no history row";
}

TEST_P(CreateConformance, WhoMakesOneHearsTheTimeOfItsReadyRow) {
  std::vector<CreateItem> items{NewItem(), Keyed("k", "body"), NewItem(), NewItem()};
  items[2].make_ready = false;
  items[3].grant_to = Open();
  const auto outcomes = store().Create(items);
  ASSERT_TRUE(outcomes) << outcomes.error();
  EXPECT_EQ((*outcomes)[2].ready_at, WallTime{});
  EXPECT_EQ((*outcomes)[3].ready_at, WallTime{}) << "granted";
  std::map<SubjectId, StepMessage> told;
  for (std::size_t i : {0, 1}) told[items[i].subject] = MessageFor(items[i], (*outcomes)[i]);
  int found = 0;
  for (int shard = 0; shard < kReadyShards; ++shard) {
    const auto due = store().DueReadyOf(shard, {}, 100);
    ASSERT_TRUE(due) << due.error();
    for (const DueRow& row : due->rows) {
      EXPECT_EQ(EncodeStepMessage(told.at(row.key.subject)), EncodeStepMessage(MessageFor(row)));
      ++found;
    }
  }
  EXPECT_EQ(found, 2);
}

TEST_P(CreateConformance, ARepeatUnderTheSameKeyGetsTheFirstSubject) {
  CreateItem first = Keyed("key", "body"), again = Keyed("key", "body");
  EXPECT_EQ(One(first).kind, Created::kCreated);
  for (int i = 0; i < 2; ++i) {
    CreateOutcome outcome = One(again);
    EXPECT_EQ(outcome.kind, Created::kReplayed);
    EXPECT_EQ(outcome.subject, first.subject);
  }
  EXPECT_EQ(queries().GetSubject(again.subject).code(), Code::kNotFound);
  EXPECT_EQ(ClaimUpTo(Open(), 10).size(), 1u);
  EXPECT_EQ(One(again).kind, Created::kReplayed) << "also once it runs";
}

TEST_P(CreateConformance, AnotherBodyUnderTheSameKeyIsAConflict) {
  CreateItem first = Keyed("key", "body"), other = Keyed("key", "other body");
  EXPECT_EQ(One(first).kind, Created::kCreated);
  EXPECT_EQ(One(other).kind, Created::kKeyConflict);
  EXPECT_EQ(queries().GetSubject(other.subject).code(), Code::kNotFound);
}

TEST_P(CreateConformance, ABatchHasOneOutcomePerItemInOrder) {
  CreateItem old = Keyed("old", "body");
  One(old);
  std::vector<CreateItem> batch{NewItem(), Keyed("old", "body"), Keyed("new", "x"), Keyed("new", "x"), Keyed("old", "changed"), NewItem()};
  auto outcomes = store().Create(batch);
  ASSERT_TRUE(outcomes) << outcomes.error();
  std::vector<Created> kinds;
  for (const auto& outcome : *outcomes) kinds.push_back(outcome.kind);
  EXPECT_THAT(kinds, testing::ElementsAre(Created::kCreated, Created::kReplayed, Created::kCreated, Created::kReplayed,
                                          Created::kKeyConflict, Created::kCreated));
  EXPECT_EQ(outcomes->at(1).subject, old.subject);
  EXPECT_EQ(outcomes->at(3).subject, batch[2].subject);
  EXPECT_EQ(ClaimUpTo(Open(), 10).size(), 4u);
}

TEST_P(CreateConformance, ALargeBatchLandsWhole) {
  std::vector<CreateItem> batch;
  for (int i = 0; i < 200; ++i) batch.push_back(NewItem());
  auto outcomes = store().Create(batch);
  ASSERT_TRUE(outcomes) << outcomes.error();
  ASSERT_EQ(outcomes->size(), batch.size());
  std::set<SubjectId> seen;
  WorkerSessionId session = Open();
  for (auto claimed = ClaimUpTo(session, 64); !claimed.empty(); claimed = ClaimUpTo(session, 64)) {
    EXPECT_LE(claimed.size(), 64u);
    for (const Claimed& one : claimed) EXPECT_TRUE(seen.insert(one.subject).second) << "claimed twice";
  }
  EXPECT_EQ(seen.size(), batch.size());
}

TEST_P(CreateConformance, AnIdIsNeverUsedTwice) {
  CreateItem item = NewItem();
  Create(item);
  std::vector<CreateItem> batch{NewItem(), item};
  auto outcomes = store().Create(batch);
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.code(), Code::kConflict) << outcomes.error();
  EXPECT_EQ(queries().GetSubject(batch[0].subject).code(), Code::kNotFound) << "one transaction: nothing of the batch is there";
  EXPECT_EQ(Journal(item.subject).size(), 1u);
}

TEST_P(CreateConformance, WithoutAReadyRowItWaitsForAnInput) {
  CreateItem item = NewItem();
  item.make_ready = false;
  Create(item);
  WorkerSessionId session = Open();
  EXPECT_TRUE(ClaimUpTo(session, 10).empty());
  MustPost(NewPost(item.subject));
  ClaimOne(session, item.subject);
}

// ---- create and grant

TEST_P(CreateConformance, GrantsToALiveSessionAsItIsMade) {
  const WorkerSessionId session = Open();
  CreateItem given = NewItem(), other = NewItem();
  given.grant_to = session;
  const std::vector<CreateItem> items{given, other};
  auto outcomes = store().Create(items);
  ASSERT_TRUE(outcomes) << outcomes.error();
  EXPECT_TRUE(outcomes->at(0).granted);
  EXPECT_FALSE(outcomes->at(1).granted);
  const SubjectView view = View(given.subject);
  EXPECT_EQ(view.state, OpenState::kLeased);
  EXPECT_EQ(view.holder, session);
  const auto grants = queries().Grants(given.subject);
  ASSERT_EQ(grants->size(), 1u);
  EXPECT_EQ(grants->at(0).token, outcomes->at(0).token) << "its first token";
  EXPECT_EQ(grants->at(0).session, session);
  EXPECT_EQ(grants->at(0).head_seq, 1);
  EXPECT_EQ(grants->at(0).takeovers_without_progress, 0);
  const auto claimed = ClaimUpTo(session, 10);
  ASSERT_EQ(claimed.size(), 1u) << "what is granted has no ready row";
  EXPECT_EQ(claimed[0].subject, other.subject);

  const std::vector<SubjectId> asked{other.subject, given.subject, SubjectId{NewUuid7()}};
  auto read = store().ReadGrants(session, asked);
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->size(), 1u) << "one was claimed, one is of nobody";
  EXPECT_EQ(read->at(0).token, outcomes->at(0).token);
  EXPECT_EQ(read->at(0).kind, given.kind);
  EXPECT_EQ(read->at(0).queue, given.queue);
  EXPECT_EQ(read->at(0).priority, given.priority);
  EXPECT_EQ(read->at(0).project, given.project);
  EXPECT_EQ(read->at(0).head.seq, 1);
  EXPECT_EQ(read->at(0).head.chain, view.head.chain);
  EXPECT_EQ(read->at(0).head.state_root, view.head.state_root);
  EXPECT_EQ(read->at(0).head.journal, view.head.journal);
  EXPECT_FALSE(read->at(0).inbox_left);
  const auto journal = Journal(given.subject);
  ASSERT_EQ(read->at(0).events.size(), 1u);
  EXPECT_EQ(read->at(0).events[0].payload, journal[0].payload);
  Status verified = Verify(read->at(0).events[0], ChainStart(given.subject));
  EXPECT_TRUE(verified) << verified.error();
  EXPECT_TRUE(store().ReadGrants(Open(), asked)->empty()) << "it is another session's";

  Holder holder(read->at(0), session);
  MustCommit(holder, holder.Item());
  EXPECT_TRUE(store().ReadGrants(session, asked)->empty()) << "something was written under the grant: the hint comes twice";
  Close(holder);
  EXPECT_TRUE(store().ReadGrants(session, asked)->empty());
}

TEST_P(CreateConformance, AGrantSaysThatThereIsAnInput) {
  const WorkerSessionId session = Open();
  CreateItem item = NewItem();
  item.grant_to = session;
  ASSERT_TRUE(One(item).granted);
  EXPECT_EQ(MustPost(NewPost(item.subject)).holder, session);
  auto read = store().ReadGrants(session, {&item.subject, 1});
  ASSERT_EQ(read->size(), 1u);
  EXPECT_TRUE(read->at(0).inbox_left);
  EXPECT_EQ(read->at(0).wake, 0) << "of before the input: who closes by it is told that something moved";
  EXPECT_TRUE(read->at(0).inbox.empty());
  Holder holder(read->at(0), session);
  EXPECT_EQ(CommitKind(holder.Item(1, Disposition::kClose)), Outcome::kMoved);
  EXPECT_EQ(store().ReadInbox(item.subject, read->at(0).token)->rows.size(), 1u);
}

TEST_P(CreateConformance, WhoseSessionIsDeadBecomesReady) {
  const WorkerSessionId dead = Open();
  ASSERT_TRUE(store().CloseSession(dead).ok());
  for (const WorkerSessionId& session : {dead, WorkerSessionId{NewUuid7()}}) {
    CreateItem item = NewItem();
    item.grant_to = session;
    EXPECT_FALSE(One(item).granted);
    EXPECT_EQ(View(item.subject).state, OpenState::kReady);
    EXPECT_TRUE(queries().Grants(item.subject)->empty());
    EXPECT_TRUE(store().ReadGrants(session, {&item.subject, 1})->empty());
    ClaimOne(Open(), item.subject);
  }
}

TEST_P(CreateConformance, ARepeatIsGrantedToNobody) {
  const WorkerSessionId session = Open();
  CreateItem item = Keyed("k", "body");
  item.grant_to = session;
  EXPECT_TRUE(One(item).granted);
  CreateItem again = Keyed("k", "body");
  again.grant_to = session;
  const CreateOutcome outcome = One(again);
  EXPECT_EQ(outcome.kind, Created::kReplayed);
  EXPECT_FALSE(outcome.granted);
  EXPECT_EQ(queries().Grants(item.subject)->size(), 1u);
}

TEST_P(CreateConformance, AGrantThatIsReleasedIsClaimedAnew) {
  const WorkerSessionId session = Open();
  CreateItem item = NewItem();
  item.grant_to = session;
  const CreateOutcome outcome = One(item);
  const auto held = store().HeldBy(session, milliseconds(0));
  ASSERT_EQ(held->size(), 1u);
  EXPECT_EQ(held->at(0), std::pair(item.subject, outcome.token));
  ASSERT_TRUE(store().ReleaseLease(item.subject, session, outcome.token).ok());
  EXPECT_TRUE(store().ReadGrants(session, {&item.subject, 1})->empty());
  Holder holder = ClaimOne(session, item.subject);
  EXPECT_TRUE(store().ReadGrants(session, {&item.subject, 1})->empty()) << "it holds it by a claim, under a newer token";
  MustCommit(holder, holder.Item());
}

TEST_P(CreateConformance, AGrantOfADeadSessionIsFreedByTheReaper) {
  CreateItem item = NewItem();
  item.grant_to = Open(milliseconds(1'000));
  ASSERT_TRUE(One(item).granted);
  EXPECT_EQ(ExpireAndReap().leases_freed, 1);
  const WorkerSessionId other = Open();
  const auto claimed = ClaimUpTo(other, 1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].takeovers_without_progress, 1) << "nothing had been written under it";
}

TEST_P(CreateConformance, KeepsWhatTheListingShows) {
  CreateItem item = NewItem();
  item.priority = 2;
  item.listing = ListingRow{"report", "1.2", "anna", "CREATED", "name: report\n", "{\"team\":\"a\"}"};
  item.timers = {{"deadline", WallTimeFromMicros(4'000'000'000'000'000)}};
  Create(item);
  SubjectView view = View(item.subject);
  ASSERT_TRUE(view.listing);
  EXPECT_EQ(view.listing->name, "report");
  EXPECT_EQ(view.listing->version, "1.2");
  EXPECT_EQ(view.listing->owner, "anna");
  EXPECT_EQ(view.listing->status, "CREATED");
  EXPECT_EQ(view.listing->definition_text, "name: report\n");
  EXPECT_EQ(view.kind, "counter");
  EXPECT_EQ(view.queue, queue_);
  EXPECT_EQ(view.priority, 2);
  EXPECT_EQ(view.project, kDefaultProject);
  auto timers = queries().Timers(item.subject);
  ASSERT_TRUE(timers);
  ASSERT_EQ(timers->size(), 1u);
  EXPECT_EQ(timers->at(0).timer_id, "deadline");
  EXPECT_EQ(timers->at(0).fire_at, item.timers[0].fire_at);
}

INSTANTIATE_TEST_SUITE_P(Stores, CreateConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
