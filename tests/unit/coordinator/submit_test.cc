#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using SubmitTest = ApiFixture;

TEST_F(SubmitTest, MakesARunAndRingsForIt) {
  const auto answer = Post("/v1/workflows", {{"workflow", kYaml}, {"inputs", Json::object()}, {"labels", {{"team", "a"}}}});
  ASSERT_EQ(answer.status, 201) << answer.text;
  const std::string id = answer.body["id"];
  EXPECT_EQ(answer.Header("Location"), "/v1/workflows/" + id);
  EXPECT_EQ(answer.body["name"], "hello");
  EXPECT_EQ(notified_, (std::vector<std::string>{"work default"}));
  const auto run = Ask("GET", "/v1/workflows/" + id);
  ASSERT_EQ(run.status, 200) << run.text;
  EXPECT_EQ(run.body["status"], "PENDING");
  EXPECT_EQ(run.body["state"]["name"], "ready");
  EXPECT_EQ(run.body["labels"], (Json{{"team", "a"}}));
  EXPECT_EQ(run.body["steps_total"], 1);
}

TEST_F(SubmitTest, TakesTheTextItselfAndJsonInJson) {
  EXPECT_EQ(Ask("POST", "/v1/workflows", kYaml, {{"content-type", "application/yaml"}}).status, 201);
  const Json definition = {{"name", "x"},
                           {"steps", Json::array({{{"name", "s"}, {"capability", "test.echo"}, {"inputs", {{"text", "t"}}}}})}};
  EXPECT_EQ(Post("/v1/workflows", {{"workflow", definition}}).status, 201);
}

TEST_F(SubmitTest, LenientTemplatesAreOfTheSubmissionAndOfWhatIsKnownOfIt) {
  const std::string text = "name: x\nsteps: [{name: s, capability: test.echo, inputs: {outputs: {text: '{{ a + 1 }}'}}}]\n";
  const Json body = {{"workflow", text}}, lenient = {{"workflow", text}, {"lenient_templates", true}};
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(Post("/v1/workflows", lenient).status, 201);
    EXPECT_EQ(Post("/v1/workflows", body).status, 422);
  }
  EXPECT_EQ(Post("/v1/validate", lenient).body["valid"], true);
  EXPECT_EQ(Post("/v1/validate", body).body["findings"][0]["code"], "bad-template");
  EXPECT_EQ(Post("/v1/workflows", {{"workflow", text}, {"lenient_templates", "yes"}}).status, 422);
  // A schedule keeps the file only: there the file says it.
  Json schedule = {{"name", "n"}, {"cron", "@daily"}, {"workflow", text}, {"lenient_templates", true}};
  EXPECT_EQ(Post("/v1/schedules", schedule).status, 422);
  schedule.erase("lenient_templates");
  schedule["workflow"] = "lenient_templates: true\n" + text;
  EXPECT_EQ(Post("/v1/schedules", schedule).status, 201);
}

