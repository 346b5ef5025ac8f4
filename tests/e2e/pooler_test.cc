// A real pgbouncer in front of PostgreSQL: with sessions of their own everything works, shared sessions are refused in words that say the
// way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>

#include "shared/postgres/pooler.h"
#include "tests/support/fleet.h"
#include "tests/support/test_database.h"

namespace acl::test {
namespace {

// Of this test alone, on a port of its own.
class Pooler {
 public:
  Pooler(const std::string& database_url, const std::string& mode, int pool_size) {
    const char* home = std::getenv("ACL_TEST_PGBOUNCER");
    EXPECT_NE(home, nullptr) << "run ./dev test";
    std::smatch part;
    EXPECT_TRUE(std::regex_match(database_url, part, std::regex(R"(postgresql://(.+):(.+)@(.+):(\d+)/(.+))"))) << database_url;
    port_ = FreePort();
    url_ = "postgresql://" + part[1].str() + "@127.0.0.1:" + std::to_string(port_) + "/" + part[5].str();
    ::chmod(folder_.path().c_str(), 0755);
    WriteFile(folder_ / "ini",
              "[databases]\n* = host=" + part[3].str() + " port=" + part[4].str() + " user=" + part[1].str() +
                  " password=" + part[2].str() + "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + std::to_string(port_) +
                  "\nunix_socket_dir =\nauth_type = any\npool_mode = " + mode + "\ndefault_pool_size = " + std::to_string(pool_size) +
                  "\nmax_client_conn = 500\n" + (::geteuid() == 0 ? "user = postgres\n" : ""));
    process_ = Process({.argv = {std::string(home) + "/pgbouncer", (folder_ / "ini").string()},
                        .environment = {{"LD_LIBRARY_PATH", home}},
                        .output = folder_ / "log"});
    EXPECT_TRUE(WaitUntil([&] { return process_.Output().find("process up") != std::string::npos; })) << process_.Output();
  }
  const std::string& url() const { return url_; }

 private:
  TestFolder folder_;
  Process process_;
  int port_ = 0;
  std::string url_;
};

class Poolers : public DatabaseTest {};

RunResult AirunThrough(const Pooler& pooler, const std::vector<std::string>& words) {
  std::vector<std::string> argv = {Binary("airun")};
  argv.insert(argv.end(), words.begin(), words.end());
  return RunProgram(argv, {{"ACL_DATABASE_URL", pooler.url()}});
}

TEST_F(Poolers, OneThatKeepsSessionsIsTaken) {
  const Pooler pooler(db().conninfo(), "session", 20);
  const auto told = AirunThrough(pooler, {"db", "status"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_FALSE(pg::AnotherConnectionSees(pooler.url(), "acl.session", "anything"));
}

TEST_F(Poolers, OneThatSharesThemIsRefusedAndSaysTheWayOut) {
  for (const char* mode : {"transaction", "statement"}) {
    const Pooler pooler(db().conninfo(), mode, 5);
    const auto told = AirunThrough(pooler, {"db", "status"});
    EXPECT_NE(told.exit_code, 0) << mode;
    EXPECT_THAT(told.err, ::testing::HasSubstr("set its pool_mode to session")) << mode;
  }
}

// No session is left for the other connection: nothing is found out, within two seconds, and nothing hangs.
TEST_F(Poolers, AFullPoolOfKeptSessionsIsNoReasonToRefuse) {
  const Pooler pooler(db().conninfo(), "session", 1);
  const auto told = AirunThrough(pooler, {"db", "status"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
}

}  // namespace
}  // namespace acl::test
