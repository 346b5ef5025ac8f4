// What a fleet tells about itself: every metric moves that an ordinary run with a takeover should move, and a request's trace id is found
// in the log lines of everything that was done for it.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "shared/base/uuid7.h"
#include "tests/support/gated_run.h"

namespace acl::test {
namespace {

// Not by such a run; where each is seen to move.
const std::map<std::string, std::string> kElsewhere = {
    {"time_since_last_snapshot_sec", "unit_worker, EachOfTheSixMoves: needs a snapshot, runs above 32 events"},
    {"lease_acquisition_failures", "unit_worker, EachOfTheSixMoves"},
    {"acl_outbox_oldest_seconds", "unit_coordinator, WhatWaitsHasAnAge"},
    {"acl_deliveries_total", "deliveries_test"},
    {"acl_deliveries", "deliveries_test"},
    {"acl_deliveries_oldest_seconds", "deliveries_test"},
    {"acl_suspects", "unit_coordinator, SuspectsAreCounted"},
    {"acl_object_store_requests_total", "unit_objectstore"},
    {"acl_object_store_request_seconds", "unit_objectstore"},
    {"acl_object_store_bytes_total", "unit_objectstore"},
    {"acl_object_store_retries_total", "unit_objectstore"},
    {"acl_fence_refusals_total", "lease_test, a worker that comes back"},
    {"acl_lease_losses_total", "lease_test, a worker that comes back; one that is killed counts no more"},
    {"acl_quarantines_total", "unit_worker"},
    {"acl_trace_spans_total", "unit_telemetry, of the exporter; only a process that sends traces has it"},
    {"acl_contents_collected_total", "unit_coordinator, WhatNobodyRefersToIsCollectedAndCounted"},
    {"acl_dispatches_total", "dispatched_test"},
    {"gen_ai_client_operation_duration_seconds", "unit_coordinator, CallsAreCountedByTheNamesOfTheConventions"},
    {"gen_ai_client_token_usage", "unit_coordinator, CallsAreCountedByTheNamesOfTheConventions"},
    {"acl_journals_dropped_total", "nowhere yet: conformance_segment_test sees journals dropped, and does not ask the counter"},
    {"acl_claims_sticky_total", "tests/kafka, RunsGoThroughMessagesStepByStep"},
    {"acl_queue_messages_total", "tests/kafka, RunsGoThroughMessagesStepByStep; this fleet has the other driver"},
    {"acl_queue_late_claims_total", "tests/kafka, WithoutAnyBrokerWorkersLookForThemselves"},
    {"acl_queue_messages_waiting", "tests/kafka, ALagIsSeenWhileAWorkerIsFull"},
    {"acl_queue_consumer_lag", "tests/kafka, ALagIsSeenWhileAWorkerIsFull"},
    {"acl_relay_messages_total", "tests/kafka, RunsGoThroughMessagesStepByStep"},
    {"acl_relay_hinted_total", "tests/kafka, RunsGoThroughMessagesStepByStep"},
    {"acl_relay_rows_out", "tests/kafka, ALagIsSeenWhileAWorkerIsFull"},
    {"acl_timers_fired_total", "examples_test, retries"},
    {"acl_schedule_fires_total", "unit_coordinator, Schedules"},
    {"acl_schedule_lag_seconds", "unit_coordinator, FiresOnceAtItsTimeWithItsInputAndLabel"},
};

std::set<std::string> NamesOfMetrics() {
  std::ifstream file(std::string(ACL_SOURCE_DIR) + "/shared/telemetry/names.h");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex definition("const MetricDef k\\w+\\{\\s*\"(\\w+)\"");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), definition), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

// Names of what is above zero on these pages; a histogram by its count.
void Collect(Fleet& fleet, const std::vector<std::string>& urls, const std::set<std::string>& names, std::set<std::string>& moved) {
  for (const std::string& url : urls) {
    for (const std::string& name : names) {
      if (!moved.contains(name) && fleet.Metric(url, name) + fleet.Metric(url, name + "_count") > 0) moved.insert(name);
    }
  }
}

TEST(Telemetry, ARunWithATakeoverMovesTheMetrics) {
  const std::set<std::string> names = NamesOfMetrics();
  ASSERT_GT(names.size(), 25u);
  std::set<std::string> moved;
  Fleet fleet;
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  const Json body = {{"workflow", "name: twice\nsteps:\n  - name: one\n    capability: sys.info.get_time\n"}, {"file", "twice.yaml"}};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fleet.Api("POST", "/v1/workflows", body, {{"Idempotency-Key", "the-same"}}).status / 100, 2);
  GatedRun run(fleet, 2);
  EXPECT_TRUE(WaitUntil([&] {
    Collect(fleet, {fleet.ApiUrl()}, {"acl_ready_depth", "acl_ready_rows", "acl_ready_oldest_seconds", "acl_ready_unserved"}, moved);
    return moved.size() == 4;
  }));
  for (int n : {1, 2}) fleet.StartWorker(n);
  ASSERT_TRUE(run.AwaitStarted(1));
  const int killed = fleet.HolderOf(run.id());
  ASSERT_GT(killed, 0);
  fleet.worker(killed).Kill();
  ASSERT_TRUE(run.AwaitStarted(1, 2));
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  const std::vector<std::string> urls = {fleet.ApiUrl(), fleet.HealthUrl(3 - killed)};
  Collect(fleet, urls, names, moved);
  run.OpenAll();
  run.ExpectCompletedOnce();
  Collect(fleet, urls, names, moved);
  for (const std::string& name : names) {
    EXPECT_TRUE(moved.contains(name) || kElsewhere.contains(name)) << name << " stayed at zero or is on no page";
  }
  for (const auto& [name, where] : kElsewhere) EXPECT_TRUE(names.contains(name)) << name << " is no metric any more";
}

