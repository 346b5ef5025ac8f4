// The API over a real PostgreSQL. Runs are not run here: there is no worker.
#include "shared/base/sha256.h"
#include "tests/integration/coordinator/app_fixture.h"

namespace acl::coordinator {
namespace {

using CoordinatorApi = AppTest;

TEST_F(CoordinatorApi, SubmitListGetAndAct) {
  StartApp();
  const auto first = Ask("POST", "/v1/workflows", {{"workflow", kYaml}}, {{"Idempotency-Key", "k1"}});
  ASSERT_EQ(first.status, 201) << first.body;
  const std::string id = first.json()["id"], run = "/v1/workflows/" + id;
  const auto again = Ask("POST", "/v1/workflows", {{"workflow", kYaml}}, {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.json()["id"], id);
  EXPECT_EQ(again.headers.at("idempotent-replayed"), "true");
  EXPECT_EQ(Ask("POST", "/v1/workflows", {{"workflow", kYaml}, {"labels", {{"a", "b"}}}}, {{"Idempotency-Key", "k1"}}).status, 422);

  const auto got = Ask("GET", run);
  ASSERT_EQ(got.status, 200) << got.body;
  EXPECT_EQ(got.json()["status"], "PENDING");
  EXPECT_EQ(got.json()["state"]["name"], "ready");
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id.substr(0, 13)).json()["id"], id);
  EXPECT_EQ(Ask("GET", "/v1/workflows").json()["workflows"].size(), 1u);
  EXPECT_EQ(Ask("GET", run + "/events").json()["events"].size(), 1u);
  EXPECT_EQ(Ask("GET", "/v1/workers").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/leases").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/quarantine").status, 200);

  const std::map<std::string, std::string> key = {{"Idempotency-Key", "c1"}};
  EXPECT_EQ(Ask("POST", run + "/cancel", {{"reason", "x"}}, key).status, 202);
  EXPECT_EQ(Ask("POST", run + "/cancel", {{"reason", "x"}}, key).headers.at("idempotent-replayed"), "true");
  EXPECT_EQ(Ask("POST", run + "/cancel", {{"reason", "y"}}, key).status, 422);
  EXPECT_EQ(database_->Count("SELECT count(*) FROM inbox"), 1);
  EXPECT_EQ(Ask("POST", run + "/cancel", {{"reason", "y"}}).status, 202);
  EXPECT_EQ(Ask("POST", "/v1/workflows/00000000-0000-7000-8000-000000000009/cancel", Json::object()).status, 404);
}

TEST_F(CoordinatorApi, AClosedRunIs409ButARepeatIsAnswered) {
  StartApp();
  const std::string run = "/v1/workflows/" + Submit();
  EXPECT_EQ(Ask("POST", run + "/cancel", Json::object(), {{"Idempotency-Key", "c1"}}).status, 202);
  database_->Exec("UPDATE leases SET state = 1");
  const auto closed = Ask("POST", run + "/cancel", Json::object());
  EXPECT_EQ(closed.status, 409) << closed.body;
  EXPECT_EQ(closed.json()["code"], "run-closed");
  EXPECT_EQ(Ask("POST", run + "/cancel", Json::object(), {{"Idempotency-Key", "c1"}}).status, 202);
}

