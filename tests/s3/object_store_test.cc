// One conformance suite for what calls itself an object store: in memory, and S3 against a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "chaos/proxy/proxy.h"
#include "shared/objectstore/memory_objects.h"
#include "tests/support/s3_server.h"

namespace acl::test {
namespace {

using ::testing::HasSubstr;
using Put = ObjectStore::Put;

class ObjectStoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("memory")) {
      store_ = std::make_unique<MemoryObjects>(clock_);
    } else {
      server_ = std::make_unique<TestS3>();
      store_ = server_->Store(clock_, server_->Options());
    }
  }
  SystemClock clock_;
  std::unique_ptr<TestS3> server_;
  std::unique_ptr<ObjectStore> store_;
};

TEST_P(ObjectStoreTest, WhatIsPutIsThere) {
  std::string bytes(3'000'000, 'x');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = char(i * 31);
  auto put = store_->PutIfAbsent("a/b", bytes);
  ASSERT_TRUE(put) << put.message();
  EXPECT_EQ(*put, Put::kStored);
  auto got = store_->Get("a/b", 10'000'000);
  ASSERT_TRUE(got) << got.message();
  EXPECT_EQ(*got, bytes);
  auto head = store_->Head("a/b");
  ASSERT_TRUE(head) << head.message();
  EXPECT_EQ(head->size, std::int64_t(bytes.size()));
  EXPECT_LT(std::chrono::abs(head->modified - clock_.Wall()), std::chrono::minutes(5));
  EXPECT_EQ(store_->Get("a/b", 1'000'000).code(), Code::kCorrupt) << "larger than what was put";
}

TEST_P(ObjectStoreTest, TheFirstPutStays) {
  ASSERT_TRUE(store_->PutIfAbsent("k", "first"));
  auto again = store_->PutIfAbsent("k", "first");
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(*again, Put::kThere);
  (void)store_->PutIfAbsent("k", "other").ok();
  EXPECT_EQ(*store_->Get("k", 100), "first");
}

