#include "shared/webhook/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace acl::webhook {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kOneKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

struct KeyFile : testing::Test {
  KeyFile() {
    char pattern[] = "/tmp/acl-keys-XXXXXX";
    folder = ::mkdtemp(pattern);
    file = folder + "/keys";
  }
  ~KeyFile() override { std::filesystem::remove_all(folder); }
  Result<Keyring> Read(const std::string& text, mode_t mode = 0600) {
    std::ofstream(file) << text;
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return ReadKeyFile(file);
  }
  std::string folder, file;
};

TEST_F(KeyFile, HasSeveralNamesAndSeveralKeysOfOne) {
  const std::string secret = kOneKey;
  const auto ring =
      Read("# ours\n\nbilling * = " + secret +
           "\r\n  Audit.log-2 Hooks.example.org *.example.com =  whsec_bmV3IGtleSwgbmV3IGtleSwgbmV3IGtleS4u  " + secret + " \n");
  ASSERT_TRUE(ring) << ring.message();
  ASSERT_EQ(ring->size(), 2u);
  EXPECT_EQ(ring->at("billing").keys.size(), 1u);
  EXPECT_EQ(ring->at("Audit.log-2").keys.size(), 2u);
  EXPECT_EQ(ring->at("Audit.log-2").hosts, (std::vector<std::string>{"hooks.example.org", "*.example.com"}));
  const auto headers = Sign(ring->at("Audit.log-2").keys, "m1", WallTimeFromMicros(0), "x");
  ASSERT_TRUE(headers);
  EXPECT_TRUE(Verify(*headers, "x", ring->at("billing").keys, WallTimeFromMicros(0)));
}

TEST_F(KeyFile, IsItsReadersAlone) {
  const std::string text = std::string("a * = ") + kOneKey;
  for (const mode_t mode : {0600, 0400}) EXPECT_TRUE(Read(text, mode)) << mode;
  for (const mode_t mode : {0644, 0660, 0604, 0601, 0620}) {
    const auto ring = Read(text, mode);
    ASSERT_FALSE(ring) << mode;
    EXPECT_THAT(ring.message(), HasSubstr("chmod 600"));
  }
  if (::geteuid() == 0) {
    ASSERT_TRUE(Read(text));
    ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
    EXPECT_THAT(ReadKeyFile(file).message(), HasSubstr("another user"));
  }
}

TEST_F(KeyFile, ErrorsNameTheLineAndQuoteNothing) {
  const std::string secret = kOneKey;
  for (const auto& [text, told] : std::initializer_list<std::pair<std::string, std::string>>{
           {"ok * = " + secret + "\na=" + secret, "line 2: not NAME HOST... = KEY"},
           {"a " + secret, "line 1: not NAME HOST... = KEY"},
           {secret, "line 1: not NAME HOST... = KEY"},
           {"a http://h/ = " + secret, "line 1: not NAME HOST... = KEY"},
           {"a = " + secret, "line 1: no host"},
           {"a/b * = " + secret, "line 1: not NAME HOST... = KEY"},
           {"a * = " + secret + "\na * = " + secret, "line 2: this name is there already"},
           {"a * =", "line 1: no key that signs"},
           {"a * = whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "line 1: no key that signs"},
           {"a * = " + secret.substr(6), "line 1: a webhook key: it begins with whsec_"},
           {"a * = whsec_MfKQ9r8G", "line 1: a webhook key: a secret has 24 to 64 bytes"}}) {
    const auto ring = Read(text);
    ASSERT_FALSE(ring) << text;
    EXPECT_THAT(ring.message(), HasSubstr(told));
    EXPECT_THAT(ring.message(), Not(HasSubstr("MfKQ9r8G")));
  }
}

TEST_F(KeyFile, IsAFileOfModestSize) {
  EXPECT_THAT(ReadKeyFile(folder + "/none").message(), HasSubstr("No such file"));
  EXPECT_THAT(ReadKeyFile(folder).message(), HasSubstr("is no file"));
  EXPECT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THAT(ReadKeyFile(file).message(), HasSubstr("is no file"));
  std::filesystem::remove(file);
  EXPECT_THAT(Read("#" + std::string(2 << 20, 'x')).message(), HasSubstr("1 MiB"));
  EXPECT_TRUE(Read("")->empty());
}

}  // namespace
}  // namespace acl::webhook
