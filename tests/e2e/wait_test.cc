// WAIT steps with real processes: no lease is held meanwhile, and the time comes whoever was killed.
#include <gtest/gtest.h>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

std::string Waiting(const std::string& wait) {
  return "name: waits\nmax_execution_time_seconds: 600\nsteps:\n"
         "  - {name: before, capability: io.fs.write_file, inputs: {path: a, content: x}}\n"
         "  - {name: nap, wait: " +
         wait +
         "}\n"
         "  - {name: after, capability: io.fs.write_file, inputs: {path: b, content: \"{{nap.due_at}}\"}}\n";
}

bool AwaitWaiting(Fleet& fleet, const std::string& id) {
  return WaitUntil([&] {
    const Json state = fleet.Run(id).value("state", Json::object());
    return state.value("name", "") == "waiting" && state.value("blocked_on", "") == "timer" && state.contains("next_wake");
  });
}

// By the journal: the step ended once, and not before its time by the database's clock (whose time the event carries).
void ExpectWaitedOnce(Fleet& fleet, const std::string& id) {
  int times = 0;
  for (const Json& event : fleet.Events(id)) {
    if (event.value("event_type", "") != "step.completed" || event.value("/payload/step_id"_json_pointer, "") != "nap") continue;
    ++times;
    EXPECT_LE(event.at("/payload/due_at"_json_pointer), event.at("timestamp")) << DumpJson(event);
  }
  EXPECT_EQ(times, 1);
  fleet.ExpectVerified();
}

TEST(Wait, HoldsNoLeaseAndGoesOnWhoeverWasKilled) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto id = fleet.Submit(Waiting("4s"));
  ASSERT_TRUE(AwaitWaiting(fleet, id)) << fleet.Logs();
  EXPECT_EQ(fleet.HolderOf(id), -1);
  const auto status = fleet.Cli({"workflow", "status", id});
  EXPECT_NE(status.out.find("blocked on timer"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("step nap until 20"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("WAITING"), std::string::npos) << status.out;
  fleet.worker(1).Kill();
  fleet.coordinator().Kill();
  fleet.StartCoordinator();
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED")) << fleet.Logs();
  ExpectWaitedOnce(fleet, id);
  const Json due = fleet.Run(id).at("/steps/1/outputs/due_at"_json_pointer);
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/b").body, due.get<std::string>());
}

TEST(Wait, UntilATimeAndTheEndOfACancelledRun) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartCoordinator(1);  // both could fire it
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto past = fleet.Submit(Waiting("{until: 2020-02-03T04:05:06+01:00}"));
  const auto far = fleet.Submit(Waiting("3650d"));
  ASSERT_TRUE(fleet.AwaitStatus(past, "COMPLETED")) << fleet.Logs();
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + past + "/files/b").body, "2020-02-03T03:05:06.000000Z");
  ExpectWaitedOnce(fleet, past);
  ASSERT_TRUE(AwaitWaiting(fleet, far));
  EXPECT_EQ(fleet.Cli({"workflow", "cancel", far}).exit_code, 0);
  ASSERT_TRUE(fleet.AwaitStatus(far, "FAILED"));
  EXPECT_EQ(Psql(fleet.database_url(), "select count(*) from timers"), "0") << "nothing is left of a run that has ended";
  fleet.ExpectVerified();
}

}  // namespace
}  // namespace acl::test
