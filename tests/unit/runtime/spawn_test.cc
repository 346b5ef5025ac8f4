#include "shared/runtime/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace acl {
namespace {

// What a shell that is started with these options says, and its exit code.
struct Said {
  std::string text;
  int exit_code = -1;
};

Said Ask(const std::string& script, SpawnOptions options) {
  int pipe_ends[2];
  EXPECT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  options.argv = {"sh", "-c", script};
  options.out = pipe_ends[1];
  const auto pid = Spawn(options);
  close(pipe_ends[1]);
  Said said;
  char buffer[512];
  for (ssize_t n = 0; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) said.text.append(buffer, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  EXPECT_TRUE(pid.ok()) << pid.message();
  int status = 0;
  if (pid.ok() && waitpid(*pid, &status, 0) == *pid && WIFEXITED(status)) said.exit_code = WEXITSTATUS(status);
  return said;
}

TEST(Spawn, GivesWhatItIsToldTo) {
  setenv("ACL_SPAWN_TEST", "ours", 1);
  setenv("SPAWN_TEST", "before", 1);
  SpawnOptions options;
  options.environment = {{"SPAWN_TEST", "after"}};
  options.directory = "/usr";
  EXPECT_EQ(Ask("echo $ACL_SPAWN_TEST $SPAWN_TEST $PWD; exit 7", options).text, "ours after /usr\n");
  EXPECT_EQ(Ask("exit 7", options).exit_code, 7);
  options.without_our_settings = true;
  EXPECT_EQ(Ask("echo $ACL_SPAWN_TEST $SPAWN_TEST", options).text, "after\n");
  options.environment["ACL_SPAWN_TEST"] = "theirs";
  EXPECT_EQ(Ask("echo $ACL_SPAWN_TEST", options).text, "theirs\n");
  unsetenv("ACL_SPAWN_TEST");
  unsetenv("SPAWN_TEST");
}

TEST(Spawn, AGroupOfItsOwn) {
  SpawnOptions options;
  const std::string group_of = "ps -o pgid= -p $$ | tr -d ' '";
  EXPECT_EQ(Ask(group_of, options).text, std::to_string(getpgrp()) + "\n");
  options.group = 0;
  EXPECT_EQ(Ask("test $(" + group_of + ") = $$", options).exit_code, 0);
}

TEST(Spawn, SaysWhyNot) {
  SpawnOptions options;
  options.argv = {"/no/such/program"};
  auto pid = Spawn(options);
  ASSERT_FALSE(pid.ok());
  EXPECT_EQ(pid.error().code, Code::kNotFound);
  EXPECT_NE(pid.message().find("/no/such/program: No such file"), std::string::npos) << pid.message();
  options.argv = {"true"};
  options.directory = "/no/such/folder";
  pid = Spawn(options);
  ASSERT_FALSE(pid.ok());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child that could not start is left behind";
}

}  // namespace
}  // namespace acl
