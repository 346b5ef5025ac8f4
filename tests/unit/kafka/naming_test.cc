#include "shared/kafka/naming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "shared/kafka/fleet_settings.h"

namespace acl::kafka {
namespace {

using testing::HasSubstr;

TEST(Naming, EveryQueueAndPriorityHasATopicOfItsOwn) {
  EXPECT_EQ(StepTopic("acl", "default", 1), "acl.steps.default.1");
  EXPECT_EQ(StepTopic("acl", "gpu/a", 0), "acl.steps.gpu_2fa.0");
  EXPECT_NE(StepTopic("acl", "a/b", 0), StepTopic("acl", "a_2fb", 0)) << "no two queues share one";
  EXPECT_EQ(StepTopic("acl", "\xC3\xA9", 2), "acl.steps._c3_a9.2");
  EXPECT_EQ(StepTopics("p", {"a", "b"}).size(), 8u);
  EXPECT_EQ(DeadTopic("p"), "p.dead");
}

class Properties : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~Properties() override { std::filesystem::remove_all(folder_); }

  Result<ClientSettings> With(const std::string& text) {
    FleetSettings fleet;
    fleet.properties_file = folder_ + "/kafka.properties";
    std::ofstream(fleet.properties_file) << text;
    return MakeClientSettings(fleet, "test");
  }

 private:
  std::string folder_ = "/tmp/acl-properties-XXXXXX";
};

TEST_F(Properties, GoToTheClientByTheirNames) {
  auto client = With("# our brokers\nsecurity.protocol = ssl\n\nssl.ca.location=/etc/ca.pem\n");
  ASSERT_TRUE(client) << client.message();
  EXPECT_EQ(client->more.at("security.protocol"), "ssl");
  EXPECT_EQ(client->more.at("ssl.ca.location"), "/etc/ca.pem");
}

TEST_F(Properties, WhatCannotBeIsRefusedWithItsPlaceAndWithoutItsValue) {
  EXPECT_THAT(With("ssl.ca.location\n").message(), HasSubstr("line 1: not NAME=VALUE"));
  EXPECT_THAT(With("\ngroup.id=x\n").message(), HasSubstr("line 2: group.id is decided by this program"));
  const auto unknown = With("no.such.setting=hunter2\n");
  EXPECT_THAT(unknown.message(), HasSubstr("no.such.setting"));
  EXPECT_THAT(unknown.message(), testing::Not(HasSubstr("hunter2")));
  const auto bad = With("security.protocol=hunter2\n");
  EXPECT_THAT(bad.message(), HasSubstr("security.protocol"));
  EXPECT_THAT(bad.message(), testing::Not(HasSubstr("hunter2")));
  FleetSettings fleet;
  fleet.properties_file = "/no/such/file";
  EXPECT_THAT(MakeClientSettings(fleet, "test").message(), HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace acl::kafka
