#include "coordinator/announcer.h"

#include <gtest/gtest.h>

namespace acl::coordinator {
namespace {

TEST(AnnouncedAs, IsWhereWorkersReachTheDoorbell) {
  Settings settings;
  const HostPort loopback{"127.0.0.1", 8734}, all{"0.0.0.0", 8734}, all6{"::", 8734}, one{"10.0.0.7", 4711};
  EXPECT_EQ(AnnouncedAs(settings, loopback, "m")->doorbell, "127.0.0.1:8734");
  EXPECT_EQ(AnnouncedAs(settings, all, "m")->doorbell, "m:8734");
  EXPECT_EQ(AnnouncedAs(settings, all6, "m")->doorbell, "m:8734");
  EXPECT_EQ(AnnouncedAs(settings, one, "m")->doorbell, "10.0.0.7:4711");
  EXPECT_EQ(AnnouncedAs(settings, one, "m")->host, "m");
  settings.doorbell_advertise = "acl.example.org:9000";
  EXPECT_EQ(AnnouncedAs(settings, all, "m")->doorbell, "acl.example.org:9000");
  settings.doorbell_advertise = "none";
  EXPECT_FALSE(AnnouncedAs(settings, all, "m"));
}

TEST(AnnouncedAs, ASettingThatIsNoAddressIsRefused) {
  for (const char* wrong : {"acl.example.org", "acl.example.org:0", "no:thing:x"}) {
    EXPECT_FALSE(ParseSettings(Program::kCoordinator, {"--doorbell-advertise", wrong}, {})) << wrong;
  }
  for (const char* right : {"acl.example.org:9000", "none", "[fd00::7]:9000"}) {
    EXPECT_TRUE(ParseSettings(Program::kCoordinator, {"--doorbell-advertise", right}, {})) << right;
  }
}

class FakeStore final : public CoordinatorStore {
 public:
  Status Announce(const WorkerSessionId&, const LivingCoordinator& what) override {
    std::lock_guard lock(mutex);
    ++asked;
    changed.notify_all();
    if (away) return Error{Code::kUnavailable, "away"};
    rows = {what};
    return {};
  }
  Status Leave(const WorkerSessionId&) override {
    std::lock_guard lock(mutex);
    rows.clear();
    ++left;
    return {};
  }
  Result<std::vector<LivingCoordinator>> Living(std::chrono::milliseconds) override { return rows; }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<LivingCoordinator> rows;
  int asked = 0, left = 0;
  bool away = true;
};

TEST(Announcer, SaysItAgainAndTakesItBackAtTheEnd) {
  FakeStore store;
  Announcer announcer(store, WorkerSessionId{}, {"10.0.0.7:8734", "m"}, std::chrono::milliseconds(1));
  ASSERT_TRUE(announcer.Start().ok());
  {
    std::unique_lock lock(store.mutex);
    ASSERT_TRUE(store.changed.wait_for(lock, std::chrono::seconds(20), [&] { return store.asked >= 3; })) << "the database is away";
    store.away = false;
    ASSERT_TRUE(store.changed.wait_for(lock, std::chrono::seconds(20), [&] { return !store.rows.empty(); }));
  }
  announcer.Stop();
  EXPECT_EQ(store.left, 1);
  EXPECT_TRUE(store.rows.empty());
}

}  // namespace
}  // namespace acl::coordinator
