// The house's own rules (STYLE.md), held by reading every file.
#include <gtest/gtest.h>

#include <regex>

#include "tests/unit/house/source_tree.h"

namespace acl::house {
namespace {

struct Rule {
  const char* name;
  std::vector<std::string> needles;  // a line that holds one of these breaks it
  std::vector<std::string> folders;  // where it binds
  std::vector<std::string> except;   // path prefixes where it does not
  const char* instead;
};

const std::vector<std::string> kAll = {"shared", "coordinator", "worker", "cli", "tests", "chaos"};

std::vector<Rule> Rules() {
  return {
      {"libpqxx_behind_its_layer", {"<pqxx", "\"pqxx"}, kAll, {"shared/postgres/"}, "use shared/postgres"},
      {"librdkafka_behind_its_layer", {"<librdkafka", "\"librdkafka"}, kAll, {"shared/kafka/"}, "use shared/kafka"},
      {"models_behind_one_door",
       {"/chat/completions", "/v1/messages", "anthropic-version"},
       {"shared", "coordinator", "worker", "cli", "chaos"},
       {"shared/aegis/provider/"},
       "ask through shared/aegis/provider/model_client.h: no bundle, no call"},
      {"time_is_asked_for",
       {"steady_clock::now(", "system_clock::now(", "high_resolution_clock::now("},
       kAll,
       {"shared/base/clock.cc", "shared/runtime/",
        "shared/capability/"},  // a real call has a real deadline; the simulator replaces the runner
       "ask a Clock (shared/base/clock.h)"},
      {"randomness_is_asked_for",
       {"random_device", " rand()", "srand("},
       kAll,
       {"shared/base/random.cc"},
       "ask a Random (shared/base/random.h)"},
      {"tests_do_not_sleep",
       {"::sleep_for(", "::sleep_until(", "usleep(", "nanosleep("},
       {"tests", "chaos"},
       {"tests/support/"},
       "wait on a signal, advance the fake clock, or use tests/support/wait.h for another process"},
      {"tests_share_no_file", {"TempDir()"}, {"tests"}, {}, "a folder by mkdtemp: each test is a process and many run at once"},
      {"text_for_people_is_escaped",
       {"environment.out ", "environment.err ", "environment.out;", "std::cout <<", "std::cerr <<"},
       {"cli"},
       {"cli/session.cc", "cli/main.cc"},
       "Session's Print, Note, Fail, Write (cli/shown.h): what a server or a file says never reaches a terminal raw"},
      {"no_detached_coroutines", {"asio::detached"}, kAll, {}, "start children through a TaskGroup"},
      {"no_detached_threads", {".detach()"}, kAll, {}, "own the thread and join it"},
      {"no_work_left_for_later", {"TODO", "FIXME"}, kAll, {}, "do it, or open an issue"},
      {"no_paths_of_one_machine", {"\"/work/", "\"/home/", "\"/root/"}, kAll, {}, "ACL_SOURCE_DIR, or a setting"},
      {"no_using_namespace_std", {"using namespace std;"}, kAll, {}, "name what is used"},
  };
}

bool StartsWithAny(const std::string& path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& prefix) { return path.starts_with(prefix); });
}

bool Breaks(const std::string& line, const Rule& rule) {
  return std::any_of(rule.needles.begin(), rule.needles.end(), [&](const auto& needle) { return line.find(needle) != std::string::npos; });
}

TEST(HouseRules, NoLineBreaksOne) {
  for (const auto& rule : Rules()) {
    for (const auto& file : SourceFiles(rule.folders)) {
      if (file.path.starts_with("tests/unit/house/") || StartsWithAny(file.path, rule.except)) continue;
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        EXPECT_FALSE(Breaks(file.lines[i], rule))
            << file.path << ":" << i + 1 << ": " << rule.name << ": " << file.lines[i] << "\n  instead: " << rule.instead;
      }
    }
  }
}

// items() refers to the object: a range-for keeps the iteration, and the object that value() made is gone before the first round.
TEST(HouseRules, NoLoopOverItemsOfATemporary) {
  const std::regex dangling(R"(for \(.* : .*\.value\(.*\)\.items\(\)\))");
  for (const auto& file : SourceFiles(kAll)) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], dangling))
          << file.path << ":" << i + 1 << ": " << file.lines[i] << "\n  instead: give what value() returns a name on the line above";
    }
  }
}

TEST(HouseRules, FilesAreSmallAndHeadersGuarded) {
  for (const auto& file : SourceFiles(kAll)) {
    EXPECT_LE(file.lines.size(), 500u) << file.path << ": split it (aim: below 250 lines)";
    if (!file.path.ends_with(".h")) continue;
    EXPECT_TRUE(!file.lines.empty() && file.lines[0] == "#pragma once") << file.path << ": the first line is #pragma once";
  }
}

TEST(HouseRules, NoFolderWithoutANoun) {
  for (const auto& file : SourceFiles(kAll)) {
    for (const auto& part : std::filesystem::path(file.path).parent_path()) {
      const std::string name = part.string();
      EXPECT_TRUE(name != "common" && name != "util" && name != "utils" && name != "misc" && name != "helpers") << file.path;
    }
  }
}

// A test that no suite builds would never fail: every file of tests/ is below a suite (tests/CMakeLists.txt globs those).
TEST(HouseRules, EveryTestIsRegistered) {
  const std::regex known(
      R"(^tests/(unit/[a-z0-9_]+|integration|kafka|s3|jaeger|llm|sim|e2e|bench|support|versions|fuzz|outside|allocation)/.+\.(h|cc)$)");
  for (const auto& file : SourceFiles({"tests"})) {
    EXPECT_TRUE(std::regex_match(file.path, known)) << file.path << " is in no test suite";
    const bool has_test = std::any_of(file.lines.begin(), file.lines.end(), [](const std::string& line) {
      return line.starts_with("TEST(") || line.starts_with("TEST_F(") || line.starts_with("TEST_P(");
    });
    if (has_test) {
      EXPECT_TRUE(file.path.ends_with("_test.cc") || file.path.starts_with("tests/support/"))
          << file.path << ": a file with tests is named *_test.cc";
    }
  }
}

}  // namespace
}  // namespace acl::house
