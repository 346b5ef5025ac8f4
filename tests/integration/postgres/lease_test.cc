// Sessions, create, claim, reap, quarantine, direct commands, loops (docs/architecture.md#protocols).
#include <map>

#include "shared/kernel/suspicion.h"
#include "shared/postgres/pool.h"
#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

class PgLeaseTest : public test::PgStoreTest {};

TEST_F(PgLeaseTest, HeartbeatRefusesExpiredAndDead) {
  WorkerSessionId session = OpenSession();
  ASSERT_TRUE(store().Heartbeat(session, milliseconds(60'000)).ok());
  Expire(session);
  EXPECT_EQ(store().Heartbeat(session, milliseconds(60'000)).code(), Code::kLeaseLost);
  WorkerSessionId other = OpenSession();
  ASSERT_TRUE(store().CloseSession(other).ok());
  ASSERT_TRUE(store().CloseSession(other).ok()) << "closing twice is no error";
  EXPECT_EQ(store().Heartbeat(other, milliseconds(60'000)).code(), Code::kLeaseLost);
  ClaimRequest request;
  request.session = other;
  EXPECT_EQ(store().Claim(request).code(), Code::kLeaseLost);
  request.session = WorkerSessionId{NewUuid7()};
  EXPECT_EQ(store().Claim(request).code(), Code::kLeaseLost);
}

TEST_F(PgLeaseTest, CreateIsIdempotentByRequestKey) {
  CreateItem first = NewItem(2);
  first.request_key = "key-" + queue();
  first.request_hash = Sha256("body");
  CreateItem repeat = NewItem(2), other_body = NewItem(2), fresh = NewItem(2);
  repeat.request_key = other_body.request_key = first.request_key;
  repeat.request_hash = first.request_hash;
  other_body.request_hash = Sha256("another body");
  auto outcomes = store().Create(std::vector{first, repeat, other_body, fresh});
  ASSERT_TRUE(outcomes.ok()) << outcomes.error();
  using Created = CreateOutcome::Kind;
  EXPECT_EQ((*outcomes)[0].kind, Created::kCreated);
  EXPECT_EQ((*outcomes)[1].kind, Created::kReplayed);
  EXPECT_EQ((*outcomes)[1].subject, first.subject);
  EXPECT_EQ((*outcomes)[1].token, (*outcomes)[0].token);
  EXPECT_EQ((*outcomes)[2].kind, Created::kKeyConflict);
  EXPECT_EQ((*outcomes)[3].kind, Created::kCreated);
  auto later = store().Create(std::span(&repeat, 1));
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(later->front().kind, Created::kReplayed);
  EXPECT_EQ(later->front().subject, first.subject);
  EXPECT_EQ(db().Count("SELECT count(*) FROM event_rows WHERE subject_id IN (" + Sql(first.subject) + "," + Sql(repeat.subject) + ")"), 2);
  EXPECT_EQ(store().Create(std::span(&fresh, 1)).code(), Code::kConflict) << "an id is never used twice";
}

TEST_F(PgLeaseTest, CreatedEventsVerifyAlsoAcrossANewEpoch) {
  CreateOne();  // the seal cache knows the old epoch now
  db().Exec("SET ROLE acl_owner; UPDATE fleet_epoch SET base = base + 3");
  SubjectId subject = CreateOne(NewItem(3));
  WorkerSessionId session = OpenSession();
  ClaimAnswer answer = Claim(session, 10);
  ASSERT_EQ(answer.claimed.size(), 2u);
  for (const Claimed& claimed : answer.claimed) {
    Hash256 chain = ChainStart(claimed.subject);
    for (const Event& event : claimed.events) {
      EXPECT_TRUE(Verify(event, chain).ok()) << Verify(event, chain).error();
      EXPECT_LT(event.token, claimed.token);
      EXPECT_LE(event.timestamp, claimed.db_now + std::chrono::seconds(1));
      chain = event.chain;
    }
    EXPECT_EQ(chain, claimed.head.chain);
    if (claimed.subject == subject) {
      EXPECT_EQ(claimed.events[0].token.epoch(), claimed.token.epoch());
    }
  }
}

TEST_F(PgLeaseTest, ClaimTakesAtMostMaxInOrderOfPriorityAndFiltersKinds) {
  std::vector<CreateItem> items;
  for (int i = 0; i < 12; ++i) items.push_back(NewItem());
  items[7].priority = 0;
  items[3].kind = "other";
  ASSERT_TRUE(store().Create(items).ok());
  WorkerSessionId session = OpenSession();
  ClaimRequest request;
  request.session = session;
  request.queues = {"nothing here", queue()};
  request.max = 4;
  request.kinds = {"counter"};
  auto answer = store().Claim(request);
  ASSERT_TRUE(answer.ok()) << answer.error();
  ASSERT_EQ(answer->claimed.size(), 4u);
  bool urgent = false;
  for (const Claimed& claimed : answer->claimed) urgent = urgent || claimed.subject == items[7].subject;
  EXPECT_TRUE(urgent);
  request.max = 100;
  EXPECT_EQ(store().Claim(request)->claimed.size(), 7u);
  request.kinds = {};
  EXPECT_EQ(store().Claim(request)->claimed.size(), 1u);
  EXPECT_EQ(db().Count("SELECT count(*) FROM ready WHERE queue = '" + queue() + "'"), 0);
  EXPECT_EQ(db().Count("SELECT count(*) FROM lease_history WHERE session_id = " + Sql(session)), 12);
  EXPECT_EQ(db().Count("SELECT count(*) FROM workflow_leases WHERE owner_id = " + Sql(session)), 12);
  auto held = store().HeldBy(session, milliseconds(0));
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->size(), 12u);
  EXPECT_TRUE(store().HeldBy(session, milliseconds(3'600'000))->empty());
}

TEST_F(PgLeaseTest, ReadyRowsOfHeldSubjectsAreDropped) {
  WorkerSessionId session = OpenSession();
  SubjectId subject = CreateOne();
  ClaimOne(session);
  db().Exec("INSERT INTO ready SELECT queue, priority, 0, clock_timestamp(), subject_id, kind, 1 FROM subjects WHERE subject_id = " +
            Sql(subject));
  ClaimAnswer answer = Claim(session);
  EXPECT_TRUE(answer.claimed.empty());
  EXPECT_EQ(answer.dropped, 1);
  EXPECT_EQ(db().Count("SELECT count(*) FROM ready WHERE queue = '" + queue() + "'"), 0);
}

TEST_F(PgLeaseTest, ReapFreesInBatchesUnderNewTokens) {
  WorkerSessionId session = OpenSession(), living = OpenSession(), living_too = OpenSession();
  for (int i = 0; i < 5; ++i) CreateOne();
  ClaimAnswer before = Claim(session, 5);
  ASSERT_EQ(before.claimed.size(), 5u);
  Expire(session);
  auto first = store().Reap(3);
  ASSERT_TRUE(first.ok()) << first.error();
  EXPECT_GE(first->sessions_died, 1);
  EXPECT_EQ(first->leases_freed, 3);
  EXPECT_TRUE(first->more);
  auto second = store().Reap(3);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->sessions_died, 0);
  EXPECT_EQ(second->leases_freed, 2);
  EXPECT_FALSE(second->more);
  EXPECT_EQ(db().Value("SELECT reaped FROM worker_sessions WHERE session_id = " + Sql(session)), "t");

  CommitItem stale = Append(before.claimed[0], session);
  EXPECT_EQ(CommitOne(stale).kind, CommitOutcome::Kind::kFenced);
  ClaimAnswer after = Claim(living, 5);
  ASSERT_EQ(after.claimed.size(), 5u);
  for (const Claimed& claimed : after.claimed) {
    EXPECT_EQ(claimed.takeovers_without_progress, 1);
    EXPECT_GT(claimed.token.value, before.claimed[0].token.value + 1) << "the reap took one, the claim another";
  }
  (void)living_too;
}

// What a person sees of a run that was quarantined, and what its release leaves for the next holder.
TEST_F(PgLeaseTest, WhatKillsItsWorkersIsQuarantinedWithItsReason) {
  SubjectId subject = CreateOne();
  WorkerSessionId living = OpenSession();
  ClaimOne(living);
  db().Exec("UPDATE leases SET session_id = NULL, last_end = 3 WHERE subject_id = " + Sql(subject));
  db().Exec(
      "INSERT INTO lease_history (subject_id, token, session_id, head_seq, takeovers_without_progress, alone, granted_at) SELECT "
      "subject_id, token + 1, "
      "session_id, "
      "head_seq, 6, 4, granted_at FROM lease_history WHERE subject_id = " +
      Sql(subject));
  db().Exec("UPDATE leases SET token = token + 1 WHERE subject_id = " + Sql(subject));
  db().Exec(
      "INSERT INTO ready SELECT queue, priority, ready_shard(subject_id), now(), subject_id, kind, 1 FROM subjects WHERE subject_id = " +
      Sql(subject));
  ClaimAnswer answer = Claim(living);
  EXPECT_TRUE(answer.claimed.empty());
  EXPECT_EQ(answer.quarantined, 1);
  EXPECT_EQ(db().Value("SELECT reason FROM quarantine WHERE subject_id = " + Sql(subject)), "kills_its_worker");
  ASSERT_TRUE(store().Post({subject, InboxId{NewUuid7()}, "signal", "{}", std::nullopt}).ok()) << "inputs are kept while it stands still";
  EXPECT_TRUE(Claim(living).claimed.empty());

  ASSERT_TRUE(store().ReleaseQuarantine(subject, "ann").ok());
  EXPECT_EQ(store().ReleaseQuarantine(subject, "ann").code(), Code::kNotFound);
  Claimed back = ClaimOne(living);
  EXPECT_EQ(back.takeovers_without_progress, 0);
  ASSERT_EQ(back.inbox.size(), 2u);
  EXPECT_EQ(back.inbox[1].kind, "quarantine_released");
  EXPECT_EQ(ParseJson(back.inbox[1].payload)->dump(), R"({"reason":"kills_its_worker","by":"ann"})");
}

// From the second takeover without progress on a run waits, four seconds at most.
TEST_F(PgLeaseTest, ATakeoverWaitsByTheDatabasesClock) {
  for (const auto& [deaths, wait] : std::map<int, int>{{1, 0}, {2, 1}, {3, 2}, {4, 4}, {5, 4}, {40, 4}}) {
    EXPECT_EQ(db().Value("SELECT extract(epoch FROM takeover_delay(" + std::to_string(deaths) + "))::int"), std::to_string(wait));
    EXPECT_EQ(TakeoverDelay(deaths), milliseconds(1'000 * wait));
  }
  for (int deaths = 1; deaths < 14; ++deaths) {
    EXPECT_EQ(db().Value("SELECT trial_group(1000, " + std::to_string(deaths) + ")"), std::to_string(TrialGroup(1'000, deaths)));
    EXPECT_EQ(db().Value("SELECT extract(epoch FROM trial_time(interval '1 second', " + std::to_string(deaths) + "))::int"),
              std::to_string(TrialTime(milliseconds(1'000), deaths).count() / 1'000));
  }
}

TEST_F(PgLeaseTest, MassDeathAndCleanEndsAreNotCounted) {
  WorkerSessionId one = OpenSession(), two = OpenSession();
  db().Exec("UPDATE worker_sessions SET dead_at = clock_timestamp(), reaped = true WHERE dead_at IS NULL AND session_id NOT IN (" +
            Sql(one) + "," + Sql(two) + ")");
  CreateOne();
  ClaimOne(one);
  Expire(one);
  Expire(two);
  EXPECT_EQ(store().Reap(100)->sessions_died, 2);
  WorkerSessionId third = OpenSession();
  EXPECT_EQ(ClaimOne(third).takeovers_without_progress, 0);
  ASSERT_TRUE(store().CloseSession(third).ok());
  EXPECT_EQ(store().Reap(100)->leases_freed, 1);
  EXPECT_EQ(ClaimOne(OpenSession()).takeovers_without_progress, 0);
}

TEST_F(PgLeaseTest, HolderQuarantinesAndNothingRuns) {
  WorkerSessionId session = OpenSession();
  SubjectId subject = CreateOne();
  Claimed claimed = ClaimOne(session);
  EXPECT_EQ(store().Quarantine(subject, session, Token{claimed.token.value - 1}, "r", "d").code(), Code::kLeaseLost);
  ASSERT_TRUE(store().Quarantine(subject, session, claimed.token, "journal_corrupt", "event 3").ok());
  EXPECT_EQ(CommitOne(Append(claimed, session)).kind, CommitOutcome::Kind::kFenced);
  EXPECT_TRUE(Claim(session).claimed.empty());
}

TEST_F(PgLeaseTest, PostsAreIdempotentAndWakeAFreeSubject) {
  WorkerSessionId session = OpenSession();
  SubjectId subject = CreateOne();
  Claimed claimed = ClaimOne(session);
  CommitItem release = Append(claimed, session, 1, Disposition::kRelease);
  ASSERT_EQ(CommitOne(release).kind, CommitOutcome::Kind::kCommitted);
  InboxPost post{subject, InboxId{NewUuid7()}, "cancel", R"({"by":"ann"})", "cancel-1"};
  auto first = store().Post(post);
  ASSERT_TRUE(first.ok()) << first.error();
  EXPECT_FALSE(first->replayed);
  EXPECT_FALSE(first->holder.has_value());
  EXPECT_EQ(first->queue, queue());
  post.id = InboxId{NewUuid7()};
  EXPECT_TRUE(store().Post(post)->replayed);
  post.payload = R"({"by":"bob"})";
  EXPECT_EQ(store().Post(post).code(), Code::kConflict);
  Claimed woken = ClaimOne(session);
  ASSERT_EQ(woken.inbox.size(), 1u);
  EXPECT_EQ(woken.inbox[0].payload, R"({"by":"ann"})");
  post.subject = SubjectId{NewUuid7()};
  EXPECT_EQ(store().Post(post).code(), Code::kNotFound);
  EXPECT_EQ(store().ReadInbox(subject, Token{1}).code(), Code::kLeaseLost);
}

TEST_F(PgLeaseTest, DirectCommandAppendsUnderItsOwnTokenAndLeavesTheLeaseFree) {
  CreateItem create = NewItem();
  create.make_ready = false;
  SubjectId subject = CreateOne(create);
  Token used;
  auto done = store().Direct(subject, [&](const Claimed& claimed) -> Result<CommitItem> {
    Claimed copy = claimed;
    used = claimed.token;
    EXPECT_EQ(claimed.events.size(), 1u);
    return Append(copy, WorkerSessionId{}, 2);
  });
  ASSERT_TRUE(done.ok()) << done.error();
  EXPECT_EQ(done->kind, CommitOutcome::Kind::kCommitted);
  EXPECT_EQ(db().Value("SELECT head_seq FROM subject_head WHERE subject_id = " + Sql(subject)), "3");
  EXPECT_EQ(db().Value("SELECT (session_id IS NULL) || ' ' || token FROM leases WHERE subject_id = " + Sql(subject)),
            "true " + std::to_string(used.value));
  EXPECT_EQ(
      db().Value("SELECT head_seq FROM lease_history WHERE subject_id = " + Sql(subject) + " AND token = " + std::to_string(used.value)),
      "1");

  // A payload that is too large for a row is stored between two transactions; the decision holds unless the subject was granted meanwhile.
  int asked = 0;
  const std::string large = DumpJson(Json{{"said", std::string(600'000, 'x')}});
  auto much = store().Direct(subject, [&](const Claimed& claimed) -> Result<CommitItem> {
    ++asked;
    if (asked == 1) db().Exec("UPDATE fleet_epoch SET base = base + 1");  // as a failover between the two: another token is minted
    Claimed copy = claimed;
    used = claimed.token;
    CommitItem item = Append(copy, WorkerSessionId{}, 1);
    item.events[0].payload = large;
    Seal(item.events[0], claimed.head.chain);
    item.chain = item.events[0].chain;
    return item;
  });
  ASSERT_TRUE(much.ok()) << much.error();
  EXPECT_EQ(much->kind, CommitOutcome::Kind::kCommitted) << much->error;
  EXPECT_EQ(asked, 2) << "once for each token, not once more for the second transaction";
  EXPECT_EQ(db().Value("SELECT offloaded || ' ' || (payload IS NULL) || ' ' || (token = " + std::to_string(used.value) +
                       ") FROM event_rows WHERE subject_id = " + Sql(subject) + " AND seq = 4"),
            "true true true");
  EXPECT_EQ(db().Value("SELECT count(*) FROM content_refs r JOIN event_rows e ON e.content_hash = r.hash AND e.subject_id = r.subject_id "
                       "WHERE e.subject_id = " +
                       Sql(subject)),
            "1");

  auto refused = store().Direct(subject, [](const Claimed&) -> Result<CommitItem> { return Error{Code::kDenied, "no"}; });
  EXPECT_EQ(refused.code(), Code::kDenied);
  EXPECT_EQ(db().Value("SELECT token FROM leases WHERE subject_id = " + Sql(subject)), std::to_string(used.value))
      << "a refusal leaves nothing";
  auto never = [](const Claimed&) -> Result<CommitItem> { return Error{Code::kInternal, "must not be asked"}; };
  ASSERT_TRUE(store().Post({subject, InboxId{NewUuid7()}, "signal", "{}", std::nullopt}).ok());
  EXPECT_EQ(store().Direct(subject, never).code(), Code::kConflict) << "unread inbox";
  ClaimOne(OpenSession());
  EXPECT_EQ(store().Direct(subject, never).code(), Code::kConflict) << "held";
  EXPECT_EQ(store().Direct(SubjectId{NewUuid7()}, never).code(), Code::kNotFound);
}

TEST_F(PgLeaseTest, LeaderLeasesAreHeldByOneAtATime) {
  WorkerSessionId one = OpenSession(), two = OpenSession();
  std::string name = "reaper-" + queue();
  auto first = store().HoldLeaderLease(name, one, milliseconds(60'000));
  ASSERT_TRUE(first.ok()) << first.error();
  ASSERT_TRUE(first->has_value());
  EXPECT_FALSE(store().HoldLeaderLease(name, two, milliseconds(60'000))->has_value());
  auto renewed = store().HoldLeaderLease(name, one, milliseconds(60'000));
  EXPECT_EQ((*renewed)->token, (*first)->token);
  EXPECT_GT((*renewed)->expires_at, (*first)->expires_at);
  db().Exec("UPDATE leader_leases SET expires_at = clock_timestamp() - interval '1 s' WHERE name = '" + name + "'");
  auto taken = store().HoldLeaderLease(name, two, milliseconds(60'000));
  ASSERT_TRUE(taken->has_value());
  EXPECT_GT((*taken)->token, (*first)->token);
  ASSERT_TRUE(store().CloseSession(two).ok());
  EXPECT_TRUE(store().HoldLeaderLease(name, one, milliseconds(60'000))->has_value()) << "the holder is known dead";
}

TEST_F(PgLeaseTest, ContentsAreWriteOnceAndVerified) {
  std::string small = "small", empty, large(3'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 7) large[i] = char(i);
  std::vector<std::pair<Hash256, std::string>> contents = {
      {Sha256(small), small}, {Sha256(empty), empty}, {Sha256(large), large}, {Sha256(small), small}};
  ASSERT_TRUE(store().PutContents(contents).ok());
  ASSERT_TRUE(store().PutContents(contents).ok()) << "again is no error";
  for (const auto& [hash, bytes] : contents) {
    auto read = store().GetContent(hash);
    ASSERT_TRUE(read.ok()) << read.error();
    EXPECT_EQ(*read, bytes);
  }
  EXPECT_EQ(store().GetContent(Sha256("missing")).code(), Code::kNotFound);
  const std::vector<Hash256> named = {Sha256(large), Sha256(small), Sha256("missing"), Sha256(empty), Sha256(small)};
  const std::map<Hash256, std::string> of_one_row = {{Sha256(small), small}, {Sha256(empty), empty}};
  auto together = store().GetContents(named);
  ASSERT_TRUE(together.ok()) << together.error();
  EXPECT_EQ(*together, of_one_row);
  std::vector<std::pair<Hash256, std::string>> wrong = {{Sha256("a"), "b"}};
  EXPECT_EQ(store().PutContents(wrong).code(), Code::kInvalid);
  db().Exec("SET session_replication_role = replica; UPDATE content_chunks SET bytes = 'damaged' WHERE hash = '\\x" + ToHex(Sha256(small)) +
            "'");
  EXPECT_EQ(store().GetContent(Sha256(small)).code(), Code::kCorrupt);
  db().Exec("SET session_replication_role = replica; UPDATE content_chunks SET bytes = 'smalk' WHERE hash = '\\x" + ToHex(Sha256(small)) +
            "'");
  EXPECT_EQ(store().GetContents(named)->size(), 1u) << "what is damaged is left out";
}

// What keeps the leases never waits behind bulk: with the only other connection held by a slow call, the session lives on.
TEST_F(PgLeaseTest, TheSessionHasAConnectionOfItsOwn) {
  PgStoreOptions options;
  options.conninfo = db().conninfo();
  options.connections = 1;
  options.wait_for_connection = milliseconds(10);
  PgStore small(options);
  auto slow_call = small.pool().Take();
  ASSERT_TRUE(slow_call.ok());
  EXPECT_EQ(small.GetContent(Sha256("x")).code(), Code::kUnavailable) << "it is held";
  SessionRequest request;
  request.worker_name = "small";
  request.ttl = milliseconds(60'000);
  auto grant = small.OpenSession(request);
  ASSERT_TRUE(grant.ok()) << grant.error();
  EXPECT_TRUE(small.Heartbeat(grant->session, request.ttl).ok());
  EXPECT_TRUE(small.CloseSession(grant->session).ok());
}

TEST(PgStoreOnAnotherSchema, NoSessionIsOpened) {
  auto database = test::TestDatabase::Create();
  ASSERT_TRUE(database.ok());
  PgStoreOptions options;
  options.conninfo = (*database)->conninfo();
  options.check_database = true;
  SessionRequest request;
  request.worker_name = "old";
  (*database)->Exec("INSERT INTO schema_migrations (version) VALUES ('9999')");
  {
    auto refused = PgStore(options).OpenSession(request);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), Code::kConflict);
    EXPECT_NE(refused.message().find("newer than this program (it has 9999)"), std::string::npos) << refused.message();
  }
  (*database)->Exec("DELETE FROM schema_migrations WHERE version IN ('9999', (SELECT min(version) FROM schema_migrations))");
  {
    auto refused = PgStore(options).OpenSession(request);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), Code::kConflict);
    EXPECT_NE(refused.message().find("airun db migrate"), std::string::npos) << refused.message();
  }
}

TEST(PgStoreUnreachableTest, SaysSo) {
  PgStoreOptions options;
  options.conninfo = "host=127.0.0.1 port=1 dbname=none connect_timeout=2";
  PgStore store(options);
  auto answer = store.Reap(1);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.code(), Code::kUnavailable);
  EXPECT_NE(answer.message().find("cannot be reached"), std::string::npos) << answer.message();
}

}  // namespace
}  // namespace acl
