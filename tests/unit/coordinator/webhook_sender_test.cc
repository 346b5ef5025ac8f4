// One attempt against real sockets, and the file that says where they go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "coordinator/deliveries/sender.h"
#include "tests/support/process.h"
#include "tests/support/small_server.h"

namespace acl::coordinator {
namespace {

using testing::HasSubstr;

constexpr const char* kHookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

delivery::Answer Attempt(const Endpoint& endpoint, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  static const SystemClock clock;
  WebhookSender sender({{"hook", endpoint}}, clock, timeout);
  delivery::Delivery message;
  message.message_id = "msg_1";
  message.endpoint = "hook";
  message.body = R"({"a":1})";
  std::promise<delivery::Answer> answered;
  sender.Send(message, [&](delivery::Answer answer) { answered.set_value(std::move(answer)); });
  return answered.get_future().get();
}
Endpoint PrivateAt(const std::string& url) { return {url, {*webhook::Key::Parse(kHookSecret)}, true}; }

TEST(WebhookSenders, WhateverIsAnsweredIsTheAnswerAndNoRedirectIsFollowed) {
  std::string answer;
  SmallServer server(
      [&](const std::string&) -> std::optional<std::string> { return answer.empty() ? std::nullopt : std::optional(answer); });
  answer = SmallServer::Answer("202 Accepted", "ok");
  EXPECT_EQ(Attempt(PrivateAt(server.Url())).status, 202);
  answer = SmallServer::Answer("200 OK", std::string(200'000, 'x'));
  EXPECT_EQ(Attempt(PrivateAt(server.Url())).status, 200) << "what it says is not read, that it took the message counts";
  answer = SmallServer::Answer("302 Found", "", "Location: " + server.Url("/elsewhere") + "\r\n");
  const auto before = server.requests().size();
  EXPECT_EQ(Attempt(PrivateAt(server.Url())).status, 302);
  EXPECT_EQ(server.requests().size(), before + 1);
  answer = SmallServer::Answer("503 Busy", "", "Retry-After: 120\r\n");
  const auto busy = Attempt(PrivateAt(server.Url()));
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.retry_after, std::chrono::seconds(120));
  answer.clear();
  const auto lost = Attempt(PrivateAt(server.Url()));
  EXPECT_EQ(lost.status, 0);
  EXPECT_FALSE(lost.for_good);
  EXPECT_FALSE(lost.error.empty());
}

TEST(WebhookSenders, ASlowReceiverIsGivenUp) {
  std::promise<void> over;
  SmallServer server([&, waits = over.get_future().share()](const std::string&) -> std::optional<std::string> {
    waits.wait();
    return std::nullopt;
  });
  const auto answer = Attempt(PrivateAt(server.Url()), std::chrono::milliseconds(50));
  over.set_value();
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.error, HasSubstr("deadline"));
}

TEST(WebhookSenders, APrivateAddressIsRefusedUnlessTheOperatorSaysSo) {
  SmallServer server([](const std::string&) -> std::optional<std::string> { return SmallServer::Answer("200 OK", ""); });
  Endpoint endpoint = PrivateAt("https://127.0.0.1:" + std::to_string(server.port()) + "/");
  endpoint.is_private = false;
  const auto answer = Attempt(endpoint);
  EXPECT_TRUE(answer.for_good);
  EXPECT_TRUE(server.requests().empty());
}

class EndpointsFile : public ::testing::Test {
 protected:
  Result<Endpoints> Read(const std::string& text) {
    const std::string file = folder_ / "endpoints";
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    const webhook::Keyring keys = {{"billing", {{"hooks.example.com", "127.0.0.1"}, {*webhook::Key::Parse(kHookSecret)}}}};
    return ReadEndpoints(file, keys);
  }
  test::TestFolder folder_;
};

TEST_F(EndpointsFile, SaysWhereTheyAre) {
  const auto read = Read(
      "# a comment\nhooks https://hooks.example.com/x?y=1 sign=billing\n\nlocal http://127.0.0.1:9000/ sign=billing private\nopen "
      "https://example.org/\n");
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(read->size(), 3u);
  EXPECT_EQ(read->at("hooks").keys.size(), 1u);
  EXPECT_FALSE(read->at("hooks").is_private);
  EXPECT_TRUE(read->at("local").is_private);
  EXPECT_TRUE(read->at("open").keys.empty());
}

TEST_F(EndpointsFile, NamesTheLineAndQuotesNothingOfIt) {
  for (const auto& [line, why] :
       std::map<std::string, std::string>{{"hooks", "no URL"},
                                          {"ho/oks https://example.org/", "a name is"},
                                          {"hooks http://topsecret.example.org/", "plain http only with 'private'"},
                                          {"hooks ftp://topsecret.example.org/ private", "not an http or https URL"},
                                          {"hooks https://topsecret.example.org/ sign=nobody", "has no key"},
                                          {"hooks https://topsecret.example.org/ sign=billing", "signs nothing for this host"},
                                          {"hooks https://topsecret.example.org/ twice", "neither sign=KEY"}}) {
    const auto read = Read("\n" + line + "\n");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_THAT(read.message(), HasSubstr(why)) << line;
    EXPECT_THAT(read.message(), HasSubstr("line 2")) << line;
    EXPECT_EQ(read.message().find("topsecret"), std::string::npos) << read.message();
  }
  EXPECT_FALSE(Read("a https://example.org/\na https://example.org/\n").ok());
}

}  // namespace
}  // namespace acl::coordinator
