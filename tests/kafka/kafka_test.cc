// The Kafka clients against a real broker: at least once, offsets behind what is done, back-pressure, rebalance, a broker that dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>

#include "shared/base/clock.h"
#include "shared/kafka/consumer.h"
#include "tests/kafka/topic_fixture.h"
#include "tests/support/kafka_server.h"
#include "tests/support/process.h"
#include "tests/support/wait.h"

namespace acl::kafka {
namespace {

using std::chrono::seconds;
using test::WaitUntil;

// Messages as they come, kept or done at once.
struct Reader {
  Reader(const ClientSettings& settings, const std::string& topic, const std::string& group, bool done_at_once, int max_out = 256,
         std::chrono::milliseconds max_poll_interval = seconds(300), std::chrono::milliseconds hangs = {}) {
    Consumer::Options options;
    options.settings = settings;
    options.group = group;
    options.topics = {topic};
    options.max_out = max_out;
    options.session_timeout = seconds(6);
    options.max_poll_interval = max_poll_interval;
    options.commit_every = std::chrono::milliseconds(100);
    options.on_message = [this, done_at_once, hangs](Received message) {
      test::LetPass(hangs);
      {
        std::lock_guard lock(mutex);
        values.insert(message.value);
        ++received;
        if (!done_at_once) kept.push_back(message);
      }
      if (done_at_once) consumer->Done(message);
    };
    options.on_revoke = [this](int) { ++revoked; };
    options.on_error = [this](const Error& error) {
      std::lock_guard lock(mutex);
      errors += error.message + "\n";
    };
    options.on_assign = [this](int partitions) { assigned = partitions; };
    consumer = std::make_unique<Consumer>(std::move(options), clock);
    EXPECT_TRUE(consumer->Start());
  }
  ~Reader() { consumer->Stop(); }
  std::size_t distinct() const {
    std::lock_guard lock(mutex);
    return values.size();
  }

  bool heard(const std::string& what) const {
    std::lock_guard lock(mutex);
    return errors.find(what) != std::string::npos;
  }

  SystemClock clock;
  mutable std::mutex mutex;
  std::string errors;
  std::set<std::string> values;
  std::vector<Received> kept;
  int received = 0;
  std::atomic<int> revoked{0}, assigned{0};
  std::unique_ptr<Consumer> consumer;
};

class Kafka : public TopicFixture {
 protected:
  Kafka() : TopicFixture(3) {}

  void Send(int first, int count) {
    for (int n = first; n < first + count; ++n) {
      const std::string text = std::to_string(n);
      ASSERT_TRUE(producer_->Send({topic_, "key" + std::to_string(n % 17), text, {{"traceparent", text}}},
                                  [this](Status sent) { sent ? ++acknowledged_ : ++failed_; }));
    }
  }
  bool AwaitAcknowledged(int count) {
    return WaitUntil([&] { return acknowledged_ >= count; });
  }

