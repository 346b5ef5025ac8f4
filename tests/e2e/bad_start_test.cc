// What is missing or in the way at the start is said, with the way out; what may come later is waited for.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

int Times(const std::string& text, const std::string& part) {
  int times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(BadStart, DatabaseDownAtTheStartIsWaitedFor) {
  TestPostgres postgres;
  postgres.Stop();
  FleetOptions options;
  options.database_url = postgres.url();
  options.migrate = false;
  Fleet fleet(options);
  auto& coordinator = fleet.StartCoordinator();
  auto& worker = fleet.StartWorker(1);
  for (const auto& url : {fleet.ApiUrl(), fleet.HealthUrl(1)}) {
    EXPECT_TRUE(WaitUntil([&] { return HttpGet(url + "/livez").status == 200; })) << coordinator.Output() << worker.Output();
    const auto ready = HttpGet(url + "/readyz");
    EXPECT_EQ(ready.status, 503);
    for (const auto& hidden : {std::string("127.0.0.1"), std::string("port"), std::string("refused")}) {
      EXPECT_EQ(ready.body.find(hidden), std::string::npos) << "whoever reaches it reads this without a key: " << ready.body;
    }
  }
  EXPECT_TRUE(WaitUntil([&] { return coordinator.Output().find("database") != std::string::npos; })) << coordinator.Output();
  postgres.Start();
  ASSERT_EQ(fleet.Cli({"db", "migrate"}).exit_code, 0);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 1);
  run.OpenAll();
  run.ExpectCompletedOnce();
}

TEST(BadStart, DatabaseGoneInMidRunIsWaitedFor) {
  TestPostgres postgres;
  FleetOptions options;
  options.database_url = postgres.url();
  Fleet fleet(options);
  auto& coordinator = fleet.StartCoordinator();
  auto& worker = fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  postgres.Stop();
  EXPECT_TRUE(WaitUntil([&] { return HttpGet(fleet.ApiUrl() + "/readyz").status == 503; }));
  const auto refused = fleet.Api("GET", "/v1/workflows");
  EXPECT_EQ(refused.status, 503) << refused.body;
  LetPass(std::chrono::milliseconds(2000));  // past the lease: nobody can take it over, for nobody reaches the database
  postgres.Start();
  ASSERT_TRUE(fleet.AwaitReady());
  run.OpenAll();
  run.ExpectCompletedOnce();
  // A line when it goes and one when it is back, however often it was asked meanwhile.
  EXPECT_TRUE(WaitUntil([&] { return worker.Output().find("the database is reached again") != std::string::npos; })) << worker.Output();
  EXPECT_EQ(Times(worker.Output(), "cannot reach the database"), 1) << worker.Output();
  EXPECT_EQ(Times(coordinator.Output(), "the database cannot be reached"), 1) << coordinator.Output();
  EXPECT_EQ(Times(coordinator.Output(), "the database is reached again"), 1) << coordinator.Output();
}

TEST(BadStart, MissingMigrationIsNamed) {
  FleetOptions options;
  options.migrate = false;
  Fleet fleet(options);
  auto& coordinator = fleet.StartCoordinator();
  auto& worker = fleet.StartWorker(1);
  for (auto* process : {&coordinator, &worker}) {
    EXPECT_TRUE(WaitUntil([&] { return process->Output().find("airun db migrate") != std::string::npos; })) << process->Output();
  }
  ASSERT_EQ(fleet.Cli({"db", "migrate"}).exit_code, 0);
  if (!coordinator.running()) fleet.StartCoordinator();
  if (!worker.running()) fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
}

TEST(BadStart, TakenPortIsNamed) {
  Fleet fleet;
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  const auto address = fleet.ApiUrl().substr(std::string("http://").size());
  const auto second = RunProgram({Binary("acl-coordinator"), "--listen", address, "--doorbell-listen", "127.0.0.1:0", "--dev-mode"},
                                 {{"ACL_DATABASE_URL", fleet.database_url()}});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_NE((second.out + second.err).find(address), std::string::npos) << second.out << second.err;
}

TEST(BadStart, AWorkerWhoseHealthPortIsTakenTakesNoWork) {
  Fleet fleet;
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 1);  // work waits
  const auto address = fleet.ApiUrl().substr(std::string("http://").size());
  const auto worker = RunProgram({Binary("acl-worker"), "--health-listen", address, "--work-dir", fleet.folder() / "work"},
                                 {{"ACL_DATABASE_URL", fleet.database_url()}});
  EXPECT_NE(worker.exit_code, 0);
  EXPECT_NE((worker.out + worker.err).find(address), std::string::npos) << worker.out << worker.err;
  EXPECT_NE((worker.out + worker.err).find("--health-listen"), std::string::npos) << worker.out << worker.err;
  EXPECT_EQ(Psql(fleet.database_url(), "SELECT count(*) FROM worker_sessions"), "0");
  EXPECT_EQ(Psql(fleet.database_url(), "SELECT count(*) FROM lease_history"), "0");
}

TEST(BadStart, AWorkerRefusesANewerDatabase) {
  Fleet fleet;
  Psql(fleet.database_url(), "INSERT INTO schema_migrations (version) VALUES ('9999')");
  auto& worker = fleet.StartWorker(1);
  const auto ready = [&] { return HttpGet(fleet.HealthUrl(1) + "/readyz"); };
  EXPECT_TRUE(WaitUntil([&] { return ready().body.find("newer") != std::string::npos; })) << ready().body << worker.Output();
  EXPECT_EQ(ready().status, 503);
  EXPECT_NE(worker.Output().find("9999"), std::string::npos) << worker.Output();
  EXPECT_EQ(Psql(fleet.database_url(), "SELECT count(*) FROM worker_sessions"), "0");
  Psql(fleet.database_url(), "DELETE FROM schema_migrations WHERE version = '9999'");
  ASSERT_TRUE(fleet.AwaitReady());
}

TEST(BadStart, AWorkerRefusesADatabaseThatComesBackNewer) {
  Fleet fleet;
  auto& worker = fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  Psql(fleet.database_url(), "INSERT INTO schema_migrations (version) VALUES ('9999')");
  Psql(fleet.database_url(),
       "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE "
       "'acl-worker%'");
  const auto ready = [&] { return HttpGet(fleet.HealthUrl(1) + "/readyz"); };
  EXPECT_TRUE(WaitUntil([&] { return ready().body.find("newer") != std::string::npos; })) << ready().body << worker.Output();
  EXPECT_TRUE(worker.running()) << "it waits for a database that fits";
}

TEST(BadStart, WrongSettingIsNamed) {
  for (const auto* program : {"acl-coordinator", "acl-worker"}) {
    const auto result = RunProgram({Binary(program), "--lease-ttl-ms", "soon"});
    EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
    EXPECT_NE(result.err.find("lease-ttl-ms"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace acl::test