// What an image's HEALTHCHECK asks: the program, of the process that runs with the same settings.
TEST(Telemetry, AProgramAsksTheOneThatRunsWhetherItIsReady) {
  Fleet fleet;
  fleet.StartCoordinator();
  auto& worker = fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto at = [](const std::string& url) { return url.substr(url.rfind('/') + 1); };
  const auto ask = [&] { return RunProgram({Binary("acl-worker"), "--health", "--health-listen", at(fleet.HealthUrl(1))}); };
  EXPECT_TRUE(WaitUntil([&] { return ask().exit_code == 0; })) << ask().out;
  const auto coordinator = RunProgram({Binary("acl-coordinator"), "--health"}, {{"ACL_LISTEN", at(fleet.ApiUrl())}});
  EXPECT_EQ(coordinator.exit_code, 0) << coordinator.out;
  EXPECT_NE(coordinator.out.find("\"ready\""), std::string::npos) << coordinator.out;
  worker.Kill();
  const auto gone = ask();
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_NE(gone.out.find("refused"), std::string::npos) << gone.out;
}

TEST(Telemetry, TheTraceIdOfARequestIsInTheLogLinesOfItsRun) {
  Fleet fleet;
  fleet.StartCoordinator();
  auto& worker = fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const Json body = {{"workflow", "name: traced\nsteps:\n  - name: one\n    capability: sys.info.get_time\n"}, {"file", "traced.yaml"}};
  const auto reply = fleet.Api("POST", "/v1/workflows", body,
                               {{"Idempotency-Key", NewUuid7().ToString()}, {"traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}});
  ASSERT_EQ(reply.status, 201) << reply.body;
  const std::string id = reply.json()["id"];
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED"));
  for (const char* message : {"\"claimed\"", "\"step started\"", "\"step ended\""}) {
    std::istringstream lines(worker.Output());
    bool found = false;
    for (std::string line; std::getline(lines, line);) {
      found |= line.find(message) != std::string::npos && line.find(trace) != std::string::npos && line.find(id) != std::string::npos;
    }
    EXPECT_TRUE(found) << message << "\n" << worker.Output();
  }
  const auto events = fleet.Events(id);
  ASSERT_FALSE(events.empty());
  EXPECT_NE(events[0].dump().find(trace), std::string::npos) << "the journal keeps it too";
}

}  // namespace
}  // namespace acl::test