// Parsing and asking for stored contents may take long: those are for the pool.
TEST_F(SubmitTest, AWorkflowThatIsKnownIsSubmittedAtOnce) {
  const Json body = {{"workflow", kYaml}};
  const auto first = Post("/v1/workflows", body);
  EXPECT_FALSE(first.quick);
  for (int i = 0; i < 3; ++i) {
    const auto again = Post("/v1/workflows", body, "key");
    EXPECT_TRUE(again.quick);
    EXPECT_EQ(again.status, 201) << again.text;
    EXPECT_EQ(again.Header("Idempotent-Replayed"), i == 0 ? "" : "true");
  }
  EXPECT_TRUE(Post("/v1/workflows", {{"workflow", kYaml}, {"inputs", {{"a", 1}}}}).quick);
  EXPECT_FALSE(Post("/v1/workflows", {{"workflow", kYaml}, {"strict", true}}).quick);
  EXPECT_FALSE(Post("/v1/workflows", {{"workflow", kYaml}, {"files", Json::array({{{"path", "a"}}})}}).quick);
  EXPECT_FALSE(Post("/v1/workflows", {{"workflow", kYaml}, {"labels", {{"a", std::string(20'000, 'x')}}}}).quick);
  EXPECT_EQ(store_.Subjects().size(), 3u);
}

TEST_F(SubmitTest, ARepeatGetsTheFirstAnswerAnotherBody422) {
  const Json body = {{"workflow", kYaml}, {"inputs", Json::object()}};
  const auto first = Post("/v1/workflows", body, "key-1");
  ASSERT_EQ(first.status, 201);
  const auto again = Post("/v1/workflows", {{"inputs", Json::object()}, {"workflow", kYaml}, {"file", "other-name.yaml"}}, "\"key-1\"");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body["id"], first.body["id"]);
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(first.Header("Idempotent-Replayed"), "");
  EXPECT_EQ(notified_.size(), 1u);
  const auto other = Post("/v1/workflows", {{"workflow", kYaml}, {"labels", {{"a", "b"}}}}, "key-1");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.code(), "key-reused");
  EXPECT_NE(Post("/v1/workflows", body, "key-2").body["id"], first.body["id"]);
}

TEST_F(SubmitTest, RefusesBadKeys) {
  for (const std::string& key : {std::string("\"\""), std::string("a b"), std::string(201, 'x'), std::string("caf\xc3\xa9")}) {
    EXPECT_EQ(Post("/v1/workflows", {{"workflow", kYaml}}, key).status, 400) << key;
  }
}

TEST_F(SubmitTest, SaysWhereAWorkflowIsWrong) {
  const auto answer =
      Post("/v1/workflows",
           {{"workflow", "name: x\nsteps:\n  - name: a\n    capability: test.echo\n    depends_on: [nobody]\n"}, {"file", "bad.yaml"}});
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.code(), "invalid-workflow");
  ASSERT_FALSE(answer.body["errors"].empty());
  bool found = false;
  for (const auto& error : answer.body["errors"]) {
    found = found || (error.value("line", 0) == 5 && error.value("text", "").starts_with("bad.yaml:5:"));
  }
  EXPECT_TRUE(found) << answer.text;
  EXPECT_TRUE(store_.Subjects().empty());
}

TEST_F(SubmitTest, RefusesWhatDoesNotFitAndMakesNothing) {
  const std::vector<std::pair<Json, int>> cases = {
      {Json::object(), 422},
      {{{"workflow", 7}}, 422},
      {{{"workflow", kYaml}, {"input", Json::object()}}, 422},
      {{{"workflow", kYaml}, {"inputs", 7}}, 422},
      {{{"workflow", kYaml}, {"labels", {{"a", 7}}}}, 422},
      {{{"workflow", kYaml}, {"files", 7}}, 422},
      {{{"workflow", kYaml}, {"files", Json::array({{{"path", "a"}, {"hash", "zz"}}})}}, 422},
      {{{"workflow", kYaml}, {"files", Json::array({{{"path", "a"}, {"hash", std::string(64, '0')}}})}}, 422},
      {{{"workflow", kYaml}, {"strict", "yes"}}, 422},
      {{{"workflow", ""}}, 422},
      {Json::array(), 400},
  };
  for (const auto& [body, status] : cases) {
    const auto answer = Post("/v1/workflows", body);
    EXPECT_EQ(answer.status, status) << body << "\n" << answer.text;
    EXPECT_FALSE(answer.code().empty()) << answer.text;
  }
  for (const char* text : {"{", "{\"workflow\": \"\\ud800\"}", "{\"a\":1,\"a\":2}", "nonsense"}) {
    EXPECT_EQ(Ask("POST", "/v1/workflows", text, {{"content-type", "application/json"}}).status, 400) << text;
  }
  EXPECT_TRUE(store_.Subjects().empty());
  const auto hint = Post("/v1/workflows", {{"workflow", kYaml}, {"lables", Json::object()}});
  EXPECT_NE(hint.text.find("did you mean 'labels'"), std::string::npos) << hint.text;
}

TEST_F(SubmitTest, FilesAreStoredFirst) {
  const std::string content = "hello\n";
  const std::string hash = ToHex(Sha256(content));
  EXPECT_EQ(Ask("PUT", "/v1/contents/" + hash, content).status, 200);
  EXPECT_EQ(Ask("PUT", "/v1/contents/" + hash, "other").status, 422);
  EXPECT_EQ(Ask("PUT", "/v1/contents/abc", content).status, 400);
  const auto file = [&](int size) {
    return Json{{"workflow", kYaml}, {"files", Json::array({{{"path", "in/a.txt"}, {"hash", hash}, {"size", size}}})}};
  };
  EXPECT_EQ(Post("/v1/workflows", file(7)).status, 422);
  const auto made = Post("/v1/workflows", file(6));
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string run = "/v1/workflows/" + made.body["id"].get<std::string>();
  const auto list = Ask("GET", run + "/files");
  ASSERT_EQ(list.status, 200) << list.text;
  EXPECT_NE(list.text.find("\"path\":\"in/a.txt\""), std::string::npos);
  const auto got = Ask("GET", run + "/files/in/a.txt");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.text, content);
  EXPECT_EQ(Ask("GET", run + "/files/in/a.txt", "", {{"if-none-match", got.Header("ETag")}}).status, 304);
  EXPECT_EQ(Ask("GET", run + "/files/in").status, 409);
  EXPECT_EQ(Ask("GET", run + "/files/nothing").status, 404);
  EXPECT_EQ(Ask("GET", run + "/files/../../etc/passwd").status, 400);
}

TEST_F(SubmitTest, ContentsNotSeenHereAreReadFromTheStore) {
  const std::string content = "from another coordinator";
  const std::pair<Hash256, std::string> stored(Sha256(content), content);
  ASSERT_TRUE(store_.PutContents({&stored, 1}).ok());
  const Json file = {{"path", "a"}, {"hash", ToHex(stored.first)}, {"size", content.size()}};
  EXPECT_EQ(Post("/v1/workflows", {{"workflow", kYaml}, {"files", Json::array({file})}}).status, 201);
}

TEST_F(SubmitTest, ValidateStoresNothing) {
  const auto good = Post("/v1/validate", {{"workflow", kYaml}});
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.body["valid"], true);
  EXPECT_EQ(good.body["execution_order"], Json::array({"greet"}));
  const auto bad = Post("/v1/validate", {{"workflow", "name: x\nsteps: 7\n"}});
  EXPECT_EQ(bad.status, 200);
  EXPECT_EQ(bad.body["valid"], false);
  EXPECT_FALSE(bad.body["findings"].empty());
  EXPECT_TRUE(store_.Subjects().empty());
}

}  // namespace
}  // namespace acl::coordinator
