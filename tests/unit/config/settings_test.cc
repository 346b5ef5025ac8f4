#include "shared/config/settings.h"

#include <gtest/gtest.h>

#include <set>

#include "shared/base/nearest.h"
#include "shared/config/settings_table.h"

namespace acl {
namespace {

using std::chrono::milliseconds;
using Env = std::map<std::string, std::string>;

std::string ErrorOf(Program program, const std::vector<std::string>& arguments, const Env& environment = {}) {
  auto parsed = ParseSettings(program, arguments, environment);
  return parsed ? "" : parsed.message();
}

TEST(Settings, FlagWinsOverEnvironmentOverDefault) {
  auto parsed = ParseSettings(Program::kCoordinator, {"--lease-ttl-ms", "4000", "--listen=[::1]:0"},
                              Env{{"ACL_LEASE_TTL_MS", "5000"}, {"ACL_REAP_MS", "70"}, {"HOME", "/x"}});
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(parsed->settings.lease_ttl, milliseconds(4000));
  EXPECT_EQ(parsed->settings.reap, milliseconds(70));
  EXPECT_EQ(parsed->settings.listen, (HostPort{"::1", 0}));
  EXPECT_EQ(parsed->settings.timers, milliseconds(1000));
  EXPECT_EQ(parsed->from.at("lease_ttl_ms"), "flag");
  EXPECT_EQ(parsed->from.at("reap_ms"), "environment");
  EXPECT_FALSE(parsed->from.contains("timers_ms"));
}

TEST(Settings, HeartbeatFollowsTheLeaseUnlessSet) {
  EXPECT_EQ(ParseSettings(Program::kWorker, {"--lease-ttl-ms", "4000"}, {})->settings.heartbeat, milliseconds(1000));
  EXPECT_EQ(ParseSettings(Program::kWorker, {"--lease-ttl-ms", "4000", "--heartbeat-ms", "300"}, {})->settings.heartbeat,
            milliseconds(300));
  EXPECT_NE(ErrorOf(Program::kWorker, {"--lease-ttl-ms", "4000", "--heartbeat-ms", "2001"}).find("half of lease_ttl_ms"),
            std::string::npos);
}

TEST(Settings, SwitchesTakeAllForms) {
  EXPECT_TRUE(ParseSettings(Program::kCoordinator, {"--dev-mode"}, {})->settings.dev_mode);
  EXPECT_FALSE(ParseSettings(Program::kCoordinator, {"--no-dev-mode"}, Env{{"ACL_DEV_MODE", "1"}})->settings.dev_mode);
  EXPECT_FALSE(ParseSettings(Program::kCoordinator, {"--dev-mode=off"}, {})->settings.dev_mode);
  EXPECT_NE(ErrorOf(Program::kCoordinator, {"--dev-mode=maybe"}), "");
}

TEST(Settings, ListsAreSplitAndTrimmed) {
  auto parsed = ParseSettings(Program::kWorker, {"--queues", "default, slow ,gpu", "--coordinators", "a:1,[::1]:2"}, {});
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(parsed->settings.queues, (std::vector<std::string>{"default", "slow", "gpu"}));
  EXPECT_EQ(parsed->settings.coordinators.size(), 2u);
  EXPECT_TRUE(ParseSettings(Program::kWorker, {"--coordinators", ""}, {})->settings.coordinators.empty());
  EXPECT_NE(ErrorOf(Program::kWorker, {"--queues", " , "}).find("at least one"), std::string::npos);
}

TEST(Settings, SaysEverythingThatIsWrongWithAWayOut) {
  const auto text = ErrorOf(Program::kWorker, {"--lease-ttl", "5", "positional", "--slots", "0", "--log-level=loud", "--work-dir"},
                            Env{{"ACL_POLL_MS", "fast"}});
  EXPECT_NE(text.find("--lease-ttl: no such flag; did you mean --lease-ttl-ms?"), std::string::npos) << text;
  EXPECT_NE(text.find("'positional' is not a flag"), std::string::npos) << text;
  EXPECT_NE(text.find("--slots: '0' is not a whole number from 1 to 16384"), std::string::npos) << text;
  EXPECT_NE(text.find("'loud' is none of debug, info, warn, error, off"), std::string::npos) << text;
  EXPECT_NE(text.find("--work-dir: needs a value"), std::string::npos) << text;
  EXPECT_NE(text.find("ACL_POLL_MS: 'fast'"), std::string::npos) << text;
}

TEST(Settings, AnothersSettingIsNoFlagHere) {
  EXPECT_NE(ErrorOf(Program::kWorker, {"--listen", "127.0.0.1:1"}).find("no such flag"), std::string::npos);
  EXPECT_TRUE(ParseSettings(Program::kWorker, {}, Env{{"ACL_LISTEN", "nonsense"}}));  // not this program's to judge
}

TEST(Settings, WarnsOfMistypedVariablesOnly) {
  auto parsed = ParseSettings(Program::kWorker, {}, Env{{"ACL_DATABSE_URL", "x"}, {"ACL_SOMETHING_ELSE_ENTIRELY", "x"}});
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->warnings.size(), 1u);
  EXPECT_NE(parsed->warnings[0].find("did you mean ACL_DATABASE_URL?"), std::string::npos);
}

TEST(Settings, SecretsAreNeverPrinted) {
  auto parsed = ParseSettings(Program::kCli, {}, Env{{"ACL_DATABASE_URL", "postgresql://u:hunter2@db/acl"}, {"ACL_API_KEY", "hunter2"}});
  ASSERT_TRUE(parsed);
  const auto shown = ShowSettings(Program::kCli, parsed->settings).dump();
  EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown;
  EXPECT_NE(shown.find("postgresql://u:***@db/acl"), std::string::npos) << shown;
}

TEST(Settings, HelpNamesEveryFlagAndDefault) {
  for (auto program : {Program::kCoordinator, Program::kWorker, Program::kCli}) {
    const auto text = HelpText(program, "acl-x", "What it is.");
    std::set<std::string> seen;
    for (const auto& info : SettingsOf(program)) {
      EXPECT_TRUE(seen.insert(info.flag).second) << info.flag;
      EXPECT_NE(text.find("  " + info.flag), std::string::npos) << info.flag;
      EXPECT_FALSE(info.doc.empty()) << info.flag;
    }
  }
  EXPECT_TRUE(ParseSettings(Program::kWorker, {"--help", "--nonsense"}, {})->help);
}

TEST(Settings, EveryRowReadsBackWhatItShows) {
  for (const auto& row : SettingsTable()) {
    Settings settings;
    const auto text = row.show(settings);
    if (text.empty()) continue;
    ASSERT_TRUE(row.set(settings, text)) << row.name;
    EXPECT_EQ(row.show(settings), text) << row.name;
  }
}

TEST(Nearest, FindsTyposAndNothingElse) {
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("ab", "ba"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(Nearest("depnds_on", {"name", "depends_on"}), "depends_on");
  EXPECT_EQ(Nearest("zzzz", {"name", "depends_on"}), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'x'), {"name"}), "");
}

}  // namespace
}  // namespace acl
