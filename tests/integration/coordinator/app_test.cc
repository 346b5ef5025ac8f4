// Starting, stopping and standing side by side.
#include "shared/postgres/migrate.h"
#include "tests/integration/coordinator/app_fixture.h"

namespace acl::coordinator {
namespace {

using CoordinatorApp = AppTest;

TEST_F(CoordinatorApp, EachJobIsHeldByOneOfTwo) {
  StartApp();
  StartApp();
  const auto held = [&](const std::string& job, std::size_t app) {
    return Ask("GET", "/metrics", Json(), {}, app).body.find("acl_job_held{background_job=\"" + job + "\"} 1") != std::string::npos;
  };
  for (const char* job :
       {"timers", "reaper", "ready", "retention", "contents", "schedules", "bookkeeper", "posts", "projects", "deliveries"}) {
    EXPECT_TRUE(test::WaitUntil([&] { return held(job, 0) != held(job, 1); })) << job;
  }
  EXPECT_EQ(database_->Count("SELECT count(*) FROM leader_leases"), 10);
  // Both answer; what one makes the other sees.
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + Submit(0), Json(), {}, 1).status, 200);
  const bool first_held_some = held("timers", 0) || held("reaper", 0) || held("ready", 0);
  const auto token = database_->Count("SELECT max(token) FROM leader_leases");
  apps_[0]->Stop();
  for (const char* job : {"timers", "reaper", "ready", "retention", "contents", "schedules", "bookkeeper"}) {
    EXPECT_TRUE(test::WaitUntil([&] { return held(job, 1); })) << job;
  }
  if (first_held_some) {
    EXPECT_GT(database_->Count("SELECT max(token) FROM leader_leases"), token);
  }
}

TEST_F(CoordinatorApp, StopsTwiceAndListensNoMore) {
  App& app = StartApp();
  const auto address = app.address();
  app.Stop();
  EXPECT_EQ(test::HttpGet("http://" + address.ToString() + "/readyz").status, 0);
  app.Stop();
}

TEST_F(CoordinatorApp, ATakenPortNamesItselfAndItsSetting) {
  App& first = StartApp();
  settings_.listen = first.address();
  App second(settings_, MakePgBackend(settings_));
  auto status = second.Start();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find(first.address().ToString()), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("--listen"), std::string::npos) << status.message();
  settings_.listen.port = 0;
  settings_.doorbell_listen = first.doorbell_address();
  App third(settings_, MakePgBackend(settings_));
  status = third.Start();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("--doorbell-listen"), std::string::npos) << status.message();
}

TEST_F(CoordinatorApp, ADatabaseThatIsAwayIsWaitedFor) {
  settings_.database_url = "postgresql://nobody@127.0.0.1:1/none";
  StartApp(false);
  EXPECT_TRUE(test::WaitUntil([&] { return Ask("GET", "/readyz").status == 503; }));
  // No key is needed for either: the database's address and words are in the log only.
  EXPECT_EQ(Ask("GET", "/readyz").json(), (Json{{"status", "not ready"}, {"checks", {{"database", "unavailable"}}}}));
  EXPECT_EQ(Ask("GET", "/v1/workflows").status, 503);
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
}

class UnmigratedCoordinator : public AppTest {
 protected:
  UnmigratedCoordinator() : AppTest(false) {}
};

TEST_F(UnmigratedCoordinator, AMissingMigrationIsNamedAndWaitedFor) {
  StartApp(false);
  EXPECT_TRUE(test::WaitUntil([&] { return Ask("GET", "/readyz").body.find("airun db migrate") != std::string::npos; }));
  EXPECT_EQ(Ask("GET", "/readyz").status, 503);
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  const auto refused = Ask("POST", "/v1/workflows", {{"workflow", kYaml}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("airun db migrate"), std::string::npos) << refused.body;
  auto migrated = pg::Migrate(settings_.database_url);
  ASSERT_TRUE(migrated) << migrated.error();
  EXPECT_TRUE(test::WaitUntil([&] { return Ask("GET", "/readyz").status == 200; }));
  Submit();
}

}  // namespace
}  // namespace acl::coordinator
