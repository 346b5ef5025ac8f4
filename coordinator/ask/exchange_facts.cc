#include "coordinator/ask/exchange_facts.h"

#include <algorithm>

#include "shared/base/json_members.h"

namespace acl::coordinator {

namespace {

std::vector<aegis::DeclaredTool> ToolsOf(const aegis::Kernel& kernel) {
  std::vector<aegis::DeclaredTool> tools;
  for (const auto& tool : kernel.observational) tools.push_back({tool.name, true, tool.from_tier <= kernel.tier, tool.verbs});
  // None is allowed by itself: people and policy dispose.
  for (const auto& tool : kernel.actuation) tools.push_back({tool.name, false, false, tool.verbs, tool.MayBeProposed(kernel.tier)});
  return tools;
}

std::vector<aegis::SightOf> SightIn(const Json& bundle) {
  std::vector<aegis::SightOf> all;
  const Json sight = bundle.value("sight", Json::object());  // outlives the loop: items() refers to it
  for (const auto& [tool, entry] : sight.items()) {
    aegis::SightOf one;
    one.tool = tool;
    one.available = entry.value("available", false);
    one.values = entry.value("values", Json::object());
    one.reason = TextIn(entry, "reason");
    for (const Json& unknown : entry.value("unknowns", Json::array())) {
      if (unknown.is_string()) one.unknowns.push_back(unknown);
    }
    all.push_back(std::move(one));
  }
  return all;
}

Json UsageJson(const aegis::ModelAnswer& answer) {
  return {{"prompt", answer.usage.prompt},
          {"completion", answer.usage.completion},
          {"cached", answer.usage.cached},
          {"missing", answer.usage_missing}};
}

}  // namespace

std::string WordOf(std::string_view code) {
  std::string word(code);
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

aegis::ValidationInput InputOf(const aegis::Kernel& kernel, const aegis::CompiledBundle& bundle, const std::string& question,
                               const aegis::ModelAnswer& answer) {
  aegis::ValidationInput input;
  input.response = answer.text;
  input.user_input = question;
  for (const aegis::BundleEntry& entry : aegis::EntriesOf(bundle.json()))
    input.sources.push_back({entry.id, entry.text, entry.trust == aegis::Trust::kTrusted});
  input.sight = SightIn(bundle.json());
  input.tools = ToolsOf(kernel);
  input.permitted_verbs = kernel.permits;
  for (const aegis::ToolCall& call : answer.tool_calls) {
    auto arguments = ParseJson(call.arguments);
    input.tool_calls.push_back({call.name, arguments ? std::move(*arguments) : Json()});
  }
  return input;
}

Json AnswerFacts(const aegis::ModelAnswer& answer) {
  return {{"provider", answer.provider},
          {"model", answer.model},
          {"finish_reason", answer.finish_reason},
          {"system_fingerprint", answer.system_fingerprint},
          {"answer_id", answer.answer_id},
          {"request_id", answer.request_id},
          {"request_digest", answer.request_digest},
          {"usage", UsageJson(answer)},
          {"latency_ms", answer.latency.count()},
          {"attempts", answer.attempts}};
}

Json RefsOf(const aegis::CompiledBundle& bundle, Uuid7Maker& ids) {
  Json refs = Json::array();
  for (const aegis::IncludedArtifact& one : bundle.included()) {
    Json ref = {
        {"ref_id", ids.Make().ToString()}, {"type", one.type}, {"id", one.id}, {"reason", one.reason}, {"freshness_s", one.freshness_s}};
    ref["hash"] = one.hash.empty() ? Json() : Json(one.hash);
    if (one.observed_at != WallTime{}) ref["observed_at"] = FormatWallTime(one.observed_at);
    if (!one.risk_flags.empty()) ref["risk_flags"] = DumpJson(Json(one.risk_flags));
    refs.push_back(std::move(ref));
  }
  return refs;
}

}  // namespace acl::coordinator
