#include "worker/poll_pace.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

// The longest wait after so many looks that found nothing.
milliseconds LongestWait(PollPace& pace, SteadyTime& now) {
  SeededRandom random(1);
  milliseconds longest{0};
  for (int look = 0; look < 40; ++look) {
    pace.Empty(now, random);
    longest = std::max(longest, std::chrono::ceil<milliseconds>(pace.next() - now));
    now = pace.next();
  }
  return longest;
}

TEST(PollPace, LooksRarelyWhileEveryDoorbellIsConnected) {
  PollPace pace(milliseconds(20), milliseconds(500));
  SteadyTime now{};
  EXPECT_LE(LongestWait(pace, now), milliseconds(500));
  pace.SetNotified(now, true);
  const milliseconds notified = LongestWait(pace, now);
  EXPECT_GT(notified, milliseconds(1'000));
  EXPECT_LE(notified, milliseconds(4'000));
  // A line is lost just after a look: the next is due within the plain wait, and so is every one after it.
  SeededRandom random(2);
  pace.Empty(now, random);
  pace.SetNotified(now, false);
  EXPECT_LE(pace.next() - now, milliseconds(500));
  EXPECT_LE(LongestWait(pace, now), milliseconds(500));
}

TEST(PollPace, AHintIsFollowedAtOnceAndStartsTheBackoffAgain) {
  PollPace pace(milliseconds(20), milliseconds(500));
  SteadyTime now{};
  pace.SetNotified(now, true);
  LongestWait(pace, now);
  SeededRandom random(3);
  pace.Empty(now, random);
  EXPECT_FALSE(pace.Due(now));
  pace.Hint(now);
  EXPECT_TRUE(pace.Due(now));
  pace.Empty(now, random);
  EXPECT_LE(pace.next() - now, milliseconds(20));
}

}  // namespace
}  // namespace acl
