// What is known of a consumer group while it is sent to, against a real broker: messages of one worker go to one of its partitions.
#include <gtest/gtest.h>

#include <set>

#include "shared/kafka/consumer.h"
#include "shared/kafka/group_watch.h"
#include "tests/kafka/topic_fixture.h"
#include "tests/support/kafka_server.h"
#include "tests/support/wait.h"

namespace acl::kafka {
namespace {

using test::WaitUntil;

class KafkaPartitionAffinity : public TopicFixture {
 protected:
  KafkaPartitionAffinity() : TopicFixture(4) {}
  void SetUp() override {
    TopicFixture::SetUp();
    if (HasFatalFailure()) return;
    watch_ = std::make_unique<GroupWatch>(
        topic_, [this] { return producer_->client(); }, clock_, GroupWatch::Pace());
    ASSERT_TRUE(watch_->Start());
  }
  ~KafkaPartitionAffinity() override {
    if (watch_) watch_->Stop();
  }

  std::unique_ptr<Consumer> Join(std::vector<Received>* received) {
    Consumer::Options options;
    options.settings = settings_;
    options.group = topic_;
    options.topics = {topic_};
    options.session_timeout = std::chrono::seconds(6);
    options.on_message = [this, received](Received message) {
      std::lock_guard lock(mutex_);
      received->push_back(std::move(message));
    };
    auto consumer = std::make_unique<Consumer>(std::move(options), clock_);
    EXPECT_TRUE(consumer->Start());
    return consumer;
  }

  // The partitions that so many keys go to; empty while the keys alone decide.
  std::set<int> Used() {
    const auto known = watch_->Known();
    std::set<int> used;
    for (int n = 0; n < 200; ++n) {
      if (const auto partition = known->PartitionFor(topic_, std::to_string(n))) used.insert(*partition);
    }
    return used;
  }
  // With where they go to, as the relay does.
  void SendAll(int count) {
    for (int n = 0; n < count; ++n) {
      const std::string key = std::to_string(n);
      ASSERT_TRUE(producer_->Send({topic_, key, key, {}, watch_->Known()->PartitionFor(topic_, key)}, {}));
    }
  }
  std::size_t Count(const std::vector<Received>& received) {
    std::lock_guard lock(mutex_);
    return received.size();
  }

  const SystemClock clock_{};
  std::mutex mutex_;
  std::unique_ptr<GroupWatch> watch_;
};

TEST_F(KafkaPartitionAffinity, WhatAWorkerReadsLiesInOneOfItsPartitions) {
  EXPECT_TRUE(Used().empty()) << "nobody is there";
  std::vector<Received> by_first, by_second;
  const auto first = Join(&by_first);
  ASSERT_TRUE(WaitUntil([&] { return Used() == std::set<int>{0}; }));
  SendAll(40);
  ASSERT_TRUE(WaitUntil([&] { return Count(by_first) == 40; }));
  for (const Received& one : by_first) EXPECT_EQ(one.partition, 0);

  const auto second = Join(&by_second);
  ASSERT_TRUE(WaitUntil([&] { return Used().size() == 2; })) << "each has one";
  SendAll(200);
  ASSERT_TRUE(WaitUntil([&] { return Count(by_first) + Count(by_second) >= 240; }));
  std::set<int> read;
  for (const auto& one : by_second) read.insert(one.partition);
  EXPECT_EQ(read.size(), 1u);
  first->Stop();
  second->Stop();
}

// What is sent without a partition goes into the one that PartitionOfKey says: gathering changes who gets nothing.
TEST_F(KafkaPartitionAffinity, TheKeyNamesThePartitionThatLibrdkafkaChooses) {
  std::vector<Received> received;
  const auto member = Join(&received);
  for (int n = 0; n < 40; ++n) ASSERT_TRUE(producer_->Send({topic_, std::to_string(n), "", {}}, {}));
  ASSERT_TRUE(WaitUntil([&] { return Count(received) == 40; }));
  for (const Received& one : received) EXPECT_EQ(one.partition, PartitionOfKey(one.key, partitions_)) << one.key;
  member->Stop();
}

TEST_F(KafkaPartitionAffinity, AFailureLeavesItToTheKeysForAWhile) {
  std::vector<Received> received;
  const auto member = Join(&received);
  ASSERT_TRUE(WaitUntil([&] { return !Used().empty(); }));
  watch_->Forget();
  EXPECT_TRUE(Used().empty());
  member->Stop();
}

// librdkafka's own questions of this kind that do not block ended the process here.
TEST_F(KafkaPartitionAffinity, ABrokerThatDiesWhileItIsAskedEndsNobody) {
  test::TestKafka own = test::TestKafka::Own("asked");
  settings_.bootstrap = own.url();
  auto made = CreateTopics(settings_, {{topic_, partitions_, 1, {}}}, std::chrono::seconds(30));
  ASSERT_TRUE(made) << made.message();
  Producer::Options options;
  options.settings = settings_;
  options.stop_within = std::chrono::milliseconds(1);
  Producer asking(options);
  ASSERT_TRUE(asking.Start());
  GroupWatch watch(topic_, [&] { return asking.client(); }, clock_, {std::chrono::milliseconds(1), std::chrono::milliseconds(1)});
  ASSERT_TRUE(watch.Start());
  std::vector<Received> received;
  const auto member = Join(&received);
  const auto known = [&] { return watch.Known()->PartitionFor(topic_, "k").has_value(); };
  for (int death = 0; death < 2; ++death) {
    ASSERT_TRUE(WaitUntil(known)) << death;
    own.Kill();
    ASSERT_TRUE(WaitUntil([&] { return !known(); })) << death;
    own.Start();
  }
  EXPECT_TRUE(WaitUntil(known));
  member->Stop();
  watch.Stop();
}

TEST_F(KafkaPartitionAffinity, WhoHasNoBrokerIsNotKeptWaiting) {
  Producer::Options options;
  options.settings.bootstrap = "127.0.0.1:1";
  options.stop_within = std::chrono::milliseconds(1);
  Producer alone(options);
  ASSERT_TRUE(alone.Start());
  GroupWatch watch("group", [&] { return alone.client(); }, clock_, {});
  ASSERT_TRUE(watch.Start());
  for (int n = 0; n < 1'000; ++n) EXPECT_EQ(watch.Known()->PartitionFor(topic_, "k"), std::nullopt);
  watch.Stop();
  EXPECT_EQ(watch.Known()->PartitionFor(topic_, "k"), std::nullopt);
}

}  // namespace
}  // namespace acl::kafka
