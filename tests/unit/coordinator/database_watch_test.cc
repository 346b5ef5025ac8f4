#include "coordinator/database_watch.h"

#include <gtest/gtest.h>

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;

class DatabaseWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](LogLevel, const std::string& line) {
      std::lock_guard lock(mutex_);
      lines_ += line + "\n";
      written_.notify_all();
    });
  }
  void TearDown() override {
    watch_.Stop();
    SetLogSink({});
  }
  void Set(Result<DatabaseState> answer) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  std::string Lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  bool AwaitLine(const std::string& text) {
    std::unique_lock lock(mutex_);
    return written_.wait_for(lock, std::chrono::seconds(20), [&] { return lines_.find(text) != std::string::npos; });
  }

  std::mutex mutex_;
  std::condition_variable written_;
  std::string lines_;
  std::atomic<int> probes_{0};
  Result<DatabaseState> answer_ = Error{Code::kUnavailable, "postgresql://u:hunter2@db refused"};
  DatabaseWatch watch_{[this] {
                         std::lock_guard lock(mutex_);
                         ++probes_;
                         return answer_;
                       },
                       nullptr, milliseconds(3'600'000)};
};

TEST_F(DatabaseWatchTest, WaitsSaysWhyAndGoesOnByItself) {
  ASSERT_TRUE(watch_.Start().ok());
  EXPECT_TRUE(AwaitLine("cannot be reached"));
  EXPECT_FALSE(watch_.ready());
  EXPECT_EQ(Lines().find("hunter2"), std::string::npos);
  ASSERT_EQ(watch_.Checks().size(), 1u);
  EXPECT_EQ(watch_.Checks()[0].detail, "unavailable") << "/readyz needs no key";
  Set(DatabaseState{false, "run `airun db migrate`"});
  EXPECT_TRUE(AwaitLine("airun db migrate"));
  ASSERT_EQ(watch_.Checks().size(), 2u);
  EXPECT_TRUE(watch_.Checks()[0].ok);
  EXPECT_FALSE(watch_.Checks()[1].ok);
  Set(DatabaseState{true, ""});
  EXPECT_TRUE(watch_.AwaitReady(milliseconds(20'000)));
  EXPECT_TRUE(watch_.Checks()[1].ok);
  EXPECT_TRUE(AwaitLine("reached again"));
}

TEST_F(DatabaseWatchTest, ASuspicionIsFollowedAtOnce) {
  Set(DatabaseState{true, ""});
  ASSERT_TRUE(watch_.Start().ok());
  ASSERT_TRUE(watch_.AwaitReady(milliseconds(20'000)));
  Set(Error{Code::kUnavailable, "gone"});
  watch_.Suspect();  // the period is an hour
  EXPECT_TRUE(AwaitLine("gone"));
  EXPECT_FALSE(watch_.ready());
}

TEST_F(DatabaseWatchTest, SaysTheSameOnlyOnce) {
  ASSERT_TRUE(watch_.Start().ok());
  ASSERT_TRUE(AwaitLine("cannot be reached"));
  while (probes_ < 4) watch_.AwaitReady(milliseconds(20));
  watch_.Stop();
  const auto lines = Lines();
  EXPECT_EQ(lines.find("cannot be reached"), lines.rfind("cannot be reached"));
}

}  // namespace
}  // namespace acl::coordinator
