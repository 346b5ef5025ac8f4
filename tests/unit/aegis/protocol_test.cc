// Every recorded answer means what it says, wherever its bytes are cut.
#include "shared/aegis/provider/protocol.h"

#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "tests/unit/aegis/provider_fixtures.h"

namespace acl::aegis {
namespace {

using test::ProviderFixture;
using test::ProviderFixtures;
using test::Shown;

// As the client reads it, in these pieces. `given`: what went to on_delta.
ModelResult Read(const ProviderFixture& fixture, const std::vector<std::string_view>& pieces, std::string* given = nullptr) {
  if (fixture.status != 200) return DecodeFailure(fixture.status, fixture.headers, fixture.body, WallTime{});
  AnswerBytes bytes(ProtocolOf(fixture.kind), fixture.stream, [&](std::string_view text) {
    if (given != nullptr) given->append(text);
  });
  for (const std::string_view piece : pieces) {
    if (auto failed = bytes.Take(piece)) return *std::move(failed);
  }
  return bytes.Finish();
}

TEST(Protocols, EveryFixtureMeansWhatItSays) {
  const auto fixtures = ProviderFixtures();
  EXPECT_GE(fixtures.size(), 40u);
  for (const auto& fixture : fixtures) {
    std::string given;
    const auto result = Read(fixture, {fixture.body}, &given);
    EXPECT_EQ(DumpJson(Shown(result)), DumpJson(fixture.expect)) << fixture.name;
    if (result && fixture.stream) {
      EXPECT_EQ(given, result->text) << fixture.name;
    }
  }
}

TEST(Protocols, CutAtEveryByteItIsTheSame) {
  for (const auto& fixture : ProviderFixtures()) {
    if (fixture.status != 200) continue;
    const std::string_view body = fixture.body;
    const std::string expected = DumpJson(fixture.expect);
    for (std::size_t cut = 0; cut <= body.size(); ++cut) {
      std::string given;
      const auto result = Read(fixture, {body.substr(0, cut), body.substr(cut)}, &given);
      ASSERT_EQ(DumpJson(Shown(result)), expected) << fixture.name << " cut at " << cut;
      if (result && fixture.stream) {
        ASSERT_EQ(given, result->text) << fixture.name << " cut at " << cut;
      }
    }
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < body.size(); ++i) bytes.push_back(body.substr(i, 1));
    EXPECT_EQ(DumpJson(Shown(Read(fixture, bytes))), expected) << fixture.name << " byte by byte";
  }
}

// A stream that ends too early is never taken for an answer: not even where all text has come.
TEST(Protocols, AStreamThatBreaksOffIsNoAnswerUnlessItsEndHasCome) {
  for (const auto& fixture : ProviderFixtures()) {
    if (fixture.status != 200 || !fixture.stream || fixture.expect.contains("failure") || fixture.body.starts_with("{")) continue;
    const std::string reason = "\"" + fixture.expect.at("finish_reason").get<std::string>() + "\"";
    const auto said = fixture.body.find(reason);
    ASSERT_NE(said, std::string::npos) << fixture.name;
    for (std::size_t size = 0; size < fixture.body.size(); ++size) {
      const auto result = Read(fixture, {std::string_view(fixture.body).substr(0, size)});
      if (result) {
        EXPECT_GT(size, said) << fixture.name;
        EXPECT_EQ(result->text, fixture.expect.at("text").get<std::string>()) << fixture.name << " at " << size;
      } else {
        EXPECT_EQ(result.failure().code, Failure::kTruncatedStream) << fixture.name << " at " << size;
      }
    }
  }
}

TEST(Protocols, NothingOfAPromptStandsInAFailure) {
  int seen = 0;
  for (const auto& fixture : ProviderFixtures()) {
    if (fixture.body.find("CANARY") == std::string::npos && fixture.headers.empty()) continue;
    const auto result = Read(fixture, {fixture.body});
    ASSERT_FALSE(result) << fixture.name;
    const ModelFailure& failure = result.failure();
    EXPECT_EQ(Describe(failure).find("CANARY"), std::string::npos) << fixture.name;
    EXPECT_EQ((failure.detail + failure.request_id).find("CANARY"), std::string::npos) << fixture.name;
    ++seen;
  }
  EXPECT_GE(seen, 15);
}

TEST(Protocols, ADateInRetryAfterIsCountedFromNow) {
  const auto now = *ParseWallTime("2026-11-27T10:00:00Z");
  const auto failure = DecodeFailure(503, {{"Retry-After", "Fri, 27 Nov 2026 10:00:30 GMT"}}, "", now);
  EXPECT_EQ(failure.retry_after, std::chrono::milliseconds(30'000));
  EXPECT_EQ(DecodeFailure(503, {{"Retry-After", "Fri, 27 Nov 2026 09:00:00 GMT"}}, "", now).retry_after, std::chrono::milliseconds(0));
  EXPECT_FALSE(DecodeFailure(503, {{"Retry-After", "soon"}}, "", now).retry_after);
}

TEST(Protocols, TooMuchIsRefused) {
  AnswerBytes bytes(ProtocolOf(ProviderKind::kOpenAi), true, {});
  const std::string piece(1u << 20, 'x');
  std::optional<ModelFailure> failed = bytes.Take("data: ");
  for (int i = 0; i < 5 && !failed; ++i) failed = bytes.Take(piece);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, Failure::kTooLarge);
  EXPECT_EQ(failed->ran, Ran::kYes);
}

ModelRequest EverythingAsked() {
  ModelRequest request;
  request.model = "m";
  request.messages = {{Role::kSystem, "be brief"},
                      {Role::kUser, "how is a?"},
                      {Role::kAssistant, "", {{"call_1", "sys_health", "{\"host\":\"a\"}"}, {"call_2", "disk_usage", "broken"}}},
                      {Role::kTool, "up", {}, "call_1"},
                      {Role::kTool, "12 %", {}, "call_2"},
                      {Role::kUser, "and?"}};
  request.max_tokens = 64;
  request.temperature = 0.5;
  request.seed = 7;
  request.stop = {"END"};
  request.response_schema = Json{{"type", "object"}};
  request.tools = {{"sys_health", "how a host is", Json{{"type", "object"}}}};
  request.tool_choice = ToolChoice::kRequired;
  return request;
}

TEST(Protocols, ARequestAsChatCompletions) {
  const auto wire = ProtocolOf(ProviderKind::kOpenAi).Encode(EverythingAsked(), true, {});
  EXPECT_EQ(wire.path, "/chat/completions");
  EXPECT_EQ(
      DumpJson(wire.body),
      R"({"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"how is a?"},)"
      R"({"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"sys_health","arguments":"{\"host\":\"a\"}"}},)"
      R"({"id":"call_2","type":"function","function":{"name":"disk_usage","arguments":"broken"}}]},)"
      R"({"role":"tool","content":"up","tool_call_id":"call_1"},{"role":"tool","content":"12 %","tool_call_id":"call_2"},{"role":"user","content":"and?"}],)"
      R"("max_tokens":64,"temperature":0.5,"seed":7,"stop":["END"],"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}},)"
      R"("tools":[{"type":"function","function":{"name":"sys_health","description":"how a host is","parameters":{"type":"object"}}}],"tool_choice":"required",)"
      R"("stream":true,"stream_options":{"include_usage":true}})");
}

