// The content store's conformance suite with a real S3 server, and what only such a server shows.
#include <gmock/gmock.h>

#include <fstream>

#include "chaos/proxy/proxy.h"
#include "shared/verify/pg_checks.h"
#include "tests/support/content_conformance.h"
#include "tests/support/interleave.h"
#include "tests/support/s3_server.h"
#include "tests/support/test_database.h"

namespace acl::test {
namespace {

using ::testing::HasSubstr;

const SystemClock& TheClock() {
  static const SystemClock clock;
  return clock;
}

StoreFactory WithS3() {
  return PostgresFactory("PostgresAndS3", [](PgStoreOptions& options) {
    // The server lives as long as the store that uses it.
    struct Both {
      TestS3 server;
      std::unique_ptr<S3Store> store = server.Store(TheClock(), server.Options());
    };
    auto both = std::make_shared<Both>();
    options.objects = std::shared_ptr<ObjectStore>(both, both->store.get());
    options.object_bytes = kSmallObject;
  });
}

INSTANTIATE_TEST_SUITE_P(S3, ContentConformance, ::testing::Values(WithS3()), FactoryName);

class S3Contents : public ::testing::Test {
 protected:
  void SetUp() override {
    auto database = TestDatabase::Create();
    ASSERT_TRUE(database) << database.message();
    database_ = std::move(*database);
    Open(0);
  }
  void Open(std::uint16_t through) {
    PgStoreOptions options;
    options.conninfo = database_->conninfo();
    auto s3 = server_.Options(through);
    s3.timeout = std::chrono::milliseconds(2'000);
    s3.backoff.initial = std::chrono::milliseconds(1);
    objects_ = server_.Store(TheClock(), s3);
    options.objects = objects_;
    options.object_bytes = kSmallObject;
    store_ = std::make_unique<PgStore>(options);
  }
  Status Put(const std::string& bytes) {
    const std::pair<Hash256, std::string> content(Sha256(bytes), bytes);
    return store_->PutContents({&content, 1});
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    auto page = objects_->List("", "");
    EXPECT_TRUE(page);
    for (const auto& object : page->objects) keys.push_back(object.key);
    return keys;
  }

  TestS3 server_;
  std::unique_ptr<TestDatabase> database_;
  std::shared_ptr<S3Store> objects_;
  std::unique_ptr<PgStore> store_;
  const std::string large_ = std::string(50'000, 'l');
};

TEST_F(S3Contents, SmallOnesStayInPostgresLargeOnesGoOnce) {
  ASSERT_TRUE(Put("small"));
  EXPECT_TRUE(Keys().empty());
  ASSERT_TRUE(Put(large_));
  ASSERT_TRUE(Put(large_));
  ASSERT_EQ(Keys().size(), 1u);
  EXPECT_THAT(Keys()[0], HasSubstr("/" + ToHex(Sha256(large_)).substr(0, 2) + "/" + ToHex(Sha256(large_)) + "-"));
  EXPECT_EQ(database_->Count("SELECT count(*) FROM content_chunks"), 1);
  EXPECT_EQ(database_->Count("SELECT count(*) FROM object_marks"), 0);
}

TEST_F(S3Contents, WhatTheCollectorTakesLeavesTheBucket) {
  ASSERT_TRUE(Put(large_));
  MoveTimesBack(*database_, milliseconds(7'200'000));
  auto answer = store_->CollectContents(milliseconds(3'600'000), {}, 100);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->contents, 1);
  EXPECT_EQ(Keys().size(), 1u) << "for another grace time";
  MoveTimesBack(*database_, milliseconds(7'200'000));
  answer = store_->CollectContents(milliseconds(3'600'000), {}, 100);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(answer->objects, 1);
  EXPECT_TRUE(Keys().empty());
}

// A verification reads all objects in one snapshot, which takes long.
TEST_F(S3Contents, WhatIsCollectedWhileAllIsVerifiedIsNoDamage) {
  const std::string lost = large_ + "2";
  ASSERT_TRUE(Put(large_) && Put(lost));
  auto reader = verify::PgVerifyStore::Open(database_->conninfo(), "", objects_);
  ASSERT_TRUE(reader) << reader.message();
  verify::Report report;
  const auto check = [&](auto what) { return reader->InSnapshot([&] { return what(*reader, report); }); };
  const Status checked = check([&](verify::PgVerifyStore& store, verify::Report& said) {
    EXPECT_TRUE(store.CountSubjects());  // from here on it sees what there is now
    for (const std::string& key : Keys()) EXPECT_TRUE(objects_->Delete(key));
    database_->Exec("SET session_replication_role = replica; DELETE FROM contents WHERE hash = '\\x" + ToHex(Sha256(large_)) + "'");
    return verify::CheckContents(store, said);
  });
  ASSERT_TRUE(checked) << checked.message();
  EXPECT_TRUE(report.clean()) << ToText(report);
  ASSERT_TRUE(check(verify::CheckDoubtfulObjects));
  ASSERT_EQ(report.found, 1) << ToText(report);
  EXPECT_EQ(report.violations[0].key, ToHex(Sha256(lost))) << "its row is there";
}

TEST_F(S3Contents, ChangedCutAndLostObjectsAreSaidSo) {
  ASSERT_TRUE(Put(large_));
  const auto file = server_.FileOf(Keys().at(0));
  ASSERT_TRUE(std::filesystem::exists(file)) << file;
  const auto write = [&](const std::string& bytes) { std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes; };
  std::string changed = large_;
  changed[1'234] = 'x';
  for (const std::string& bytes : {changed, large_.substr(0, 49'999), large_ + "more", std::string()}) {
    write(bytes);
    auto got = store_->GetContent(Sha256(large_));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.code(), Code::kCorrupt) << got.message();
  }
  write(large_);
  EXPECT_TRUE(store_->GetContent(Sha256(large_)));
  ASSERT_TRUE(std::filesystem::remove(file));
  auto lost = store_->GetContent(Sha256(large_));
  EXPECT_EQ(lost.code(), Code::kCorrupt);
  EXPECT_THAT(lost.message(), HasSubstr("is gone from s3://acl"));
}

TEST_F(S3Contents, AnUnreachableStoreIsNoDamage) {
  ASSERT_TRUE(Put(large_));
  server_.Kill();
  EXPECT_EQ(store_->GetContent(Sha256(large_)).code(), Code::kUnavailable);
  EXPECT_EQ(Put(large_ + "2").code(), Code::kUnavailable);
  EXPECT_TRUE(Put("small")) << "what PostgreSQL holds goes on";
  server_.Start();
  EXPECT_TRUE(store_->GetContent(Sha256(large_)));
  EXPECT_TRUE(Put(large_ + "2"));
}

TEST_F(S3Contents, AConnectionThatBreaksInTheMiddleLosesNothing) {
  const auto proxy = std::move(*chaos::Proxy::Start(server_.port(), chaos::Proxy::Protocol::kBytes));
  Open(proxy->port());
  proxy->Refuse();
  EXPECT_EQ(Put(large_).code(), Code::kUnavailable);
  EXPECT_EQ(database_->Count("SELECT count(*) FROM object_marks WHERE NOT condemned"), 1) << "what may have been written is known";
  EXPECT_EQ(store_->GetContent(Sha256(large_)).code(), Code::kNotFound) << "nothing points to it";
  Open(0);
  EXPECT_TRUE(Put(large_));
  EXPECT_EQ(*store_->GetContent(Sha256(large_)), large_);
}

}  // namespace
}  // namespace acl::test
