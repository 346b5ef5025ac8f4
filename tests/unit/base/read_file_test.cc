#include "shared/base/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace acl {
namespace {

using testing::HasSubstr;

class ReadFileTest : public testing::Test {
 protected:
  ReadFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "acl-read-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~ReadFileTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(ReadFileTest, ReadsAFileWholeAndAsItIs) {
  const std::string bytes = std::string("a\0b\r\n\xff", 6) + std::string(200'000, 'x');
  std::ofstream(Path("f"), std::ios::binary) << bytes;
  EXPECT_EQ(*ReadFile(Path("f"), 1 << 20), bytes);
  std::ofstream(Path("empty"));
  EXPECT_EQ(*ReadFile(Path("empty"), 0), "");
}

TEST_F(ReadFileTest, SaysWhyAFileCannotBeRead) {
  const auto why = [](const std::string& path, std::size_t most = 1 << 20) {
    auto read = ReadFile(path, most);
    EXPECT_EQ(read.code(), Code::kInvalid);
    return read ? "" : read.message();
  };
  EXPECT_EQ(why(Path("none")), "cannot read " + Path("none") + ": No such file or directory");
  EXPECT_THAT(why(folder_.string()), HasSubstr("it is a folder"));
  EXPECT_THAT(why(""), HasSubstr("cannot read ''"));
  EXPECT_THAT(why("/dev/zero"), HasSubstr("larger than 1 MiB"));  // has no end
  std::ofstream(Path("f")) << std::string(3000, 'x');
  EXPECT_THAT(why(Path("f"), 2048), HasSubstr("larger than 2 KiB"));
  EXPECT_THAT(why(Path("f") + "/below"), HasSubstr("Not a directory"));
  if (geteuid() != 0) {
    ASSERT_EQ(chmod(Path("f").c_str(), 0), 0);
    EXPECT_THAT(why(Path("f")), HasSubstr("Permission denied"));
  }
  EXPECT_FALSE(CheckReadable(folder_.string()));
  EXPECT_FALSE(CheckReadable(Path("none")));
  std::ofstream(Path("g")) << "x";
  EXPECT_TRUE(CheckReadable(Path("g")));
}

}  // namespace
}  // namespace acl
