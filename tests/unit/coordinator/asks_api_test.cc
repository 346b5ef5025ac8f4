// /v1/ask, /v1/drift and /v1/ledger over memory: forms, refusals, and facts as people say them. What a model is asked:
// tests/e2e/ask_test.cc.
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

class AsksApi : public ApiFixture {
 protected:
  Answer Post(const std::string& path, const Json& body) { return Ask("POST", path, body.dump(), {{"Content-Type", "application/json"}}); }
};

TEST_F(AsksApi, WithoutAKernelNobodyIsAsked) {
  const Answer answer = Post("/v1/ask", {{"question", "What is next?"}, {"by", "ann"}});
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.code(), "not-configured");
}

TEST_F(AsksApi, SaysWhatIsWrongWithAQuestion) {
  EXPECT_EQ(Post("/v1/ask", {{"by", "ann"}}).status, 422);
  EXPECT_EQ(Post("/v1/ask", {{"question", 7}, {"by", "ann"}}).body["errors"][0]["pointer"], "/question");
  EXPECT_EQ(Post("/v1/ask", {{"question", "x"}}).body["errors"][0]["pointer"], "/by");
  EXPECT_EQ(Post("/v1/ask", {{"question", "x"}, {"by", "ann"}, {"deep_history", "yes"}}).status, 422);
  EXPECT_EQ(Post("/v1/ask", {{"question", "x"}, {"by", "ann"}, {"session_id", "here"}}).status, 422);
  EXPECT_EQ(Post("/v1/ask", {{"question", "x"}, {"by", "ann"}, {"project", "nowhere"}}).status, 404);
  const Answer long_one = Post("/v1/ask", {{"question", std::string(65'537, 'x')}, {"by", "ann"}});
  EXPECT_EQ(long_one.status, 422) << "before a session is opened for it: " << long_one.text.substr(0, 300);
  for (const Json& run : {Json(7), Json{{"id", 7}}, Json{{"id", "01890000-0000-7000-8000-000000000001"}, {"step", 7}},
                          Json{{"id", "01890000-0000-7000-8000-000000000001"}, {"step", "s"}, {"token", "t"}},
                          Json{{"id", "01890000-0000-7000-8000-000000000001"}, {"step", "s"}, {"token", 1}, {"dispatched", 7}},
                          Json{{"id", "01890000-0000-7000-8000-000000000001"}, {"step", "s"}, {"token", 1}}})
    EXPECT_EQ(Post("/v1/ask", {{"question", "x"}, {"run", run}}).status, 422) << run.dump();
  EXPECT_EQ(Ask("GET", "/v1/ask/exchanges?before=x").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/ask/exchanges/01890000-0000-7000-8000-000000000001").status, 404);
}

TEST_F(AsksApi, FactsAreProposedRatifiedAndRetractedWithWhoSaidSo) {
  const Answer proposed = Post("/v1/ledger/facts", {{"claim", "The port is 80."}, {"source", "config"}, {"by", "ann"}});
  ASSERT_EQ(proposed.status, 200) << proposed.text;
  const std::string id = proposed.body["fact_id"];
  EXPECT_EQ(Post("/v1/ledger/facts/" + id + "/ratify", {{"by", "bob"}}).status, 200);
  const Answer twice = Post("/v1/ledger/facts/" + id + "/ratify", {{"by", "eve"}});
  EXPECT_EQ(twice.status, 409);
  EXPECT_NE(twice.text.find("ratified by bob"), std::string::npos) << twice.text;
  EXPECT_EQ(Post("/v1/ledger/facts/" + id + "/retract", {{"by", "bob"}}).status, 422);
  EXPECT_EQ(Post("/v1/ledger/facts/ledger:000099/ratify", {{"by", "bob"}}).status, 404);
  const Answer listed = Ask("GET", "/v1/ledger?status=ratified");
  ASSERT_EQ(listed.body["facts"].size(), 1u) << listed.text;
  EXPECT_EQ(listed.body["facts"][0]["decided_by"], "bob");
  EXPECT_EQ(Post("/v1/ledger/budget", {{"limit_micros", 100}, {"period", "week"}, {"by", "bob"}}).status, 422);
  EXPECT_EQ(Post("/v1/ledger/budget", {{"limit_micros", 100}, {"period", "day"}, {"by", "bob"}}).status, 200);
  EXPECT_EQ(Ask("GET", "/v1/ledger").body["budget"]["limit_micros"], 100);
}

TEST_F(AsksApi, DriftThatIsNotOpenIsNotClosed) {
  EXPECT_EQ(Post("/v1/drift/driftwatch:x-0001/close", {{"reason", "seen"}, {"by", "bob"}}).status, 404);
  EXPECT_EQ(Ask("GET", "/v1/drift?status=maybe").status, 400);
}

TEST_F(AsksApi, WhatNobodyProposedIsNotDecided) {
  EXPECT_EQ(Ask("GET", "/v1/ask/intents").body["intents"], Json::array());
  EXPECT_EQ(Ask("GET", "/v1/ask/intents?state=maybe").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/ask/intents/e1.1").status, 404);
  const std::string decide = "/v1/ask/intents/e1.1/decision";
  EXPECT_EQ(Post(decide, {{"decision", "approve"}, {"digest", "d"}, {"by", "bob"}}).status, 404);
  EXPECT_EQ(Post(decide, {{"decision", 7}, {"digest", "d"}, {"by", "bob"}}).status, 422);
  EXPECT_EQ(Post(decide, {{"decision", "approve"}, {"digest", "d"}}).status, 422) << "by whom?";
}

}  // namespace
}  // namespace acl::coordinator
