// What a process was given must not be there to read for the programs that its steps run.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

TEST(Secrets, OfAProcessStandInNeitherItsEnvironmentNorItsCommandLine) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may read the environment of a process that hides it";
  Fleet fleet;
  auto& coordinator = fleet.StartCoordinator();
  auto& worker = fleet.StartWorker(1, {{"ACL_S3_SECRET_KEY", "hush-hush"}});
  ASSERT_TRUE(fleet.AwaitReady());
  for (Process* process : {&coordinator, &worker}) {
    const std::string folder = "/proc/" + std::to_string(process->pid());
    const std::string environment = ReadFile(folder + "/environ");
    EXPECT_NE(environment.find("ACL_DATABASE_URL="), std::string::npos) << "the right process was read";
    EXPECT_EQ(environment.find(fleet.database_url()), std::string::npos);
    EXPECT_EQ(environment.find("hush-hush"), std::string::npos);
    EXPECT_EQ(ReadFile(folder + "/cmdline").find(fleet.database_url()), std::string::npos);
  }
}

}  // namespace
}  // namespace acl::test
