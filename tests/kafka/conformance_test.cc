// One suite for every queue driver: postgres, kafka (a real broker) and the one in memory that the simulator uses.
#include <gtest/gtest.h>

#include <cstdlib>

#include "coordinator/relay.h"
#include "shared/base/random.h"
#include "shared/base/uuid7.h"
#include "shared/kafka/dead_letters.h"
#include "shared/kafka/kafka_driver.h"
#include "shared/kafka/naming.h"
#include "shared/kafka/relay_sender.h"
#include "shared/kafka/topics.h"
#include "tests/support/memory_broker.h"
#include "tests/support/store_conformance.h"
#include "tests/support/wait.h"

namespace acl::test {
namespace {

constexpr const char* kQueue = "conformance";

// A fleet's queue without its workers: a store, a relay where the driver needs one, and drivers as processes would have them.
class QueueHarness {
 public:
  explicit QueueHarness(StoreFactory store) : stores_(store.make()) {}
  virtual ~QueueHarness() = default;
  StoreHarness& stores() { return *stores_; }
  KernelStore& store() { return stores_->store(); }

  // Not started. `max_out`: messages read and not claimed.
  virtual std::unique_ptr<QueueDriver> MakeDriver(int max_out, QueueDriver::OnWork on_work = {}) = 0;
  // What the coordinator does now and then: ready rows become messages, messages travel.
  virtual void Pump() {}
  // A coordinator that knows nothing of what was sent.
  virtual void RestartRelay() {}
  virtual bool has_messages() const { return true; }
  virtual void SendGarbage() {}
  virtual std::int64_t put_away() { return 0; }
  // From now on nothing arrives.
  virtual void CutMessages() {}

  const SystemClock clock;

 protected:
  std::unique_ptr<StoreHarness> stores_;
};

class PostgresQueue final : public QueueHarness {
 public:
  PostgresQueue() : QueueHarness(PostgresFactory()) {}
  std::unique_ptr<QueueDriver> MakeDriver(int, QueueDriver::OnWork) override { return std::make_unique<PostgresDriver>(store()); }
  bool has_messages() const override { return false; }
};

// Relays of all shards over a sender.
class Relayed : public QueueHarness {
 public:
  explicit Relayed(StoreFactory store) : QueueHarness(std::move(store)) { RestartRelay(); }
  void RestartRelay() override {
    coordinator::RelayOptions options;
    options.send = [this](const StepMessage& message, int times, bool alone, coordinator::RelayOptions::Done done) {
      return Send(message, times, alone, std::move(done));
    };
    relays_ = coordinator::MakeRelays({store(), stores().queries(), clock, metrics_, {}}, std::move(options)).each;
  }
  void Pump() override {
    for (auto& relay : relays_) {
      const auto turned = relay.tick();
      EXPECT_TRUE(turned) << turned.message();
    }
  }

 protected:
  virtual Status Send(const StepMessage& message, int times, bool alone, coordinator::RelayOptions::Done done) = 0;

