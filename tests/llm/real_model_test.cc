// The client against a real inference server with a real, very small model: real HTTP, streaming, tokens, usage and sampling. What is held
// is the protocol; what the model says is never judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/aegis/provider/http_model_client.h"
#include "shared/aegis/provider/spending.h"
#include "tests/support/llm_server.h"
#include "tests/support/wait.h"

namespace acl::aegis {
namespace {

using acl::test::TestLlm;

class RealModel : public testing::Test {
 protected:
  std::unique_ptr<HttpModelClient> Client(ProviderKind kind = ProviderKind::kOpenAi) {
    auto providers = ParseProviders(*ParseJson(llm_.Providers()));
    EXPECT_TRUE(providers) << providers.message();
    ProviderConfig provider = providers->at(0);
    provider.kind = kind;
    auto made = HttpModelClient::Make(provider, "", clock_, random_);
    EXPECT_TRUE(made) << made.message();
    return std::move(*made);
  }
  static ModelRequest Asking(const std::string& text, std::int64_t max_tokens = 24) {
    ModelRequest request{.messages = {{Role::kUser, text}}, .max_tokens = max_tokens};
    request.temperature = 0;
    request.seed = 7;
    return request;
  }
  ModelHooks Streaming() {
    return {.on_delta = [this](std::string_view text) {
      given_ += text;
      ++pieces_;
    }};
  }

