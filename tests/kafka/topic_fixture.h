#pragma once
// A topic of each test's own on the broker of the test run, and who sends to it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "shared/base/random.h"
#include "shared/kafka/producer.h"
#include "shared/kafka/topics.h"

namespace acl::kafka {

class TopicFixture : public ::testing::Test {
 protected:
  explicit TopicFixture(int partitions) : partitions_(partitions) {}

  void SetUp() override {
    const char* address = std::getenv("ACL_TEST_KAFKA");
    ASSERT_NE(address, nullptr) << "run ./dev test kafka, or export ACL_TEST_KAFKA=$(./dev kafka start)";
    settings_.bootstrap = address;
    SystemRandom random;
    topic_ = "t" + std::to_string(random.Next() % 1'000'000'000);
    auto made = CreateTopics(settings_, {{topic_, partitions_, 1, {}}}, std::chrono::seconds(30));
    ASSERT_TRUE(made) << made.message();
    EXPECT_TRUE(made->front());
    Producer::Options options;
    options.settings = settings_;
    producer_ = std::make_unique<Producer>(options);
    ASSERT_TRUE(producer_->Start());
  }

  const int partitions_;
  ClientSettings settings_;
  std::string topic_;
  std::unique_ptr<Producer> producer_;
};

}  // namespace acl::kafka