 private:
  Metrics metrics_;
  std::vector<coordinator::Relay> relays_;
};

class MemoryQueue final : public Relayed {
 public:
  MemoryQueue() : Relayed(MemoryFactory()) {}
  std::unique_ptr<QueueDriver> MakeDriver(int max_out, QueueDriver::OnWork on_work) override {
    return broker_.MakeDriver({kQueue}, store(), clock, std::move(on_work), std::size_t(max_out), milliseconds(30'000), milliseconds(0));
  }
  void Pump() override {
    Relayed::Pump();
    if (!cut_) broker_.Deliver();
  }
  void SendGarbage() override { broker_.Send(kQueue, "no step message"); }
  std::int64_t put_away() override { return broker_.poisoned(); }
  void CutMessages() override { cut_ = true; }

 protected:
  Status Send(const StepMessage& message, int, bool, coordinator::RelayOptions::Done done) override {
    broker_.Send(message.key.queue, EncodeStepMessage(message));
    done({});
    return {};
  }

 private:
  MemoryBroker broker_;
  bool cut_ = false;
};

class KafkaQueue final : public Relayed {
 public:
  KafkaQueue() : Relayed(PostgresFactory()) {
    const char* address = std::getenv("ACL_TEST_KAFKA");
    EXPECT_NE(address, nullptr) << "run ./dev test kafka, or export ACL_TEST_KAFKA=$(./dev kafka start)";
    SystemRandom random;
    fleet_.bootstrap = address ? address : "127.0.0.1:1";
    fleet_.prefix = "c" + std::to_string(random.Next() % 1'000'000'000);
    client_ = *kafka::MakeClientSettings(fleet_, "test");
    std::vector<kafka::TopicDefinition> definitions;
    for (const auto& topic : kafka::StepTopics(fleet_.prefix, {kQueue})) definitions.push_back({topic, 3, 1, {}});
    definitions.push_back({kafka::DeadTopic(fleet_.prefix), 1, 1, {}});
    auto made = kafka::CreateTopics(client_, definitions, std::chrono::seconds(30));
    EXPECT_TRUE(made) << made.message();
    sender_ = std::make_unique<kafka::RelaySender>(fleet_, client_, clock);
    EXPECT_TRUE(sender_->Start());
  }
  ~KafkaQueue() override { sender_->Stop(); }
  std::unique_ptr<QueueDriver> MakeDriver(int max_out, QueueDriver::OnWork on_work) override {
    kafka::DriverOptions options;
    options.fleet = fleet_;
    options.client = client_;
    options.queues = {kQueue};
    options.max_out = max_out;
    options.late_every = milliseconds(0);
    options.session_timeout = std::chrono::seconds(6);
    options.on_work = std::move(on_work);
    return kafka::MakeKafkaDriver(std::move(options), store(), clock);
  }
  void SendGarbage() override {
    kafka::Producer producer({.settings = client_});
    ASSERT_TRUE(producer.Start());
    std::atomic<bool> sent{false};
    ASSERT_TRUE(producer.Send({kafka::StepTopic(fleet_.prefix, kQueue, 1), "k", "no step message", {{"who", "test"}}},
                              [&](const Status& status) { sent = status.ok(); }));
    EXPECT_TRUE(WaitUntil([&] { return sent.load(); }));
    producer.Stop();
  }
  std::int64_t put_away() override {
    auto letters = kafka::ReadDeadLetters(fleet_, client_, std::chrono::seconds(20));
    EXPECT_TRUE(letters) << letters.message();
    return letters ? std::int64_t(letters->size()) : 0;
  }
  void CutMessages() override { cut_ = true; }

 protected:
  Status Send(const StepMessage& message, int times, bool alone, coordinator::RelayOptions::Done done) override {
    if (!cut_) return sender_->Send(message, times, alone, std::move(done));
    done({});
    return {};
  }

 private:
  kafka::FleetSettings fleet_;
  kafka::ClientSettings client_;
  std::unique_ptr<kafka::RelaySender> sender_;
  bool cut_ = false;
};

struct QueueFactory {
  std::string name;
  std::function<std::unique_ptr<QueueHarness>()> make;
};
std::ostream& operator<<(std::ostream& out, const QueueFactory& factory) { return out << factory.name; }

class QueueConformance : public ::testing::TestWithParam<QueueFactory> {
 protected:
  void SetUp() override {
    harness_ = GetParam().make();
    SessionRequest request;
    request.worker_name = "w";
    request.ttl = milliseconds(600'000);
    auto session = harness_->store().OpenSession(request);
    ASSERT_TRUE(session) << session.message();
    session_ = session->session;
  }

  // With more than one event it has begun.
  SubjectId CreateOne(int required_version = 1, int events = 1) {
    CreateItem item;
    item.subject = SubjectId{NewUuid7()};
    item.kind = "counter";
    item.queue = kQueue;
    item.required_version = required_version;
    Event event;
    event.type = "test.created";
    event.payload = "{}";
    item.events.assign(std::size_t(events), event);
    auto created = harness_->store().Create({&item, 1});
    EXPECT_TRUE(created) << created.message();
    made_.insert(item.subject);
    return item.subject;
  }
  void Create(int count) {
    for (int n = 0; n < count; ++n) CreateOne();
  }
  std::unique_ptr<QueueDriver> Started(int max_out = 256, QueueDriver::OnWork on_work = {}) {
    auto driver = harness_->MakeDriver(max_out, std::move(on_work));
    const Status started = driver->Start();
    EXPECT_TRUE(started) << started.message();
    return driver;
  }
  // Claims once; every subject is granted at most once in a test's life.
  int Claim(QueueDriver& driver, int max = 16, int known_version = 1) {
    ClaimRequest request;
    request.session = session_;
    request.queues = {kQueue};
    request.max = max;
    request.known_version = known_version;
    request.kinds = {"counter"};
    auto answer = driver.Claim(request);
    EXPECT_TRUE(answer) << answer.message();
    if (!answer) return 0;
    for (const Claimed& claimed : answer->claimed) {
      EXPECT_TRUE(granted_.insert(claimed.subject).second) << "granted twice";
      order_.push_back(claimed.subject);
    }
    return int(answer->claimed.size());
  }
  // Pumps and claims by turns until everything that was made is granted.
  bool AwaitAll(const std::vector<QueueDriver*>& drivers) {
    return WaitUntil([&] {
      harness_->Pump();
      for (QueueDriver* driver : drivers) Claim(*driver);
      return granted_ == made_;
    });
  }

  std::unique_ptr<QueueHarness> harness_;
  WorkerSessionId session_;
  std::set<SubjectId> made_, granted_;
  std::vector<SubjectId> order_;
};

// For drivers that read before they claim.
class MessageConformance : public QueueConformance {};

TEST_P(QueueConformance, AnEmptyQueueAnswersEmptyAtOnce) {
  auto driver = Started();
  for (int n = 0; n < 5; ++n) {
    harness_->Pump();
    EXPECT_EQ(Claim(*driver), 0);
  }
  driver->Stop();
}

TEST_P(QueueConformance, EveryRowIsGrantedOnceToOneOfSeveral) {
  Create(60);
  auto a = Started(), b = Started();
  ASSERT_TRUE(AwaitAll({a.get(), b.get()})) << granted_.size() << " of " << made_.size();
  Create(30);
  EXPECT_TRUE(AwaitAll({a.get(), b.get()}));
}

// By either driver: a run that is given back passes those that have not begun, though their messages were sent before its own.
TEST_P(QueueConformance, WhatHasBegunPassesABacklog) {
  const SubjectId begun = CreateOne(1, 2);
  ClaimRequest request;
  request.session = session_;
  request.queues = {kQueue};
  auto held = harness_->store().Claim(request);
  ASSERT_TRUE(held) << held.error();
  ASSERT_EQ(held->claimed.size(), 1u);
  Create(200);
  ASSERT_TRUE(harness_->store().ReleaseLease(begun, session_, held->claimed[0].token));
  harness_->stores().Advance(milliseconds(1'000));  // longer than a message takes
  auto driver = Started(16);
  ASSERT_TRUE(WaitUntil([&] {
    harness_->Pump();
    return granted_.contains(begun) || Claim(*driver, 1) < 0 || granted_.contains(begun);
  }));
  EXPECT_LE(granted_.size(), 30u)
      << "one in four claims is for what is new; this is one of 10^14 runs of the test, or what has begun waits behind it";
  EXPECT_TRUE(AwaitAll({driver.get()}));
}

TEST_P(QueueConformance, WhatAProcessReadAndDidNotClaimIsOfferedToOthers) {
  std::atomic<int> offers{0};
  auto dies = Started(256, [&] { ++offers; });
  Create(20);
  if (harness_->has_messages()) {
    ASSERT_TRUE(WaitUntil([&] {
      harness_->Pump();
      return offers >= 20;
    }));
  }
  dies.reset();
  auto lives = Started();
  EXPECT_TRUE(AwaitAll({lives.get()}));
}

TEST_P(MessageConformance, ReadsNoMoreThanItMay) {
  std::atomic<int> offers{0};
  auto slow = Started(8, [&] { ++offers; });
  Create(60);
  ASSERT_TRUE(WaitUntil([&] {
    harness_->Pump();
    return offers >= 8;
  }));
  for (int n = 0; n < 10; ++n) {
    harness_->Pump();
    LetPass(milliseconds(30));
  }
  EXPECT_LE(offers, 60 / 2) << "it pauses: a fetch that was under way may still arrive, a flood may not";
  EXPECT_TRUE(AwaitAll({slow.get()})) << "and goes on as it claims";
}

TEST_P(QueueConformance, AfterStopNothingIsClaimedThroughItAndOthersGoOn) {
  Create(30);
  auto a = Started(), b = Started();
  ASSERT_TRUE(WaitUntil([&] {
    harness_->Pump();
    return Claim(*a, 4) > 0;
  }));
  a->Stop();
  EXPECT_TRUE(AwaitAll({b.get()}));
}

TEST_P(MessageConformance, WhatIsNoMessageIsPutAwayAndTheRestGoesOn) {
  auto driver = Started();
  Create(5);
  harness_->SendGarbage();
  ASSERT_TRUE(AwaitAll({driver.get()}));
  harness_->SendGarbage();
  Create(5);
  EXPECT_TRUE(AwaitAll({driver.get()}));
  EXPECT_TRUE(WaitUntil([&] {
    harness_->Pump();
    return harness_->put_away() == 2;
  }));
}

TEST_P(QueueConformance, RepeatedMessagesGrantNothingTwice) {
  Create(40);
  auto a = Started(), b = Started();
  for (int n = 0; n < 3; ++n) {
    harness_->Pump();
    harness_->RestartRelay();  // it sends all that is still there once more
  }
  ASSERT_TRUE(AwaitAll({a.get(), b.get()}));
  for (int n = 0; n < 5; ++n) {
    harness_->Pump();
    Claim(*a);
    Claim(*b);
  }
}

TEST_P(QueueConformance, LostMessagesCostTimeOnly) {
  harness_->CutMessages();
  auto driver = Started();
  Create(20);
  for (int n = 0; n < 3; ++n) {
    harness_->Pump();
    if (harness_->has_messages()) {
      EXPECT_EQ(Claim(*driver), 0) << "young rows are left to messages";
    }
  }
  harness_->stores().Advance(milliseconds(31'000));
  EXPECT_TRUE(AwaitAll({driver.get()})) << "rows that wait long are looked for";
}

TEST_P(QueueConformance, ARowForANewerProgramWaitsForOne) {
  SubjectId newer = CreateOne(2);
  SubjectId plain = CreateOne();
  auto old = Started();
  ASSERT_TRUE(WaitUntil([&] {
    harness_->Pump();
    return Claim(*old) > 0;
  }));
  EXPECT_TRUE(granted_.contains(plain));
  for (int n = 0; n < 5; ++n) {
    harness_->Pump();
    EXPECT_EQ(Claim(*old), 0);
  }
  old.reset();
  auto next = Started();
  EXPECT_TRUE(WaitUntil([&] {
    harness_->RestartRelay();
    harness_->Pump();
    Claim(*next, 16, 2);
    return granted_.contains(newer);
  }));
}

TEST_P(QueueConformance, ProcessesComeAndGoInMidRebalance) {
  std::vector<std::unique_ptr<QueueDriver>> drivers;
  drivers.push_back(Started());
  for (int round = 0; round < 6; ++round) {
    Create(10);
    harness_->Pump();
    for (auto& driver : drivers) Claim(*driver, 3);
    if (round % 2 == 0) {
      drivers.push_back(Started());  // its joining takes partitions away from the others
    } else {
      drivers.erase(drivers.begin());  // and its leaving gives some back, in the middle of it
    }
  }
  std::vector<QueueDriver*> all;
  for (auto& driver : drivers) all.push_back(driver.get());
  EXPECT_TRUE(AwaitAll(all)) << granted_.size() << " of " << made_.size();
}

const QueueFactory kPostgres{"Postgres", [] { return std::make_unique<PostgresQueue>(); }};
const QueueFactory kMemory{"Memory", [] { return std::make_unique<MemoryQueue>(); }};
const QueueFactory kKafka{"Kafka", [] { return std::make_unique<KafkaQueue>(); }};
std::string NameOf(const ::testing::TestParamInfo<QueueFactory>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Drivers, QueueConformance, ::testing::Values(kPostgres, kMemory, kKafka), NameOf);
INSTANTIATE_TEST_SUITE_P(Drivers, MessageConformance, ::testing::Values(kMemory, kKafka), NameOf);

}  // namespace
}  // namespace acl::test
