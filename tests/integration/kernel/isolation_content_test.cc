// Named interleavings of the collector of contents with puts and with commits that refer: a referenced content is never collected.
#include <condition_variable>

#include "shared/base/sha256.h"
#include "shared/objectstore/memory_objects.h"
#include "tests/integration/kernel/isolation_fixture.h"

namespace acl::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr milliseconds kHour{3'600'000};
const std::pair<Hash256, std::string> kContent{Sha256("content"), "content"};

auto Collecting() {
  return [](KernelStore& store) { return store.CollectContents(kHour, {}, 100); };
}
auto Putting() {
  return [](KernelStore& store) { return store.PutContents({&kContent, 1}); };
}

class ContentIsolation : public IsolationTest {
 protected:
  // A content that nobody refers to and nobody used for two hours, and an item that names it.
  CommitItem ItemThatNamesIt() {
    Holder holder = ClaimNew(*a_, Open(*a_, 100 * kHour));
    CommitItem item = holder.Item();
    item.contents = {kContent.first};
    EXPECT_TRUE(a_->store().PutContents({&kContent, 1}));
    stage_->Advance(2 * kHour);
    return item;
  }
  bool IsThere() { return b_->store().GetContent(kContent.first).ok(); }
};

TEST_F(ContentIsolation, ACommitLandsAfterTheCollectorLooked) {
  const CommitItem item = ItemThatNamesIt();
  Gate gate(*stage_, "collect_seen", *c_);
  auto collected = c_->Start(Collecting());
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
  gate.Open();
  auto answer = collected.get();
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->contents, 0);
  EXPECT_TRUE(IsThere());
}

TEST_F(ContentIsolation, ACommitComesWhileTheCollectorHasIt) {
  const CommitItem item = ItemThatNamesIt();
  Gate gate(*stage_, "collect_locked", *c_);
  auto collected = c_->Start(Collecting());
  ASSERT_TRUE(gate.AwaitArrival());
  auto commit = a_->Start(Committing(item));
  ASSERT_TRUE(stage_->AwaitBlocked("a")) << "the foreign key waits for the collector";
  gate.Open();
  ASSERT_TRUE(collected.get());
  auto outcomes = commit.get();
  ASSERT_TRUE(outcomes) << outcomes.message();
  EXPECT_EQ(outcomes->at(0).kind, Outcome::kRejected) << "it is gone, and the item does not land";
  EXPECT_FALSE(IsThere());
}

TEST_F(ContentIsolation, TheCollectorPassesByWhatACommitHolds) {
  const CommitItem item = ItemThatNamesIt();
  HeldLock lock(stage_->db().conninfo(), "SELECT 1 FROM contents FOR KEY SHARE");  // as the foreign key of a commit in flight takes it
  auto answer = c_->store().CollectContents(kHour, {}, 100);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->contents, 0);
  EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
}

TEST_F(ContentIsolation, APutComesWhileTheCollectorHasIt) {
  (void)ItemThatNamesIt();
  Gate gate(*stage_, "collect_locked", *c_);
  auto collected = c_->Start(Collecting());
  ASSERT_TRUE(gate.AwaitArrival());
  auto put = b_->Start(Putting());
  ASSERT_TRUE(stage_->AwaitBlocked("b")) << "a put does not rely on what is being collected";
  gate.Open();
  EXPECT_EQ(collected.get()->contents, 1);
  ASSERT_TRUE(put.get());
  EXPECT_TRUE(IsThere()) << "put anew";
}

TEST_F(ContentIsolation, APutLandsAfterTheCollectorLooked) {
  (void)ItemThatNamesIt();
  Gate gate(*stage_, "collect_seen", *c_);
  auto collected = c_->Start(Collecting());
  ASSERT_TRUE(gate.AwaitArrival());
  ASSERT_TRUE(b_->store().PutContents({&kContent, 1}));
  gate.Open();
  EXPECT_EQ(collected.get()->contents, 0) << "it was used again";
  EXPECT_TRUE(IsThere());
}

TEST_F(ContentIsolation, WithoutTheLaterTestAndTheForeignKeyAReferencedContentGoes) {
  expect_clean_ = false;
  Prepare({{"collect_contents", "AND c.used_at < v_until AND NOT EXISTS (SELECT FROM content_refs r WHERE r.hash = c.hash)\n    RETURNING",
            "RETURNING"}});
  stage_->db().Exec("ALTER TABLE content_refs DROP CONSTRAINT content_refs_hash_fkey");
  const CommitItem item = ItemThatNamesIt();
  Gate gate(*stage_, "collect_seen", *c_);
  auto collected = c_->Start(Collecting());
  ASSERT_TRUE(gate.AwaitArrival());
  EXPECT_EQ(CommitOne(*a_, item), Outcome::kCommitted);
  gate.Open();
  EXPECT_EQ(collected.get()->contents, 1) << "the mutant removes it";
  EXPECT_THAT(stage_->Violations(), Contains(HasSubstr("refers to a content that is not there")));
}

