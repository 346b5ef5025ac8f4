// Dispatched steps whose dispatches travel through a real broker: workers of other queues take them by message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/gated_run.h"
#include "tests/support/kafka_server.h"

namespace acl::test {
namespace {

struct KafkaDispatched : ::testing::Test {
  KafkaDispatched() {
    FleetOptions options;
    options.environment = kafka.FleetEnvironment(NewPrefix(), {"default", "gpu", "cpu"});
    options.environment["ACL_QUEUE_LATE_MS"] = "3600000";  // what comes, comes by messages
    fleet = std::make_unique<Fleet>(options);
    fleet->StartCoordinator();
    fleet->StartWorker(1);
  }
  void StartOn(const std::string& queue, int n) { fleet->StartWorker(n, {{"ACL_QUEUES", queue}}); }
  std::string Sql(const std::string& sql) { return Psql(fleet->database_url(), sql); }
  // Two dispatches at once after the first step, another step after both.
  static GatedRun::Shape Fork() {
    return {.depends_on = {{2, "[step_1]"}, {3, "[step_1]"}, {4, "[step_2, step_3]"}}, .queues = {{2, "gpu"}, {3, "cpu"}}};
  }
  std::string TakerOf(const std::string& id, const std::string& step) {
    for (const Json& dispatch : fleet->Run(id).value("dispatches", Json::array())) {
      if (dispatch.value("step_id", "") == step && dispatch.value("state", "") == "started") return dispatch.value("holder", "");
    }
    return "";
  }
  // Where in the journal, by (type, step); 0: not there. The last one counts.
  std::int64_t SeqOf(const std::string& id, const std::string& type, const std::string& step) {
    std::int64_t found = 0;
    for (const Json& event : fleet->Events(id)) {
      if (event.value("event_type", "") == type && event.value("/payload/step_id"_json_pointer, "") == step)
        found = event.value("event_seq", 0);
    }
    return found;
  }
  void ExpectEachEndOnce(const std::string& id) {
    const Json dispatches = fleet->Run(id).value("dispatches", Json::array());
    EXPECT_FALSE(dispatches.empty());
    for (const Json& dispatch : dispatches) {
      int times = 0;
      for (const Json& event : fleet->Events(id))
        times += event.value("/payload/inbox_id"_json_pointer, "") == dispatch.value("dispatch_id", "-");
      EXPECT_EQ(times, 1) << DumpJson(dispatch);
    }
  }

  TestKafka kafka = TestKafka::OfThisRun();
  std::unique_ptr<Fleet> fleet;
};

TEST_F(KafkaDispatched, TwoStepsOfOneRunOverlapOnTheWorkersOfTwoQueues) {
  StartOn("gpu", 2);
  StartOn("cpu", 3);
  ASSERT_TRUE(fleet->AwaitReady());
  GatedRun run(*fleet, 4, Fork());
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(run.AwaitStarted(3)) << "both run, neither has ended";
  EXPECT_EQ(TakerOf(run.id(), "step_2"), "worker-2");
  EXPECT_EQ(TakerOf(run.id(), "step_3"), "worker-3");
  run.OpenAll();
  run.ExpectCompletedOnce();
  for (int step = 1; step <= 4; ++step) EXPECT_EQ(run.Starts(step), 1);
  // Both were offered before either ended, and the last step followed both.
  const std::int64_t sent = std::max(SeqOf(run.id(), "step.dispatched", "step_2"), SeqOf(run.id(), "step.dispatched", "step_3"));
  const std::int64_t first = std::min(SeqOf(run.id(), "step.completed", "step_2"), SeqOf(run.id(), "step.completed", "step_3"));
  EXPECT_GT(std::min(SeqOf(run.id(), "step.dispatched", "step_2"), SeqOf(run.id(), "step.dispatched", "step_3")), 0);
  EXPECT_LT(sent, first);
  EXPECT_EQ(Sql("select count(*) from dispatches a join dispatches b on a.subject_id = b.subject_id and a.step_id < b.step_id where "
                "a.started_at < "
                "b.ended_at and b.started_at < a.ended_at"),
            "1")
      << "by the database's times";
  ExpectEachEndOnce(run.id());
  for (int worker : {2, 3}) {
    EXPECT_GE(fleet->Metric(fleet->HealthUrl(worker), "acl_queue_messages_total", "outcome=\"claimed\""), 1) << "by a message";
    EXPECT_EQ(fleet->Metric(fleet->HealthUrl(worker), "acl_queue_late_claims_total"), 0);
  }
}

TEST_F(KafkaDispatched, ATaskWhoseWorkerIsKilledGoesToAnother) {
  StartOn("gpu", 2);
  StartOn("gpu", 4);
  StartOn("cpu", 3);
  ASSERT_TRUE(fleet->AwaitReady());
  GatedRun run(*fleet, 4, Fork());
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  ASSERT_TRUE(run.AwaitStarted(3));
  const std::string taker = TakerOf(run.id(), "step_2");
  ASSERT_THAT(taker, testing::AnyOf("worker-2", "worker-4"));
  const int killed = taker == "worker-2" ? 2 : 4;
  fleet->worker(killed).Kill();
  ASSERT_TRUE(run.AwaitStarted(2, 2)) << "the next attempt's message reaches the other, once the dead one's partitions are its own";
  EXPECT_EQ(TakerOf(run.id(), "step_2"), Fleet::WorkerName(6 - killed));
  EXPECT_LT(run.Tokens(2)[0], run.Tokens(2)[1]);
  run.OpenAll();
  run.ExpectCompletedOnce();
  EXPECT_EQ(run.Starts(3), 1) << "the other dispatch did not notice";
  EXPECT_EQ(run.Starts(4), 1);
  EXPECT_EQ(Sql("select string_agg(state, ' ' order by attempt_id) from dispatches where step_id = 'step_2'"), "lost done");
  ExpectEachEndOnce(run.id());
}

}  // namespace
}  // namespace acl::test
