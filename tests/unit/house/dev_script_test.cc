// ./dev: every command says what it does by --help, and takes no option or name that it does not know. Nothing is started here.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tests/unit/house/source_tree.h"

namespace acl::house {
namespace {

struct Ran {
  int code = -1;
  std::string text;  // stdout and stderr
};

Ran Shell(const std::string& line) {
  Ran ran;
  FILE* pipe = popen((line + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return ran;
  char piece[4096];
  for (std::size_t count; (count = fread(piece, 1, sizeof piece, pipe)) > 0;) ran.text.append(piece, count);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}
Ran Dev(const std::string& arguments) { return Shell(std::string(ACL_SOURCE_DIR) + "/dev " + arguments); }

// What passes when it is run once more is named; a unit test that does is red all the same, and what fails twice is ctest's to say.
TEST(DevScript, ASecondTryIsSaidAndNotEveryTestHasOne) {
  const auto told = [](const std::string& label, const std::string& last) {
    return Shell(
        "bash -c 'set -euo pipefail; cd $(mktemp -d /tmp/acl-flaky-XXXXXX); mkdir -p build/x; say() { echo \"$@\"; }; "
        "source " ACL_SOURCE_DIR
        "/.dev/test.sh; echo \"add_test(A.B/1 true)\" >build/x/CTestTestfile.cmake; echo \"set_tests_properties(A.B/1 PROPERTIES LABELS " +
        label +
        ")\" >>build/x/CTestTestfile.cmake; echo \"1/1 Test #1: A.B/1 ......***Failed 0.1 sec\" >log; echo \"    Test #1: A.B/1 ......" +
        last + " 0.1 sec\" >>log; code=0; say_flaky x log || code=$?; rm -r \"$PWD\"; exit $code'");
  };
  const Ran real = told("e2e", "   Passed"), strict = told("unit", "   Passed"), twice = told("e2e", "***Failed");
  EXPECT_EQ(real.code, 0) << real.text;
  EXPECT_EQ(real.text, "flaky: A.B/1\n");
  EXPECT_EQ(strict.code, 1) << strict.text;
  EXPECT_NE(strict.text.find("may not need a second try"), std::string::npos) << strict.text;
  EXPECT_EQ(twice.text, "");
}

TEST(DevScript, EveryCommandSaysWhatItDoesAndDoesNothing) {
  // A command, and what its part of the help begins with.
  const std::vector<std::pair<std::string, std::string>> commands = {{"up", "up | down | logs"},
                                                                     {"down", "up | down | logs"},
                                                                     {"logs", "up | down | logs"},
                                                                     {"demo", "demo"},
                                                                     {"fleet", "fleet"},
                                                                     {"test", "test"},
                                                                     {"chaos", "chaos"},
                                                                     {"fuzz", "fuzz"},
                                                                     {"coverage", "coverage"},
                                                                     {"lint", "lint"},
                                                                     {"fmt", "fmt"},
                                                                     {"setup", "setup"},
                                                                     {"build", "build"},
                                                                     {"pg", "pg"},
                                                                     {"kafka", "kafka"},
                                                                     {"s3", "s3"},
                                                                     {"jaeger", "jaeger"},
                                                                     {"llm", "llm"},
                                                                     {"images", "images"},
                                                                     {"k8s", "k8s"},
                                                                     {"clean", "clean"}};
  for (const auto& [command, part] : commands) {
    for (const char* help : {" --help", " -h", " something --help"}) {
      const Ran ran = Dev(command + help);
      EXPECT_EQ(ran.code, 0) << command << help << ": " << ran.text;
      EXPECT_TRUE(ran.text.starts_with("usage: ./dev COMMAND")) << ran.text;
      EXPECT_NE(ran.text.find("\n  " + part), std::string::npos) << command << help << ": " << ran.text;
    }
  }
}

TEST(DevScript, RefusesOptionsItDoesNotKnowAndNamesThatAreNone) {
  for (const std::string arguments : {"up --hlep",       "down --all",    "logs -f",       "demo --folder", "fleet --runs",
                                      "fmt --check",     "fmt now",       "clean --force", "lint --fix",    "up one two",
                                      "pg --start",      "kafka --start", "s3 -x",         "jaeger --x",    "setup --all",
                                      "build --release", "fuzz --second", "up ../up",      "up 'a b'",      "up Größe",
                                      "up current",      "down current",  "up full",       "up ''",         "nothing-of-this-name",
                                      "k8s helm2",       "images --all"}) {
    const Ran ran = Dev(arguments);
    EXPECT_EQ(ran.code, 2) << arguments << ": " << ran.text;
    EXPECT_TRUE(ran.text.starts_with("dev: ")) << ran.text;
  }
  const Ran none = Dev("down no-fleet-of-this-name");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.text.find("there is no fleet \"no-fleet-of-this-name\""), std::string::npos) << none.text;
}

// Logs tell of runs and people: where fleets and servers put them is the owner's alone, whatever the mask of the shell.
TEST(DevScript, FoldersWithLogsAreTheOwnersAlone) {
  const std::string folder = testing::TempDir() + "acl-logs-" + std::to_string(::getpid());
  const std::string script = "umask 022; mkdir " + folder + "; . " ACL_SOURCE_DIR "/.dev/say.sh; private_folder " + folder +
                             "; stat -c %a " + folder + "; private_folder " + folder + "/new; stat -c %a " + folder + "/new; rm -r " +
                             folder;
  FILE* pipe = popen(("bash -c '" + script + "' 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char said[100] = "";
  EXPECT_GT(fread(said, 1, sizeof said - 1, pipe), 0u);
  pclose(pipe);
  EXPECT_STREQ(said, "700\n700\n");
  for (const auto& [file, line] : {std::pair("fleet", "private_folder \"$dir\""), std::pair("full_fleet", "private_folder \"$dir\""),
                                   std::pair("server", "private_folder \"$local_dir/$1\"")})
    EXPECT_TRUE(std::ranges::any_of(ReadLines(std::string(ACL_SOURCE_DIR) + "/.dev/" + file + ".sh"), [wanted =
                                                                                                           line](const std::string& one) {
      return one.find(wanted) != std::string::npos;
    })) << file;
}

}  // namespace
}  // namespace acl::house
