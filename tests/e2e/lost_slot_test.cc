// A step whose thread does not come back, whatever its worker does: the worker says so, claims nothing when it has no other, and ends all
// the same when it is told to.
#include <gtest/gtest.h>

#include <csignal>

#include "shared/base/clock.h"
#include "shared/postgres/chaos_mark.h"
#include "tests/support/fleet.h"

namespace acl::test {
namespace {

TEST(LostSlot, ShowsAndDoesNotKeepTheWorkerFromEnding) {
  Fleet fleet;
  fleet.StartCoordinator();
  ASSERT_TRUE(pg::MarkForChaos(fleet.database_url(), true).ok());
  const auto orders = fleet.folder() / "orders";
  std::filesystem::create_directories(orders);
  auto& worker = fleet.StartWorker(1, {{"ACL_FAILPOINTS", orders}, {"ACL_SLOTS", "1"}, {"ACL_ALLOW_PRIVATE_NETWORKS", "true"}});
  ASSERT_TRUE(fleet.AwaitReady());
  WriteFile(orders / "step.before_effect", "hold");  // and nobody lets it go
  const std::string yaml =
      "name: held\nsteps:\n  - name: send\n    capability: net.http.put\n    timeout_seconds: 1\n    inputs: {url: "
      "'http://127.0.0.1:9/'}\n";
  fleet.Submit(yaml);
  const auto page = [&] { return HttpGet(fleet.HealthUrl(1) + "/readyz"); };
  ASSERT_TRUE(WaitUntil([&] { return page().body.find("1 of 1 slots are held by steps") != std::string::npos; })) << page().body;
  EXPECT_EQ(page().status, 503);
  const std::string other = fleet.Submit("name: other\nsteps:\n  - {name: a, capability: test.echo}\n");
  EXPECT_FALSE(WaitUntil([&] { return fleet.HolderOf(other) == 1; }, std::chrono::seconds(2))) << "it takes what it cannot run";
  const auto began = SystemClock().Steady();
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.Wait(), 1);
  EXPECT_LT(SystemClock().Steady() - began, std::chrono::seconds(25));
  EXPECT_NE(worker.Output().find("a step does not end"), std::string::npos) << worker.Output();
  fleet.StartWorker(2);
  EXPECT_TRUE(fleet.AwaitStatus(other, "COMPLETED"));
}

}  // namespace
}  // namespace acl::test
