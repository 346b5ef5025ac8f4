#include "shared/capability/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace acl {
namespace {

class Beneath : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/acl-beneath-XXXXXX";
    path_ = ::mkdtemp(pattern);
    ASSERT_TRUE(MakeFolders(path_ + "/inner/dir"));
    ASSERT_TRUE(MakeFolders(path_ + "/outside"));
    Put("/outside/f", "secret");
    Put("/inner/dir/f", "mine");
    root_ = std::move(*OpenFolder(path_ + "/inner"));
  }
  void TearDown() override { RemoveTree(path_); }
  void Put(const std::string& name, std::string_view text) {
    Fd file(::open((path_ + name).c_str(), O_WRONLY | O_CREAT, 0600));
    ASSERT_TRUE(WriteAll(file.get(), text));
  }
  std::string path_;
  Fd root_;
};

TEST_F(Beneath, NothingLeadsOut) {
  ASSERT_EQ(::symlink("../outside", (path_ + "/inner/out").c_str()), 0);
  ASSERT_EQ(::symlink("dir/f", (path_ + "/inner/in").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/root", (path_ + "/inner/magic").c_str()), 0);
  EXPECT_TRUE(OpenBeneath(root_.get(), "dir/f", O_RDONLY));
  EXPECT_TRUE(OpenBeneath(root_.get(), "dir/../dir/f", O_RDONLY)) << "stays below";
  for (const char* name : {"../outside/f", "dir/../../outside/f", "/etc/passwd", "out/f", "out", "in", "magic/etc/passwd", "dir/f/x"}) {
    EXPECT_FALSE(OpenBeneath(root_.get(), name, O_RDONLY)) << name;
  }
  EXPECT_FALSE(OpenBeneath(root_.get(), "out/new", O_WRONLY | O_CREAT, 0600));
  EXPECT_EQ(OpenBeneath(root_.get(), "nope", O_RDONLY).code(), Code::kNotFound);
}

TEST_F(Beneath, ADirectoryThatIsSwappedForALinkNeverLeadsOut) {
  std::atomic<bool> stop{false};
  std::string dir = path_ + "/inner/dir", aside = path_ + "/inner/aside", link = path_ + "/inner/link";
  ASSERT_EQ(::symlink("../outside", link.c_str()), 0);
  std::thread swapper([&] {
    while (!stop) {
      ::rename(dir.c_str(), aside.c_str());
      ::rename(link.c_str(), dir.c_str());
      ::rename(dir.c_str(), link.c_str());
      ::rename(aside.c_str(), dir.c_str());
    }
  });
  int opened = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto file = OpenBeneath(root_.get(), "dir/f", O_RDONLY);
    if (!file) continue;
    ++opened;
    auto text = ReadAll(file->get(), 100);
    ASSERT_TRUE(text);
    ASSERT_EQ(*text, "mine");
  }
  stop = true;
  swapper.join();
  EXPECT_GT(opened, 0);
}

TEST_F(Beneath, RemovingATreeDoesNotFollowLinks) {
  ASSERT_EQ(::symlink((path_ + "/outside").c_str(), (path_ + "/inner/dir/link").c_str()), 0);
  RemoveTree(path_ + "/inner");
  EXPECT_NE(::access((path_ + "/inner").c_str(), F_OK), 0);
  EXPECT_EQ(::access((path_ + "/outside/f").c_str(), F_OK), 0);
}

// Deeper than a path may be long, and than descriptors or a stack would last.
TEST_F(Beneath, ATreeOfAnyDepthIsRemoved) {
  Fd at = std::move(*OpenFolder(path_ + "/inner"));
  for (int level = 0; level < 5'000; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "a-name-that-is-rather-long", 0700), 0);
    Fd next(::openat(at.get(), "a-name-that-is-rather-long", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(next.ok());
    if (level % 100 == 0) {
      Fd file(::openat(at.get(), ".lifted-0", O_WRONLY | O_CREAT | O_CLOEXEC, 0400));
      ::fchmod(at.get(), 0000);
    }
    at = std::move(next);
  }
  RemoveTree(path_ + "/inner");
  EXPECT_NE(::access((path_ + "/inner").c_str(), F_OK), 0);
  EXPECT_EQ(::access((path_ + "/outside/f").c_str(), F_OK), 0);
}

TEST(SystemErrors, AFullDiskIsSaidPlainly) { EXPECT_NE(SystemError("writing", ENOSPC).message.find("full"), std::string::npos); }

}  // namespace
}  // namespace acl
