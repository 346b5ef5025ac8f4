// /v1/deliveries over the store in memory.
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

class DeliveriesApi : public ApiFixture {
 protected:
  void Say(const std::string& id, ProjectId project = kDefaultProject) {
    delivery::Delivery said;
    said.message_id = id;
    said.project = project;
    said.endpoint = "hooks";
    said.event = "deploy.done";
    said.body = R"({"n":1})";
    deliveries_.Say(std::move(said));
  }
  void End(const std::string& id, delivery::State state) {
    ASSERT_TRUE(deliveries_.Claim({}).ok());
    ASSERT_TRUE(*deliveries_.Record({id, {1, {}, delivery::milliseconds(5), 410, "answered 410"}, state, 1, {}}));
  }
};

TEST_F(DeliveriesApi, ListsNewestFirstByStateAndPage) {
  for (const char* id : {"a", "b", "c"}) Say(id);
  Say("other", ProjectId{NewUuid7()});
  auto page = Ask("GET", "/v1/deliveries?limit=2");
  ASSERT_EQ(page.status, 200) << page.text;
  ASSERT_EQ(page.body["deliveries"].size(), 2u);
  EXPECT_EQ(page.body["deliveries"][0]["message_id"], "c");
  page = Ask("GET", "/v1/deliveries?limit=2&before=" + page.body["next_before"].dump());
  ASSERT_EQ(page.body["deliveries"].size(), 1u);
  EXPECT_EQ(page.body["deliveries"][0]["message_id"], "a");
  EXPECT_FALSE(page.body.contains("next_before"));
  EXPECT_EQ(Ask("GET", "/v1/deliveries?state=dead").body["deliveries"], Json::array());
  EXPECT_EQ(Ask("GET", "/v1/deliveries?state=odd").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/deliveries/other").status, 404);
  EXPECT_EQ(Ask("POST", "/v1/deliveries/other/retry").status, 404);
}

TEST_F(DeliveriesApi, ADeadLetterIsShownSentAgainAndGivenUp) {
  Say("a");
  End("a", delivery::State::kDead);
  auto shown = Ask("GET", "/v1/deliveries/a");
  ASSERT_EQ(shown.status, 200) << shown.text;
  EXPECT_EQ(shown.body["state"], "dead");
  EXPECT_EQ(shown.body["last_error"], "answered 410");
  EXPECT_EQ(shown.body["body"], (Json{{"n", 1}}));
  ASSERT_EQ(shown.body["log"].size(), 1u);
  EXPECT_EQ(shown.body["log"][0]["status"], 410);
  auto again = Ask("POST", "/v1/deliveries/a/retry");
  ASSERT_EQ(again.status, 200) << again.text;
  EXPECT_EQ(again.body["state"], "pending");
  EXPECT_EQ(again.body["failures"], 0);
  EXPECT_EQ(Ask("POST", "/v1/deliveries/a/discard").body["state"], "discarded");
}

TEST_F(DeliveriesApi, WhatIsDeliveredStaysSo) {
  Say("a");
  End("a", delivery::State::kDelivered);
  for (const char* verb : {"retry", "discard"}) {
    auto refused = Ask("POST", std::string("/v1/deliveries/a/") + verb);
    EXPECT_EQ(refused.status, 409) << refused.text;
    EXPECT_EQ(refused.code(), "delivered");
  }
}

}  // namespace
}  // namespace acl::coordinator
