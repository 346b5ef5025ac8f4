// DeliveryStore on PostgreSQL: from the outbox of a commit to the end; and two coordinators' turns at once.
#include "shared/postgres/pg_delivery_store.h"

#include <set>
#include <thread>

#include "coordinator/deliveries/deliveries.h"
#include "shared/kernel/publish.h"
#include "tests/integration/postgres/store_fixture.h"

namespace acl::delivery {
namespace {

using coordinator::Deliveries;

class DeliveryStoreTest : public test::PgStoreTest {
 protected:
  void SetUp() override {
    PgStoreTest::SetUp();
    db().Exec("DELETE FROM deliveries");
    db().Exec("DELETE FROM outbox");
    session_ = OpenSession();
    deliveries_ = std::make_unique<PgDeliveryStore>(store().pool());
  }

  // A run that says so many things in commits of their own, and is given back.
  SubjectId Say(const std::vector<std::pair<std::string, std::string>>& messages) {
    const SubjectId run = CreateOne();
    Claimed claimed = ClaimOne(session_);
    EXPECT_EQ(claimed.subject, run);
    for (const auto& [id, endpoint] : messages) {
      CommitItem item = Append(claimed, session_);
      item.outbox.push_back(endpoint == "kafka"
                                ? CloudEventMessage(run.ToString(), id, "org.example.made", "things", {{"n", 1}}, "things/1")
                                : WebhookMessage(run.ToString(), id, "deploy.done", endpoint, {{"z", 1}, {"a", "ü\n"}}));
      EXPECT_EQ(CommitOne(item).kind, CommitOutcome::Kind::kCommitted);
    }
    CommitItem last = Append(claimed, session_, 1, Disposition::kClose);
    EXPECT_EQ(CommitOne(last).kind, CommitOutcome::Kind::kCommitted);
    return run;
  }
  std::vector<std::string> Due(ClaimRequest request = {}) {
    auto answer = deliveries_->Claim(request);
    EXPECT_TRUE(answer.ok()) << answer.error();
    std::vector<std::string> ids;
    if (answer.ok())
      for (const auto& one : answer->due) ids.push_back(one.message_id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  bool Ends(const std::string& id, State state, int attempt = 1, milliseconds again = {}) {
    auto recorded =
        deliveries_->Record({id, {attempt, {}, milliseconds(7), 503, state == State::kDelivered ? "" : "why"}, state, 1, again});
    EXPECT_TRUE(recorded.ok()) << recorded.error();
    return recorded.ok() && *recorded;
  }
  Delivery Now(const std::string& id) {
    auto got = deliveries_->Get(kDefaultProject, id);
    EXPECT_TRUE(got.ok()) << got.error();
    return got.ok() ? *got : Delivery{};
  }

  using Ids = std::vector<std::string>;
  WorkerSessionId session_;
  std::unique_ptr<PgDeliveryStore> deliveries_;
};

TEST_F(DeliveryStoreTest, WhatACommitSaysIsThereOnceAndAsItWasSaid) {
  const SubjectId run = Say({{"a", "hook"}, {"e", "kafka"}});
  EXPECT_EQ(Due(), (Ids{"a", "e"}));
  EXPECT_EQ(Due(), Ids{});
  const Delivery a = Now("a"), e = Now("e");
  EXPECT_EQ(a.subject, run);
  EXPECT_EQ(a.channel, Channel::kWebhook);
  EXPECT_EQ(a.endpoint, "hook");
  EXPECT_EQ(a.event, "deploy.done");
  EXPECT_EQ(*ParseJson(a.body), (Json{{"z", 1}, {"a", "ü\n"}}));
  EXPECT_EQ(a.attempts, 1);
  EXPECT_TRUE(a.held_until.has_value());
  EXPECT_EQ(e.channel, Channel::kKafka);
  EXPECT_EQ(e.endpoint, "things");
  EXPECT_EQ(e.about, "things/1");
  EXPECT_EQ(*ParseJson(e.body), (Json{{"n", 1}}));
}

TEST_F(DeliveryStoreTest, WhatNobodyCouldSendIsDeadAndKeepsNobodyWaiting) {
  const SubjectId run = Say({{"good", "hook"}});
  const std::string rows[] = {"no json",
                              "7",
                              R"({"endpoint":"hook","payload":{}})",
                              R"({"id":"x","endpoint":"","payload":{}})",
                              R"({"id":"y","endpoint":"hook"})",
                              R"({"id":")" + std::string(201, 'z') + R"(","endpoint":"hook","payload":{}})"};
  for (const std::string& payload : rows)
    db().Exec("INSERT INTO outbox (subject_id, topic, key, payload, created_at) VALUES ('" + run.ToString() + "', 'webhook/x', 'k', '" +
              payload + "', clock_timestamp())");
  EXPECT_EQ(Due(), (Ids{"good"}));
  EXPECT_EQ(db().Count("SELECT count(*) FROM deliveries WHERE state = 'dead' AND last_error LIKE 'malformed:%'"), 6);
  EXPECT_EQ(db().Count("SELECT count(*) FROM outbox WHERE topic LIKE 'webhook/%'"), 0);
}

TEST_F(DeliveryStoreTest, TheNextOfARunToAnEndpointWaitsForTheEndOfTheFirst) {
  Say({{"a", "hook"}, {"b", "hook"}, {"c", "other"}});
  EXPECT_EQ(Due(), (Ids{"a", "c"}));
  EXPECT_TRUE(Ends("a", State::kPending, 1, milliseconds(3'600'000)));
  EXPECT_EQ(Due(), Ids{});
  db().Exec("UPDATE deliveries SET next_attempt_at = now() WHERE message_id = 'a'");
  EXPECT_EQ(Due(), Ids{"a"});
  EXPECT_TRUE(Ends("a", State::kDead, 2));
  EXPECT_EQ(Due(), Ids{"b"});
  EXPECT_TRUE(Ends("b", State::kDelivered));
  ASSERT_TRUE(deliveries_->Retry(kDefaultProject, "a").ok());
  EXPECT_EQ(Due(), Ids{"a"});
}

TEST_F(DeliveryStoreTest, AnAttemptIsOnesOwnUntilItsTimeIsOver) {
  Say({{"a", "hook"}});
  EXPECT_EQ(Due({.lease = milliseconds(0)}), Ids{"a"});
  EXPECT_EQ(Due(), Ids{"a"});  // the first is silent
  EXPECT_FALSE(Ends("a", State::kPending, 1));
  EXPECT_EQ(Now("a").attempts, 2);
  EXPECT_TRUE(Ends("a", State::kDelivered, 1)) << "it was delivered, whoever did it";
  EXPECT_FALSE(Ends("a", State::kDelivered, 2));
  auto log = deliveries_->Attempts("a");
  ASSERT_TRUE(log.ok());
  ASSERT_EQ(log->size(), 2u);
  EXPECT_EQ((*log)[0].number, 1);
  EXPECT_EQ((*log)[0].took, milliseconds(7));
}

TEST_F(DeliveryStoreTest, TheLogKeepsTheNewest) {
  Say({{"a", "hook"}});
  for (int n = 1; n <= kAttemptsKept + 5; ++n) {
    EXPECT_EQ(Due(), Ids{"a"}) << n;
    EXPECT_TRUE(Ends("a", State::kPending, n));
  }
  auto log = deliveries_->Attempts("a");
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(int(log->size()), kAttemptsKept);
  EXPECT_EQ(log->back().number, kAttemptsKept + 5);
}

TEST_F(DeliveryStoreTest, PeopleRetryAndDiscardWithinTheirProject) {
  Say({{"a", "hook"}, {"b", "hook"}});
  EXPECT_EQ(Due(), Ids{"a"});
  const ProjectId other{NewUuid7()};
  EXPECT_EQ(deliveries_->Get(other, "a").code(), Code::kNotFound);
  EXPECT_EQ(deliveries_->Retry(other, "a").code(), Code::kNotFound);
  EXPECT_EQ(deliveries_->Discard(other, "a").code(), Code::kNotFound);
  EXPECT_TRUE(deliveries_->List(other, std::nullopt, 0, 10)->empty());
  ASSERT_TRUE(deliveries_->Retry(kDefaultProject, "a").ok());
  EXPECT_EQ(Due(), Ids{}) << "somebody sends it just now";
  auto discarded = deliveries_->Discard(kDefaultProject, "a");
  ASSERT_TRUE(discarded.ok());
  EXPECT_EQ(discarded->state, State::kDiscarded);
  EXPECT_EQ(Due(), Ids{"b"});
  EXPECT_TRUE(Ends("b", State::kDelivered));
  EXPECT_EQ(deliveries_->Retry(kDefaultProject, "b").code(), Code::kConflict);
  EXPECT_EQ(deliveries_->Discard(kDefaultProject, "b").code(), Code::kConflict);
  EXPECT_EQ(deliveries_->List(kDefaultProject, State::kDiscarded, 0, 10)->size(), 1u);
  auto all = deliveries_->List(kDefaultProject, std::nullopt, 0, 1);
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().message_id, "b");
  EXPECT_EQ(deliveries_->List(kDefaultProject, std::nullopt, all->front().position, 10)->front().message_id, "a");
  EXPECT_EQ(*deliveries_->Prune(milliseconds(3'600'000), 10), 0);
  EXPECT_EQ(*deliveries_->Prune(milliseconds(-1'000), 10), 2);
}

TEST_F(DeliveryStoreTest, OfEveryEndpointSomeAndOfFullOnesNone) {
  for (int n = 0; n < 4; ++n) Say({{"a" + std::to_string(n), "slow"}});
  Say({{"b", "quick"}});
  EXPECT_EQ(Due({.max = 10, .each = 2}).size(), 3u);
  EXPECT_EQ(Due({.max = 10, .each = 9, .full_endpoints = {"slow"}}), Ids{});
  EXPECT_EQ(Due({.max = 1, .each = 9}).size(), 1u);
}

// Both take turns over one table from two threads; then one is killed with what it had.
TEST_F(DeliveryStoreTest, TwoCoordinatorsAtOnceSendEachOnceInOrderAndTakeUpWhatOneLeft) {
  constexpr int kRuns = 12, kEach = 5;
  std::map<SubjectId, Ids> said;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::pair<std::string, std::string>> messages;
    for (int n = 0; n < kEach; ++n) messages.emplace_back("m" + std::to_string(run) + "-" + std::to_string(n), "hook");
    const SubjectId id = Say(messages);
    for (const auto& [message, endpoint] : messages) said[id].push_back(message);
  }
  std::mutex mutex;
  std::map<SubjectId, Ids> heard;
  bool kills = true;  // the first coordinator's third message is never answered: it dies with it
  int by_first = 0;
  const auto hear = [&](bool first) {
    return [&, first](const Delivery& message, coordinator::OnAnswered done) {
      std::lock_guard lock(mutex);
      if (first && kills && ++by_first >= 3) return;
      heard[message.subject].push_back(message.message_id);
      Answer answer;
      answer.status = 200;
      done(std::move(answer));
    };
  };
  SystemClock clock;
  SystemRandom random;
  Metrics metrics;
  const coordinator::DeliveriesOptions options{.at_once = 4,
                                               .each = 4,
                                               .period = milliseconds(1),
                                               .busy = milliseconds(1),
                                               .lease = milliseconds(60'000),
                                               .stop_within = milliseconds(0)};
  const auto work = [&](bool first, int turns) {
    PgDeliveryStore mine(store().pool());
    Deliveries one(mine, hear(first), clock, random, metrics, options);
    for (int n = 0; n < turns; ++n) {
      auto turned = one.Tick();
      EXPECT_TRUE(turned.ok()) << turned.error();
    }
  };
  std::thread first(work, true, 300), second(work, false, 300);
  first.join();
  second.join();
  {
    std::lock_guard lock(mutex);
    ASSERT_GE(by_first, 3) << "the first had nothing to die with";
  }
  db().Exec("UPDATE deliveries SET next_attempt_at = now(), held_until = now() WHERE state = 'pending' AND held_until IS NOT NULL");
  work(false, 300);
  EXPECT_EQ(heard, said);
  EXPECT_EQ(deliveries_->List(kDefaultProject, State::kDelivered, 0, 1'000)->size(), std::size_t(kRuns * kEach));
}

}  // namespace
}  // namespace acl::delivery
