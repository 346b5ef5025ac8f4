#include <algorithm>

#include "shared/aegis/provider/openai_chat.h"

namespace acl::aegis {
namespace {

const char* OpenAiRole(Role role) {
  switch (role) {
    case Role::kSystem: return "system";
    case Role::kAssistant: return "assistant";
    case Role::kTool: return "tool";
    default: return "user";
  }
}

Json OpenAiMessage(const Message& message) {
  Json out = {{"role", OpenAiRole(message.role)}, {"content", message.content}};
  for (const ToolCall& call : message.tool_calls) {
    out["tool_calls"].push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  if (message.role == Role::kTool) out["tool_call_id"] = message.tool_call_id;
  return out;
}

const char* OpenAiToolChoice(ToolChoice choice) {
  return choice == ToolChoice::kRequired ? "required" : choice == ToolChoice::kNone ? "none" : "auto";
}

}  // namespace

WireRequest OpenAiChat::Encode(const ModelRequest& request, bool stream, const Dialect& dialect) const {
  Json body = Json::object();
  const auto put = [&](const std::string& name, Json value) {
    if (std::find(dialect.omit.begin(), dialect.omit.end(), name) == dialect.omit.end()) body[name] = std::move(value);
  };
  put("model", request.model);
  Json messages = Json::array();
  for (const Message& message : request.messages) messages.push_back(OpenAiMessage(message));
  put("messages", std::move(messages));
  put(dialect.max_tokens_name, request.max_tokens);
  if (request.temperature) put("temperature", *request.temperature);
  if (request.seed) put("seed", *request.seed);
  if (!request.stop.empty()) put("stop", request.stop);
  if (request.response_schema) {
    put("response_format",
        {{"type", "json_schema"}, {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", *request.response_schema}}}});
  }
  if (!request.tools.empty()) {
    Json tools = Json::array();
    for (const Tool& tool : request.tools) {
      tools.push_back(
          {{"type", "function"}, {"function", {{"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}}}});
    }
    put("tools", std::move(tools));
    put("tool_choice", OpenAiToolChoice(request.tool_choice));
  }
  if (stream) {
    put("stream", true);
    put("stream_options", {{"include_usage", true}});
  }
  return {.path = "/chat/completions", .headers = {}, .body = std::move(body)};
}

std::pair<std::string, std::string> OpenAiChat::KeyHeader(const std::string& key) const { return {"Authorization", "Bearer " + key}; }

}  // namespace acl::aegis