  std::atomic<int> acknowledged_{0}, failed_{0};
};

TEST_F(Kafka, TopicsAreMadeOnceAndDescribed) {
  auto again = CreateTopics(settings_, {{topic_, 3, 1, {}}}, seconds(30));
  ASSERT_TRUE(again) << again.message();
  EXPECT_FALSE(again->front()) << "it was there";
  // A broker may hear of a new topic a moment after the controller has made it.
  Result<std::vector<TopicState>> states = Error{};
  WaitUntil([&] {
    states = DescribeTopics(settings_, {topic_, "no-such-topic"}, seconds(30));
    return states && states->at(0).partitions > 0;
  });
  ASSERT_TRUE(states) << states.message();
  EXPECT_EQ(states->at(0).partitions, 3);
  EXPECT_EQ(states->at(0).replication, 1);
  EXPECT_EQ(states->at(0).without_leader, 0);
  EXPECT_EQ(states->at(1).partitions, 0);
  auto bad = CreateTopics(settings_, {{topic_ + "x", 3, 7, {}}}, seconds(30));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.code(), Code::kInvalid) << bad.message();
}

TEST_F(Kafka, WhatIsDoneIsNotReadAgain) {
  Send(0, 500);
  {
    Reader reader(settings_, topic_, "g", true);
    ASSERT_TRUE(WaitUntil([&] { return reader.distinct() == 500; }));
    EXPECT_EQ(reader.received, 500);
  }  // commits as it leaves the group
  Send(500, 10);
  Reader next(settings_, topic_, "g", true);
  ASSERT_TRUE(WaitUntil([&] { return next.distinct() >= 10; }));
  EXPECT_EQ(next.received, 10);
  EXPECT_EQ(*next.values.begin(), "500");
}

TEST_F(Kafka, WhatIsNotDoneComesAgain) {
  Send(0, 30);
  std::set<std::string> done;
  {
    Reader reader(settings_, topic_, "g", false);
    ASSERT_TRUE(WaitUntil([&] { return reader.distinct() == 30; }));
    // The first of each partition stays open: nothing of its partition may be committed, however much behind it is done.
    std::set<int> seen;
    for (const Received& message : reader.kept) {
      EXPECT_EQ(message.headers.at("traceparent"), message.value);
      if (seen.insert(message.partition).second) continue;
      reader.consumer->Done(message);
    }
  }
  Reader next(settings_, topic_, "g", true);
  EXPECT_TRUE(WaitUntil([&] { return next.distinct() == 30; }));
}

TEST_F(Kafka, PartitionsPauseWhileEnoughIsOut) {
  Send(0, 300);
  ASSERT_TRUE(AwaitAcknowledged(300));
  Reader reader(settings_, topic_, "g", false, 20);
  ASSERT_TRUE(WaitUntil([&] { return reader.consumer->paused(); }));
  EXPECT_LE(reader.consumer->out(), 20);
  std::size_t handed_back = 0;
  ASSERT_TRUE(WaitUntil([&] {
    std::vector<Received> some;
    {
      std::lock_guard lock(reader.mutex);
      some.swap(reader.kept);
    }
    EXPECT_LE(some.size(), 20u);
    for (const Received& message : some) reader.consumer->Done(message);
    handed_back += some.size();
    return reader.distinct() == 300;
  })) << handed_back;
}

TEST_F(Kafka, PartitionsMoveToAMemberThatJoins) {
  Reader first(settings_, topic_, "g", true);
  ASSERT_TRUE(WaitUntil([&] { return first.assigned == 3; }));
  Reader second(settings_, topic_, "g", true);
  ASSERT_TRUE(WaitUntil([&] { return first.assigned + second.assigned == 3 && second.assigned > 0; }));
  EXPECT_GE(first.revoked, 1) << "told before its partitions went";
  Send(0, 200);
  EXPECT_TRUE(WaitUntil([&] { return first.distinct() + second.distinct() >= 200; }));
  EXPECT_GT(first.distinct(), 0u);
  EXPECT_GT(second.distinct(), 0u);
}

// The broker's side of it is librdkafka's word that the poll interval was exceeded; a rebalance for another reason is none.
TEST_F(Kafka, AStepLongerThanThePollIntervalLosesNothing) {
  Send(0, 9);
  ASSERT_TRUE(AwaitAcknowledged(9));
  Reader reader(settings_, topic_, "g", false, 256, seconds(6));
  ASSERT_TRUE(WaitUntil([&] { return reader.distinct() == 9; }));
  test::LetPass(seconds(8));  // what was read is being worked on; the poll thread goes on meanwhile
  EXPECT_FALSE(reader.heard("poll interval")) << "the group thinks it dead";
  std::vector<Received> kept;
  {
    std::lock_guard lock(reader.mutex);
    kept.swap(reader.kept);
  }
  for (const Received& message : kept) reader.consumer->Done(message);
  Send(9, 1);
  EXPECT_TRUE(WaitUntil([&] { return reader.distinct() == 10; }));
}

// What the test above would hear if steps ran on the poll thread.
TEST_F(Kafka, APollThreadThatHangsIsThoughtDead) {
  Send(0, 1);
  ASSERT_TRUE(AwaitAcknowledged(1));
  Reader reader(settings_, topic_, "g", false, 256, seconds(6), seconds(8));
  EXPECT_TRUE(WaitUntil([&] { return reader.heard("poll interval"); }));
}

TEST_F(Kafka, AProducerThatGaveUpIsMadeAnew) {
  Send(0, 10);
  ASSERT_TRUE(AwaitAcknowledged(10));
  producer_->FailForTest();
  ASSERT_TRUE(WaitUntil([&] { return producer_->rebuilt() == 1; }));
  Send(10, 10);
  EXPECT_TRUE(AwaitAcknowledged(20));
  EXPECT_EQ(producer_->waiting(), 0);
}

TEST_F(Kafka, ABrokerThatDiesAndComesBackLosesNothing) {
  test::TestKafka own = test::TestKafka::Own("dies");
  settings_.bootstrap = own.url();
  auto made = CreateTopics(settings_, {{topic_, 3, 1, {}}}, seconds(30));
  ASSERT_TRUE(made) << made.message();
  Producer::Options options;
  options.settings = settings_;
  options.give_up_after = seconds(60);
  producer_ = std::make_unique<Producer>(options);
  ASSERT_TRUE(producer_->Start());
  Reader reader(settings_, topic_, "g", true);
  Send(0, 100);
  ASSERT_TRUE(AwaitAcknowledged(100));
  own.Kill();
  Send(100, 100);  // taken while nobody is there
  own.Start();
  EXPECT_TRUE(AwaitAcknowledged(200)) << acknowledged_ << " acknowledged, " << failed_ << " failed";
  EXPECT_TRUE(WaitUntil([&] { return reader.distinct() == 200; })) << reader.distinct();
  own.Kill();  // nobody answers any more: what ends must still end
}

}  // namespace
}  // namespace acl::kafka
