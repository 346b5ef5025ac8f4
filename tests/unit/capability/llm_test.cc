// llm.ask and what it says to a coordinator. How it ends: endings_test.cc; with a real coordinator and a worker that is killed:
// tests/e2e/ask_step_test.cc.
#include <gmock/gmock.h>

#include "tests/support/small_server.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::HasSubstr;

class LlmTest : public CapabilityTest {
 protected:
  void With(const SmallServer& server, const std::string& key = "") {
    CapabilityConfig config;
    config.ask.urls = {server.Url("")};
    config.ask.api_key = key;
    Start(config);
  }
};

TEST_F(LlmTest, SaysWhichAttemptAsksAndUnderWhichKey) {
  SmallServer server([](const std::string&) {
    return SmallServer::Answer("200 OK", R"({"text": "The report.", "withheld": false, "exchange": {"exchange_id": "e1", "session_id": "s1",
        "model": "tiny", "drift": [{"severity": "low", "drift_class": "tone", "summary": "tone flattery response@0"}]}})");
  });
  With(server, "acl_secret");
  const StepResult result = Call("llm.ask", {{"question", "What is next?"}, {"intent", "planning"}, {"deep_history", true}});
  ASSERT_EQ(result.outcome, Outcome::kSucceeded) << result.error;
  EXPECT_EQ(result.outputs["text"], "The report.");
  EXPECT_EQ(result.outputs["exchange_id"], "e1");
  EXPECT_EQ(result.outputs["findings"][0], "low tone: tone flattery response@0");
  ASSERT_EQ(server.requests().size(), 1u);
  const std::string request = server.requests()[0];
  EXPECT_THAT(request, HasSubstr("POST /v1/ask HTTP/1.1"));
  EXPECT_THAT(request, HasSubstr("Idempotency-Key: key-1"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer acl_secret"));
  const auto body = ParseJson(request.substr(request.find("\r\n\r\n") + 4));
  ASSERT_TRUE(body) << request;
  EXPECT_EQ((*body)["run"]["step"], "step");
  EXPECT_EQ((*body)["run"]["token"], 77);
  EXPECT_EQ((*body)["run"]["dispatched"], false);
  EXPECT_EQ((*body)["deep_history"], true);
}

TEST_F(LlmTest, WaitsForTheCallThatGoesOn) {
  std::atomic<int> asked{0};
  SmallServer server([&](const std::string&) {
    const bool first = ++asked == 1;
    return first ? SmallServer::Answer("409 Conflict", R"({"code": "under-way", "detail": "no outcome yet"})")
                 : SmallServer::Answer("200 OK", R"({"text": "The report.", "withheld": false,
                     "exchange": {"exchange_id": "e1", "session_id": "s1", "model": "tiny"}})");
  });
  With(server);
  EXPECT_EQ(Call("llm.ask", {{"question", "What is next?"}}).outcome, Outcome::kSucceeded);
  EXPECT_EQ(asked, 2);
}

TEST_F(LlmTest, AnotherServerIsNoCoordinator) {
  SmallServer server([](const std::string&) { return SmallServer::Answer("200 OK", R"({"hello": "world"})"); });
  With(server);
  const StepResult result = Call("llm.ask", {{"question", "What is next?"}});
  EXPECT_EQ(result.outcome, Outcome::kFailed) << result.outputs;
  EXPECT_THAT(result.error, HasSubstr("not as a coordinator answers"));
}

TEST_F(LlmTest, AKeyGoesToNoOtherMachineInPlainText) {
  CapabilityConfig config;
  config.ask.urls = {"http://coordinator.example:8733"};
  config.ask.api_key = "acl_secret";
  Start(config);
  EXPECT_THAT(FailureOf("llm.ask", {{"question", "What is next?"}}), HasSubstr("plain text"));
}

}  // namespace
}  // namespace acl
