// The doorbell: with it an idle fleet asks seldom, and a submitted run starts at once all the same; without it all runs still end.
#include <gtest/gtest.h>

#include <filesystem>

#include "chaos/proxy/proxy.h"
#include "shared/base/uuid7.h"
#include "tests/support/fleet.h"

namespace acl::test {
namespace {

// Looking for work and counting it by the clock would take minutes: what starts now was notified of.
TEST(Doorbell, ASubmittedRunStartsWithoutAnyPoll) {
  FleetOptions options;
  options.environment = {{"ACL_POLL_MS", "3600000"}, {"ACL_READY_POLL_MS", "60000"}};
  Fleet fleet(options);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const std::string yaml = "name: now\nsteps:\n  - {name: a, capability: sys.info.get_time}\n";
  // The first may still be found by the look that follows the start.
  for (int run = 0; run < 3; ++run) {
    const auto id = fleet.Submit(yaml);
    EXPECT_TRUE(WaitUntil([&] { return fleet.StatusOf(id) == "COMPLETED"; }, std::chrono::seconds(30))) << run << "\n" << fleet.Logs();
  }
}

TEST(Doorbell, EveryLineCutInMidRunAndAllRunsStillEnd) {
  FleetOptions options;
  options.environment = {{"ACL_DOORBELL_ADVERTISE", "none"}};  // else workers would find the way around
  Fleet fleet(options);
  fleet.StartCoordinator();
  const auto proxy = std::move(*chaos::Proxy::Start(fleet.DoorbellPort(), chaos::Proxy::Protocol::kBytes));
  const std::map<std::string, std::string> through = {{"ACL_COORDINATORS", "127.0.0.1:" + std::to_string(proxy->port())}};
  fleet.StartWorker(1, through);
  fleet.StartWorker(2, through);
  ASSERT_TRUE(fleet.AwaitReady());
  ASSERT_TRUE(WaitUntil([&] { return proxy->open() == 2; }));
  const std::string started = (fleet.folder() / "started").string(), go = (fleet.folder() / "go").string();
  const std::string yaml =
      "name: cut\nsteps:\n  - name: gate\n    capability: sys.exec.run\n    on_unknown_outcome: retry\n    inputs:\n      command: sh\n"
      "      args: [\"-c\", \"echo >> " +
      started + "; while [ ! -e " + go +
      " ]; do sleep 0.02; done\"]\n"
      "  - {name: after, capability: sys.info.get_time}\n";
  std::vector<std::string> ids;
  for (int n = 0; n < 10; ++n) ids.push_back(fleet.Submit(yaml));
  ASSERT_TRUE(WaitUntil([&] { return ReadFile(started).size() >= 4; })) << fleet.Logs();
  proxy->Refuse();
  ASSERT_TRUE(WaitUntil([&] { return proxy->open() == 0; }));
  for (int n = 0; n < 10; ++n) ids.push_back(fleet.Submit(yaml));  // nobody is notified of these
  WriteFile(go, "");
  for (const auto& id : ids) ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED"));
  EXPECT_EQ(proxy->open(), 0);
  EXPECT_EQ(Psql(fleet.database_url(), "select count(*) from completed_steps"), "40");
  fleet.ExpectVerified();
}

// A coordinator is killed and another comes up at another port: workers find it without being started again.
TEST(Doorbell, ACoordinatorAtAnotherAddressIsFound) {
  FleetOptions options;
  options.environment = {{"ACL_POLL_MS", "3600000"}, {"ACL_READY_POLL_MS", "60000"}};  // what starts was notified of
  Fleet fleet(options);
  fleet.StartCoordinator(0);
  auto& worker = fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  ASSERT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.ApiUrl(0), "acl_doorbell_peers") == 1; }));
  fleet.coordinator(0).Kill();
  fleet.StartCoordinator(1);
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.ApiUrl(1), "acl_doorbell_peers") == 1; })) << worker.Output();
  const std::string yaml = "name: now\nsteps:\n  - {name: a, capability: sys.info.get_time}\n";
  for (int run = 0; run < 3; ++run) {
    const auto reply =
        fleet.Api("POST", "/v1/workflows", {{"workflow", yaml}, {"file", "now.yaml"}}, {{"Idempotency-Key", NewUuid7().ToString()}}, 1);
    ASSERT_EQ(reply.status, 201) << reply.body;
    const std::string id = reply.json()["id"];
    const auto ended = [&] { return fleet.Api("GET", "/v1/workflows/" + id, {}, {}, 1).json().value("status", "") == "COMPLETED"; };
    EXPECT_TRUE(WaitUntil(ended, std::chrono::seconds(30))) << run << "\n" << fleet.Logs();
  }
}

// Two coordinators and two workers as they are set by default: what they ask of the database while there is nothing to do. Counted on
// their way to it (pg_stat_database would count autovacuum, too), over the fleet's own time: not how long anything takes.
TEST(Doorbell, AnIdleFleetOfFourAsksAtMostTenTimesASecond) {
  const auto database = std::move(*TestDatabase::Create(true));
  const auto proxy = std::move(*chaos::Proxy::Start(PortOf(database->conninfo()), chaos::Proxy::Protocol::kPostgres));
  FleetOptions options;
  options.database_url = database->conninfo();
  options.migrate = false;
  options.lease_ttl_ms = 10'000;
  options.environment = {{"ACL_REAP_MS", "1000"},
                         {"ACL_TIMERS_MS", "1000"},
                         {"ACL_LEADER_TTL_MS", "5000"},
                         {"ACL_READY_POLL_MS", "1000"},
                         {"ACL_POLL_MS", "500"},
                         {"ACL_DEV_MODE", "false"},  // API keys are read, too
                         {"ACL_DATABASE_URL", WithPort(database->conninfo(), proxy->port())}};
  Fleet fleet(options);
  fleet.StartCoordinator(0);
  fleet.StartCoordinator(1);
  fleet.StartWorker(1);
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitReady());
  LetPass(std::chrono::seconds(6));  // until the looks for work have backed off
  const auto read = [&] { return std::pair(proxy->counters().answered, SystemClock().Steady()); };
  const auto [count, at] = read();
  LetPass(std::chrono::seconds(15));
  const auto [later_count, later_at] = read();
  const double rate = double(later_count - count) / std::chrono::duration<double>(later_at - at).count();
  RecordProperty("questions_per_second", std::to_string(rate));
  EXPECT_LE(rate, 10) << later_count - count << " questions\n" << fleet.Logs();
  EXPECT_GT(rate, 1) << "all go by the proxy";
}

}  // namespace
}  // namespace acl::test
