// kill -9 of a worker, of the coordinator and of PostgreSQL at each step of a run: it completes, every step once.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

constexpr int kSteps = 4;

TEST(Kill, WorkerInTheMiddleOfEachStep) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, kSteps);
  int next_worker = 3;
  for (int step = 1; step <= kSteps; ++step) {
    ASSERT_TRUE(run.AwaitStarted(step));
    const int holder = fleet.HolderOf(run.id());
    ASSERT_GT(holder, 0) << fleet.Logs();
    fleet.worker(holder).Kill();
    fleet.StartWorker(next_worker++);
    ASSERT_TRUE(run.AwaitStarted(step, 2));
    const auto tokens = run.Tokens(step);
    EXPECT_LT(tokens[0], tokens[1]) << "a takeover raises the token";
    EXPECT_NE(fleet.HolderOf(run.id()), holder);
    run.Open(step);
  }
  run.ExpectCompletedOnce();
  EXPECT_EQ(Psql(fleet.database_url(),
                 "select min(attempt_id) || ' ' || max(attempt_id) from completed_steps where workflow_id = '" + run.id() + "'"),
            "2 2");
}

TEST(Kill, WorkerBetweenQuickSteps) {
  Fleet fleet;
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  std::string yaml = "name: quick\nsteps:\n";
  for (int step = 0; step < 60; ++step) {
    yaml += "  - {name: s" + std::to_string(step) + ", capability: io.fs.write_file, inputs: {path: f" + std::to_string(step % 7) +
            ", content: x" + std::to_string(step) + "}}\n";
  }
  const auto id = fleet.Submit(yaml);
  for (int n = 1; n <= 4 && fleet.StatusOf(id) != "COMPLETED"; ++n) {
    fleet.StartWorker(n);
    const auto before = fleet.Run(id).value("/head_seq"_json_pointer, std::int64_t{0});
    WaitUntil([&] { return fleet.StatusOf(id) == "COMPLETED" || fleet.Run(id).value("/head_seq"_json_pointer, std::int64_t{0}) > before; });
    fleet.worker(n).Kill();
  }
  fleet.StartWorker(9);
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED"));
  EXPECT_EQ(
      Psql(fleet.database_url(), "select count(*) || ' ' || count(distinct step_id) from completed_steps where workflow_id = '" + id + "'"),
      "60 60");
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/f3").body, "x59");
  fleet.ExpectVerified();
}

TEST(Kill, CoordinatorAtEachStep) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, kSteps);
  for (int step = 1; step <= kSteps; ++step) {
    ASSERT_TRUE(run.AwaitStarted(step));
    fleet.coordinator().Kill();
    run.Open(step);
    if (step < kSteps) {
      ASSERT_TRUE(run.AwaitStarted(step + 1)) << "a run goes on without its coordinator";
    }
    fleet.StartCoordinator();
    ASSERT_TRUE(fleet.AwaitReady());
  }
  run.ExpectCompletedOnce();
  for (int step = 1; step <= kSteps; ++step) EXPECT_EQ(run.Starts(step), 1);
}

TEST(Kill, PostgresAtEachStep) {
  TestPostgres postgres;
  FleetOptions options;
  options.database_url = postgres.url();
  options.lease_ttl_ms = 4000;
  Fleet fleet(options);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, kSteps);
  for (int step = 1; step <= kSteps; ++step) {
    ASSERT_TRUE(run.AwaitStarted(step));
    postgres.Kill();
    run.Open(step);  // the step ends, and its result cannot be committed
    postgres.Start();
    ASSERT_TRUE(fleet.AwaitReady()) << "processes wait for the database and go on";
  }
  run.ExpectCompletedOnce();
}

}  // namespace
}  // namespace acl::test
