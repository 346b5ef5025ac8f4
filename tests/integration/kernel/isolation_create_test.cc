// Named interleavings of creates: beside reaps, and beside each other under one request key.
#include "shared/base/sha256.h"
#include "tests/integration/kernel/isolation_fixture.h"
#include "tests/support/wait.h"

namespace acl::test {
namespace {

using Created = CreateOutcome::Kind;

class CreateIsolation : public IsolationTest, public ::testing::WithParamInterface<MadeBy> {};
INSTANTIATE_TEST_SUITE_P(Forms, CreateIsolation, ::testing::Values(MadeBy::kPlain, MadeBy::kKeyed, MadeBy::kFunction));

TEST_P(CreateIsolation, AGrantBesideTheReapOfItsSession) {
  const WorkerSessionId session = Open(*a_);
  const CreateItem item = GrantedItem(session, GetParam());
  Gate gate(*stage_, "create_sessions_locked", *a_);
  auto create = a_->Start([item](KernelStore& store) { return store.Create({&item, 1}); });
  ASSERT_TRUE(gate.AwaitArrival());
  stage_->Advance(milliseconds(700'000));
  EXPECT_EQ(c_->store().Reap(10)->sessions_died, 0) << "it is not declared dead under the grant";
  gate.Open();
  EXPECT_TRUE(create.get()->at(0).granted);
  EXPECT_EQ(ExpireAndReap(), 1) << "what was granted is freed by the next reap";
  Claim(*b_, Open(*b_), item.subject);
}

TEST_P(CreateIsolation, AGrantBehindTheReapOfItsSessionBecomesReady) {
  const WorkerSessionId session = Open(*a_);
  const CreateItem item = GrantedItem(session, GetParam());
  stage_->Advance(milliseconds(700'000));
  Gate gate(*stage_, "reap_session_locked", *c_);
  auto reap = c_->Start([](KernelStore& store) { return store.Reap(10); });
  ASSERT_TRUE(gate.AwaitArrival());
  auto create = a_->Start([item](KernelStore& store) { return store.Create({&item, 1}); });
  ASSERT_TRUE(stage_->AwaitBlocked("a")) << "a grant waits for the marking";
  gate.Open();
  EXPECT_EQ(reap.get()->sessions_died, 1);
  EXPECT_FALSE(create.get()->at(0).granted);
  Claim(*b_, Open(*b_), item.subject);
}

// The function is what a coordinator of the version before makes them by, beside ours.
class KeyIsolation : public IsolationTest {
 protected:
  static CreateItem Keyed(const std::string& key, MadeBy form = MadeBy::kKeyed) {
    CreateItem item = GrantedItem(WorkerSessionId{NewUuid7()}, form);  // of nobody: it becomes ready
    item.request_key = key;
    item.request_hash = Sha256("body");
    return item;
  }
  static auto Creating(const std::vector<CreateItem>& items) {
    return [items](KernelStore& store) { return store.Create(items); };
  }
  static auto Creating(const CreateItem& item) { return Creating(std::vector{item}); }
  // A twin that never commits.
  auto Held(const std::string& key) {
    return std::make_unique<HeldLock>(stage_->db().conninfo(),
                                      "INSERT INTO request_keys (scope, request_key, request_hash, subject_id) VALUES ('" +
                                          kDefaultProject.ToString() + "', '" + key + "', sha256('x'), gen_random_uuid())");
  }
  std::int64_t Rows(const std::string& table) { return stage_->db().Count("SELECT count(*) FROM " + table); }
};

TEST_F(KeyIsolation, TwoRequestsUnderTheSameKeyMakeOneSubject) {
  std::int64_t made = 0;
  for (const MadeBy one : {MadeBy::kKeyed, MadeBy::kFunction}) {
    for (const MadeBy two : {MadeBy::kKeyed, MadeBy::kFunction}) {
      const std::string key = "key" + std::to_string(++made);
      const CreateItem item = Keyed(key, one), twin = Keyed(key, two);
      Gate gate(*stage_, "create_keyed", *a_);
      auto first = a_->Start(Creating(item));
      ASSERT_TRUE(gate.AwaitArrival());
      auto second = b_->Start(Creating(twin));
      ASSERT_TRUE(stage_->AwaitBlocked("b"));
      gate.Open();
      const auto answer = first.get(), replay = second.get();
      ASSERT_TRUE(answer && replay) << answer.error() << replay.error();
      EXPECT_EQ(answer->at(0).kind, Created::kCreated);
      EXPECT_EQ(replay->at(0).kind, Created::kReplayed);
      EXPECT_EQ(replay->at(0).subject, item.subject);
      EXPECT_EQ(replay->at(0).token, answer->at(0).token);
      for (const char* table : {"subjects", "leases", "event_rows", "request_keys", "ready"}) EXPECT_EQ(Rows(table), made) << table;
    }
  }
}

// What was in the batch of the twin with its key is made all the same, once.
TEST_F(KeyIsolation, ABatchWithATwinsKeyLandsWhole) {
  const CreateItem item = Keyed("key");
  std::vector<CreateItem> batch{Keyed("a"), NewItem(), Keyed("key"), Keyed("z")};
  batch[2].request_hash = Sha256("another body");
  Gate gate(*stage_, "create_keyed", *a_);
  auto first = a_->Start(Creating(item));
  ASSERT_TRUE(gate.AwaitArrival());
  auto second = b_->Start(Creating(batch));
  ASSERT_TRUE(stage_->AwaitBlocked("b"));
  gate.Open();
  ASSERT_TRUE(first.get());
  const auto answer = second.get();
  ASSERT_TRUE(answer) << answer.error();
  for (const std::size_t n : {0u, 1u, 3u}) {
    EXPECT_EQ(answer->at(n).kind, Created::kCreated);
    EXPECT_EQ(answer->at(n).subject, batch[n].subject);
  }
  EXPECT_EQ(answer->at(2).kind, Created::kKeyConflict);
  EXPECT_EQ(Rows("subjects"), 4);
  EXPECT_EQ(Rows("event_rows"), 4);
  EXPECT_EQ(Rows("request_keys"), 3);
}

// The twin's process does not know what became of its request, and asks again.
TEST_F(KeyIsolation, WhatATwinLeavesUndoneIsMade) {
  for (const char* mark : {"create_keyed", "create_sessions_locked"}) {
    const CreateItem item = Keyed(mark), twin = Keyed(mark);
    CreateItem granted = item;
    granted.grant_to = Open(*c_);  // a session that lives: the second mark is passed
    Gate gate(*stage_, mark, *a_);
    auto first = a_->Start(Creating(granted));
    ASSERT_TRUE(gate.AwaitArrival());
    auto second = b_->Start(Creating(twin));
    ASSERT_TRUE(stage_->AwaitBlocked("b"));
    stage_->db().Exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'a' AND datname = current_database()");
    EXPECT_EQ(first.get().code(), Code::kOutcomeUnknown);
    const auto answer = second.get();
    ASSERT_TRUE(answer) << answer.error();
    EXPECT_EQ(answer->at(0).kind, Created::kCreated);
    EXPECT_EQ(answer->at(0).subject, twin.subject);
    gate.Open();
    const auto again = a_->store().Create({&granted, 1});
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again->at(0).kind, Created::kReplayed);
    EXPECT_EQ(again->at(0).subject, twin.subject);
    EXPECT_FALSE(again->at(0).granted);
  }
  EXPECT_EQ(Rows("subjects"), 2);
  EXPECT_EQ(Rows("request_keys"), 2);
}

// Keys come before sessions: who waits for a key keeps no session from its end.
TEST_F(KeyIsolation, WhoWaitsForItsKeyHoldsNoSession) {
  for (const MadeBy form : {MadeBy::kKeyed, MadeBy::kFunction}) {
    CreateItem item = Keyed(form == MadeBy::kKeyed ? "statement" : "function", form);
    item.grant_to = Open(*a_);
    auto held = Held(*item.request_key);
    auto create = a_->Start(Creating(item));
    ASSERT_TRUE(stage_->AwaitBlocked("a"));
    stage_->Advance(milliseconds(700'000));
    EXPECT_EQ(c_->store().Reap(10)->sessions_died, 1);
    held.reset();
    const auto answer = create.get();
    ASSERT_TRUE(answer) << answer.error();
    EXPECT_EQ(answer->at(0).kind, Created::kCreated);
  }
}

// Keys are taken in their order, whatever that of the items: who waits for one holds none that comes after it.
TEST_F(KeyIsolation, BatchesWithCrossingKeysDoNotWaitForEachOther) {
  const std::vector<CreateItem> up{Keyed("k1"), Keyed("k2"), Keyed("k3")}, down{Keyed("k3"), Keyed("k1")};
  const CreateItem last = Keyed("k3");
  auto held = std::make_unique<HeldLock>(stage_->db().conninfo(),
                                         "INSERT INTO request_keys (scope, request_key, request_hash, subject_id) VALUES ('" +
                                             kDefaultProject.ToString() + "', 'k2', sha256('x'), '" + last.subject.ToString() + "')");
  auto first = a_->Start(Creating(up));
  ASSERT_TRUE(stage_->AwaitBlocked("a"));
  auto second = b_->Start(Creating(down));
  ASSERT_TRUE(stage_->AwaitBlocked("b"));
  auto third = c_->Start(Creating(last));
  EXPECT_TRUE(WaitUntil([&] { return Rows("subjects") == 1; })) << "one of those who wait holds the last key";
  held.reset();
  const auto one = first.get(), two = second.get(), between = third.get();
  ASSERT_TRUE(one && two && between) << one.error() << two.error() << between.error();
  EXPECT_EQ(between->at(0).kind, Created::kCreated);
  EXPECT_EQ(one->at(1).kind, Created::kCreated);
  EXPECT_EQ(one->at(2).subject, last.subject);
  EXPECT_EQ(two->at(0).subject, last.subject);
  EXPECT_EQ(one->at(0).subject, two->at(1).subject);
  EXPECT_NE(one->at(0).kind, two->at(1).kind) << "made by one of them";
  EXPECT_EQ(Rows("subjects"), 3);
}

}  // namespace
}  // namespace acl::test
