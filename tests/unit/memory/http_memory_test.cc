// The adapter against servers that are well, slow, wrong, lying or closed to us.
#include "shared/memory/http_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>

#include "shared/memory/memory.h"
#include "tests/support/small_server.h"
#include "tests/support/tls_front.h"
#include "tests/unit/memory/billing_project.h"

namespace acl::memory {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kToken = "not-to-be-told-to-anybody";

std::string Ok(const std::string& body) { return SmallServer::Answer("200 OK", body); }

class HttpMemoryTest : public testing::Test {
 protected:
  void Open(const std::string& url, milliseconds timeout = milliseconds(20'000)) {
    options_.url = url;
    options_.timeout = timeout;
    auto made = HttpMemory::Make(options_, clock_);
    ASSERT_TRUE(made) << made.message();
    memory_ = std::make_unique<Memory>(std::move(*made));
  }
  Result<Found> Search(const std::string& text = "rounding", std::optional<Kind> kind = std::nullopt, int most = 10) {
    auto searched = memory_->Search({kind, text, most}, work_);
    if (!searched) return searched.error();
    EXPECT_FALSE(searched->refused);
    return searched->found;
  }
  // The error of a search of a server that always answers so.
  Error ErrorOf(const std::string& answer) {
    SmallServer server([&](const std::string&) { return answer; });
    Open(server.Url(""));
    const auto found = Search();
    EXPECT_FALSE(found);
    EXPECT_THAT(found.message(), Not(HasSubstr(kToken)));
    return found.error();
  }

  SystemClock clock_;
  HttpMemoryOptions options_{.url = "", .token = kToken, .ca_file = "", .allow_private_networks = true};
  const project::Work work_ = test::BillingProject();
  std::unique_ptr<Memory> memory_;
};

TEST_F(HttpMemoryTest, ASearchBringsMarkedResults) {
  SmallServer server([](const std::string&) {
    return Ok(R"({"results":[{"id":"a","kind":"decision","text":"Half cents are rounded to even.","source":"event:P/7"},
                             {"id":"b","kind":"fact","text":"Two digits."}]})");
  });
  Open(server.Url("/team/"));
  const WallTime before = clock_.Wall();
  const auto found = Search("how is rounded?");
  ASSERT_TRUE(found) << found.message();
  ASSERT_EQ(found->results.size(), 2u);
  EXPECT_EQ(found->results[0].kind, Kind::kDecision);
  EXPECT_EQ(found->results[0].source, "event:P/7");
  EXPECT_EQ(found->results[1].text, "Two digits.");
  EXPECT_EQ(found->memory + "/team/", server.Url("/team/"));
  EXPECT_GE(found->read_at, before);
  EXPECT_LE(found->read_at, clock_.Wall());
  const Json shown = ToJson(*found);
  EXPECT_EQ(shown["results"][0]["kind"], "decision");
  EXPECT_EQ(shown["schema_version"], 1);
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, StartsWith("POST /team/v1/search HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nAuthorization: Bearer " + kToken + "\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\n\r\n{\"text\":\"how is rounded?\",\"limit\":10}"));
}

TEST_F(HttpMemoryTest, WhatIsNoResultIsDropped) {
  SmallServer server([](const std::string&) {
    return Ok(R"({"results":[{"id":"a","kind":"status","text":"t2 is done"},{"id":"b","kind":"fact"},7,
                             {"id":"c","kind":"preference","text":"Short answers."},{"id":"d","kind":"fact","text":"One."},
                             {"id":"e","kind":"fact","text":"Two."},{"id":"f","kind":"fact","text":"Three."}]})");
  });
  Open(server.Url(""));
  const auto found = Search("rounding", Kind::kFact, 2);
  ASSERT_TRUE(found) << found.message();
  ASSERT_EQ(found->results.size(), 2u);
  EXPECT_EQ(found->results[0].text, "One.");
  EXPECT_EQ(found->dropped, 5);
  EXPECT_THAT(server.requests().at(0), HasSubstr("\"kind\":\"fact\""));
}

TEST_F(HttpMemoryTest, SizeIsBounded) {
  std::string long_text;
  while (long_text.size() <= kMostResultBytes) long_text += "ä";
  Json results = Json::array();
  for (int i = 0; i < 30; ++i) results.push_back({{"id", "x"}, {"kind", "fact"}, {"text", long_text}});
  const std::string body = DumpJson(Json{{"results", results}});
  SmallServer server([&](const std::string&) { return Ok(body); });
  Open(server.Url(""));
  const auto found = Search("rounding", std::nullopt, kMostResults);
  ASSERT_TRUE(found) << found.message();
  std::size_t bytes = 0;
  for (const auto& result : found->results) {
    EXPECT_TRUE(result.cut);
    EXPECT_TRUE(CheckStorable(Json(result.text)).ok());
    bytes += result.text.size();
  }
  EXPECT_LE(bytes, kMostResultsBytes);
  EXPECT_EQ(found->dropped, 30 - int(found->results.size()));
  EXPECT_EQ(ErrorOf(Ok(std::string(kMostAnswerBytes + 1, ' '))).code, Code::kInvalid);
}

