#include <algorithm>

#include "shared/aegis/provider/anthropic_messages.h"

namespace acl::aegis {
namespace {

// Arguments go back as an object; what is none is given back under a name of ours, so that the model sees what it wrote.
Json AnthropicInput(const std::string& arguments) {
  auto parsed = ParseJson(arguments.empty() ? "{}" : arguments);
  return parsed && parsed->is_object() ? std::move(*parsed) : Json{{"text", arguments}};
}

Json AnthropicText(const Message& message) {
  Json block = {{"type", "text"}, {"text", message.content}};
  if (message.cache_to_here) block["cache_control"] = {{"type", "ephemeral"}};
  return block;
}

// One text, or a list of them as soon as one of them ends what is cached.
Json AnthropicSystem(const std::vector<Message>& messages) {
  std::string text;
  Json blocks = Json::array();
  bool cached = false;
  for (const Message& message : messages) {
    if (message.role != Role::kSystem) continue;
    text += (text.empty() ? "" : "\n\n") + message.content;
    blocks.push_back(AnthropicText(message));
    cached = cached || message.cache_to_here;
  }
  return cached ? std::move(blocks) : Json(std::move(text));
}

// The results of several tools in a row are one message of the user.
void AppendAnthropicMessage(const Message& message, Json& messages) {
  if (message.role == Role::kTool) {
    const Json result = {{"type", "tool_result"}, {"tool_use_id", message.tool_call_id}, {"content", message.content}};
    const bool goes_on = !messages.empty() && messages.back()["role"] == "user" && messages.back()["content"].is_array();
    if (!goes_on) messages.push_back({{"role", "user"}, {"content", Json::array()}});
    messages.back()["content"].push_back(result);
    return;
  }
  const char* role = message.role == Role::kAssistant ? "assistant" : "user";
  if (message.tool_calls.empty()) {
    messages.push_back(
        {{"role", role}, {"content", message.cache_to_here ? Json::array({AnthropicText(message)}) : Json(message.content)}});
    return;
  }
  Json blocks = Json::array();
  if (!message.content.empty()) blocks.push_back(AnthropicText(message));
  for (const ToolCall& call : message.tool_calls)
    blocks.push_back({{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", AnthropicInput(call.arguments)}});
  messages.push_back({{"role", role}, {"content", std::move(blocks)}});
}

const char* AnthropicToolChoice(ToolChoice choice) {
  return choice == ToolChoice::kRequired ? "any" : choice == ToolChoice::kNone ? "none" : "auto";
}

}  // namespace

WireRequest AnthropicMessages::Encode(const ModelRequest& request, bool stream, const Dialect& dialect) const {
  Json body = Json::object();
  const auto put = [&](const std::string& name, Json value) {
    if (std::find(dialect.omit.begin(), dialect.omit.end(), name) == dialect.omit.end()) body[name] = std::move(value);
  };
  put("model", request.model);
  put("max_tokens", request.max_tokens);
  Json system = AnthropicSystem(request.messages), messages = Json::array();
  for (const Message& message : request.messages) {
    if (message.role != Role::kSystem) AppendAnthropicMessage(message, messages);
  }
  if (system != "") put("system", std::move(system));
  put("messages", std::move(messages));
  if (request.temperature) put("temperature", *request.temperature);
  if (!request.stop.empty()) put("stop_sequences", request.stop);
  if (request.response_schema) put("output_config", {{"format", {{"type", "json_schema"}, {"schema", *request.response_schema}}}});
  if (!request.tools.empty()) {
    Json tools = Json::array();
    for (const Tool& tool : request.tools)
      tools.push_back({{"name", tool.name}, {"description", tool.description}, {"input_schema", tool.parameters}});
    put("tools", std::move(tools));
    put("tool_choice", {{"type", AnthropicToolChoice(request.tool_choice)}});
  }
  if (stream) put("stream", true);
  return {.path = "/messages", .headers = {{"anthropic-version", "2023-06-01"}}, .body = std::move(body)};
}

std::pair<std::string, std::string> AnthropicMessages::KeyHeader(const std::string& key) const { return {"x-api-key", key}; }

}  // namespace acl::aegis
