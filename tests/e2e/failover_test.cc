// PostgreSQL fails over to a standby that has not everything: tokens stay monotone, because the epoch follows the WAL timeline (
// docs/architecture.md#tokens); what the standby had goes on, what it had not is done again under a higher token, and nobody has to restart
// anything.
#include <gtest/gtest.h>

#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

constexpr std::int64_t kEpoch = std::int64_t(1) << 32;

class Failover : public ::testing::Test {
 protected:
  void SetUp() override {
    postgres_.StartReplica();
    FleetOptions options;
    options.database_url = postgres_.both_urls();
    options.lease_ttl_ms = 2'000;
    fleet_ = std::make_unique<Fleet>(options);
    fleet_->StartCoordinator();
    fleet_->StartWorker(1);
    fleet_->StartWorker(2);
    ASSERT_TRUE(fleet_->AwaitReady());
  }
  std::string OnReplica(const std::string& sql) { return Psql(postgres_.replica_url(), sql); }
  // Until the standby has what the primary has now.
  bool AwaitReplicated() {
    const std::string at = Psql(postgres_.url(), "select pg_current_wal_lsn()");
    return WaitUntil([&] { return OnReplica("select pg_last_wal_replay_lsn() >= '" + at + "'") == "t"; });
  }

  TestPostgres postgres_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(Failover, RunsGoOnUnderAHigherEpoch) {
  GatedRun run(*fleet_, 3);
  ASSERT_TRUE(run.AwaitStarted(1));
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(AwaitReplicated());
  postgres_.Kill();
  run.Open(2);  // it ends while there is no database
  postgres_.Promote();
  ASSERT_TRUE(run.AwaitStarted(3)) << fleet_->Logs();
  run.OpenAll();
  run.ExpectCompletedOnce();
  const Json body = {{"workflow", "name: later\nsteps:\n  - {name: s, capability: test.echo, inputs: {outputs: {a: 1}}}\n"},
                     {"file", "later.yaml"}};
  std::string later;  // a connection of before may still be found broken: a client tries again under its key
  ASSERT_TRUE(WaitUntil([&] {
    const auto reply = fleet_->Api("POST", "/v1/workflows", body, {{"Idempotency-Key", "later"}});
    if (reply.status / 100 == 2) later = reply.json().value("id", "");
    return !later.empty();
  }));
  ASSERT_TRUE(fleet_->AwaitStatus(later, "COMPLETED"));
  EXPECT_EQ(Psql(postgres_.replica_url(),
                 "select min(fencing_token) >= " + std::to_string(2 * kEpoch) + " from events where workflow_id = '" + later + "'"),
            "t")
      << "the new timeline raised the epoch by itself";
}

// What waits for a person waits in rows: it is there behind a failover too, and is decided once.
TEST_F(Failover, AnApprovalIsDecidedBehindIt) {
  const std::string id = fleet_->Submit(
      "name: deploy\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL}\n"
      "  - {name: ship, capability: test.echo, inputs: {outputs: {a: 1}}}\n");
  ASSERT_TRUE(fleet_->AwaitStatus(id, "PAUSED"));
  ASSERT_TRUE(AwaitReplicated());
  postgres_.Kill();
  postgres_.Promote();
  ASSERT_TRUE(WaitUntil([&] { return fleet_->Cli({"workflow", "resume", id, "--decision", "approve"}).exit_code != 1; })) << fleet_->Logs();
  ASSERT_TRUE(fleet_->AwaitStatus(id, "COMPLETED")) << fleet_->Logs();
  EXPECT_EQ(fleet_->Cli({"workflow", "resume", id, "--decision", "reject"}).exit_code, 5);
}

// The primary goes on alone for a while (partitioned from its standby), then is lost with all it had since.
TEST_F(Failover, WhatTheStandbyHadNotIsDoneAgainUnderAHigherToken) {
  GatedRun run(*fleet_, 3);
  ASSERT_TRUE(run.AwaitStarted(1));
  ASSERT_TRUE(AwaitReplicated());
  OnReplica("alter system set primary_conninfo = ''");
  OnReplica("select pg_reload_conf()");  // the partition: nothing arrives any more
  ASSERT_TRUE(WaitUntil([&] { return Psql(postgres_.url(), "select count(*) from pg_stat_replication") == "0"; }));
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2)) << "the primary has taken the result of step 1";
  const auto before = run.Tokens(2);
  postgres_.Kill();
  postgres_.Promote();
  run.Open(2);  // its holder hears at its next commit that the primary is not where it left it, and gives the run back
  ASSERT_TRUE(run.AwaitStarted(1, 2)) << "the standby knew nothing of it\n" << fleet_->Logs();
  run.OpenAll();
  run.ExpectCompletedOnce();
  EXPECT_GT(run.Tokens(1).back(), before.back()) << "above every token that was ever handed out";
  EXPECT_GE(run.Tokens(1).back(), 2 * kEpoch);
}

}  // namespace
}  // namespace acl::test
