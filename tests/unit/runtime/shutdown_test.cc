#include "shared/runtime/shutdown.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <future>

#include "tests/support/no_threads.h"

namespace acl {
namespace {

TEST(ShutdownSignals, FirstSignalAsksSecondEndsAtOnce) {
  std::promise<int> at_once;
  ShutdownSignals signals([&](int signal) { at_once.set_value(signal); });
  EXPECT_FALSE(signals.requested());
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(signals.Wait(), SIGTERM);
  EXPECT_TRUE(signals.requested());
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(at_once.get_future().get(), SIGINT);
}

TEST(EndingDeadline, EndsAProcessThatDoesNotEndInTime) {
  EXPECT_EXIT(
      {
        const EndingDeadline deadline(std::chrono::milliseconds(10));
        std::promise<void>().get_future().wait();  // a request that never ends
      },
      ::testing::ExitedWithCode(1), "ending takes too long");
  std::promise<void> late;
  {
    const EndingDeadline deadline(std::chrono::milliseconds(10), [&] { late.set_value(); });
    late.get_future().wait();
  }
  const EndingDeadline in_time(std::chrono::hours(1), [] { FAIL() << "it ended in time"; });
}

TEST(EndingDeadline, EndsAProcessThatGetsNoThreadForIt) {
  EXPECT_EXIT(
      {
        const test::NoThreads none;
        const EndingDeadline deadline(std::chrono::milliseconds(10));
        std::promise<void>().get_future().wait();
      },
      ::testing::KilledBySignal(SIGALRM), "");
  const test::NoThreads none;
  const EndingDeadline in_time(std::chrono::hours(1));
}

TEST(ShutdownSignals, RequestFromWithinDoesNotCountAsASignal) {
  std::promise<int> at_once;
  ShutdownSignals signals([&](int signal) { at_once.set_value(signal); });
  signals.Request();
  EXPECT_EQ(signals.Wait(), 0);
  ::kill(::getpid(), SIGTERM);  // the first signal: still a clean end
  ::kill(::getpid(), SIGINT);
  const int second = at_once.get_future().get();  // both may be pending at once: then the kernel picks the order
  EXPECT_TRUE(second == SIGINT || second == SIGTERM);
}

TEST(ShutdownSignals, SecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        ShutdownSignals signals;
        ::kill(::getpid(), SIGTERM);
        signals.Wait();
        ::kill(::getpid(), SIGTERM);
        for (;;) ::pause();
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "second signal");
}

}  // namespace
}  // namespace acl
