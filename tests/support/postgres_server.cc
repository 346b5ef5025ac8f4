#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "shared/base/check.h"
#include "shared/base/random.h"
#include "tests/support/fleet.h"

namespace acl::test {
namespace {

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string Dev(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{ACL_SOURCE_DIR "/dev"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const auto result = RunProgram(argv);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Trimmed(result.out);
}

std::string UniqueName(const std::string& prefix) {
  static std::atomic<int> count{0};
  SystemRandom random;
  return prefix + std::to_string(getpid()) + "_" + std::to_string(count++) + "_" + std::to_string(random.Below(1'000'000));
}

}  // namespace

TestPostgres::TestPostgres() : name_(UniqueName("e2e_")) { Start(); }
TestPostgres::~TestPostgres() {
  if (!replica_url_.empty()) Dev({"pg", "remove", name_ + "-replica"});
  Dev({"pg", "remove", name_});
}
void TestPostgres::Start() {
  const auto url = Dev({"pg", "start", name_});
  EXPECT_TRUE(url_.empty() || url == url_) << "the server came back at another address";
  url_ = url;
}
void TestPostgres::Stop() { Dev({"pg", "stop", name_}); }
void TestPostgres::Kill() { Dev({"pg", "kill", name_}); }

void TestPostgres::StartReplica() { replica_url_ = Dev({"pg", "replica", name_}); }
void TestPostgres::Promote() { Dev({"pg", "promote", name_ + "-replica"}); }
std::string TestPostgres::both_urls() const {
  const auto host_of = [](const std::string& url) {
    const auto at = url.find('@') + 1;
    return url.substr(at, url.find('/', at) - at);
  };
  std::string both = url_;
  both.insert(both.find('/', both.find('@')), "," + host_of(replica_url_));
  return both + "?target_session_attrs=read-write&connect_timeout=2";
}

std::string Psql(const std::string& url, const std::string& sql) {
  const auto result = RunProgram({"psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql});
  EXPECT_EQ(result.exit_code, 0) << sql << "\n" << result.err;
  return Trimmed(result.out);
}

}  // namespace acl::test