TEST_F(HttpMemoryTest, AWrongAnswerSaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf(Ok("hello")).message, HasSubstr("the memory's answer"));
  EXPECT_THAT(ErrorOf(Ok("{}")).message, HasSubstr("no list \"results\""));
  EXPECT_THAT(ErrorOf(Ok("[[[[[[[[[[[[]]]]]]]]]]]]")).message, HasSubstr("the memory's answer"));
  const Error denied = ErrorOf(SmallServer::Answer("401 Unauthorized", "you sent " + kToken));
  EXPECT_EQ(denied.code, Code::kDenied);
  EXPECT_THAT(denied.message, HasSubstr("memory_token_file"));
  EXPECT_EQ(ErrorOf(SmallServer::Answer("503 Service Unavailable", "")).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(SmallServer::Answer("429 Too Many Requests", "")).code, Code::kUnavailable);
  EXPECT_THAT(ErrorOf(SmallServer::Answer("404 Not Found", "")).message, HasSubstr("docs/guides/memory.md"));
}

TEST_F(HttpMemoryTest, ARedirectIsNotFollowed) {
  SmallServer elsewhere([](const std::string&) { return Ok(R"({"results":[]})"); });
  const Error error = ErrorOf(SmallServer::Answer("307 Temporary Redirect", "", "Location: " + elsewhere.Url() + "\r\n"));
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("set memory_url to where it is"));
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST_F(HttpMemoryTest, ASlowMemoryEndsAtItsTime) {
  std::latch over(1);
  SmallServer server([&](const std::string&) {
    over.wait();
    return std::nullopt;
  });
  Open(server.Url(""), milliseconds(50));
  const auto found = Search();
  over.count_down();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.code(), Code::kTimeout);
  EXPECT_THAT(found.message(), HasSubstr("memory_timeout_ms"));
}