  SystemClock clock_;
  SystemRandom random_;
  TestLlm llm_;
  std::string given_;
  int pieces_ = 0;
};

TEST_F(RealModel, AnswersWithUsageAndWithAllThatIsRecorded) {
  const auto client = Client();
  const auto answer = client->Invoke(Asking("The capital of France?"), {});
  ASSERT_TRUE(answer) << Describe(answer.failure());
  EXPECT_FALSE(answer->text.empty());
  EXPECT_EQ(answer->model, TestLlm::kModel);
  EXPECT_FALSE(answer->system_fingerprint.empty());
  EXPECT_FALSE(answer->answer_id.empty());
  EXPECT_FALSE(answer->usage_missing);
  EXPECT_GT(answer->usage.prompt, 4);
  EXPECT_GT(answer->usage.completion, 0);
  EXPECT_LE(answer->usage.completion, 24);
  EXPECT_EQ(answer->attempts, 1);
  // What was reserved is never less than what it took.
  const TokenPrice price{.prompt = 1'000'000, .cached = 1'000'000, .cache_written = 1'000'000, .completion = 2'000'000};
  EXPECT_LE(SettlementOf(answer, {}, price).cost, WorstCase(Asking("The capital of France?"), price).cost);
}

TEST_F(RealModel, StreamedItIsTheSameAnswerPieceByPiece) {
  const auto client = Client();
  const auto whole = client->Invoke(Asking("Count from one to ten."), {});
  const auto streamed = client->Invoke(Asking("Count from one to ten."), Streaming());
  ASSERT_TRUE(whole) << Describe(whole.failure());
  ASSERT_TRUE(streamed) << Describe(streamed.failure());
  EXPECT_EQ(streamed->text, given_);
  EXPECT_GT(pieces_, 1);
  EXPECT_EQ(streamed->usage.prompt, whole->usage.prompt);
  EXPECT_EQ(streamed->finish, whole->finish);
  EXPECT_EQ(streamed->model, whole->model);
  EXPECT_FALSE(streamed->usage_missing);
  EXPECT_TRUE(streamed->first_text);
}

TEST_F(RealModel, TheSameSeedGivesTheSameText) {
  const auto client = Client();
  ModelRequest request = Asking("Say something about ships.");
  request.temperature = 0.8;
  (void)client->Invoke(request, {});  // afterwards the server's cache holds the prompt, for both that follow
  const auto first = client->Invoke(request, {}), second = client->Invoke(request, {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->request_digest, second->request_digest);
  EXPECT_EQ(first->text, second->text);
}

TEST_F(RealModel, ASchemaForcesJson) {
  ModelRequest request = Asking("Is it better to move or to rest?", 64);
  request.response_schema = *ParseJson(
      R"({"type":"object","properties":{"decision":{"enum":["move","rest"]}},"required":["decision"],"additionalProperties":false})");
  const auto answer = Client()->Invoke(request, {});
  ASSERT_TRUE(answer) << Describe(answer.failure());
  const auto parsed = ParseJson(answer->text);
  ASSERT_TRUE(parsed) << answer->text;
  EXPECT_THAT(parsed->value("decision", ""), testing::AnyOf("move", "rest"));
}

TEST_F(RealModel, APromptBeyondTheContextIsRefusedWithBothNumbers) {
  std::string long_text;
  for (int i = 0; i < 1'400; ++i) long_text += "word ";
  for (const ModelHooks& hooks : {ModelHooks{}, Streaming()}) {
    const auto refused = Client()->Invoke(Asking(long_text), hooks);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().code, Failure::kContextExceeded) << Describe(refused.failure());
    EXPECT_EQ(refused.failure().ran, Ran::kNo);
    EXPECT_EQ(refused.failure().attempts, 1);
    EXPECT_GT(refused.failure().prompt_tokens.value_or(0), TestLlm::kContext);
    EXPECT_EQ(refused.failure().context_tokens, TestLlm::kContext);
  }
}

TEST_F(RealModel, CancelledInMidStreamTheServerIsFreeAgain) {
  const auto client = Client();
  std::atomic<bool> stop{false};
  const auto cancelled = client->Invoke(Asking("Tell a very long story about the sea, a ship and its crew.", 900),
                                        {.on_delta = [&](std::string_view) { stop = true; }, .cancelled = [&] { return stop.load(); }});
  ASSERT_FALSE(cancelled) << "it ended before it was cancelled: " << cancelled->usage.completion;
  EXPECT_EQ(cancelled.failure().code, Failure::kCancelled);
  EXPECT_EQ(cancelled.failure().ran, Ran::kYes);
  EXPECT_TRUE(acl::test::WaitUntil([&] { return !llm_.Busy(); }));
  EXPECT_TRUE(client->Invoke(Asking("Hello", 4), {}));
}

TEST_F(RealModel, ATooLongAnswerIsCutAndSaysSo) {
  const auto answer = Client()->Invoke(Asking("Tell a very long story.", 5), {});
  ASSERT_TRUE(answer) << Describe(answer.failure());
  EXPECT_EQ(answer->finish, Finish::kLength);
  EXPECT_EQ(answer->usage.completion, 5);
}

TEST_F(RealModel, KilledInMidStreamItIsNoAnswer) {
  bool killed = false;
  const auto client = Client();
  const auto broken =
      client->Invoke(Asking("Tell a very long story about the sea, a ship and its crew.", 900), {.on_delta = [&](std::string_view) {
                       if (!std::exchange(killed, true)) llm_.Kill();
                     }});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.failure().code, Failure::kTruncatedStream) << Describe(broken.failure());
  EXPECT_EQ(broken.failure().ran, Ran::kYes);
  // The threads of a killed process may still take a connection for a moment.
  EXPECT_TRUE(acl::test::WaitUntil([&] {
    const auto gone = client->Invoke(Asking("Hello"), {.deadline = clock_.Steady() + std::chrono::seconds(5)});
    return !gone && gone.failure().code == Failure::kNotConnected && gone.failure().ran == Ran::kNo;
  }));
}

TEST_F(RealModel, SpeaksTheOtherProtocolToo) {
  if (llm_.portable()) GTEST_SKIP() << "node-llama-cpp behind a server of ours: it knows chat completions alone";
  const auto client = Client(ProviderKind::kAnthropic);
  ModelRequest request = Asking("The capital of France?");
  request.messages.insert(request.messages.begin(), {.role = Role::kSystem, .content = "be brief", .cache_to_here = true});
  const auto whole = client->Invoke(request, {}), streamed = client->Invoke(request, Streaming());
  ASSERT_TRUE(whole) << Describe(whole.failure());
  ASSERT_TRUE(streamed) << Describe(streamed.failure());
  EXPECT_EQ(streamed->text, given_);
  EXPECT_GT(pieces_, 1);
  for (const ModelAnswer& answer : {*whole, *streamed}) {
    EXPECT_EQ(answer.model, TestLlm::kModel);
    EXPECT_FALSE(answer.usage_missing);
    EXPECT_GT(answer.usage.prompt, 4);
    EXPECT_GT(answer.usage.completion, 0);
  }
  EXPECT_EQ(streamed->usage.prompt, whole->usage.prompt);
  std::string long_text;
  for (int i = 0; i < 1'400; ++i) long_text += "word ";
  const auto refused = client->Invoke(Asking(long_text), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, Failure::kContextExceeded);
  EXPECT_EQ(refused.failure().context_tokens, TestLlm::kContext);
}

}  // namespace
}  // namespace acl::aegis
