#include "shared/queue/step_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "proto/step_message.pb.h"

namespace acl {
namespace {

StepMessage Sample() {
  StepMessage message;
  message.key.subject = *SubjectId::Parse("0193b3a0-0000-7000-8000-000000000001");
  message.kind = "workflow";
  message.required_version = 2;
  message.key.queue = "gpu";
  message.key.priority = 3;
  message.key.shard = 1;
  message.key.ready_at = WallTimeFromMicros(1'700'000'000'123'456);
  message.event_seq = 7;
  message.token = Token{(std::int64_t(3) << 32) + 5};
  message.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  return message;
}

// What is in topics today must be read tomorrow: these bytes never change for version 1.
TEST(StepMessage, GoldenBytes) {
  EXPECT_EQ(ToHex(EncodeStepMessage(Sample())),
            "080112100193b3a00000700080000000000000011a08776f726b666c6f7720022a120a0367707510031801"
            "20c0c480c1c1c482033007388580808030423730302d30616637363531393136636434336464383434386562323131633830333139632d"
            "623761643662373136393230333333312d3031");
}

TEST(StepMessage, ComesBackAsItWent) {
  const StepMessage in = Sample();
  auto out = DecodeStepMessage(EncodeStepMessage(in));
  ASSERT_TRUE(out) << out.message();
  EXPECT_EQ(out->key, in.key);
  EXPECT_EQ(out->kind, in.kind);
  EXPECT_EQ(out->required_version, in.required_version);
  EXPECT_EQ(out->event_seq, in.event_seq);
  EXPECT_EQ(out->token, in.token);
  EXPECT_EQ(out->traceparent, in.traceparent);
}

// A newer version with a field of its own is read here, and passes through whole when it is only carried.
TEST(StepMessage, NewerVersionsAndUnknownFieldsSurvive) {
  queue::StepMessage newer;
  ASSERT_TRUE(newer.ParseFromString(EncodeStepMessage(Sample())));
  newer.set_schema_version(9);
  std::string bytes = newer.SerializeAsString() + std::string("\xA2\x06\x03new", 6);  // field 100, "new"
  auto read = DecodeStepMessage(bytes);
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->key.subject, Sample().key.subject);
  queue::StepMessage carried;
  ASSERT_TRUE(carried.ParseFromString(bytes));
  EXPECT_THAT(carried.SerializeAsString(), testing::HasSubstr("new"));
}

TEST(StepMessage, WhatCannotBeOneIsRefusedWithTheReason) {
  auto changed = [](auto change) {
    queue::StepMessage message;
    EXPECT_TRUE(message.ParseFromString(EncodeStepMessage(Sample())));
    change(message);
    auto read = DecodeStepMessage(message.SerializeAsString());
    return read ? std::string("accepted") : read.message();
  };
  EXPECT_THAT(DecodeStepMessage("\xFF\xFF").message(), testing::HasSubstr("not protobuf"));
  EXPECT_THAT(DecodeStepMessage("").message(), testing::HasSubstr("schema version"));
  EXPECT_THAT(changed([](auto& m) { m.set_subject("short"); }), testing::HasSubstr("5 bytes"));
  EXPECT_THAT(changed([](auto& m) { m.clear_ready(); }), testing::HasSubstr("ready row"));
  EXPECT_THAT(changed([](auto& m) { m.mutable_ready()->set_priority(4); }), testing::HasSubstr("priority"));
  EXPECT_THAT(changed([](auto& m) { m.mutable_ready()->set_shard(4); }), testing::HasSubstr("shard"));
  EXPECT_THAT(changed([](auto& m) { m.mutable_ready()->set_ready_at_us(-1); }), testing::HasSubstr("time"));
  EXPECT_THAT(changed([](auto& m) { m.mutable_ready()->clear_queue(); }), testing::HasSubstr("name"));
  EXPECT_THAT(changed([](auto& m) { m.set_kind(std::string(201, 'k')); }), testing::HasSubstr("name"));
  EXPECT_THAT(changed([](auto& m) { m.set_event_seq(-1); }), testing::HasSubstr("number"));
  EXPECT_THAT(changed([](auto& m) { m.set_traceparent(std::string(129, '0')); }), testing::HasSubstr("trace context"));
}

// Whatever bytes come: an answer, never a crash.
RC_GTEST_PROP(StepMessage, AnyBytesGetAnAnswer, (const std::string& noise)) {
  auto read = DecodeStepMessage(noise);
  RC_ASSERT(read.ok() || !read.message().empty());
}

}  // namespace
}  // namespace acl
