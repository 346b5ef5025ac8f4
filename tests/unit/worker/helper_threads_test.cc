#include "worker/helper_threads.h"

#include <gtest/gtest.h>

#include <set>

namespace acl {
namespace {

TEST(HelperThreads, DoesEachOnceAndIsThereWhenAllAreDone) {
  HelperThreads helpers(3);
  EXPECT_EQ(helpers.threads(), 4);
  for (std::size_t count = 0; count < 300; ++count) {
    std::vector<int> done(count, 0);  // plain ints: a thread sanitizer sees whether ForEach waits for all
    helpers.ForEach(count, [&](std::size_t i) { ++done[i]; });
    for (int times : done) ASSERT_EQ(times, 1);
  }
}

TEST(HelperThreads, HelpersTakePart) {
  HelperThreads helpers(1);
  std::mutex mutex;
  std::condition_variable both;
  std::set<std::thread::id> threads;
  helpers.ForEach(2, [&](std::size_t) {  // neither ends before the other has begun
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    both.notify_all();
    both.wait(lock, [&] { return threads.size() == 2; });
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(HelperThreads, AloneItIsALoop) {
  HelperThreads helpers(0);
  std::vector<std::size_t> order;
  helpers.ForEach(4, [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace acl
