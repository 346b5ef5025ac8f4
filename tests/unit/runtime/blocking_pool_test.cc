#include "shared/runtime/blocking_pool.h"

#include <gtest/gtest.h>

#include <future>

namespace acl {
namespace {

TEST(BlockingPool, RunsEveryAcceptedTaskOnceBeforeStopReturns) {
  std::atomic<int> ran{0};
  BlockingPool pool({.name = "test", .threads = 3, .max_queued = 1000});
  int accepted = 0;
  for (int i = 0; i < 500; ++i) accepted += pool.Post([&] { ++ran; }) ? 1 : 0;
  pool.Stop();
  EXPECT_EQ(accepted, 500);
  EXPECT_EQ(ran, 500);
}

TEST(BlockingPool, RefusesWhenTheQueueIsFull) {
  std::promise<void> started, release;
  auto released = release.get_future().share();
  BlockingPool pool({.name = "test", .threads = 1, .max_queued = 2});
  ASSERT_TRUE(pool.Post([&, released] {
    started.set_value();
    released.wait();
  }));
  started.get_future().wait();
  EXPECT_TRUE(pool.Post([] {}));
  EXPECT_TRUE(pool.Post([] {}));
  EXPECT_EQ(pool.queued(), 2u);
  EXPECT_FALSE(pool.Post([] {}));
  release.set_value();
  pool.Stop();
}

TEST(BlockingPool, RefusesAfterStopAndStopsTwice) {
  BlockingPool pool({.name = "test", .threads = 2, .max_queued = 2});
  pool.Stop();
  EXPECT_FALSE(pool.Post([] {}));
  pool.Stop();
}

TEST(BlockingPool, ConcurrentStopsAllReturnAfterTheLastTask) {
  std::promise<void> started, release;
  auto released = release.get_future().share();
  std::atomic<bool> ended{false};
  BlockingPool pool({.name = "test", .threads = 1, .max_queued = 2});
  ASSERT_TRUE(pool.Post([&, released] {
    started.set_value();
    released.wait();
    ended = true;
  }));
  started.get_future().wait();
  std::vector<std::future<bool>> stoppers;
  for (int i = 0; i < 4; ++i) {
    stoppers.push_back(std::async(std::launch::async, [&] {
      pool.Stop();
      return ended.load();
    }));
  }
  release.set_value();
  for (auto& stopper : stoppers) EXPECT_TRUE(stopper.get());
}

TEST(BlockingPool, DropsWhatATaskCapturedBeforeTheNextOne) {
  BlockingPool pool({.name = "test", .threads = 1, .max_queued = 8});
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watch = held;
  std::promise<bool> gone;
  ASSERT_TRUE(pool.Post([held] {}));
  held.reset();
  ASSERT_TRUE(pool.Post([&] { gone.set_value(watch.expired()); }));
  EXPECT_TRUE(gone.get_future().get());
}

}  // namespace
}  // namespace acl
