#pragma once
// A PgStore on a database of its own, and the few moves every protocol test makes.

#include <gtest/gtest.h>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/postgres/pg_store.h"
#include "tests/support/test_database.h"

namespace acl::test {

class PgStoreTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    if (HasFatalFailure()) return;
    PgStoreOptions options;
    options.conninfo = db().conninfo();
    store_ = std::make_unique<PgStore>(options);
    queue_ = "q-" + NewUuid7().ToString();  // every test has a queue of its own: the suite shares the database
  }

  PgStore& store() { return *store_; }
  const std::string& queue() const { return queue_; }

  WorkerSessionId OpenSession(milliseconds ttl = milliseconds(60'000)) {
    SessionRequest request;
    request.worker_name = "test";
    request.host = "here";
    request.slots = 8;
    request.queues = {queue_};
    request.version = "1";
    request.ttl = ttl;
    auto grant = store().OpenSession(request);
    EXPECT_TRUE(grant.ok()) << grant.error();
    return grant->session;
  }

  CreateItem NewItem(int events = 1) {
    CreateItem item;
    item.subject = SubjectId{NewUuid7()};
    item.kind = "counter";
    item.queue = queue_;
    for (int i = 0; i < events; ++i) {
      Event event;
      event.type = "counter.created";
      event.payload = R"({"n":)" + std::to_string(i) + "}";
      item.events.push_back(event);
    }
    return item;
  }

  SubjectId CreateOne(CreateItem item) {
    auto outcomes = store().Create(std::span(&item, 1));
    EXPECT_TRUE(outcomes.ok()) << outcomes.error();
    return outcomes->front().subject;
  }
  SubjectId CreateOne() { return CreateOne(NewItem()); }

  ClaimAnswer Claim(const WorkerSessionId& session, int max = 1) {
    ClaimRequest request;
    request.session = session;
    request.queues = {queue_};
    request.max = max;
    auto answer = store().Claim(request);
    EXPECT_TRUE(answer.ok()) << answer.error();
    return answer.ok() ? *answer : ClaimAnswer{};
  }
  Claimed ClaimOne(const WorkerSessionId& session) {
    ClaimAnswer answer = Claim(session);
    EXPECT_EQ(answer.claimed.size(), 1u);
    return answer.claimed.empty() ? Claimed{} : answer.claimed.front();
  }

  // An item that appends `events` events on top of what was claimed, and moves `claimed` forward as if it had landed.
  CommitItem Append(Claimed& claimed, const WorkerSessionId& session, int events = 1, Disposition disposition = Disposition::kKeep) {
    CommitItem item;
    item.subject = claimed.subject;
    item.session = session;
    item.token = claimed.token;
    item.base_seq = claimed.head.seq;
    item.disposition = disposition;
    item.expected_wake = claimed.wake;
    Hash256 previous = claimed.head.chain;
    WallTime at = std::max(claimed.db_now, claimed.head.last_timestamp);
    for (int i = 0; i < events; ++i) {
      Event event;
      event.subject = claimed.subject;
      event.seq = item.base_seq + i + 1;
      event.journal = claimed.head.journal;
      event.type = "counter.added";
      event.token = claimed.token;
      event.timestamp = at;
      event.payload = R"({"added":1})";
      Seal(event, previous);
      previous = event.chain;
      item.events.push_back(std::move(event));
    }
    item.chain = previous;
    item.state_root = Sha256("state " + std::to_string(item.base_seq + events));
    item.last_timestamp = at;
    claimed.head.seq += events;
    claimed.head.chain = previous;
    claimed.head.state_root = item.state_root;
    claimed.head.last_timestamp = at;
    return item;
  }

  CommitOutcome CommitOne(const CommitItem& item) {
    auto outcomes = store().Commit(std::span(&item, 1));
    EXPECT_TRUE(outcomes.ok()) << outcomes.error();
    return outcomes.ok() ? outcomes->front() : CommitOutcome{CommitOutcome::Kind::kRejected, 0, "no answer"};
  }

  std::string Sql(const SubjectId& subject) { return "'" + subject.ToString() + "'"; }
  std::string Sql(const WorkerSessionId& session) { return "'" + session.ToString() + "'"; }
  void Expire(const WorkerSessionId& session) {
    db().Exec("UPDATE worker_sessions SET expires_at = clock_timestamp() - interval '1 s' WHERE session_id = " + Sql(session));
  }

 private:
  std::unique_ptr<PgStore> store_;
  std::string queue_;
};

}  // namespace acl::test