TEST_F(CoordinatorApi, ContentsAndFiles) {
  StartApp();
  const std::string content(300'000, 'x');
  const std::string hash = ToHex(Sha256(content));
  EXPECT_EQ(Ask("PUT", "/v1/contents/" + hash, Json(content)).status, 200);
  const Json file = {{"path", "big.bin"}, {"hash", hash}, {"size", content.size()}};
  const auto made = Ask("POST", "/v1/workflows", {{"workflow", kYaml}, {"files", Json::array({file})}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + made.json()["id"].get<std::string>() + "/files/big.bin").body, content);
}

TEST_F(CoordinatorApi, ADamagedJournalIsShownNotServed) {
  StartApp();
  const std::string run = "/v1/workflows/" + Submit();
  database_->Exec("SET session_replication_role = replica; UPDATE journal_rows SET payload = replace(payload, 'greet', 'great')");
  const auto got = Ask("GET", run);
  EXPECT_EQ(got.status, 200) << got.body;
  EXPECT_NE(got.json().value("damage", ""), "") << got.body;
  EXPECT_EQ(Ask("GET", run + "/files").status, 500);
}

TEST_F(CoordinatorApi, BadRequestsAreProblems) {
  StartApp();
  const auto unsupported =
      test::Http({"POST", "http://" + apps_[0]->address().ToString() + "/v1/workflows", "x", {{"Content-Type", "text/plain"}}});
  EXPECT_EQ(unsupported.status, 415);
  EXPECT_EQ(unsupported.headers.at("content-type"), "application/problem+json");
  EXPECT_EQ(Ask("POST", "/v1/workflows", {{"workflow", std::string(17u << 20, 'x')}}).status, 413);
  EXPECT_EQ(Ask("GET", "/v1/workflows/nothing").status, 404);
  EXPECT_EQ(Ask("DELETE", "/v1/workflows").status, 405);
  EXPECT_EQ(Ask("GET", "/v2").status, 404);
}

TEST_F(CoordinatorApi, ServesItsOwnDocumentsAndMetrics) {
  StartApp();
  EXPECT_EQ(Ask("GET", "/openapi.json").json()["openapi"], "3.1.0");
  EXPECT_TRUE(Ask("GET", "/schemas/workflow.schema.json").json().is_object());
  const std::string metrics = Ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("acl_build_info{"), std::string::npos);
  EXPECT_NE(metrics.find("component=\"coordinator\""), std::string::npos);
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
}

TEST_F(CoordinatorApi, KeysAreAskedForOutsideDevMode) {
  settings_.dev_mode = false;
  const auto key = CreateApiKey(settings_.database_url, "ci");
  ASSERT_TRUE(key) << key.error();
  StartApp();
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  EXPECT_EQ(Ask("GET", "/metrics").status, 200);
  const auto refused = Ask("GET", "/v1/workflows");
  EXPECT_EQ(refused.status, 401);
  EXPECT_NE(refused.body.find("--create-api-key"), std::string::npos);
  EXPECT_EQ(refused.headers.at("www-authenticate"), "Bearer realm=\"acl\"");
  const std::map<std::string, std::string> with = {{"Authorization", "Bearer " + *key}};
  EXPECT_TRUE(test::WaitUntil([&] { return Ask("GET", "/v1/workflows", Json(), with).status == 200; }));
  ASSERT_EQ(Ask("POST", "/v1/workflows", {{"workflow", kYaml}}, with).status, 201);
  EXPECT_EQ(Ask("GET", "/v1/workflows", Json(), with).json()["workflows"][0].value("owner", ""), "ci");
  const auto late = CreateApiKey(settings_.database_url, "late");
  ASSERT_TRUE(late) << late.error();
  EXPECT_EQ(Ask("POST", "/v1/workflows", {{"workflow", kYaml}}, {{"Authorization", "Bearer " + *late}}).status, 201)
      << "a key that was just made is looked for, and the request goes on with its body";
  const ApiKeyText text = *ParseApiKey(*key);
  EXPECT_EQ(database_->Count("SELECT count(*) FROM api_keys WHERE api_keys::text LIKE '%" + text.secret + "%'"), 0);
  ASSERT_TRUE(RevokeApiKey(settings_.database_url, text.key_id).ok());
  EXPECT_TRUE(test::WaitUntil([&] { return Ask("GET", "/v1/workflows", Json(), with).status == 401; }));
  EXPECT_EQ(RevokeApiKey(settings_.database_url, text.key_id).code(), Code::kNotFound);
  EXPECT_EQ(CreateApiKey(settings_.database_url, "").code(), Code::kInvalid);
  for (const char* name : {"role:boss", "link:chat"}) EXPECT_EQ(CreateApiKey(settings_.database_url, name).code(), Code::kInvalid) << name;
}

TEST_F(CoordinatorApi, TheServiceRoleCannotMakeKeys) {
  const auto refusal = database_->Refusal(
      "INSERT INTO api_keys (key_id, project_id, name, secret_hash) SELECT '000000000000', project_id, 'x', sha256('x') FROM projects",
      "acl_service");
  EXPECT_NE(refusal.message.find("permission denied"), std::string::npos) << refusal.message;
}

TEST_F(CoordinatorApi, OnlyItsOwnNamesAreTakenOnLoopback) {
  StartApp();
  EXPECT_EQ(Ask("GET", "/livez", Json(), {{"Host", "evil.example"}}).status, 400);
  EXPECT_EQ(Ask("GET", "/livez", Json(), {{"Host", "localhost"}}).status, 200);
}

}  // namespace
}  // namespace acl::coordinator
