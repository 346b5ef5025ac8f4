// Whose turn it is, by a clock that only the test moves.
#include "shared/aegis/provider/limiter.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/manual_clock.h"

namespace acl::aegis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CallLimiter, SoManyAtOnceAndInTheirOrder) {
  acl::test::ManualClock clock;
  CallLimiter limiter({.at_once = 2, .most_waiting = 3}, clock.Steady());
  const auto a = *limiter.Queue(), b = *limiter.Queue(), c = *limiter.Queue();
  EXPECT_FALSE(limiter.Queue()) << "three wait already";
  EXPECT_FALSE(limiter.Begin(b, 1, clock.Steady()).now) << "a came first";
  EXPECT_TRUE(limiter.Begin(a, 1, clock.Steady()).now);
  EXPECT_TRUE(limiter.Begin(b, 1, clock.Steady()).now);
  EXPECT_FALSE(limiter.Begin(c, 1, clock.Steady()).now) << "two run";
  limiter.End(1, 1, clock.Steady());
  EXPECT_TRUE(limiter.Begin(c, 1, clock.Steady()).now);
  EXPECT_EQ(limiter.running(), 2);
}

TEST(CallLimiter, WhoLeavesTheQueueLetsTheNextGo) {
  acl::test::ManualClock clock;
  CallLimiter limiter({}, clock.Steady());
  const auto a = *limiter.Queue(), b = *limiter.Queue();
  limiter.Leave(a);
  EXPECT_TRUE(limiter.Begin(b, 1, clock.Steady()).now);
}

TEST(CallLimiter, RequestsOfAMinuteComeBackEvenly) {
  acl::test::ManualClock clock;
  CallLimiter limiter({.at_once = 1000, .requests_per_minute = 60}, clock.Steady());
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(limiter.Begin(*limiter.Queue(), 1, clock.Steady()).now) << i;
  const auto late = *limiter.Queue();
  const auto turn = limiter.Begin(late, 1, clock.Steady());
  EXPECT_FALSE(turn.now);
  EXPECT_EQ(turn.ask_again, clock.Steady() + seconds(1));
  clock.Advance(milliseconds(999));
  EXPECT_FALSE(limiter.Begin(late, 1, clock.Steady()).now);
  clock.Advance(milliseconds(1));
  EXPECT_TRUE(limiter.Begin(late, 1, clock.Steady()).now);
}

TEST(CallLimiter, TokensThatWereNotUsedAreGivenBack) {
  acl::test::ManualClock clock;
  CallLimiter limiter({.tokens_per_minute = 6'000}, clock.Steady());
  ASSERT_TRUE(limiter.Begin(*limiter.Queue(), 6'000, clock.Steady()).now);
  const auto next = *limiter.Queue();
  EXPECT_FALSE(limiter.Begin(next, 1'000, clock.Steady()).now);
  limiter.End(6'000, 4'000, clock.Steady());
  EXPECT_TRUE(limiter.Begin(next, 1'000, clock.Steady()).now);
}

TEST(CallLimiter, OneThatIsLargerThanAMinuteWaitsForAFullOne) {
  acl::test::ManualClock clock;
  CallLimiter limiter({.tokens_per_minute = 600}, clock.Steady());
  ASSERT_TRUE(limiter.Begin(*limiter.Queue(), 1'800, clock.Steady()).now) << "all of a minute is there: it may go, and leaves a debt";
  const auto next = *limiter.Queue();
  EXPECT_EQ(limiter.Begin(next, 10, clock.Steady()).ask_again, clock.Steady() + seconds(121));
}

TEST(CallLimiter, AProviderThatAsksForAPauseGetsItFromEverybody) {
  acl::test::ManualClock clock;
  CallLimiter limiter({}, clock.Steady());
  limiter.CloseUntil(clock.Steady() + seconds(5));
  const auto ticket = *limiter.Queue();
  EXPECT_EQ(limiter.Begin(ticket, 1, clock.Steady()).ask_again, clock.Steady() + seconds(5));
  clock.Advance(seconds(5));
  EXPECT_TRUE(limiter.Begin(ticket, 1, clock.Steady()).now);
}

// Whatever comes in whatever order: within any minute no more goes out than a full bucket and what fills it meanwhile.
TEST(CallLimiter, NoMinuteHasMoreThanTwiceItsShare) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    acl::test::ManualClock clock;
    CallLimiter limiter({.at_once = 4, .requests_per_minute = 30}, clock.Steady());
    std::vector<SteadyTime> begun;
    std::deque<CallLimiter::Ticket> waiting;
    for (int i = 0; i < 2'000; ++i) {
      clock.Advance(milliseconds(random() % 300));
      if (random() % 2 == 0) {
        if (const auto ticket = limiter.Queue()) waiting.push_back(*ticket);
      }
      if (limiter.running() > 0 && random() % 3 == 0) limiter.End(1, 1, clock.Steady());
      if (!waiting.empty() && limiter.Begin(waiting.front(), 1, clock.Steady()).now) {
        waiting.pop_front();
        begun.push_back(clock.Steady());
      }
      ASSERT_LE(limiter.running(), 4);
    }
    for (std::size_t i = 60; i < begun.size(); ++i) ASSERT_GE(begun[i] - begun[i - 60], seconds(59)) << "seed " << seed;
    ASSERT_GT(begun.size(), 100u);
  }
}

}  // namespace
}  // namespace acl::aegis