TEST_P(ObjectStoreTest, OneOfManyPutsAtOnceStores) {
  std::atomic<int> stored{0}, there{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      auto put = store_->PutIfAbsent("same", std::string(100'000, 'y'));
      EXPECT_TRUE(put) << put.message();
      if (put) ++(*put == Put::kStored ? stored : there);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(stored + there, 8);
  EXPECT_GE(stored, 1);
  EXPECT_EQ(*store_->Get("same", 1'000'000), std::string(100'000, 'y'));
}

TEST_P(ObjectStoreTest, WhatIsNotThereIsSaidSo) {
  EXPECT_EQ(store_->Get("nothing", 100).code(), Code::kNotFound);
  EXPECT_EQ(store_->Head("nothing").code(), Code::kNotFound);
  EXPECT_TRUE(store_->Delete("nothing"));
}

TEST_P(ObjectStoreTest, EmptyAndStrangeKeys) {
  ASSERT_TRUE(store_->PutIfAbsent("empty", ""));
  EXPECT_EQ(*store_->Get("empty", 100), "");
  for (const std::string key : {"with space", "a+b=c&d", "plus/+", "$file.text", "~tilde", "(b)!*'", "\xC3\xA4\xE2\x82\xAC"}) {
    auto put = store_->PutIfAbsent(key, key);
    ASSERT_TRUE(put) << put.message();
    auto got = store_->Get(key, 100);
    ASSERT_TRUE(got) << got.message();
    EXPECT_EQ(*got, key);
  }
}

TEST_P(ObjectStoreTest, ListsByPrefixAndPage) {
  std::set<std::string> all;
  for (int i = 0; i < 1'050; ++i) all.insert("p/" + std::to_string(i));
  std::vector<std::thread> threads;
  std::vector<std::string> keys(all.begin(), all.end());
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < keys.size(); i += 4) EXPECT_TRUE(store_->PutIfAbsent(keys[i], "x"));
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(store_->PutIfAbsent("q/other", "x"));
  std::vector<std::string> listed;
  int pages = 0;
  for (std::string from;; ++pages) {
    auto page = store_->List("p/", from);
    ASSERT_TRUE(page) << page.message();
    for (const auto& object : page->objects) listed.push_back(object.key);
    from = page->next;
    if (from.empty()) break;
    ASSERT_LT(pages, 10);
  }
  EXPECT_EQ(listed, keys);
  EXPECT_EQ(pages, 1) << "more than one page";
}

TEST_P(ObjectStoreTest, DeletedIsGone) {
  ASSERT_TRUE(store_->PutIfAbsent("d", "x"));
  ASSERT_TRUE(store_->Delete("d"));
  EXPECT_EQ(store_->Get("d", 100).code(), Code::kNotFound);
  auto put = store_->PutIfAbsent("d", "y");
  ASSERT_TRUE(put);
  EXPECT_EQ(*put, Put::kStored);
}

INSTANTIATE_TEST_SUITE_P(All, ObjectStoreTest, ::testing::Values("memory", "s3"),
                         [](const auto& given) { return std::string(given.param); });

class S3Server : public ::testing::Test {
 protected:
  SystemClock clock_;
  TestS3 server_;
};

TEST_F(S3Server, AWrongKeyIsRefused) {
  S3Options options = server_.Options();
  options.credentials.secret_key = "another";
  auto store = server_.Store(clock_, options);
  auto put = store->PutIfAbsent("k", "x");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.code(), Code::kDenied);
  EXPECT_THAT(put.message(), HasSubstr("s3_secret_key"));
}

TEST_F(S3Server, AMissingBucketIsNotAMissingObject) {
  S3Options options = server_.Options();
  options.bucket = "nowhere";
  auto store = server_.Store(clock_, options);
  auto got = store->Get("k", 100);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kInvalid);
  EXPECT_THAT(got.message(), HasSubstr("no such bucket"));
}

class LateClock final : public Clock {
 public:
  WallTime Wall() const override { return clock_.Wall() - std::chrono::hours(2); }
  SteadyTime Steady() const override { return clock_.Steady(); }

 private:
  SystemClock clock_;
};

TEST_F(S3Server, AWrongClockIsSaidAndMeasured) {
  LateClock late;
  auto store = server_.Store(late, server_.Options());
  auto put = store->PutIfAbsent("k", "x");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.code(), Code::kDenied);
  EXPECT_THAT(put.message(), HasSubstr("behind the object store's: set it right (NTP)"));
  auto ahead = store->ClockAhead();
  ASSERT_TRUE(ahead) << ahead.message();
  ASSERT_TRUE(ahead->has_value());
  EXPECT_NEAR(double((*ahead)->count()), -7'200, 60);
}

TEST_F(S3Server, ComesBackAfterItsServerWasKilled) {
  auto options = server_.Options();
  options.backoff.initial = std::chrono::milliseconds(1);
  auto store = server_.Store(clock_, options);
  ASSERT_TRUE(store->PutIfAbsent("k", "x"));
  server_.Kill();
  EXPECT_EQ(store->Get("k", 100).code(), Code::kUnavailable);
  server_.Start();
  auto got = store->Get("k", 100);
  ASSERT_TRUE(got) << got.message();
  EXPECT_EQ(*got, "x");
}

TEST_F(S3Server, AServerThatHoldsItsBreathCostsTheTimeout) {
  const auto proxy = std::move(*chaos::Proxy::Start(server_.port(), chaos::Proxy::Protocol::kBytes));
  auto options = server_.Options(proxy->port());
  options.timeout = std::chrono::milliseconds(200);
  options.tries = 2;
  options.backoff.initial = std::chrono::milliseconds(1);
  auto store = server_.Store(clock_, options);
  ASSERT_TRUE(store->PutIfAbsent("k", "x"));
  proxy->SetSilence(chaos::Proxy::Silence::kBoth);
  EXPECT_EQ(store->Get("k", 100).code(), Code::kTimeout);
  proxy->SetSilence(chaos::Proxy::Silence::kNone);
  auto got = store->Get("k", 100);
  ASSERT_TRUE(got) << got.message();
}

}  // namespace
}  // namespace acl::test
