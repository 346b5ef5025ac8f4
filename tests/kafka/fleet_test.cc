// Whole fleets on Apache Kafka: Kafka is a wake-up only, so whatever happens to it costs time and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "shared/kafka/naming.h"
#include "shared/kafka/producer.h"
#include "tests/support/gated_run.h"
#include "tests/support/kafka_server.h"
#include "tests/support/rolling_upgrade.h"

namespace acl::test {
namespace {

using testing::HasSubstr;

std::string Steps(int count) {
  std::string yaml = "name: quick\nsteps:\n";
  for (int n = 0; n < count; ++n)
    yaml += "  - {name: s" + std::to_string(n) + ", capability: io.fs.write_file, inputs: {path: f, content: x}}\n";
  return yaml;
}

class KafkaFleet : public ::testing::Test {
 protected:
  // `more`: settings over the usual ones. Late rows are not looked for unless a test says so: what comes, comes by messages.
  Fleet& Make(TestKafka& kafka, std::map<std::string, std::string> more = {}) {
    FleetOptions options;
    prefix_ = NewPrefix();
    options.environment = kafka.FleetEnvironment(prefix_);
    options.environment["ACL_QUEUE_LATE_MS"] = "3600000";
    for (const auto& [name, value] : more) options.environment[name] = value;
    fleet_ = std::make_unique<Fleet>(options);
    return *fleet_;
  }
  std::vector<std::string> SubmitMany(int runs, int steps) {
    std::vector<std::string> ids;
    for (int n = 0; n < runs; ++n) ids.push_back(fleet_->Submit(Steps(steps)));
    return ids;
  }
  void ExpectAllComplete(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) ASSERT_TRUE(fleet_->AwaitStatus(id, "COMPLETED"));
    fleet_->ExpectVerified();
  }
  double Sum(const std::string& metric, const std::string& labels, std::vector<int> workers) {
    double sum = 0;
    for (int n : workers) sum += fleet_->Metric(fleet_->HealthUrl(n), metric, labels);
    return sum;
  }

  std::string prefix_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(KafkaFleet, RunsGoThroughMessagesStepByStep) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka, {{"ACL_LOCAL_CONTINUATION", "false"}});
  fleet.StartCoordinator(0);
  fleet.StartCoordinator(1);
  for (int n = 1; n <= 3; ++n) fleet.StartWorker(n);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto ids = SubmitMany(20, 5);
  ExpectAllComplete(ids);
  EXPECT_GE(Sum("acl_claims_total", "", {1, 2, 3}), 100) << "each step was claimed anew";
  // What has begun is looked for in the table where messages take long (a loaded machine): those messages find their rows gone.
  EXPECT_GE(Sum("acl_queue_messages_total", "outcome=\"claimed\"", {1, 2, 3}), 20);
  EXPECT_EQ(Sum("acl_queue_late_claims_total", "", {1, 2, 3}), 0);
  EXPECT_GT(Sum("acl_claims_sticky_total", "", {1, 2, 3}), 0) << "a run's messages come by one partition, to the worker that had it last";
  const auto relayed = [&](const std::string& metric, const std::string& label) {
    return fleet.Metric(fleet.ApiUrl(0), metric, label) + fleet.Metric(fleet.ApiUrl(1), metric, label);
  };
  EXPECT_GE(relayed("acl_relay_messages_total", "outcome=\"sent\""), 100);
  EXPECT_GT(relayed("acl_relay_hinted_total", ""), 0) << "whoever made a row ready said which";
  EXPECT_EQ(Psql(fleet.database_url(), "select count(*) from ready"), "0");
}

// Requests go to any coordinator, the job to relay is one's.
TEST_F(KafkaFleet, WhoRelaysIsToldOfRunsThatAnotherCoordinatorMade) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka);
  fleet.StartCoordinator(1);
  const auto relays = [&] {
    double held = 0;
    for (int shard = 0; shard < 4; ++shard)
      held += fleet.Metric(fleet.ApiUrl(1), "acl_job_held", "background_job=\"relay-" + std::to_string(shard) + "\"");
    return held == 4;
  };
  ASSERT_TRUE(WaitUntil(relays)) << fleet.Logs();
  fleet.StartCoordinator(0);
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  ExpectAllComplete(SubmitMany(8, 1));  // its looks see the queue
  const double before = fleet.Metric(fleet.ApiUrl(1), "acl_relay_hinted_total");
  ExpectAllComplete(SubmitMany(8, 1));
  ASSERT_TRUE(relays());
  EXPECT_GE(fleet.Metric(fleet.ApiUrl(0), "acl_doorbell_hints_total", "fate=\"sent\",kind=\"pass_on\""), 8);
  EXPECT_GT(fleet.Metric(fleet.ApiUrl(1), "acl_relay_hinted_total"), before);
}

TEST_F(KafkaFleet, IsUpgradedProcessByProcessUnderLoad) {
  TestKafka kafka = TestKafka::OfThisRun();
  RollingUpgrade(Make(kafka, {{"ACL_LEASE_TTL_MS", "6000"}}), false);
}

