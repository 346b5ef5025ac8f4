#include "shared/base/fail_point.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

namespace acl {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "acl-fail-point-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  void Order(const std::string& place, const std::string& action) const { std::ofstream(path / place) << action; }
  fs::path path;
};

// In a process of its own: being armed is for ever.
int InChild(const std::function<void()>& body, bool stopped = false) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, stopped ? WUNTRACED : 0);
  if (WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return 256 + signal;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(FailPoint, DoesNothingWhereNobodyArmedIt) {
  Folder folder;
  folder.Order("claim.before", "kill");
  EXPECT_FALSE(FailPoint("claim.before"));
}

TEST(FailPoint, DoesWhatIsOrderedOnce) {
  Folder folder;
  folder.Order("commit.before", "reset");
  folder.Order("claim.before", "kill");
  folder.Order("renew.before", "pause");
  EXPECT_EQ(InChild([&] {
              fail_point::Arm(folder.path);
              if (!FailPoint("commit.before")) _exit(1);
              if (FailPoint("commit.before")) _exit(2);  // taken
              if (FailPoint("step.before_effect")) _exit(3);
            }),
            0);
  EXPECT_TRUE(fs::exists(folder.path / "commit.before.hit")) << "whoever gave the order sees that it was taken";
  EXPECT_EQ(InChild([&] {
              fail_point::Arm(folder.path);
              FailPoint("claim.before");
            }),
            128 + SIGKILL);
  EXPECT_EQ(InChild(
                [&] {
                  fail_point::Arm(folder.path);
                  FailPoint("renew.before");
                },
                true),
            256 + SIGSTOP);
}

TEST(FailPoint, HoldsUntilItIsLetGo) {
  Folder folder;
  folder.Order("commit.before", "hold");
  std::thread releases([&] {
    while (!fs::exists(folder.path / "commit.before.hit")) std::this_thread::yield();
    std::ofstream(folder.path / "commit.before.go");
  });
  EXPECT_EQ(InChild([&] {
              fail_point::Arm(folder.path);
              if (FailPoint("commit.before")) _exit(1);
            }),
            0);
  releases.join();
}

// A place that is listed and nowhere, or somewhere and not listed, would be one that no run ever reaches.
TEST(FailPoint, TheListIsWhatStandsInTheCode) {
  std::set<std::string> listed, found;
  for (const auto& place : fail_point::Places()) listed.insert(std::string(place.name));
  const std::regex call("FailPoint\\(\"([a-z_.]+)\"\\)");
  for (const char* folder : {"shared", "worker", "coordinator"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(ACL_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cc") continue;
      std::ifstream in(entry.path());
      std::ostringstream text;
      text << in.rdbuf();
      const std::string code = text.str();
      for (std::sregex_iterator it(code.begin(), code.end(), call), end; it != end; ++it) found.insert((*it)[1]);
    }
  }
  EXPECT_EQ(listed, found);
}

}  // namespace
}  // namespace acl