TEST(Protocols, ARequestAsMessages) {
  const auto wire = ProtocolOf(ProviderKind::kAnthropic).Encode(EverythingAsked(), false, {});
  EXPECT_EQ(wire.path, "/messages");
  EXPECT_EQ(wire.headers, (Headers{{"anthropic-version", "2023-06-01"}}));
  EXPECT_EQ(
      DumpJson(wire.body),
      R"({"model":"m","max_tokens":64,"system":"be brief","messages":[{"role":"user","content":"how is a?"},)"
      R"({"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"sys_health","input":{"host":"a"}},{"type":"tool_use","id":"call_2","name":"disk_usage","input":{"text":"broken"}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"up"},{"type":"tool_result","tool_use_id":"call_2","content":"12 %"}]},)"
      R"({"role":"user","content":"and?"}],"temperature":0.5,"stop_sequences":["END"],"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},)"
      R"("tools":[{"name":"sys_health","description":"how a host is","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}})");
}

TEST(Protocols, WhatComesAgainIsMarkedWhereTheProviderWantsToKnow) {
  ModelRequest request{.messages = {{Role::kSystem, "kernel"}, {Role::kSystem, "tools"}, {Role::kUser, "facts"}, {Role::kUser, "now?"}}};
  const auto anthropic = [&] { return ProtocolOf(ProviderKind::kAnthropic).Encode(request, false, {}).body; };
  const auto plain = ProtocolOf(ProviderKind::kOpenAi).Encode(request, false, {}).body;
  EXPECT_EQ(anthropic().at("system"), "kernel\n\ntools");
  request.messages[1].cache_to_here = request.messages[2].cache_to_here = true;
  EXPECT_EQ(DumpJson(anthropic().at("system")),
            R"([{"type":"text","text":"kernel"},{"type":"text","text":"tools","cache_control":{"type":"ephemeral"}}])");
  EXPECT_EQ(
      DumpJson(anthropic().at("messages")),
      R"([{"role":"user","content":[{"type":"text","text":"facts","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"now?"}])");
  EXPECT_EQ(ProtocolOf(ProviderKind::kOpenAi).Encode(request, false, {}).body, plain);
}

TEST(Protocols, AWebPageIsNoStream) {
  AnswerBytes bytes(ProtocolOf(ProviderKind::kOpenAi), true, {});
  const auto failed = bytes.Take("<html>hello</html>");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, Failure::kMalformedAnswer);
}

TEST(Protocols, WhatAServerDoesNotTakeIsLeftOut) {
  const Dialect dialect{.omit = {"temperature", "seed", "stream_options"}, .max_tokens_name = "max_completion_tokens"};
  const auto body = ProtocolOf(ProviderKind::kOpenAi).Encode(EverythingAsked(), true, dialect).body;
  for (const char* name : {"temperature", "seed", "stream_options", "max_tokens"}) EXPECT_FALSE(body.contains(name)) << name;
  EXPECT_EQ(body.at("max_completion_tokens"), 64);
}

TEST(SseReader, LinesEndInAnyOfThreeWays) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string text = "\xEF\xBB\xBF: hello" + end + "event: a" + end + "data: 1" + end + "data:2" + end + "id: 7" + end + end +
                             "event: dropped" + end + end + "data" + end + end + "data: last" + end;
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      SseReader reader(1000);
      std::vector<SseEvent> events;
      ASSERT_TRUE(reader.Feed(std::string_view(text).substr(0, cut), events));
      ASSERT_TRUE(reader.Feed(std::string_view(text).substr(cut), events));
      reader.Finish(events);
      ASSERT_EQ(events, (std::vector<SseEvent>{{"a", "1\n2"}, {"", ""}, {"", "last"}})) << cut;
    }
  }
}

}  // namespace
}  // namespace acl::aegis