TEST_F(KafkaFleet, AWorkerKilledInMidStepIsTakenOver) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  fleet.StartWorker(2);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  const int holder = fleet.HolderOf(run.id());
  ASSERT_GT(holder, 0) << fleet.Logs();
  fleet.worker(holder).Kill();
  ASSERT_TRUE(run.AwaitStarted(1, 2)) << "the other one heard of it, once the dead one's partitions are its own";
  run.OpenAll();
  run.ExpectCompletedOnce();
}

TEST_F(KafkaFleet, ABrokerThatIsAwayAtStartAndDiesInMidRunCostsTimeOnly) {
  TestKafka kafka = TestKafka::Own("away");
  Fleet& fleet = Make(kafka, {{"ACL_LOCAL_CONTINUATION", "false"}});
  kafka.Kill();
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady()) << "programs start without it";
  GatedRun run(fleet, 3);
  LetPass(std::chrono::milliseconds(500));
  EXPECT_EQ(run.Starts(1), 0) << "nobody could tell a worker of it";
  kafka.Start();
  ASSERT_TRUE(run.AwaitStarted(1)) << fleet.Logs();
  kafka.Kill();
  run.Open(1);
  LetPass(std::chrono::milliseconds(500));
  EXPECT_EQ(run.Starts(2), 0);
  kafka.Start();
  ASSERT_TRUE(run.AwaitStarted(2)) << fleet.Logs();
  run.OpenAll();
  run.ExpectCompletedOnce();
}

TEST_F(KafkaFleet, WithoutAnyBrokerWorkersLookForThemselves) {
  TestKafka kafka = TestKafka::Own("gone");
  Fleet& fleet = Make(kafka, {{"ACL_QUEUE_LATE_MS", "300"}});
  kafka.Kill();
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  ExpectAllComplete(SubmitMany(5, 3));
  EXPECT_GE(fleet.Metric(fleet.HealthUrl(1), "acl_queue_late_claims_total"), 5);
}

TEST_F(KafkaFleet, AWipedTopicIsFilledAgainFromTheReadyTable) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka);
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  const auto ids = SubmitMany(10, 2);
  ASSERT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.ApiUrl(), "acl_relay_messages_total", "outcome=\"sent\"") >= 10; }))
      << "the broker has them all";
  const auto topic = kafka::StepTopic(prefix_, "default", 1);
  const auto gone = kafka.Tool("topics", {"--delete", "--topic", topic});
  ASSERT_EQ(gone.exit_code, 0) << gone.out << gone.err;
  ASSERT_TRUE(WaitUntil([&] { return fleet.Cli({"queue", "status"}).exit_code == 1; })) << "status says that it is missing";
  EXPECT_THAT(fleet.Cli({"queue", "status"}).out, HasSubstr("missing"));
  ASSERT_TRUE(WaitUntil([&] { return fleet.Cli({"queue", "init", "--partitions", "6"}).exit_code == 0; }));
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  ExpectAllComplete(ids);
  EXPECT_GE(fleet.Metric(fleet.ApiUrl(), "acl_relay_messages_total", "outcome=\"again\""), 10) << "every message was gone with the topic";
}

TEST_F(KafkaFleet, ALagIsSeenWhileAWorkerIsFull) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka, {{"ACL_RUNS", "1"}, {"ACL_SLOTS", "1"}});
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 1);
  ASSERT_TRUE(run.AwaitStarted(1));
  const auto ids = SubmitMany(30, 1);
  const auto sees = [&](const std::string& url, const char* metric) { return fleet.Metric(url, metric) > 0; };
  EXPECT_TRUE(WaitUntil([&] { return sees(fleet.HealthUrl(1), "acl_queue_messages_waiting"); })) << "read, and no room for it";
  EXPECT_TRUE(WaitUntil([&] { return sees(fleet.HealthUrl(1), "acl_queue_consumer_lag"); }));
  EXPECT_TRUE(WaitUntil([&] { return sees(fleet.ApiUrl(), "acl_relay_rows_out"); }));
  run.OpenAll();
  ExpectAllComplete(ids);
  EXPECT_TRUE(WaitUntil([&] { return !sees(fleet.HealthUrl(1), "acl_queue_consumer_lag"); }));
}

