// The files of the package (cmake/package) against the programs: settings that they know, times that fit, one version.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "shared/config/settings.h"

namespace acl {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(std::string(ACL_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// NAME=value lines; with `commented`, those behind a # too: examples must be right as well.
std::map<std::string, std::string> SettingsIn(const std::string& text, bool commented) {
  std::map<std::string, std::string> found;
  std::istringstream lines(text);
  const std::regex setting(commented ? R"(#?(ACL_[A-Z0-9_]+)=(.*))" : R"((ACL_[A-Z0-9_]+)=(.*))");
  std::smatch parts;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, parts, setting)) found[parts[1]] = parts[2];
  }
  return found;
}

TEST(PackageFiles, SettingsAreThoseOfTheirProgram) {
  for (const auto& [name, program] : {std::pair("coordinator", Program::kCoordinator), std::pair("worker", Program::kWorker)}) {
    for (const bool commented : {false, true}) {
      auto environment = SettingsIn(TextOf("cmake/package/database.env"), commented);
      environment.merge(SettingsIn(TextOf("cmake/package/" + std::string(name) + ".env"), commented));
      EXPECT_GE(environment.size(), 3u);
      const auto parsed = ParseSettings(program, {}, environment);
      ASSERT_TRUE(parsed) << parsed.message();
      EXPECT_TRUE(parsed->warnings.empty()) << name << ": " << parsed->warnings.front();
      EXPECT_EQ(parsed->from.size(), environment.size()) << name << ": a setting that this program does not have";
    }
  }
}

std::string ValueIn(const std::string& unit, const std::string& key) {
  std::smatch parts;
  EXPECT_TRUE(std::regex_search(unit, parts, std::regex("\n" + key + "=([^\n]*)"))) << key;
  return parts[1];
}

TEST(PackageFiles, UnitsGiveADrainItsTime) {
  const std::string unit = TextOf("cmake/package/acl-worker.service");
  const auto seconds = std::chrono::seconds(std::stoi(ValueIn(unit, "TimeoutStopSec")));
  EXPECT_GE(seconds, Settings{}.drain_deadline + std::chrono::seconds(10)) << "systemd kills a worker that still gives its runs back";
  EXPECT_GE(seconds, Settings{}.drain_effects_deadline + std::chrono::seconds(5)) << "the same of calls that must not be repeated";
  EXPECT_EQ(ValueIn(unit, "KillMode"), "mixed") << "the programs of its steps would end before the worker has decided about them";
  EXPECT_EQ(ValueIn(unit, "OOMPolicy"), "continue");
  EXPECT_EQ("/var/lib/" + ValueIn(unit, "StateDirectory"), SettingsIn(ValueIn(unit, "Environment"), false)["ACL_WORK_DIR"]);
}

TEST(PackageFiles, UnitsAreHardenedAlike) {
  for (const char* name : {"coordinator", "worker"}) {
    const std::string unit = TextOf(std::string("cmake/package/acl-") + name + ".service");
    for (const char* rule : {"NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "RestrictSUIDSGID=yes",
                             "CapabilityBoundingSet=", "User=acl", "Restart=always", "StartLimitIntervalSec=0", "UMask=0077"}) {
      EXPECT_NE(unit.find(std::string("\n") + rule + "\n"), std::string::npos) << name << ": " << rule;
    }
    EXPECT_EQ(ValueIn(unit, "ExecStart"), std::string("/usr/bin/acl-") + name);
    EXPECT_GE(std::stoi(ValueIn(unit, "LimitNOFILE")), 65'536);
  }
}

TEST(PackageFiles, OneVersion) {
  std::smatch project, producer;
  const std::string cmake = TextOf("CMakeLists.txt"), event = TextOf("shared/journal/event.h");
  ASSERT_TRUE(std::regex_search(cmake, project, std::regex(R"(project\(acl VERSION ([0-9.]+))")));
  ASSERT_TRUE(std::regex_search(event, producer, std::regex("kProducerVersion = \"([0-9.]+)\"")));
  EXPECT_EQ(project[1], producer[1]);
}

}  // namespace
}  // namespace acl
