#pragma once
// What is asked of a language model, in no provider's own words. The adapters (protocol.h) turn it into the bytes of one.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::aegis {

enum class Role { kSystem, kUser, kAssistant, kTool };

// A tool that the model wants called. Proposed, never done: who receives it decides.
struct ToolCall {
  std::string id, name;
  std::string arguments;  // JSON text as the model wrote it; it may be no JSON at all

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

struct Message {
  Role role = Role::kUser;
  std::string content;
  std::vector<ToolCall> tool_calls = {};  // of an assistant's message
  std::string tool_call_id = {};          // of a tool's message: which call it answers
  // What stands up to the end of this message comes again with the next turn. Anthropic caches it only if told so; the others find out.
  bool cache_to_here = false;
};

struct Tool {
  std::string name, description;
  Json parameters = Json::object();  // JSON Schema of its arguments
};

enum class ToolChoice { kAuto, kNone, kRequired };

struct ModelRequest {
  std::vector<Message> messages;
  std::string model;
  std::int64_t max_tokens = 1024;  // of the answer; always sent, because spending is bounded by it
  std::optional<double> temperature = std::nullopt;
  std::optional<std::int64_t> seed = std::nullopt;  // Anthropic's protocol has none: it is left out there
  std::vector<std::string> stop = {};
  std::optional<Json> response_schema = std::nullopt;  // JSON Schema that the answer must meet, where the server can force it
  std::vector<Tool> tools = {};
  ToolChoice tool_choice = ToolChoice::kAuto;
};

}  // namespace acl::aegis