TEST_F(KafkaFleet, WhatNobodyCanReadGoesToTheDeadLettersAndBackOnDemand) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto topic = kafka::StepTopic(prefix_, "default", 1);
  {
    kafka::Producer producer({.settings = {.bootstrap = kafka.url()}});
    ASSERT_TRUE(producer.Start());
    std::atomic<int> sent{0};
    for (int n = 0; n < 6; ++n) {
      ASSERT_TRUE(producer.Send({topic, "k" + std::to_string(n), "garbage", {}}, [&](const Status& status) { sent += status.ok(); }));
    }
    ASSERT_TRUE(WaitUntil([&] { return sent == 6; }));
  }
  ExpectAllComplete(SubmitMany(6, 2));
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.HealthUrl(1), "acl_queue_messages_total", "outcome=\"poison\"") == 6; }));
  Json letters;
  ASSERT_TRUE(WaitUntil([&] {
    letters = Json::parse(fleet.Cli({"queue", "dead", "list", "-o", "json"}).out, nullptr, false);
    return letters.is_array() && letters.size() == 6;
  }));
  EXPECT_EQ(letters[0]["topic"], topic);
  EXPECT_THAT(std::string(letters[0]["reason"]), HasSubstr("not a step message"));
  const std::string id = letters[0]["id"];
  const auto shown = fleet.Cli({"queue", "dead", "show", id});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("67617262616765"));  // garbage
  EXPECT_EQ(fleet.Cli({"queue", "dead", "show", "0:999999"}).exit_code, 3);
  EXPECT_EQ(fleet.Cli({"queue", "dead", "replay"}).exit_code, 2);
  const auto replayed = fleet.Cli({"queue", "dead", "replay", id});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.HealthUrl(1), "acl_queue_messages_total", "outcome=\"poison\"") == 7; }))
      << "it came again, and was put away again";
}

// As while a fleet changes from one driver to the other. Its polls are far apart: whatever comes to it is notified of.
TEST_F(KafkaFleet, AWorkerThatHearsNoMessagesIsRungForWhatIsReleased) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka, {{"ACL_READY_POLL_MS", "60000"}});
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 2);
  ASSERT_TRUE(run.AwaitStarted(1));
  fleet.StartWorker(2, {{"ACL_QUEUE_DRIVER", "postgres"}, {"ACL_POLL_MS", "3600000"}});
  ASSERT_TRUE(fleet.AwaitReady());
  const auto counted = [&] { return fleet.Metric(fleet.ApiUrl(0), "acl_job_ticks_total", "background_job=\"ready\""); };
  const double before = counted();
  fleet.worker(1).Signal(SIGTERM);
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2)) << fleet.Logs();
  EXPECT_EQ(counted(), before) << "not because ready rows were counted, which rings too";
  run.OpenAll();
  run.ExpectCompletedOnce();
}

// A letter has the reason and the place beside the message, so one that Kafka just took may be too large for it.
TEST_F(KafkaFleet, AMessageTooLargeForADeadLetterIsCut) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const std::string large(999'950, 'x');
  {
    kafka::Producer producer({.settings = {.bootstrap = kafka.url()}});
    ASSERT_TRUE(producer.Start());
    std::atomic<int> sent{0};
    ASSERT_TRUE(
        producer.Send({kafka::StepTopic(prefix_, "default", 1), "", large, {}}, [&](const Status& status) { sent += status.ok(); }));
    ASSERT_TRUE(WaitUntil([&] { return sent == 1; }));
  }
  Json letters;
  ASSERT_TRUE(WaitUntil([&] {
    letters = Json::parse(fleet.Cli({"queue", "dead", "list", "-o", "json"}).out, nullptr, false);
    return letters.is_array() && letters.size() == 1;
  })) << fleet.Logs();
  const auto shown = Json::parse(fleet.Cli({"queue", "dead", "show", letters[0]["id"], "-o", "json"}).out);
  EXPECT_EQ(shown["headers"]["acl-dead-cut"], "393939393530") << "how long it was, in hex";
  EXPECT_TRUE(WaitUntil([&] { return fleet.Metric(fleet.HealthUrl(1), "acl_queue_consumer_lag") == 0; })) << "the partition goes on";
  ExpectAllComplete(SubmitMany(6, 2));
}

TEST_F(KafkaFleet, OverTlsWithSettingsOfTheClientsOwn) {
  TestKafka kafka = TestKafka::OfThisRun();
  const auto [address, certificate] = kafka.Tls();
  TestFolder folder;
  std::ofstream(folder / "client.properties") << "security.protocol=ssl\nssl.ca.location=" << certificate << "\n";
  Fleet& fleet = Make(kafka, {{"ACL_KAFKA_BOOTSTRAP", address}, {"ACL_KAFKA_PROPERTIES_FILE", folder / "client.properties"}});
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  ExpectAllComplete(SubmitMany(3, 2));
  const auto doctor = fleet.Cli({"doctor"});
  EXPECT_EQ(doctor.exit_code, 0) << doctor.out;
  EXPECT_THAT(doctor.out, HasSubstr(address));
}

TEST_F(KafkaFleet, ADoctorSaysWhatIsMissing) {
  TestKafka kafka = TestKafka::OfThisRun();
  Fleet& fleet = Make(kafka, {{"ACL_KAFKA_PREFIX", NewPrefix()}});
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto doctor = fleet.Cli({"doctor"});
  EXPECT_EQ(doctor.exit_code, 1);
  EXPECT_THAT(doctor.out, HasSubstr("topics are missing"));
  EXPECT_THAT(doctor.out, HasSubstr("airun queue init"));
}

}  // namespace
}  // namespace acl::test
