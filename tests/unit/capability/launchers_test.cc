#include "shared/capability/launchers.h"

#include <unistd.h>

#include <fstream>

#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Where the standard list finds it; empty if it is not installed.
std::string FileOf(const std::string& name) {
  for (const std::string& folder : ExecConfig().program_folders) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  }
  return "";
}

// The calls that start a program, as an ELF file names what it imports.
std::vector<std::string> StartsBy(const std::string& file) {
  std::vector<std::string> calls;
  const std::string bytes = ReadText(file);
  for (const char* call : {"execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "execveat", "fexecve", "posix_spawn",
                           "posix_spawnp", "popen", "system", "wordexp", "dlopen"}) {
    if (bytes.find(std::string(1, '\0') + call + std::string(1, '\0')) != std::string::npos) calls.push_back(call);
  }
  return calls;
}

TEST(Launchers, TheStandardListHasNone) {
  EXPECT_THAT(LaunchersAmong(ExecConfig().allowed_programs), IsEmpty());
  EXPECT_EQ(LaunchersAmong({"ls", "sh", "cat", "find"}), (std::vector<std::string>{"sh", "find"}));
  for (const std::string& name : ExecConfig().allowed_programs) {
    const std::string file = FileOf(name);
    if (!file.empty()) {
      EXPECT_THAT(StartsBy(file), IsEmpty()) << file;
    }
  }
  EXPECT_THAT(StartsBy(FileOf("find")), testing::Not(IsEmpty())) << "a check that sees nothing proves nothing";
}

// The ways to a shell that the attack found, and more of the kind: each is refused by a worker without settings.
class WaysToAShell : public CapabilityTest {};

const std::vector<std::pair<std::string, Json>>& Ways() {
  static const std::vector<std::pair<std::string, Json>> ways{
      {"find", {".", "-maxdepth", "0", "-exec", "touch", "started", ";"}},
      {"git", {"-c", "alias.x=!touch started", "x"}},
      {"npm", {"exec", "-c", "touch started"}},
      {"node", {"-e", "require('child_process').execSync('touch started')"}},
      {"python3", {"-c", "import os; os.system('touch started')"}},
      {"python", {"-c", "import os; os.system('touch started')"}},
      {"sh", {"-c", "touch started"}},
      {"env", {"touch", "started"}},
      {"xargs", {"touch", "started"}},
      {"awk", {"BEGIN { system(\"touch started\") }"}},
      {"sed", {"-n", "1e touch started", "/etc/passwd"}},
      {"tar", {"-cf", "/dev/null", "--checkpoint=1", "--checkpoint-action=exec=touch started", "/etc/passwd"}},
      {"make", {"--eval", "x:; touch started", "x"}},
      {"perl", {"-e", "system('touch started')"}},
      {"split", {"--filter", "touch started", "/etc/passwd"}},
      {"timeout", {"9", "touch", "started"}},
      {"nice", {"touch", "started"}},
  };
  return ways;
}

TEST_F(WaysToAShell, AreRefusedByAWorkerWithoutSettings) {
  for (const auto& [name, args] : Ways())
    EXPECT_THAT(FailureOf("sys.exec.run", {{"command", name}, {"args", args}}), HasSubstr("is not allowed")) << name;
}

TEST_F(WaysToAShell, AreWaysIfTheListNamesThem) {
  CapabilityConfig config;
  for (const auto& [name, args] : Ways()) config.exec.allowed_programs.push_back(name);
  Start(config);
  for (const auto& [name, args] : Ways()) {
    if (FileOf(name).empty() || name == "npm") continue;  // npm asks a registry
    EXPECT_EQ(LaunchersAmong({name}).size(), 1u) << name;
    const StepResult result = Call("sys.exec.run", {{"command", name}, {"args", args}, {"timeout", 30}});
    const bool started = std::any_of(result.files.begin(), result.files.end(), [](const FileChange& one) { return one.path == "started"; });
    EXPECT_TRUE(started) << name << ": " << result.error << result.outputs;
  }
}

TEST(Launchers, TheSecurityPageHasTheSameTables) {
  const std::string page = ReadText(std::string(ACL_SOURCE_DIR) + "/docs/operate/security.md");
  for (const Launcher& one : Launchers())
    EXPECT_THAT(page, HasSubstr("| `" + std::string(one.name) + "` | " + std::string(one.how) + " |")) << one.name;
  for (const std::string& name : ExecConfig().allowed_programs) EXPECT_THAT(page, HasSubstr("| `" + name + "` | ")) << name;
}

}  // namespace
}  // namespace acl
