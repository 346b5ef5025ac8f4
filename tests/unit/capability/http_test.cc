#include "shared/webhook/key_file.h"
#include "tests/support/no_threads.h"
#include "tests/support/small_server.h"
#include "tests/unit/capability/fixture.h"

namespace acl {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Http : public CapabilityTest {
 protected:
  void SetUp() override { Allow(); }
  void Allow() {
    CapabilityConfig config;
    config.http.allow_private_networks = true;  // the servers of these tests are on loopback
    config.http.max_body_bytes = 10'000;
    Start(config);
  }
};

TEST_F(Http, GetAnswersWithAnyStatus) {
  SmallServer server([](const std::string& request) {
    return SmallServer::Answer(request.starts_with("GET /missing") ? "404 Not Found" : "200 OK", "héllo", "X-One: 1\r\nx-one: 2\r\n");
  });
  Json outputs = Apply("net.http.get", {{"url", server.Url()}, {"headers", {{"X-Mine", "yes"}, {"X-Number", 5}}}}).outputs;
  EXPECT_EQ(outputs["status_code"], 200);
  EXPECT_EQ(outputs["body"], "héllo");
  EXPECT_EQ(outputs["headers"]["X-One"], "1, 2");
  EXPECT_EQ(outputs["success"], true);
  std::string request = server.requests().at(0);
  EXPECT_THAT(request, HasSubstr("\r\nX-Mine: yes\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nX-Number: 5\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nIdempotency-Key: key-1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nFencing-Token: 77\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nFencing-Scope: run\r\n"));
  Json missing = Apply("net.http.get", {{"url", server.Url("/missing")}}).outputs;
  EXPECT_EQ(missing["status_code"], 404);
  EXPECT_EQ(missing["success"], false);
}

TEST_F(Http, PostAndPutSendTheirBody) {
  SmallServer server([](const std::string&) { return SmallServer::Answer("201 Created", "{}"); });
  Apply("net.http.post", {{"url", server.Url("/p")}, {"body", "{\"a\":1}"}});
  Apply("net.http.put",
        {{"url", server.Url("/q")}, {"body", "x"}, {"headers", {{"content-type", "text/plain"}, {"Idempotency-Key", "mine"}}}});
  auto requests = server.requests();
  EXPECT_THAT(requests.at(0), StartsWith("POST /p HTTP/1.1\r\n"));
  EXPECT_THAT(requests.at(0), HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(requests.at(0), HasSubstr("\r\n\r\n{\"a\":1}"));
  EXPECT_THAT(requests.at(1), StartsWith("PUT /q HTTP/1.1\r\n"));
  EXPECT_THAT(requests.at(1), HasSubstr("\r\ncontent-type: text/plain\r\n"));
  EXPECT_THAT(requests.at(1), Not(HasSubstr("application/")));
  EXPECT_THAT(requests.at(1), HasSubstr("\r\nIdempotency-Key: mine\r\n"));
  EXPECT_THAT(requests.at(1), Not(HasSubstr("key-1")));
}

TEST_F(Http, WhatIsSignedVerifiesWithTheSameIdAtEveryTry) {
  const auto key = webhook::Key::Parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  ASSERT_TRUE(key) << key.message();
  CapabilityConfig config;
  config.http.allow_private_networks = true;
  config.http.webhook_keys = std::make_shared<const webhook::Keyring>(
      webhook::Keyring{{"billing", {{"127.0.0.1"}, {*key, *key}}}, {"shop", {{"shop.example.org", "*.hooks.example.org"}, {*key}}}});
  Start(config);
  SmallServer server([](const std::string&) { return SmallServer::Answer("204 No Content", ""); });
  const std::string body = R"({"type":"invoice.paid"})";
  for (const char* capability : {"net.http.post", "net.http.put", "net.http.post"})
    Apply(capability, {{"url", server.Url("/hook")}, {"body", body}, {"sign_with", "billing"}});
  for (const std::string& request : server.requests()) {
    const auto value = [&](const std::string& name) {
      const auto at = request.find("\r\n" + name + ": ");
      if (at == std::string::npos) return std::string();
      const auto begin = at + name.size() + 4;
      return request.substr(begin, request.find("\r\n", begin) - begin);
    };
    const webhook::Headers headers{value("webhook-id"), value("webhook-timestamp"), value("webhook-signature")};
    EXPECT_EQ(headers.id, "key-1");
    const Status verified = webhook::Verify(headers, body, std::vector{*key}, SystemClock().Wall());
    EXPECT_TRUE(verified) << verified.message() << "\n" << request;
    EXPECT_THAT(headers.signature, HasSubstr(" v1,")) << "one for each key";
  }
  EXPECT_EQ(server.requests().size(), 3u);
  Apply("net.http.post", {{"url", server.Url("/hook")}, {"body", body}});
  EXPECT_THAT(server.requests().back(), Not(HasSubstr("webhook-")));

  EXPECT_THAT(FailureOf("net.http.post", {{"url", server.Url()}, {"sign_with", "billing"}, {"headers", {{"Webhook-Id", "mine"}}}}),
              HasSubstr("webhook-id is set by the worker"));
  // To many receivers '_' and '-' are one character (CGI and its kin).
  for (const char* forged : {"webhook_signature", "Webhook_Id", "WEBHOOK_TIMESTAMP"}) {
    EXPECT_THAT(FailureOf("net.http.post", {{"url", server.Url()}, {"sign_with", "billing"}, {"headers", {{forged, "mine"}}}}),
                HasSubstr("is set by the worker"))
        << forged;
  }
  for (const char* forged : {"Fencing_Token", "fencing_scope", "Content_Length", "transfer_Encoding"})
    EXPECT_THAT(FailureOf("net.http.post", {{"url", server.Url()}, {"headers", {{forged, "1"}}}}), HasSubstr("is set by the worker"))
        << forged;
  const std::string elsewhere = FailureOf("net.http.post", {{"url", server.Url("/hook")}, {"body", body}, {"sign_with", "shop"}});
  EXPECT_THAT(elsewhere, HasSubstr("the key 'shop' signs nothing for host '127.0.0.1'"));
  EXPECT_EQ(server.requests().size(), 4u) << "nothing was sent";
  const StepResult unknown = Call("net.http.post", {{"url", server.Url()}, {"sign_with", "shipping"}});
  EXPECT_EQ(unknown.outcome, Outcome::kFailed);
  EXPECT_TRUE(unknown.retryable) << "another worker may have it";
  EXPECT_THAT(unknown.error, HasSubstr("no webhook key 'shipping'"));
  Allow();
  EXPECT_THAT(FailureOf("net.http.post", {{"url", server.Url()}, {"sign_with", "billing"}}), HasSubstr("webhook_keys_file"));
}

TEST_F(Http, LoopbackIsRefusedByDefaultInEverySpelling) {
  SmallServer server([](const std::string&) { return SmallServer::Answer("200 OK", "secret"); });
  Start();
  std::string port = ":" + std::to_string(server.port()) + "/";
  for (std::string host : {"127.0.0.1",
                           "127.1",
                           "0x7f.1",
                           "0x7f000001",
                           "2130706433",
                           "0177.0.0.1",
                           "017700000001",
                           "localhost",
                           "LOCALHOST",
                           "localhost.",
                           "127.0.0.1.",
                           "[::1]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:7f00:1]",
                           "[0:0:0:0:0:ffff:127.0.0.1]",
                           "0",
                           "0.0.0.0",
                           "[::]",
                           "127.255.255.254",
                           "[::127.0.0.1]",
                           "[64:ff9b::7f00:1]"}) {
    StepResult result = Call("net.http.get", {{"url", "http://" + host + port}, {"timeout", 5}});
    EXPECT_EQ(result.outcome, Outcome::kFailed) << host << " " << result.outputs;
  }
  EXPECT_EQ(server.connections(), 0) << "nothing reached the listener";
  EXPECT_THAT(FailureOf("net.http.get", {{"url", server.Url()}}), HasSubstr("not public (loopback)"));
}

TEST_F(Http, RedirectsAreFollowedWithinBoundsAndCheckedAnew) {
  SmallServer* other = nullptr;
  SmallServer server([&](const std::string& request) -> std::optional<std::string> {
    auto to = [](const std::string& where) { return SmallServer::Answer("302 Found", "", "Location: " + where + "\r\n"); };
    if (request.starts_with("GET /once ")) return to("/end");
    if (request.starts_with("GET /loop ")) return to("/loop");
    if (request.starts_with("GET /file ")) return to("file:///etc/passwd");
    if (request.starts_with("GET /user ")) return to("http://a:b@127.0.0.1/");
    if (request.starts_with("GET /other ")) return to(other->Url("/x"));
    if (request.find(" /elsewhere ") < 5) return SmallServer::Answer("303 See Other", "", "Location: /end\r\n");
    return SmallServer::Answer("200 OK", "end");
  });
  SmallServer second([](const std::string&) { return SmallServer::Answer("200 OK", "second"); });
  other = &second;
  EXPECT_EQ(Apply("net.http.get", {{"url", server.Url("/once")}}).outputs["body"], "end");
  EXPECT_EQ(Apply("net.http.get", {{"url", server.Url("/once")}, {"follow_redirects", false}}).outputs["status_code"], 302);
  for (const char* method : {"net.http.post", "net.http.put"}) {
    const StepResult result = Call(method, {{"url", server.Url("/elsewhere")}, {"body", "b"}, {"follow_redirects", true}});
    EXPECT_EQ(result.outputs["status_code"], 303) << method << ": what was done here is not done there too";
  }
  EXPECT_THAT(FailureOf("net.http.get", {{"url", server.Url("/loop")}}), HasSubstr("more than 5 redirects"));
  EXPECT_THAT(FailureOf("net.http.get", {{"url", server.Url("/file")}}), HasSubstr("scheme 'file'"));
  EXPECT_THAT(FailureOf("net.http.get", {{"url", server.Url("/user")}}), HasSubstr("user or password"));
  // Another origin gets no secrets, neither the caller's nor ours.
  Json headers{{"Accept", "text/plain"}, {"If-None-Match", "\"tag\""}};
  const std::vector<std::string> secrets{"Authorization",       "Cookie",          "X-Api-Key",     "X-Auth-Token",
                                         "Private-Token",       "X-Plain",         "Api_Key",       "X-Amz-Security-Token",
                                         "Proxy-Authorization", "Idempotency-Key", "X-GitHub-Token"};
  for (const std::string& secret : secrets) headers[secret] = "hush";
  EXPECT_EQ(Apply("net.http.get", {{"url", server.Url("/other")}, {"headers", headers}}).outputs["body"], "second");
  std::string there = second.requests().at(0);
  EXPECT_THAT(there, HasSubstr("Accept: text/plain"));
  EXPECT_THAT(there, HasSubstr("If-None-Match: "));
  for (const std::string& secret : secrets) EXPECT_THAT(there, Not(HasSubstr(secret)));
  EXPECT_THAT(there, Not(HasSubstr("hush")));
  for (const char* ours : {"Fencing-Token", "traceparent"}) EXPECT_THAT(there, Not(HasSubstr(ours)));
  // POST does not follow.
  EXPECT_EQ(Apply("net.http.post", {{"url", server.Url("/once")}}).outputs["status_code"], 200) << "only GET /once redirects";
}

TEST_F(Http, ALostAnswerIsUnknownOnlyWhereItMatters) {
  SmallServer server([](const std::string&) { return std::nullopt; });  // takes the request, closes
  EXPECT_EQ(Call("net.http.post", {{"url", server.Url()}, {"body", "x"}}).outcome, Outcome::kUnknown);
  StepResult get = Call("net.http.get", {{"url", server.Url()}});
  EXPECT_EQ(get.outcome, Outcome::kFailed);
  EXPECT_TRUE(get.retryable);
  StepResult put = Call("net.http.put", {{"url", server.Url()}, {"body", "x"}});
  EXPECT_EQ(put.outcome, Outcome::kFailed);
  EXPECT_TRUE(put.retryable);
}

TEST_F(Http, OnlyWhatMayBeRepeatedGoesOverAConnectionThatWasKept) {
  SmallServer server([](const std::string&) { return SmallServer::Kept("200 OK", "here"); });
  for (const char* capability : {"net.http.get", "net.http.put", "net.http.get"}) Apply(capability, {{"url", server.Url()}});
  EXPECT_EQ(server.connections(), 1);
  Apply("net.http.post", {{"url", server.Url()}});
  Apply("net.http.post", {{"url", server.Url()}});
  EXPECT_EQ(server.connections(), 3) << "a connection of its own";
  Apply("net.http.put", {{"url", server.Url()}});
  EXPECT_EQ(server.connections(), 3);
  EXPECT_EQ(server.requests().size(), 6u);
}

TEST_F(Http, AKeptConnectionThatTheServerClosedIsNotedByNobody) {
  // The first answer promises to keep the connection; what comes over it next is not answered, as by a server that is closing it.
  int requests = 0;
  SmallServer server([&](const std::string&) -> std::optional<std::string> {
    return ++requests == 2 ? std::nullopt : std::optional(SmallServer::Kept("200 OK", std::to_string(requests)));
  });
  Apply("net.http.get", {{"url", server.Url()}});
  EXPECT_EQ(Apply("net.http.put", {{"url", server.Url()}, {"body", "x"}}).outputs["body"], "3") << "sent again over a new one";
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(server.requests().at(1), server.requests().at(2));
  // A new connection that ends so is a lost answer, for the engine to judge.
  SmallServer silent([](const std::string&) { return std::nullopt; });
  EXPECT_EQ(Call("net.http.put", {{"url", silent.Url()}}).outcome, Outcome::kFailed);
  EXPECT_EQ(silent.requests().size(), 1u);
}

TEST_F(Http, AnAnswerThatNobodyAskedForIsNobodysAnswer) {
  // As if it were the answer to what is asked next: with an answer, and after one.
  const std::string unasked = SmallServer::Kept("200 OK", "false");
  for (const bool at_once : {true, false}) {
    SCOPED_TRACE(at_once);
    std::atomic<int> requests{0};
    SmallServer server([&](const std::string&) {
      const int n = ++requests;
      return SmallServer::Kept("200 OK", std::to_string(n)) + (n == 1 && at_once ? unasked : "");
    });
    EXPECT_EQ(Apply("net.http.get", {{"url", server.Url()}}).outputs["body"], "1");
    if (!at_once) server.Say(unasked);
    EXPECT_EQ(Apply("net.http.get", {{"url", server.Url()}}).outputs["body"], "2");
    EXPECT_EQ(server.connections(), 2) << "the first is not trusted any more";
  }
}

TEST_F(Http, ARefusedConnectionIsAKnownFailureThatNamesItsAddress) {
  int port = 0;
  {
    port = SmallServer([](const std::string&) { return std::nullopt; }).port();
  }
  const std::string origin = "http://127.0.0.1:" + std::to_string(port);
  StepResult result = Call("net.http.post", {{"url", origin + "/path?token=secret"}});
  EXPECT_EQ(result.outcome, Outcome::kFailed) << "nothing was sent";
  EXPECT_TRUE(result.retryable);
  EXPECT_NE(result.error.find(origin + ": "), std::string::npos) << result.error;
  EXPECT_EQ(result.error.find("secret"), std::string::npos) << result.error;
  EXPECT_NE(Call("net.http.get", {{"url", "http://nobody.invalid:81/"}}).error.find("http://nobody.invalid:81: "), std::string::npos);
}

TEST_F(Http, TimeoutAndStopEndTheCall) {
  std::atomic<bool> release{false};
  SmallServer server([&](const std::string&) -> std::optional<std::string> {
    release.wait(false);
    return std::nullopt;
  });
  EXPECT_EQ(Call("net.http.get", {{"url", server.Url()}, {"timeout", 0.2}}).outcome, Outcome::kTimedOut);
  release = true;
  release.notify_all();
  StopToken stop;
  stop.Stop();
  EXPECT_EQ(Call("net.http.get", {{"url", server.Url()}}, stop).outcome, Outcome::kNotStarted);
}

TEST_F(Http, APostThatTimesOutAfterSendingIsUnknown) {
  std::atomic<bool> release{false};
  SmallServer server([&](const std::string&) -> std::optional<std::string> {
    release.wait(false);
    return std::nullopt;
  });
  StepResult result = Call("net.http.post", {{"url", server.Url()}, {"timeout", 0.5}});
  release = true;
  release.notify_all();
  EXPECT_EQ(result.outcome, Outcome::kUnknown) << result.error;
}

TEST_F(Http, CapsHold) {
  SmallServer server([](const std::string& request) {
    if (request.starts_with("GET /headers")) return SmallServer::Answer("200 OK", "", "X-Big: " + std::string(70'000, 'x') + "\r\n");
    return SmallServer::Answer("200 OK", std::string(20'000, 'x'));
  });
  EXPECT_THAT(FailureOf("net.http.get", {{"url", server.Url()}}), HasSubstr("larger than allowed"));
  EXPECT_THAT(FailureOf("net.http.get", {{"url", server.Url("/headers")}}), HasSubstr("larger than allowed"));
}

TEST_F(Http, BytesThatCannotBeStoredAreReplaced) {
  SmallServer server([](const std::string&) { return SmallServer::Answer("200 OK", std::string("a\0b\xff", 4)); });
  EXPECT_EQ(Apply("net.http.get", {{"url", server.Url()}}).outputs["body"], "a\uFFFDb\uFFFD");
}

TEST_F(Http, HeadersThatWouldSmuggleAreRefused) {
  const Json table[] = {
      {{"X", "a\r\nY: b"}},     {{"X\r\nY", "b"}}, {{"Host", "evil"}},     {{"content-length", "5"}}, {{"Transfer-Encoding", "chunked"}},
      {{"fencing-token", "1"}}, {{"", "x"}},       {{"X", Json::array()}}, {{"X", nullptr}},          {{"X Y", "b"}}};
  for (const auto& headers : table)
    EXPECT_THAT(FailureOf("net.http.get", {{"url", "http://127.0.0.1:1/"}, {"headers", headers}}), HasSubstr("headers:")) << headers;
}

TEST_F(Http, ProxiesOfTheEnvironmentAreNotUsed) {
  SmallServer proxy([](const std::string&) { return SmallServer::Answer("200 OK", "proxy"); });
  SmallServer server([](const std::string&) { return SmallServer::Answer("200 OK", "direct"); });
  ::setenv("http_proxy", proxy.Url().c_str(), 1);
  EXPECT_EQ(Apply("net.http.get", {{"url", server.Url()}}).outputs["body"], "direct");
  ::unsetenv("http_proxy");
}

TEST_F(Http, WhatMayNotStandInAUrlIsEncoded) {
  SmallServer server([](const std::string& request) {
    const bool first = request.starts_with("GET /caf");
    return first ? SmallServer::Answer("302 Found", "", "Location: /nächste?a=ö\r\n") : SmallServer::Answer("200 OK", "");
  });
  Apply("net.http.get", {{"url", server.Url("/café/a b?x=ß&y=%41+1&q=\"{z}\"|#é")}});
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_THAT(server.requests()[0], StartsWith("GET /caf%C3%A9/a%20b?x=%C3%9F&y=%41+1&q=%22%7Bz%7D%22%7C HTTP/1.1\r\n"));
  EXPECT_THAT(server.requests()[1], StartsWith("GET /n%c3%a4chste?a=%c3%b6 HTTP/1.1\r\n"));
}

TEST_F(Http, AFoldedHeaderOfAnAnswerIsOneValue) {
  SmallServer server([](const std::string&) {
    return SmallServer::Answer("200 OK", "x", "X-Long: one\r\n  two\r\n\tthree \r\n \r\nX-Next: 4\r\nX-Long: five\r\n six\r\n");
  });
  const Json headers = Apply("net.http.get", {{"url", server.Url()}}).outputs["headers"];
  EXPECT_EQ(headers["X-Long"], "one two three, five six");
  EXPECT_EQ(headers["X-Next"], "4");
}

// method, status, expect_status, retry_on -> outcome: a result, a failure that is tried again, one that is not.
TEST_F(Http, AFileSaysWhichStatusesAreAnswers) {
  enum class Ends { kResult, kAgain, kFails };
  struct Row {
    const char* method;
    int status;
    Json expected, retried;
    Ends ends;
  };
  const Json none, ok = "200-299", list = {200, "404"};
  const Row rows[] = {
      {"get", 500, none, none, Ends::kResult}, {"get", 200, ok, none, Ends::kResult},   {"get", 299, ok, none, Ends::kResult},
      {"get", 300, ok, none, Ends::kFails},    {"get", 404, list, none, Ends::kResult}, {"get", 201, list, none, Ends::kFails},
      {"get", 500, ok, none, Ends::kAgain},    {"get", 502, ok, none, Ends::kAgain},    {"get", 429, ok, none, Ends::kAgain},
      {"get", 501, ok, none, Ends::kFails},    {"post", 500, ok, none, Ends::kFails},   {"post", 504, ok, none, Ends::kFails},
      {"post", 503, ok, none, Ends::kAgain},   {"post", 429, ok, none, Ends::kAgain},   {"put", 500, ok, none, Ends::kAgain},
      {"get", 404, none, list, Ends::kAgain},  {"get", 200, none, 404, Ends::kResult},  {"get", 503, none, 404, Ends::kResult},
      {"post", 500, ok, 500, Ends::kAgain},    {"get", 503, ok, 404, Ends::kFails},     {"get", 404, list, 404, Ends::kAgain},
      {"get", 200, 200, none, Ends::kResult},  {"get", 418, 418, none, Ends::kResult},
  };
  for (const Row& row : rows) {
    SmallServer server([&](const std::string&) { return SmallServer::Answer(std::to_string(row.status) + " X", "why"); });
    Json parameters = {{"url", server.Url()}, {"follow_redirects", false}};
    if (std::string(row.method) != "get") parameters.erase("follow_redirects");
    if (!row.expected.is_null()) parameters["expect_status"] = row.expected;
    if (!row.retried.is_null()) parameters["retry_on"] = row.retried;
    const StepResult result = Call(std::string("net.http.") + row.method, parameters);
    const std::string what = std::string(row.method) + " " + std::to_string(row.status) + " " + row.expected.dump() + row.retried.dump();
    if (row.ends == Ends::kResult) {
      EXPECT_EQ(result.outcome, StepResult::Outcome::kSucceeded) << what << result.error;
      EXPECT_EQ(result.outputs["success"], !row.expected.is_null() || row.status == 200) << what;
      continue;
    }
    EXPECT_EQ(result.outcome, StepResult::Outcome::kFailed) << what;
    EXPECT_EQ(result.retryable, row.ends == Ends::kAgain) << what;
    EXPECT_THAT(result.error, HasSubstr("status " + std::to_string(row.status) + ": why")) << what;
  }
}

TEST_F(Http, RetryAfterDelaysTheNextAttempt) {
  const std::pair<std::string, int> table[] = {{"", 0},
                                               {"7", 7},
                                               {"0", 0},
                                               {"999999999999999999999", 3600},
                                               {"86400", 3600},
                                               {"soon", 0},
                                               {"Wed, 21 Oct 2015 07:28:00 GMT", 0},
                                               {"Wed, 21 Oct 2099 07:28:00 GMT", 3600}};
  for (const auto& [header, wait] : table) {
    SmallServer server([&, said = header](const std::string&) {
      return SmallServer::Answer("503 Busy", "", said.empty() ? "" : "Retry-After: " + said + "\r\n");
    });
    const StepResult result = Call("net.http.get", {{"url", server.Url()}, {"expect_status", 200}});
    EXPECT_TRUE(result.retryable);
    EXPECT_EQ(result.retry_after, std::chrono::seconds(wait)) << header;
  }
}

TEST_F(Http, ABodyThatSaysItIsJsonIsAValue) {
  const auto answers = [&](const std::string& body, const std::string& type, const Json& parse = nullptr) {
    SmallServer server([&](const std::string&) { return SmallServer::Answer("200 OK", body, "Content-Type: " + type + "\r\n"); });
    Json parameters = {{"url", server.Url()}};
    if (!parse.is_null()) parameters["parse_json"] = parse;
    return Call("net.http.get", parameters);
  };
  const std::string body = R"({"city":"Köln","n":12345678901234567890123,"a":1,"a":{"b":2}})";
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8", "application/problem+json"}) {
    const Json outputs = answers(body, type).outputs;
    EXPECT_EQ(outputs["json"], *ParseJson(R"({"city":"Köln","n":"12345678901234567890123","a":{"b":2}})")) << type;
    EXPECT_EQ(outputs["body"], body);
  }
  EXPECT_FALSE(answers(body, "text/plain").outputs.contains("json"));
  EXPECT_TRUE(answers(body, "text/plain", true).outputs.contains("json"));
  EXPECT_FALSE(answers(body, "application/json", false).outputs.contains("json"));
  // What is no JSON is no failure of a read, unless the file wants JSON.
  const StepResult broken = answers("{oops", "application/json");
  EXPECT_EQ(broken.outcome, StepResult::Outcome::kSucceeded);
  EXPECT_FALSE(broken.outputs.contains("json"));
  EXPECT_THAT(answers("{oops", "text/plain", true).error, HasSubstr("parse_json: the body (status 200) is not valid JSON"));
  std::string deep = "1";
  for (int i = 0; i < 70; ++i) deep = "[" + deep + "]";
  EXPECT_EQ(answers(deep, "application/json").outcome, StepResult::Outcome::kSucceeded);
}

TEST_F(Http, WhereNoThreadIsToBeHadNothingIsSentAndNoAttemptIsCharged) {
  SmallServer server([](const std::string&) { return SmallServer::Answer("200 OK", "here"); });
  {
    const test::NoThreads none;
    const StepResult result = Call("net.http.post", {{"url", server.Url()}, {"body", "x"}});
    EXPECT_EQ(result.outcome, Outcome::kNotStarted);
    EXPECT_THAT(result.short_of, HasSubstr("no further thread can be had"));
  }
  EXPECT_EQ(Call("net.http.post", {{"url", server.Url()}, {"body", "x"}}).outcome, Outcome::kSucceeded);
  EXPECT_EQ(server.requests().size(), 1u);
}

}  // namespace
}  // namespace acl