TEST_F(HttpMemoryTest, OnlySoManyCallsAreOnTheirWay) {
  std::latch over(1);
  SmallServer server([&](const std::string&) {
    over.wait();
    return Ok(R"({"results":[]})");
  });
  Open(server.Url(""));
  std::atomic<int> refused{0}, found{0};
  std::vector<std::thread> callers;
  for (int i = 0; i <= HttpMemory::kMostCalls; ++i) {
    callers.emplace_back([&] {
      const auto answer = Search();
      if (answer) {
        ++found;
      } else {
        EXPECT_EQ(answer.code(), Code::kUnavailable);
        EXPECT_THAT(answer.message(), HasSubstr("on their way"));
        ++refused;
        over.count_down();  // the one too many: now the others may end
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(found, HttpMemory::kMostCalls);
}

TEST_F(HttpMemoryTest, AMemoryThatIsGoneIsUnavailable) {
  std::string url;
  {
    SmallServer server([](const std::string&) { return std::nullopt; });
    url = server.Url("");
    Open(url);
    EXPECT_EQ(Search().code(), Code::kUnavailable);
  }
  Open(url);
  const auto found = Search();
  EXPECT_EQ(found.code(), Code::kUnavailable);
  EXPECT_THAT(found.message(), AllOf(HasSubstr("memory_url"), Not(HasSubstr(kToken))));
}

TEST_F(HttpMemoryTest, PrivateAddressesAreRefusedUnlessAllowed) {
  SmallServer server([](const std::string&) { return Ok(R"({"results":[]})"); });
  options_.allow_private_networks = false;
  Open(server.Url(""));
  const auto found = Search();
  EXPECT_EQ(found.code(), Code::kDenied);
  EXPECT_THAT(found.message(), HasSubstr("memory_allow_private_networks"));
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpMemoryTest, ALearningIsSentWithItsSource) {
  SmallServer server([](const std::string&) { return SmallServer::Answer("201 Created", "{}"); });
  Open(server.Url(""));
  Learning learning{"decision", "Half cents are rounded to even.", std::chrono::hours(24 * 365), {test::kProject, 7}};
  const auto learned = memory_->Learn(learning, work_);
  ASSERT_TRUE(learned) << learned.message();
  ASSERT_FALSE(learned->refused);
  EXPECT_EQ(learned->id, learning.Id());
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, StartsWith("POST /v1/learnings HTTP/1.1\r\n"));
  const Json body = *ParseJson(request.substr(request.find("\r\n\r\n") + 4));
  EXPECT_EQ(body, (Json{{"id", learning.Id()},
                        {"kind", "decision"},
                        {"text", "Half cents are rounded to even."},
                        {"source", {{"project", test::kProject.ToString()}, {"event_seq", 7}}},
                        {"valid_for_s", 31'536'000}}));
}

TEST_F(HttpMemoryTest, WhatIsRefusedIsNotSent) {
  SmallServer server([](const std::string&) { return Ok("{}"); });
  Open(server.Url(""));
  const auto learned = memory_->Learn({"fact", "t3 is blocked", std::nullopt, {test::kProject, 7}}, work_);
  ASSERT_TRUE(learned);
  ASSERT_TRUE(learned->refused);
  EXPECT_EQ(learned->refused->reason, "WORK_ID");
  EXPECT_TRUE(learned->id.empty());
  const auto searched = memory_->Search({std::nullopt, "why is t3 blocked?", 5}, work_);
  ASSERT_TRUE(searched);
  EXPECT_TRUE(searched->refused);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpMemoryTest, ALearningIsRevokedById) {
  int asked = 0;
  SmallServer server([&](const std::string&) { return SmallServer::Answer(++asked == 1 ? "204 No Content" : "404 Not Found", ""); });
  Open(server.Url(""));
  const std::string id = Learning{"fact", "x", std::nullopt, {test::kProject, 7}}.Id();
  EXPECT_EQ(*memory_->Revoke(id), true);
  EXPECT_EQ(*memory_->Revoke(id), false);
  EXPECT_THAT(server.requests().at(0), StartsWith("DELETE /v1/learnings/" + id + " HTTP/1.1\r\n"));
  for (const char* wrong : {"", "../search", "a b", "ABCDEF"}) EXPECT_EQ(memory_->Revoke(wrong).code(), Code::kInvalid) << wrong;
  EXPECT_EQ(server.requests().size(), 2u);
}

class MemorySettings : public HttpMemoryTest {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/acl-memory-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string TokenFile(const std::string& text, unsigned mode = 0600) {
    const std::string file = folder_ + "/token";
    std::ofstream(file) << text;
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return file;
  }
  std::string folder_;
};

TEST_F(MemorySettings, TlsIsVerified) {
  SmallServer server([](const std::string&) { return Ok(R"({"results":[]})"); });
  TlsFront front(server.port(), folder_);
  Open(front.Url(""));
  EXPECT_EQ(Search().code(), Code::kUnavailable);
  EXPECT_EQ(server.requests().size(), 0u);
  options_.ca_file = front.certificate_file();
  Open(front.Url(""));
  const auto found = Search();
  EXPECT_TRUE(found) << found.message();
}

TEST_F(MemorySettings, OpenTheMemoryTheyName) {
  Settings settings;
  auto none = OpenMemory(settings, clock_);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);

  SmallServer server([](const std::string&) { return Ok(R"({"results":[]})"); });
  settings.memory_url = server.Url("");
  settings.memory_token_file = TokenFile(kToken + "\n");
  settings.memory_allow_private_networks = true;
  settings.memory_timeout = milliseconds(20'000);
  auto memory = OpenMemory(settings, clock_);
  ASSERT_TRUE(memory) << memory.message();
  EXPECT_TRUE((*memory)->Search({std::nullopt, "rounding", 3}, work_));
  EXPECT_THAT(server.requests().at(0), HasSubstr("\r\nAuthorization: Bearer " + kToken + "\r\n"));
  EXPECT_THAT(DumpJson(ShowSettings(Program::kCoordinator, settings)), Not(HasSubstr(kToken)));
}

TEST_F(MemorySettings, ThatCannotWorkAreNamed) {
  const auto problem = [&](const std::string& url, const std::string& token_file = "") {
    Settings settings;
    settings.memory_url = url;
    settings.memory_token_file = token_file;
    const auto opened = OpenMemory(settings, clock_);
    EXPECT_FALSE(opened) << url;
    EXPECT_THAT(opened.message(), Not(HasSubstr(kToken)));
    return opened ? "" : opened.message();
  };
  EXPECT_THAT(problem("memory.example"), HasSubstr("memory_url"));
  EXPECT_THAT(problem("ftp://memory.example"), HasSubstr("memory_url"));
  EXPECT_THAT(problem("https://ann:secret@memory.example"), HasSubstr("memory_url"));
  EXPECT_THAT(problem("https://memory.example/?key=1"), HasSubstr("query"));
  EXPECT_THAT(problem("http://memory.example", TokenFile(kToken)), HasSubstr("write https"));
  EXPECT_THAT(problem("https://memory.example", TokenFile(kToken, 0644)), HasSubstr("chmod 600"));
  EXPECT_THAT(problem("https://memory.example", TokenFile(kToken + "\n" + kToken)), HasSubstr("one line"));
  EXPECT_THAT(problem("https://memory.example", TokenFile("")), HasSubstr("is empty"));
  EXPECT_THAT(problem("https://memory.example", folder_ + "/none"), HasSubstr("memory_token_file"));
}

}  // namespace
}  // namespace acl::memory
