// The client against servers that are slow, busy, cut short, wrong or lying. A real one: tests/s3.
#include "shared/objectstore/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "shared/telemetry/names.h"
#include "tests/support/small_server.h"

namespace acl {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSecret = "not-to-be-told-to-anybody";

class S3StoreTest : public ::testing::Test {
 protected:
  // Each request gets the next answer; the last one again and again.
  void Answers(std::vector<std::optional<std::string>> answers) {
    Serve([this, answers](const std::string&) { return answers[std::min(std::size_t(asked_++), answers.size() - 1)]; });
  }
  void Serve(SmallServer::Script script, milliseconds timeout = milliseconds(20'000)) {
    server_ = std::make_unique<SmallServer>(std::move(script));
    S3Options options;
    options.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
    options.bucket = "bucket";
    options.credentials = {"key", kSecret, "session"};
    options.timeout = timeout;
    options.metrics = &metrics_;
    options.wait = [this](milliseconds pause) { pauses_.push_back(pause); };
    options.retry_budget = budget_;
    auto made = S3Store::Make(options, clock_);
    ASSERT_TRUE(made) << made.message();
    store_ = std::move(*made);
  }
  static std::string Refusal(const std::string& status, const std::string& code) {
    return SmallServer::Answer(status, "<Error><Code>" + code + "</Code><Message>m</Message></Error>");
  }
  double Requests(const char* operation, const char* outcome) {
    return metrics_.counter(names::kObjectRequests, {{"operation", operation}, {"outcome", outcome}}).Value();
  }

  SystemClock clock_;
  Metrics metrics_;
  double budget_ = 20;
  std::atomic<int> asked_{0};
  std::vector<milliseconds> pauses_;
  std::unique_ptr<SmallServer> server_;
  std::unique_ptr<S3Store> store_;
};

TEST_F(S3StoreTest, PutsOnlyIfNothingIsThereAndSignsTheBody) {
  Answers({SmallServer::Answer("200 OK", "", "ETag: \"this is no MD5 of anything\"\r\n")});
  auto put = store_->PutIfAbsent("a/b c", "bytes");
  ASSERT_TRUE(put) << put.message();
  EXPECT_EQ(*put, ObjectStore::Put::kStored) << "an ETag proves nothing, so a strange one changes nothing";
  const std::string request = server_->requests().at(0);
  EXPECT_THAT(request, HasSubstr("PUT /bucket/a/b%20c HTTP/1.1"));
  EXPECT_THAT(request, HasSubstr("if-none-match: *"));
  EXPECT_THAT(request, HasSubstr("x-amz-content-sha256: 277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9"));
  EXPECT_THAT(request, HasSubstr("SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token"));
  EXPECT_THAT(request, Not(HasSubstr(kSecret)));
  EXPECT_EQ(Requests("PUT", "ok"), 1);
  EXPECT_EQ(metrics_.counter(names::kObjectBytes, {{"direction", "sent"}}).Value(), 5);
}

TEST_F(S3StoreTest, WhatIsThereAlreadyIsLookedAt) {
  Answers({SmallServer::Answer("412 Precondition Failed", ""), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"});
  auto put = store_->PutIfAbsent("k", "bytes");
  ASSERT_TRUE(put) << put.message();
  EXPECT_EQ(*put, ObjectStore::Put::kThere);
  asked_ = 0;
  put = store_->PutIfAbsent("k", "more bytes");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.code(), Code::kCorrupt);
  EXPECT_THAT(put.message(), HasSubstr("has 5 bytes and should have 10"));
}

TEST_F(S3StoreTest, ABusyStoreIsAskedAgainWithPauses) {
  Answers({Refusal("503 Slow Down", "SlowDown"), Refusal("500 Oops", "InternalError"), SmallServer::Answer("200 OK", "hello")});
  auto got = store_->Get("k", 100);
  ASSERT_TRUE(got) << got.message();
  EXPECT_EQ(*got, "hello");
  EXPECT_EQ(pauses_.size(), 2u);
  EXPECT_EQ(metrics_.counter(names::kObjectRetries).Value(), 2);
  EXPECT_EQ(Requests("GET", "busy"), 2);
}

TEST_F(S3StoreTest, TriesAreBounded) {
  Answers({Refusal("503 Slow Down", "SlowDown")});
  auto got = store_->Get("k", 100);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kUnavailable);
  EXPECT_THAT(got.message(), HasSubstr("tried 4 times"));
  EXPECT_EQ(server_->connections(), 4);
}

TEST_F(S3StoreTest, TheBudgetOfTheProcessEndsRetries) {
  budget_ = 5;
  Answers({Refusal("503 Slow Down", "SlowDown")});
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(store_->Get("k", 100));
  EXPECT_EQ(server_->connections(), 10 + 5) << "ten calls, five retries for all of them";
}

TEST_F(S3StoreTest, ABodyThatIsCutShortIsNoAnswer) {
  const std::string cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
  Answers({cut, cut, SmallServer::Answer("200 OK", "whole")});
  auto got = store_->Get("k", 1'000);
  ASSERT_TRUE(got) << got.message();
  EXPECT_EQ(*got, "whole");
  EXPECT_EQ(Requests("GET", "lost"), 2);
}

TEST_F(S3StoreTest, AConnectionThatEndsIsTriedAgain) {
  Answers({std::nullopt, SmallServer::Answer("200 OK", "hello")});
  auto got = store_->Get("k", 100);
  ASSERT_TRUE(got) << got.message();
  EXPECT_EQ(*got, "hello");
}

TEST_F(S3StoreTest, ASilentServerCostsTheTimeoutOnly) {
  std::promise<void> done;
  std::shared_future<void> end = done.get_future().share();
  Serve(
      [end](const std::string&) -> std::optional<std::string> {
        end.wait();
        return std::nullopt;
      },
      milliseconds(100));
  auto got = store_->Get("k", 100);
  done.set_value();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kTimeout);
  EXPECT_THAT(got.message(), HasSubstr("GET s3://bucket/k"));
  EXPECT_EQ(Requests("GET", "timeout"), 4);
}

TEST_F(S3StoreTest, RefusalsAreFinalAndSayWhatToDo) {
  Answers({Refusal("403 Forbidden", "AccessDenied"), Refusal("404 Not Found", "NoSuchBucket"), Refusal("404 Not Found", "NoSuchKey"),
           SmallServer::Answer("403 Forbidden", "<Error><Code>RequestTimeTooSkewed</Code></Error>",
                               "Date: Thu, 01 Jan 2015 00:00:00 GMT\r\n")});
  EXPECT_EQ(store_->Get("k", 100).code(), Code::kDenied);
  EXPECT_EQ(store_->Get("k", 100).code(), Code::kInvalid);
  EXPECT_EQ(store_->Get("k", 100).code(), Code::kNotFound);
  auto skewed = store_->Get("k", 100);
  EXPECT_EQ(skewed.code(), Code::kDenied);
  EXPECT_THAT(skewed.message(), HasSubstr("s ahead of the object store's: set it right (NTP)"));
  EXPECT_THAT(skewed.message(), Not(HasSubstr(kSecret)));
  EXPECT_TRUE(pauses_.empty()) << "none of these is tried again";
}

TEST_F(S3StoreTest, AnAnswerLargerThanAskedForIsRefused) {
  Answers({SmallServer::Answer("200 OK", std::string(200'000, 'x'))});
  auto got = store_->Get("k", 1'000);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.code(), Code::kCorrupt);
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(S3StoreTest, DeletingWhatIsGoneIsNoError) {
  Answers({"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", Refusal("404 Not Found", "NoSuchKey"),
           Refusal("403 Forbidden", "AccessDenied")});
  EXPECT_TRUE(store_->Delete("k"));
  EXPECT_TRUE(store_->Delete("k"));
  EXPECT_FALSE(store_->Delete("k"));
}

TEST_F(S3StoreTest, TheClockIsComparedEvenWhenRefused) {
  const WallTime hour_ago = clock_.Wall() - std::chrono::hours(1);
  char date[64];
  const std::time_t seconds = std::chrono::system_clock::to_time_t(hour_ago);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
  Answers({SmallServer::Answer("403 Forbidden", "<Error><Code>RequestTimeTooSkewed</Code></Error>", date)});
  auto ahead = store_->ClockAhead();
  ASSERT_TRUE(ahead) << ahead.message();
  ASSERT_TRUE(ahead->has_value());
  EXPECT_GE((*ahead)->count(), 3'599);
}

TEST(S3StoreOptions, WhatCannotWorkIsNamed) {
  SystemClock clock;
  const auto told = [&](const std::string& endpoint, const std::string& bucket, const std::string& secret) {
    S3Options options;
    options.endpoint = endpoint;
    options.bucket = bucket;
    options.credentials = {"key", secret, ""};
    auto made = S3Store::Make(options, clock);
    return made ? std::string("made") : made.message();
  };
  EXPECT_EQ(told("https://s3.example.org", "bucket", "s"), "made");
  EXPECT_EQ(told("http://[::1]:7070/", "bucket", "s"), "made");
  for (const char* endpoint : {"", "s3.example.org", "ftp://x", "https://", "https://host/path", "https://user@host"})
    EXPECT_THAT(told(endpoint, "bucket", "s"), HasSubstr("s3_endpoint")) << endpoint;
  for (const char* bucket : {"", "ab", "UPPER", "a/b", "-abc"})
    EXPECT_THAT(told("https://h", bucket, "s"), HasSubstr("s3_bucket")) << bucket;
  EXPECT_THAT(told("https://h", "bucket", ""), HasSubstr("s3_secret_key"));
}

}  // namespace
}  // namespace acl
