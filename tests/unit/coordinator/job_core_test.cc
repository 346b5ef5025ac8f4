#include "coordinator/job_core.h"

#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "tests/support/manual_clock.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kTtl{3'000};

// One pass at a time, with answers of the lease as the test wants them.
class JobCoreTest : public ::testing::Test, public JobObserver {
 protected:
  void Held(Token) override { said_ += "held "; }
  void Lost() override { said_ += "lost "; }
  void Ticked() override { said_ += "turned "; }
  void Failed(const Error&, bool first) override { said_ += first ? "failed " : "failed-again "; }
  void Recovered() override { said_ += "recovered "; }

  Result<LeaderLeases::Answer> Answer() {
    ++asked_;
    const SteadyTime sent = clock_.Steady();
    clock_.Advance(takes_);
    if (refused_) return LeaderLeases::Answer{sent, std::nullopt};
    if (away_) return Error{Code::kUnavailable, "away"};
    return LeaderLeases::Answer{sent, LeaderLease{"test", Token{7}, clock_.Wall() + kTtl}};
  }
  std::string Said() { return std::exchange(said_, {}); }
  milliseconds Pass(bool ready = true) { return std::chrono::ceil<milliseconds>(core_.Pass(ready)); }

  test::ManualClock clock_;
  SeededRandom random_{1};
  milliseconds takes_{0};
  Result<milliseconds> wait_ = milliseconds(100);
  bool refused_ = false, away_ = false;
  int asked_ = 0;
  std::string said_;
  JobCore core_{{"test", kTtl, [this] { return wait_; }, [this] { said_ += "forgot "; }},
                [this](const std::string&) { return Answer(); },
                clock_,
                random_,
                *this};
};

TEST_F(JobCoreTest, TakesTheLeaseAndTurnsAsOftenAsItsTurnSays) {
  EXPECT_EQ(Pass(), milliseconds(100));
  EXPECT_EQ(Said(), "held turned ");
  EXPECT_EQ(Pass(), milliseconds(100)) << "nothing is due";
  EXPECT_EQ(Said(), "");
  clock_.Advance(milliseconds(100));
  EXPECT_EQ(Pass(), milliseconds(100));
  EXPECT_EQ(Said(), "turned ");
  core_.Wake();
  (void)Pass();
  EXPECT_EQ(Said(), "turned ");
  EXPECT_EQ(asked_, 1) << "a third of the TTL has not gone";
}

TEST_F(JobCoreTest, StandsByWhileAnotherHasIt) {
  refused_ = true;
  EXPECT_EQ(Pass(), kTtl / 3);
  EXPECT_EQ(Said(), "");
  refused_ = false;
  clock_.Advance(kTtl / 3);
  (void)Pass();
  EXPECT_EQ(Said(), "held turned ");
}

TEST_F(JobCoreTest, TheLeaseCountsFromWhenItWasAskedFor) {
  takes_ = milliseconds(2'500);  // 2.4 s of 3 are trusted
  (void)Pass();
  EXPECT_EQ(Said(), "held lost forgot ") << "no tick";
  EXPECT_FALSE(core_.held());
  takes_ = milliseconds(2'300);
  (void)Pass();
  EXPECT_EQ(Said(), "held turned ");
}

TEST_F(JobCoreTest, GoesOnWithoutAnAnswerUntilTheLeaseCannotBeTrusted) {
  (void)Pass();
  EXPECT_EQ(Said(), "held turned ");
  away_ = true;
  clock_.Advance(kTtl / 3);
  (void)Pass();
  EXPECT_EQ(Said(), "failed recovered turned ");
  clock_.Advance(milliseconds(1'399));
  (void)Pass();
  EXPECT_EQ(Said(), "failed recovered turned ");
  clock_.Advance(milliseconds(1));
  (void)Pass();
  EXPECT_EQ(Said(), "lost forgot ");
  away_ = false;
  clock_.Advance(kTtl / 10);
  (void)Pass();
  EXPECT_EQ(Said(), "held turned ");
}

TEST_F(JobCoreTest, ARefusalEndsItAtOnce) {
  (void)Pass();
  (void)Said();
  refused_ = true;
  clock_.Advance(kTtl / 3);
  (void)Pass();
  EXPECT_EQ(Said(), "lost forgot ");
}

TEST_F(JobCoreTest, AsksNothingOfADatabaseThatIsNotReady) {
  EXPECT_EQ(Pass(false), milliseconds(0));
  EXPECT_EQ(asked_, 0);
  (void)Pass();
  (void)Said();
  clock_.Advance(kTtl - kTtl / 5 - milliseconds(1));
  (void)Pass(false);
  EXPECT_TRUE(core_.held());
  clock_.Advance(milliseconds(1));
  (void)Pass(false);
  EXPECT_FALSE(core_.held());
  EXPECT_EQ(asked_, 1);
}

TEST_F(JobCoreTest, AFailingTurnIsTriedAgainLaterAndLater) {
  wait_ = Error{Code::kTimeout, "slow"};
  EXPECT_LE(Pass(), milliseconds(50));
  EXPECT_EQ(Said(), "held failed ");
  core_.Wake();
  EXPECT_LE(Pass(), milliseconds(100));
  EXPECT_EQ(Said(), "failed-again ");
  wait_ = milliseconds(100);
  core_.Wake();
  (void)Pass();
  EXPECT_EQ(Said(), "recovered turned ");
}

}  // namespace
}  // namespace acl::coordinator
