// The doors of external memory: what is knowledge goes out, what is work or secret does not, and what comes back is shown and kept nowhere.
#include <gmock/gmock.h>

#include <atomic>

#include "shared/memory/http_memory.h"
#include "shared/memory/memory.h"
#include "tests/support/small_server.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using testing::HasSubstr;
using testing::Not;

class MemoryDoors : public ApiFixture {
 protected:
  MemoryDoors() {
    memory::HttpMemoryOptions options;
    options.url = server_.Url("");
    options.allow_private_networks = true;
    memory_ = std::make_unique<memory::Memory>(*memory::HttpMemory::Make(options, system_clock_));
    api_->memory = memory_.get();
    router_ = Router();
    AddApiRoutes(router_, *api_);
    EXPECT_EQ(Post("/v1/projects", {{"name", "book"}, {"by", "ann"}}).status, 201);
    Do("create_goal", {{"text", "Write the book"}});
    Do("add_task", {{"goal_id", "g1"}, {"title", "Chapter one"}});
  }
  void Do(const std::string& operation, Json body) {
    body["by"] = "ann";
    const auto answer = Post("/v1/projects/book/" + operation, body);
    EXPECT_EQ(answer.status, 200) << answer.text;
  }

  std::atomic<bool> gone_ = false;
  SmallServer server_{[this](const std::string& request) -> std::optional<std::string> {
    if (gone_) return std::nullopt;
    if (request.starts_with("POST /v1/search"))
      return SmallServer::Answer("200 OK",
                                 R"({"results":[{"id":"m1","kind":"decision","text":"Half cents go up.","source":"event:x/3"}]})");
    if (request.starts_with("DELETE")) return SmallServer::Answer("404 Not Found", "");
    return SmallServer::Answer("200 OK", "{}");
  }};
  SystemClock system_clock_;
  std::unique_ptr<memory::Memory> memory_;
};

TEST_F(MemoryDoors, WhatStaysTrueIsLearnedWithTheEventThatItComesFrom) {
  const auto learned =
      Post("/v1/projects/book/learn", {{"kind", "decision"}, {"text", "Half cents are always rounded up."}, {"event_seq", 2}});
  ASSERT_EQ(learned.status, 200) << learned.text;
  EXPECT_EQ(learned.body["id"].get<std::string>().size(), 32u);
  EXPECT_THAT(learned.body["source"].get<std::string>(), HasSubstr("/2"));
  ASSERT_EQ(server_.requests().size(), 1u);
  EXPECT_THAT(server_.requests()[0], HasSubstr("Half cents are always rounded up."));
  EXPECT_EQ(
      Post("/v1/projects/book/learn", {{"kind", "decision"}, {"text", "Half cents are always rounded up."}, {"event_seq", 2}}).body["id"],
      learned.body["id"])
      << "the same learning is the same one";
  const auto gone = Post("/v1/projects/book/revoke_learning", {{"id", learned.body["id"]}});
  EXPECT_EQ(gone.status, 200) << gone.text;
  EXPECT_EQ(gone.body["revoked"], false);
}

TEST_F(MemoryDoors, WorkAndSecretsNeverGoOut) {
  const std::pair<const char*, const char*> refused[] = {
      {"Task t1 is done.", "fact"}, {"The password is hunter2zebra.", "fact"}, {"Chapter one is doing.", "fact"}};
  for (const auto& [text, kind] : refused) {
    const auto answer = Post("/v1/projects/book/learn", {{"kind", kind}, {"text", text}});
    EXPECT_EQ(answer.status, 422) << text << answer.text;
    EXPECT_EQ(answer.code(), "not-knowledge") << answer.text;
    EXPECT_THAT(answer.text, Not(HasSubstr("hunter2zebra")));
  }
  EXPECT_EQ(Post("/v1/projects/book/search_memory", {{"text", "why is t1 blocked"}}).code(), "not-knowledge");
  EXPECT_EQ(Post("/v1/projects/book/learn", {{"kind", "status"}, {"text", "x"}}).status, 422);
  EXPECT_EQ(Post("/v1/projects/book/learn", {{"kind", "fact"}, {"text", "Euros have cents."}, {"event_seq", 99}}).status, 422);
  EXPECT_EQ(Post("/v1/projects/nobody/learn", {{"kind", "fact"}, {"text", "Euros have cents."}}).status, 404);
  EXPECT_TRUE(server_.requests().empty()) << server_.requests().front();
}

TEST_F(MemoryDoors, WhatComesBackIsMarkedAndKeptNowhere) {
  const auto before = Ask("GET", "/v1/projects/book").body;
  const auto found = Post("/v1/projects/book/search_memory", {{"text", "how are half cents rounded"}, {"kind", "decision"}, {"limit", 3}});
  ASSERT_EQ(found.status, 200) << found.text;
  EXPECT_EQ(found.body["results"][0]["text"], "Half cents go up.");
  EXPECT_EQ(found.body["results"][0]["source"], "event:x/3");
  EXPECT_TRUE(found.body.contains("read_at") && found.body.contains("memory")) << found.text;
  EXPECT_EQ(Ask("GET", "/v1/projects/book").body, before) << "the project has not changed";
}

TEST_F(MemoryDoors, AMemoryThatIsGoneOrNotThereSaysSo) {
  gone_ = true;
  const auto answer = Post("/v1/projects/book/search_memory", {{"text", "how are half cents rounded"}});
  EXPECT_EQ(answer.status, 503) << answer.text;
  EXPECT_EQ(answer.code(), "memory-unavailable");
  api_->memory = nullptr;
  router_ = Router();
  AddApiRoutes(router_, *api_);
  const auto none = Post("/v1/projects/book/search_memory", {{"text", "how are half cents rounded"}});
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.text, HasSubstr("memory_url"));
}

}  // namespace
}  // namespace acl::coordinator