// ---- objects: the put itself is held, before or after its object is written

class HeldObjects final : public MemoryObjects {
 public:
  using MemoryObjects::MemoryObjects;
  enum class At { kNowhere, kBeforePut, kAfterPut };
  Result<Put> PutIfAbsent(const std::string& key, std::string_view bytes) override {
    Hold(At::kBeforePut);
    auto put = MemoryObjects::PutIfAbsent(key, bytes);
    Hold(At::kAfterPut);
    return put;
  }
  // The first put that comes by is held there.
  void HoldAt(At at) {
    std::lock_guard lock(mutex_);
    at_ = at;
    held_ = released_ = false;
  }
  bool AwaitHeld() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return held_; });
  }
  void Release() {
    {
      std::lock_guard lock(mutex_);
      at_ = At::kNowhere;
      released_ = true;
    }
    changed_.notify_all();
  }

 private:
  void Hold(At at) {
    std::unique_lock lock(mutex_);
    if (at_ != at || held_) return;
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  At at_ = At::kNowhere;
  bool held_ = false, released_ = false;
};

class ObjectIsolation : public ::testing::Test {
 protected:
  void SetUp() override {
    auto database = TestDatabase::Create();
    ASSERT_TRUE(database) << database.message();
    database_ = std::move(*database);
    objects_ = std::make_shared<HeldObjects>(clock_);
    PgStoreOptions options;
    options.conninfo = database_->conninfo();
    options.objects = objects_;
    options.object_bytes = 0;
    store_ = std::make_unique<PgStore>(options);
  }
  CollectAnswer CollectAll() {
    CollectAnswer sum;
    for (bool more = true; more;) {
      auto answer = store_->CollectContents(kHour, sum.next, 100);
      EXPECT_TRUE(answer) << (answer ? "" : answer.message());
      if (!answer) return sum;
      sum.contents += answer->contents, sum.objects += answer->objects, sum.next = answer->next;
      more = answer->more;
    }
    return sum;
  }
  auto StartPut() {
    return std::async(std::launch::async, [this] { return store_->PutContents({&kContent, 1}); });
  }
  void MarkLongAgo() { database_->Exec("UPDATE object_marks SET marked_at = marked_at - interval '2 hours'"); }
  std::int64_t Marks() { return database_->Count("SELECT count(*) FROM object_marks"); }

  // Objects look old to the sweep whatever the test's clock says.
  struct OldClock final : Clock {
    WallTime Wall() const override { return WallTimeFromMicros(0); }
    SteadyTime Steady() const override { return {}; }
  } clock_;
  std::unique_ptr<TestDatabase> database_;
  std::shared_ptr<HeldObjects> objects_;
  std::unique_ptr<PgStore> store_;
};

TEST_F(ObjectIsolation, APutInFlightIsNotCollected) {
  for (auto at : {HeldObjects::At::kBeforePut, HeldObjects::At::kAfterPut}) {
    objects_->HoldAt(at);
    auto put = StartPut();
    ASSERT_TRUE(objects_->AwaitHeld());
    EXPECT_EQ(CollectAll().objects, 0) << "the mark keeps it, though nobody refers to it and the object looks old";
    objects_->Release();
    ASSERT_TRUE(put.get());
    EXPECT_EQ(*store_->GetContent(kContent.first), kContent.second);
    MoveTimesBack(*database_, 2 * kHour);
    EXPECT_EQ(CollectAll().contents, 1) << "nobody ever referred to it";
    EXPECT_EQ(objects_->Keys().size(), 1u) << "for a grace time: a failover may bring it back";
    MarkLongAgo();
    EXPECT_EQ(CollectAll().objects, 1);
    EXPECT_EQ(objects_->Keys().size(), 0u);
    EXPECT_EQ(Marks(), 0);
  }
}

TEST_F(ObjectIsolation, APutThatWasFrozenBeyondTheGraceIsRefused) {
  objects_->HoldAt(HeldObjects::At::kAfterPut);
  auto put = StartPut();
  ASSERT_TRUE(objects_->AwaitHeld());
  MoveTimesBack(*database_, 2 * kHour);
  EXPECT_EQ(CollectAll().objects, 1);
  objects_->Release();
  const Status answer = put.get();
  ASSERT_FALSE(answer) << "else a content would point to a deleted object";
  EXPECT_EQ(answer.code(), Code::kUnavailable);
  EXPECT_EQ(store_->GetContent(kContent.first).code(), Code::kNotFound);
  ASSERT_TRUE(store_->PutContents({&kContent, 1})) << "put again";
  EXPECT_EQ(*store_->GetContent(kContent.first), kContent.second);
}

