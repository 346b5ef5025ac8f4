#include "tests/unit/aegis/provider_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shared/base/read_file.h"

namespace acl::aegis::test {
namespace {

const char* FinishName(Finish finish) {
  switch (finish) {
    case Finish::kStop: return "stop";
    case Finish::kLength: return "length";
    case Finish::kToolCalls: return "tool_calls";
    case Finish::kRefused: return "refused";
    default: return "other";
  }
}

Json UsageShown(const ModelAnswer& answer) {
  if (answer.usage_missing) return Json();
  return {{"prompt", answer.usage.prompt},
          {"completion", answer.usage.completion},
          {"cached", answer.usage.cached},
          {"cache_written", answer.usage.cache_written}};
}

Json FailureShown(const ModelFailure& failure) {
  Json out = {{"failure", NameOf(failure.code)}, {"ran", failure.ran == Ran::kNo ? "no" : failure.ran == Ran::kYes ? "yes" : "maybe"}};
  if (failure.prompt_tokens) out["prompt_tokens"] = *failure.prompt_tokens;
  if (failure.context_tokens) out["context_tokens"] = *failure.context_tokens;
  if (failure.retry_after) out["retry_after_ms"] = failure.retry_after->count();
  return out;
}

}  // namespace

std::vector<ProviderFixture> ProviderFixtures() {
  std::vector<ProviderFixture> fixtures;
  for (const auto& entry : std::filesystem::directory_iterator(ACL_SOURCE_DIR "/tests/data/aegis/providers")) {
    const auto text = ReadFile(entry.path().string(), 1 << 20);
    const auto json = text ? ParseJson(*text) : Result<Json>(text.error());
    if (!json) {
      ADD_FAILURE() << entry.path() << ": " << json.message();
      continue;
    }
    ProviderFixture fixture{.name = entry.path().stem().string()};
    fixture.kind = json->at("kind") == "anthropic" ? ProviderKind::kAnthropic : ProviderKind::kOpenAi;
    fixture.stream = json->at("stream").get<bool>();
    fixture.status = json->at("status").get<int>();
    for (const auto& [name, value] : json->at("headers").items()) fixture.headers.emplace_back(name, value.get<std::string>());
    const Json& lines = json->at("body");
    for (std::size_t i = 0; i < lines.size(); ++i) fixture.body += (i > 0 ? "\n" : "") + lines[i].get<std::string>();
    fixture.expect = json->at("expect");
    fixtures.push_back(std::move(fixture));
  }
  std::sort(fixtures.begin(), fixtures.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return fixtures;
}

Json Shown(const ModelResult& result) {
  if (!result) return FailureShown(result.failure());
  Json calls = Json::array();
  for (const ToolCall& call : result->tool_calls) calls.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  return {{"text", result->text},
          {"finish", FinishName(result->finish)},
          {"finish_reason", result->finish_reason},
          {"usage", UsageShown(*result)},
          {"model", result->model},
          {"tool_calls", std::move(calls)},
          {"system_fingerprint", result->system_fingerprint},
          {"answer_id", result->answer_id}};
}

}  // namespace acl::aegis::test
