#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {

void IsolationTest::Prepare(const std::vector<Stage::Edit>& edits) {
  a_.reset();
  b_.reset();
  c_.reset();
  stage_.reset();
  auto stage = Stage::Make(edits);
  ASSERT_TRUE(stage) << stage.error();
  stage_ = *std::move(stage);
  ASSERT_GE(stage_->marks(), 15) << "the marks of the SQL are gone: these tests would force nothing";
  a_ = std::make_unique<Actor>(*stage_, "a");
  b_ = std::make_unique<Actor>(*stage_, "b");
  c_ = std::make_unique<Actor>(*stage_, "c");
}

WorkerSessionId IsolationTest::Open(Actor& actor, milliseconds ttl) {
  SessionRequest request;
  request.worker_name = actor.name();
  request.queues = {"default"};
  request.slots = 10;
  request.ttl = ttl;
  auto grant = actor.store().OpenSession(request);
  if (!grant) {
    ADD_FAILURE() << grant.error();
    return {};
  }
  return grant->session;
}

CreateItem IsolationTest::NewItem() {
  CreateItem item;
  item.subject = SubjectId{NewUuid7()};
  item.kind = "counter";
  Event event;
  event.type = "test.created";
  event.payload = "{\"n\":1}";
  item.events = {event};
  return item;
}

SubjectId IsolationTest::Create(bool ready) {
  CreateItem item = NewItem();
  item.make_ready = ready;
  auto outcome = c_->store().Create({&item, 1});
  EXPECT_TRUE(outcome) << outcome.error();
  return item.subject;
}

ClaimRequest IsolationTest::Request(const WorkerSessionId& session, int max) {
  ClaimRequest request;
  request.session = session;
  request.max = max;
  return request;
}

Holder IsolationTest::Claim(Actor& actor, const WorkerSessionId& session, const SubjectId& subject) {
  auto answer = actor.store().Claim(Request(session));
  if (!answer || answer->claimed.size() != 1 || answer->claimed[0].subject != subject) {
    ADD_FAILURE() << "claim of " << subject.ToString() << (answer ? "" : ": " + answer.message());
    Claimed none;
    none.subject = subject;
    return {none, session};
  }
  return {std::move(answer->claimed[0]), session};
}

InboxPost IsolationTest::NewPost(const SubjectId& subject, const std::string& kind) {
  return {subject, InboxId{NewUuid7()}, kind, "{}", std::nullopt};
}

std::vector<CommitItem> IsolationTest::Batch(const CommitItem& item) const {
  std::vector<CommitItem> items{item};
  if (!in_a_batch_) return items;
  CommitItem& stranger = items.emplace_back();
  stranger.subject = SubjectId{NewUuid7()};
  stranger.session = item.session;
  stranger.token = item.token;
  return items;
}

Outcome IsolationTest::Kind(const Result<std::vector<CommitOutcome>>& outcomes, std::size_t item) {
  if (!outcomes || outcomes->size() <= item) {
    ADD_FAILURE() << (outcomes ? "too few outcomes" : outcomes.message());
    return Outcome::kRejected;
  }
  EXPECT_NE(outcomes->at(item).kind, Outcome::kRejected) << outcomes->at(item).error;
  return outcomes->at(item).kind;
}

int IsolationTest::ExpireAndReap() {
  stage_->Advance(milliseconds(700'000));
  auto reaped = c_->store().Reap(100);
  if (!reaped) {
    ADD_FAILURE() << reaped.error();
    return 0;
  }
  return reaped->leases_freed;
}

}  // namespace acl::test
