// airun support-bundle: what goes along, and above all what does not.
#include "cli/support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const Json kTalkative = {{"id", kId},
                         {"name", "pay postgresql://u:hush0@h/d"},
                         {"status", "FAILED"},
                         {"error", "the card hush1 was refused"},
                         {"owner", "hush2"},
                         {"labels", {{"customer", "hush3"}}},
                         {"inputs", {{"token", "hush4"}}},
                         {"outputs", {{"a", "hush5"}}},
                         {"steps", Json::array({Json{{"error", "hush6"}}})},
                         {"state", {{"name", "waiting"}, {"blocked_on", "uncertain"}, {"hint", "hush7"}}}};

TEST(SupportBundle, KeepsHowThingsStandAndNothingThatWasSaid) {
  const std::string told = ForSupport(Json::array({kTalkative})).dump();
  EXPECT_THAT(told, Not(HasSubstr("hush")));
  for (const char* kept : {"FAILED", "uncertain", "waiting"}) EXPECT_THAT(told, HasSubstr(kept));
  EXPECT_THAT(told, HasSubstr(kId));
}

TEST(SupportBundle, IsOneFileForItsOwnerAlone) {
  FakeServer server;
  server.On("GET /readyz", 503, R"({"status":"not ready"})");
  server.On("GET /metrics", 200, "acl_ready_depth{queue=\"a\"} 3\n");
  server.On("GET /v1/workflows", 200, {{"workflows", Json::array({kTalkative})}});
  server.On("GET /v1/workers", 200, {{"workers", Json::array({Json{{"worker_name", "w1"}, {"secret", "hush"}}})}});
  const Folder folder;
  const std::string path = folder.Path("bundle.json");
  const Outcome told = Airun(&server, {"support-bundle", path});
  ASSERT_EQ(told.code, 0) << told.err;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, Not(HasSubstr("hush")));
  const Json bundle = Json::parse(text);
  EXPECT_EQ(bundle["readyz"]["status"], 503);
  EXPECT_THAT(bundle["metrics"]["body"].get<std::string>(), HasSubstr("acl_ready_depth"));
  EXPECT_EQ(bundle["workers"][0]["worker_name"], "w1");
  EXPECT_EQ(bundle["failed"][0]["status"], "FAILED");
  EXPECT_TRUE(bundle["queues"].contains("not_read"));  // this server knows no queues
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Outcome again = Airun(&server, {"support-bundle", path});
  EXPECT_NE(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("name another file"));
}

}  // namespace
}  // namespace acl::cli::test
