#include "coordinator/api_keys.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <thread>

#include "shared/base/sha256.h"
#include "tests/support/manual_clock.h"

namespace acl::coordinator {
namespace {

class FakeKeyStore final : public KeyStore {
 public:
  Result<std::vector<ApiKeyRow>> Keys() override {
    ++reads;
    if (down) return Error{Code::kUnavailable, "away"};
    return rows;
  }
  std::vector<ApiKeyRow> rows;
  bool down = false;
  int reads = 0;
};

const std::string kId = "0123456789ab";
const std::string kSecret(64, 'c');
const std::string kKey = "acl_" + kId + "_" + kSecret;

int StatusOf(ApiKeys& keys, const std::string& header, std::string* principal = nullptr) {
  HttpRequest request;
  if (!header.empty()) request.headers = {{"authorization", header}};
  auto refusal = keys.Authorize(request);
  if (refusal && request.undecided) refusal = keys.LookAgain(request);  // as the server does
  if (principal != nullptr) *principal = request.principal;
  return refusal ? refusal->status : 200;
}

class ApiKeysTest : public ::testing::Test {
 protected:
  ApiKeysTest() {
    SetLogLevel(LogLevel::kOff);
    store_.rows = {{kId, "ci", Sha256(kSecret), kDefaultProject}};
  }
  ~ApiKeysTest() override { SetLogLevel(LogLevel::kInfo); }
  FakeKeyStore store_;
  test::ManualClock clock_;
  ApiKeys keys_{store_, std::chrono::milliseconds(2'000), clock_};
};

TEST_F(ApiKeysTest, TakesAKnownKeyAndNamesItsOwner) {
  ASSERT_TRUE(keys_.Refresh().ok());
  std::string principal;
  EXPECT_EQ(StatusOf(keys_, "Bearer " + kKey, &principal), 200);
  EXPECT_EQ(principal, "ci");
  EXPECT_EQ(StatusOf(keys_, "bearer " + kKey), 200);
}

TEST_F(ApiKeysTest, RefusesEverythingElse) {
  ASSERT_TRUE(keys_.Refresh().ok());
  const std::string other_secret = "acl_" + kId + "_" + std::string(63, 'c') + "d", other_id = "acl_0123456789ac_" + kSecret;
  for (const std::string& header :
       {std::string(), std::string("Bearer"), std::string("Bearer "), "Basic " + kKey, kKey, "Bearer " + other_secret, "Bearer " + other_id,
        "Bearer " + kKey + " ", "Bearer " + kKey.substr(1), "Bearer " + kSecret}) {
    EXPECT_EQ(StatusOf(keys_, header), 401) << header;
  }
}

TEST_F(ApiKeysTest, ARevokedKeyIsRefusedAfterTheNextReading) {
  ASSERT_TRUE(keys_.Refresh().ok());
  store_.rows.clear();
  EXPECT_EQ(StatusOf(keys_, "Bearer " + kKey), 200);
  ASSERT_TRUE(keys_.Refresh().ok());
  EXPECT_EQ(StatusOf(keys_, "Bearer " + kKey), 401);
}

TEST_F(ApiKeysTest, BeforeTheFirstReadingNobodyIsJudged) {
  store_.down = true;
  EXPECT_FALSE(keys_.Refresh().ok());
  EXPECT_EQ(StatusOf(keys_, "Bearer " + kKey), 503);
  EXPECT_EQ(StatusOf(keys_, ""), 401);
  store_.down = false;
  ASSERT_TRUE(keys_.Refresh().ok());
  store_.down = true;
  EXPECT_FALSE(keys_.Refresh().ok());
  EXPECT_EQ(StatusOf(keys_, "Bearer " + kKey), 200);  // those known stay in force
}

TEST_F(ApiKeysTest, ANewKeyIsTakenAtOnce) {
  store_.rows.clear();
  ASSERT_TRUE(keys_.Refresh().ok());
  store_.rows = {{kId, "ci", Sha256(kSecret), kDefaultProject}};
  std::string principal;
  EXPECT_EQ(StatusOf(keys_, "Bearer " + kKey, &principal), 200);
  EXPECT_EQ(principal, "ci");
  EXPECT_EQ(store_.reads, 2);
  EXPECT_EQ(StatusOf(keys_, "Bearer " + kKey), 200);
  EXPECT_EQ(store_.reads, 2) << "it is known now";
}

// Two read at once, and the one that read first ends last.
class SlowKeyStore final : public KeyStore {
 public:
  Result<std::vector<ApiKeyRow>> Keys() override {
    std::unique_lock lock(mutex_);
    const int turn = ++turns_;
    changed_.notify_all();
    if (turn > 1) return std::vector<ApiKeyRow>{{kId, "ci", Sha256(kSecret), kDefaultProject}};
    changed_.wait_for(lock, std::chrono::milliseconds(300), [this] { return over_; });
    return std::vector<ApiKeyRow>{};
  }
  void AwaitFirst() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return turns_ > 0; });
  }
  void SecondIsOver() {
    std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int turns_ = 0;
  bool over_ = false;
};

TEST(ApiKeys, WhatWasReadEarlierTakesNoNewKeyAway) {
  SetLogLevel(LogLevel::kOff);
  SlowKeyStore store;
  test::ManualClock clock;
  ApiKeys keys(store, std::chrono::milliseconds(2'000), clock);
  std::thread first([&] { EXPECT_TRUE(keys.Refresh().ok()); });
  store.AwaitFirst();
  EXPECT_TRUE(keys.Refresh().ok());
  store.SecondIsOver();
  first.join();
  EXPECT_EQ(StatusOf(keys, "Bearer " + kKey), 200);
  HttpRequest request;
  request.headers = {{"authorization", "Bearer " + kKey}};
  EXPECT_FALSE(keys.Authorize(request)) << "known, without another look";
  SetLogLevel(LogLevel::kInfo);
}

std::string KeyNumber(int n) {
  std::string id = std::to_string(n);
  return "acl_" + std::string(12 - id.size(), '0') + id + "_" + kSecret;
}

TEST_F(ApiKeysTest, WrongKeysDoNotHammerTheDatabase) {
  ASSERT_TRUE(keys_.Refresh().ok());
  store_.reads = 0;
  const std::string wrong_secret = "acl_" + kId + "_" + std::string(64, 'd');
  for (int n = 0; n < 100; ++n) EXPECT_EQ(StatusOf(keys_, "Bearer " + wrong_secret), 401);
  EXPECT_EQ(store_.reads, 0) << "the id is known: its secret does not change";
  for (int n = 0; n < 100; ++n) EXPECT_EQ(StatusOf(keys_, "Bearer " + KeyNumber(1)), 401);
  EXPECT_EQ(store_.reads, 1) << "the same one";
  for (int second = 0; second < 60; ++second) {
    for (int n = 0; n < 1'000; ++n) EXPECT_EQ(StatusOf(keys_, "Bearer " + KeyNumber(second * 1'000 + n)), 401);
    clock_.Advance(std::chrono::milliseconds(1'000));
  }
  EXPECT_GE(store_.reads, 60);
  EXPECT_LE(store_.reads, 130) << "two a second, whatever is sent";
}

TEST_F(ApiKeysTest, WhileTheKeysCannotBeReadAnUnknownOneIsNotCalledWrong) {
  ASSERT_TRUE(keys_.Refresh().ok());
  store_.down = true;
  EXPECT_EQ(StatusOf(keys_, "Bearer " + KeyNumber(7)), 503);
}

TEST(ApiKeyText, HasOneForm) {
  ASSERT_TRUE(ParseApiKey(kKey));
  EXPECT_EQ(ParseApiKey(kKey)->key_id, kId);
  EXPECT_EQ(ParseApiKey(kKey)->secret, kSecret);
  std::string upper = kKey;
  upper[5] = 'A';
  for (const std::string& text : {std::string(), upper, kKey + "0", "bcl" + kKey.substr(3), std::string(kKey).replace(16, 1, "-")}) {
    EXPECT_FALSE(ParseApiKey(text)) << text;
  }
}

}  // namespace
}  // namespace acl::coordinator
