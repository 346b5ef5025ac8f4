// A worker whose work folder is on a full disk: its want is not charged to the run, which waits for a worker that has room.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

// (In a chroot / is no mount and cannot be made private; what made the chroot has done it.)
// Runs a program with a disk of its own, of 512 KiB, mounted at its work folder (in a mount namespace: nobody else sees it).
std::vector<std::string> OnASmallDisk() {
  std::vector<std::string> argv = {"unshare", "--mount", "--propagation", "unchanged"};
  if (geteuid() != 0) argv.push_back("--map-root-user");
  argv.insert(argv.end(), {"sh", "-c",
                           "mount --make-rprivate / 2>/dev/null; mkdir -p \"$ACL_WORK_DIR\" && mount -t tmpfs -o size=512k tmpfs "
                           "\"$ACL_WORK_DIR\" && exec \"$0\""});
  return argv;
}

TEST(DiskFull, UnderTheWorkspaceIsSaidAndSurvived) {
  Fleet fleet;
  fleet.StartCoordinator();
  fleet.StartWorker(1, {}, OnASmallDisk());
  ASSERT_TRUE(fleet.AwaitReady());
  std::filesystem::create_directories(fleet.folder() / "in");
  WriteFile(fleet.folder() / "in/big", std::string(2'000'000, 'x'));
  WriteFile(fleet.folder() / "in/small", "x");
  // What is laid out for a program is what needs the disk.
  const std::string yaml =
      "name: disk\ninputs:\n  file: string\nsteps:\n  - name: count\n    capability: sys.exec.run\n    max_retries: 2\n    inputs:\n"
      "      command: wc\n      args: [\"-c\", \"in/{{ file }}\"]\n";
  WriteFile(fleet.folder() / "disk.yaml", yaml);
  auto submit = [&](const std::string& file) {
    const auto result =
        fleet.Cli({"workflow", "run", fleet.folder() / "disk.yaml", "--files", fleet.folder() / "in", "-i", "file=" + file, "-o", "json"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return result.exit_code == 0 ? ParseJson(result.out)->at("id").get<std::string>() : std::string();
  };
  const std::string id = submit("big");
  const auto not_started = [&] {
    int count = 0;
    for (const Json& event : fleet.Events(id)) {
      if (event.dump().find("the disk under the worker's work folder is full") != std::string::npos) ++count;
    }
    return count;
  };
  ASSERT_TRUE(WaitUntil([&] { return not_started() > 0; })) << fleet.Logs();
  EXPECT_NE(HttpGet(fleet.HealthUrl(1) + "/readyz").body.find("short of disk"), std::string::npos);
  EXPECT_TRUE(fleet.worker(1).running());
  fleet.StartWorker(2);  // with room
  EXPECT_TRUE(fleet.AwaitStatus(id, "COMPLETED")) << "no attempt of two was charged";
  EXPECT_LE(not_started(), 4) << "it pauses";
  fleet.Drain(fleet.worker(2));
  std::filesystem::remove(fleet.folder() / "in/big");
  const std::string small = submit("small");
  EXPECT_TRUE(fleet.AwaitStatus(small, "COMPLETED"));
  fleet.ExpectVerified();
}

}  // namespace
}  // namespace acl::test
