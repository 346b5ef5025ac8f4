#include "shared/base/private_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace acl {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(PrivateFile, IsReadOnlyIfNobodyElseMayReadIt) {
  char pattern[] = "/tmp/acl-private-XXXXXX";
  const std::string folder = ::mkdtemp(pattern), file = folder + "/key";
  std::ofstream(file) << "secret\n";
  for (const unsigned mode : {0600u, 0400u}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    const auto text = ReadPrivateFile("some_setting", file);
    ASSERT_TRUE(text) << text.message();
    EXPECT_EQ(*text, "secret\n");
  }
  for (const unsigned mode : {0640u, 0604u, 0620u, 0610u}) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    const auto text = ReadPrivateFile("some_setting", file);
    ASSERT_FALSE(text) << mode;
    EXPECT_THAT(text.message(), StartsWith("some_setting " + file + ": "));
    EXPECT_THAT(text.message(), HasSubstr("chmod 600"));
    EXPECT_THAT(text.message(), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(ReadPrivateFile("some_setting", folder).message(), HasSubstr("is no file"));
  EXPECT_THAT(ReadPrivateFile("some_setting", folder + "/none").message(), HasSubstr("No such file"));
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  std::ofstream(file) << std::string((1 << 20) + 1, 'a');
  EXPECT_THAT(ReadPrivateFile("some_setting", file).message(), HasSubstr("larger than 1 MiB"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace acl
