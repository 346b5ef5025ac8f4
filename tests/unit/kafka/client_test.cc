#include "shared/kafka/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl::kafka {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(KafkaConfig, ABadSettingIsNamedAndItsValueIsNot) {
  Config config;
  ClientSettings settings{"127.0.0.1:9092", "test", {{"security.protocol", "s3cret-value"}}};
  auto set = config.SetAll(settings, {});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.code(), Code::kInvalid);
  EXPECT_THAT(set.message(), HasSubstr("security.protocol"));
  EXPECT_THAT(set.message(), Not(HasSubstr("s3cret-value")));
}

TEST(KafkaConfig, UnknownAndOurOwnSettingsAreRefused) {
  ClientSettings settings{"127.0.0.1:9092", "test", {}};
  Config config;
  settings.more = {{"no.such.setting", "1"}};
  EXPECT_THAT(config.SetAll(settings, {}).message(), HasSubstr("no.such.setting"));
  settings.more = {{"enable.auto.commit", "true"}};
  EXPECT_THAT(config.SetAll(settings, {{"enable.auto.commit", "false"}}).message(), HasSubstr("not yours to give"));
  settings.more = {{"bootstrap.servers", "elsewhere:1"}};
  EXPECT_THAT(config.SetAll(settings, {}).message(), HasSubstr("not yours to give"));
  settings = {};
  EXPECT_THAT(config.SetAll(settings, {}).message(), HasSubstr("HOST:PORT"));
}

TEST(KafkaErrors, SayWhatMayPassAndWhatDoesNot) {
  EXPECT_EQ(KafkaError("x", RD_KAFKA_RESP_ERR__TRANSPORT).code, Code::kUnavailable);
  EXPECT_EQ(KafkaError("x", RD_KAFKA_RESP_ERR__MSG_TIMED_OUT).code, Code::kUnavailable);
  EXPECT_TRUE(IsTooLarge(KafkaError("x", RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)));
  EXPECT_FALSE(IsTooLarge(KafkaError("x", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)));
  EXPECT_EQ(KafkaError("x", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED).code, Code::kInvalid);
  EXPECT_EQ(KafkaError("x", RD_KAFKA_RESP_ERR__FATAL).code, Code::kInternal);
  const Error unknown = KafkaError("sending", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  EXPECT_EQ(unknown.code, Code::kInvalid);
  EXPECT_THAT(unknown.message, HasSubstr("airun queue init"));
}

}  // namespace
}  // namespace acl::kafka