TEST_F(ObjectIsolation, AnObjectThatLandsAfterItsMarkWentIsSwept) {
  objects_->HoldAt(HeldObjects::At::kBeforePut);
  auto put = StartPut();
  ASSERT_TRUE(objects_->AwaitHeld());
  MoveTimesBack(*database_, 2 * kHour);
  CollectAll();
  EXPECT_EQ(Marks(), 0);
  objects_->Release();
  ASSERT_FALSE(put.get());
  EXPECT_EQ(objects_->Keys().size(), 1u) << "it landed late";
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  EXPECT_EQ(CollectAll().objects, 1);
  EXPECT_EQ(objects_->Keys().size(), 1u) << "the other one";
  EXPECT_EQ(*store_->GetContent(kContent.first), kContent.second);
}

TEST_F(ObjectIsolation, OfTwoPutsAtOnceOneObjectStays) {
  objects_->HoldAt(HeldObjects::At::kAfterPut);
  auto slow = StartPut();
  ASSERT_TRUE(objects_->AwaitHeld());
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  objects_->Release();
  ASSERT_TRUE(slow.get());
  EXPECT_EQ(objects_->Keys().size(), 2u);
  MarkLongAgo();
  EXPECT_EQ(CollectAll().objects, 1) << "the slower one's";
  EXPECT_EQ(*store_->GetContent(kContent.first), kContent.second);
}

// The collection is what an asynchronous failover lost: the row is there again, and says that nothing needs to be sent.
TEST_F(ObjectIsolation, WhatAFailoverBringsBackHasItsObject) {
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  database_->Exec("CREATE TABLE standby AS SELECT * FROM contents");
  MoveTimesBack(*database_, 2 * kHour);
  EXPECT_EQ(CollectAll().contents, 1);
  database_->Exec("DELETE FROM object_marks; INSERT INTO contents SELECT * FROM standby");
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  EXPECT_EQ(objects_->puts(), 1);
  auto got = store_->GetContent(kContent.first);
  ASSERT_TRUE(got) << got.message();
  EXPECT_EQ(*got, kContent.second);
}

TEST_F(ObjectIsolation, WhatIsThereIsNotSentAgain) {
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  EXPECT_EQ(objects_->puts(), 1);
  EXPECT_EQ(Marks(), 0);
}

TEST_F(ObjectIsolation, ADamagedOrMissingObjectIsSaidSo) {
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  const std::string key = objects_->Keys().front();
  EXPECT_THAT(key, HasSubstr(ToHex(kContent.first))) << "the key holds the hash";
  objects_->Overwrite(key, "c0ntent");
  auto changed = store_->GetContent(kContent.first);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.code(), Code::kCorrupt);
  EXPECT_THAT(changed.message(), HasSubstr("has other bytes than were put"));
  objects_->Overwrite(key, "content and more");
  EXPECT_EQ(store_->GetContent(kContent.first).code(), Code::kCorrupt);
  ASSERT_TRUE(objects_->Delete(key));
  auto missing = store_->GetContent(kContent.first);
  EXPECT_EQ(missing.code(), Code::kCorrupt) << "the row says that it was put";
  EXPECT_THAT(missing.message(), HasSubstr("is gone from memory"));
}

TEST_F(ObjectIsolation, WithoutTheStoreItsContentsAreUnavailableNotLost) {
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  PgStoreOptions options;
  options.conninfo = database_->conninfo();
  PgStore other(options);
  auto got = other.GetContent(kContent.first);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kUnavailable);
  EXPECT_THAT(got.message(), HasSubstr("s3_endpoint"));
}

TEST_F(ObjectIsolation, ARestoredDatabaseDeletesNothingBeforeItsNewEpoch) {
  ASSERT_TRUE(store_->PutContents({&kContent, 1}));
  MoveTimesBack(*database_, 2 * kHour);
  database_->Exec("UPDATE fleet_epoch SET system_identifier = system_identifier + 1");
  PgStoreOptions options;
  options.conninfo = database_->conninfo();
  options.objects = objects_;
  PgStore copy(options);
  EXPECT_EQ(copy.CollectContents(kHour, {}, 100).code(), Code::kConflict);
  EXPECT_EQ(objects_->Keys().size(), 1u);
}

}  // namespace
}  // namespace acl::test
