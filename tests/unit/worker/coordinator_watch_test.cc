#include "worker/coordinator_watch.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

TEST(DoorbellsFor, ALoopbackAddressIsForWorkersOfTheSameMachine) {
  const std::vector<LivingCoordinator> living = {
      {"10.0.0.7:8734", "a"}, {"127.0.0.1:8734", "a"}, {"127.0.0.1:8734", "b"}, {"acl-b.example.org:9000", "b"},
      {"10.0.0.7:8734", "c"}, {"no address", "b"},     {"10.0.0.8:0", "b"},     {"[::1]:8734", "a"}};
  EXPECT_EQ(DoorbellsFor("b", living), (std::vector<HostPort>{{"10.0.0.7", 8734}, {"127.0.0.1", 8734}, {"acl-b.example.org", 9000}}));
  EXPECT_EQ(DoorbellsFor("z", living), (std::vector<HostPort>{{"10.0.0.7", 8734}, {"acl-b.example.org", 9000}}));
}

class FakeStore final : public CoordinatorStore {
 public:
  Status Announce(const WorkerSessionId&, const LivingCoordinator&) override { return {}; }
  Status Leave(const WorkerSessionId&) override { return {}; }
  Result<std::vector<LivingCoordinator>> Living(std::chrono::milliseconds) override {
    std::lock_guard lock(mutex);
    ++reads;
    changed.notify_all();
    if (away) return Error{Code::kUnavailable, "away"};
    return rows;
  }
  std::mutex mutex;
  std::condition_variable changed;
  int reads = 0;
  bool away = true;
  std::vector<LivingCoordinator> rows = {{"10.0.0.7:8734", "a"}};
};

TEST(CoordinatorWatch, ReadsAgainWhileTheDatabaseIsAwayAndWhenALineIsLost) {
  FakeStore store;
  std::vector<std::vector<HostPort>> told;  // under the store's mutex
  CoordinatorWatch::Options options;
  options.host = "here";
  options.worried = std::chrono::milliseconds(1);
  options.calm = std::chrono::hours(1);
  options.on_living = [&](std::vector<HostPort> living) {
    std::lock_guard lock(store.mutex);
    told.push_back(std::move(living));
    store.changed.notify_all();
  };
  CoordinatorWatch watch(std::move(options), store);
  ASSERT_TRUE(watch.Start().ok());
  std::unique_lock lock(store.mutex);
  const auto until = [&](const std::function<bool()>& is) { return store.changed.wait_for(lock, std::chrono::seconds(20), is); };
  ASSERT_TRUE(until([&] { return store.reads >= 3; })) << "a database that is away is tried again";
  EXPECT_TRUE(told.empty());
  store.away = false;
  ASSERT_TRUE(until([&] { return told.size() == 1; }));
  EXPECT_EQ(told[0], (std::vector<HostPort>{{"10.0.0.7", 8734}}));
  lock.unlock();
  watch.SetLines(false);  // the hour is cut short
  lock.lock();
  ASSERT_TRUE(until([&] { return told.size() >= 4; }));
  lock.unlock();
  watch.Stop();
}

}  // namespace
}  // namespace acl
