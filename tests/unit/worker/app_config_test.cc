#include "worker/app_config.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

Settings Parsed(const std::vector<std::string>& arguments) {
  auto parsed = ParseSettings(Program::kWorker, arguments, {});
  EXPECT_TRUE(parsed) << parsed.error();
  return parsed ? parsed->settings : Settings{};
}

// The defaults stand in two places, for the table of settings does not know capabilities: they must be the same.
TEST(AppConfig, WithoutSettingsTheLimitsAreTheCapabilitiesOwn) {
  const CapabilityConfig own, made = MakeCapabilityConfig(Parsed({}));
  EXPECT_EQ(made.exec.allowed_programs, own.exec.allowed_programs);
  EXPECT_EQ(made.exec.max_memory_bytes, own.exec.max_memory_bytes);
  EXPECT_EQ(made.http.allow_private_networks, own.http.allow_private_networks);
  EXPECT_EQ(made.http.allowed_hosts, own.http.allowed_hosts);
  EXPECT_EQ(made.http.ca_file, own.http.ca_file);
  EXPECT_EQ(made.http.max_body_bytes, own.http.max_body_bytes);
  EXPECT_EQ(made.readable_env, own.readable_env);
  EXPECT_EQ(made.files.max_file_bytes, own.files.max_file_bytes);
  EXPECT_EQ(made.files.max_total_bytes, own.files.max_total_bytes);
  EXPECT_EQ(made.files.max_files, own.files.max_files);
}

TEST(AppConfig, TheProgramsOfADevelopmentFleetHaveAName) {
  std::vector<std::string> wanted = DevelopmentPrograms();
  wanted.push_back("jq");
  EXPECT_EQ(MakeCapabilityConfig(Parsed({"--allowed-programs", "@dev,jq"})).exec.allowed_programs, wanted);
}

TEST(AppConfig, EveryLimitOfACapabilityCanBeSet) {
  const CapabilityConfig made = MakeCapabilityConfig(Parsed({"--allowed-programs",
                                                             "sh",
                                                             "--exec-memory-bytes",
                                                             "1000000",
                                                             "--allow-private-networks",
                                                             "--http-allowed-hosts",
                                                             "a.example,*.b.example",
                                                             "--http-ca-file",
                                                             "ca.pem",
                                                             "--http-max-body-bytes",
                                                             "77",
                                                             "--readable-env",
                                                             "LANG",
                                                             "--file-max-bytes",
                                                             "78",
                                                             "--files-max-bytes",
                                                             "79",
                                                             "--files-max-count",
                                                             "80",
                                                             "--exec-at-once",
                                                             "3"}));
  EXPECT_EQ(made.exec.at_once, 3);
  EXPECT_EQ(made.exec.allowed_programs, std::vector<std::string>{"sh"});
  EXPECT_EQ(made.exec.max_memory_bytes, 1'000'000);
  EXPECT_TRUE(made.http.allow_private_networks);
  EXPECT_EQ(made.http.allowed_hosts, (std::vector<std::string>{"a.example", "*.b.example"}));
  EXPECT_EQ(made.http.ca_file, "ca.pem");
  EXPECT_EQ(made.http.max_body_bytes, 77u);
  EXPECT_EQ(made.readable_env, std::vector<std::string>{"LANG"});
  EXPECT_EQ(made.files.max_file_bytes, 78);
  EXPECT_EQ(made.files.max_total_bytes, 79);
  EXPECT_EQ(made.files.max_files, 80);
}

TEST(AppConfig, DescriptorsMustDoForTheSlots) {
  const Status few = EnoughDescriptors(Parsed({"--slots", "100", "--exec-at-once", "10"}), 64);
  EXPECT_EQ(few.code(), Code::kInvalid);
  EXPECT_NE(few.message().find("64 file descriptors are too few for 100 slots, which want 288"), std::string::npos) << few.message();
  EXPECT_TRUE(EnoughDescriptors(Parsed({"--slots", "100", "--exec-at-once", "10"}), 288).ok());
  EXPECT_TRUE(EnoughDescriptors(Parsed({"--exec-at-once", "32"}), 1'024).ok()) << "what many systems allow";
}

TEST(AppConfig, RunsAndStepsAreBoundedEachByItsOwnSetting) {
  const WorkerConfig made = MakeWorkerConfig(Parsed({"--runs", "3", "--slots", "2"}));
  EXPECT_EQ(made.run_slots, 3);
  EXPECT_EQ(made.session.slots, 3) << "what `airun worker list` shows as the most it holds";
  EXPECT_EQ(made.step_slots, 2);
}

}  // namespace
}  // namespace acl
