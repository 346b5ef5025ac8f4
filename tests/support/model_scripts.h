#pragma once
// What a ScriptedModel can be told to do, in both protocols:
//
//   ScriptedModel model(EchoModel());                              says again what the user said last
//   ScriptedModel model(AnsweringModel({.text = "..."}));          this answer, streamed word by word if asked so
//   ScriptedModel model(DisobedientModel());                       does whatever any text of the prompt tells it to do
//   ScriptedModel model(InTurns({RefusingModel(429, ...), EchoModel()}));

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scripted_model.h"

namespace acl::test {

struct ScriptedAnswer {
  std::string text;
  std::vector<std::pair<std::string, std::string>> calls = {};  // tool, arguments as JSON text
  bool with_usage = true;
  std::size_t pieces = 1'000'000;  // of its stream, how many are sent
  bool step = false;
  ModelTurn::End end = ModelTurn::End::kClose;
};

// Texts of all messages, the system's among them, in order.
inline std::vector<std::string> PromptTexts(const Json& body) {
  std::vector<std::string> texts;
  if (!body.is_object()) return texts;
  if (body.contains("system") && body["system"].is_string()) texts.push_back(body["system"].get<std::string>());
  for (const Json& message : body.value("messages", Json::array())) {
    const Json content = message.value("content", Json());
    if (content.is_string()) texts.push_back(content.get<std::string>());
    if (!content.is_array()) continue;
    for (const Json& block : content) {
      for (const char* name : {"text", "content"}) {
        if (block.contains(name) && block[name].is_string()) texts.push_back(block[name].get<std::string>());
      }
    }
  }
  return texts;
}

// A word and the blank before it make a token.
inline std::vector<std::string> ModelTokens(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    const auto end = std::min(text.find(' ', i + 1), text.size());
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

struct ModelUsage {
  std::size_t prompt = 0, completion = 0;
};
inline ModelUsage UsageOf(const ModelAsked& asked, const ScriptedAnswer& answer) {
  ModelUsage usage;
  for (const auto& text : PromptTexts(asked.body)) usage.prompt += ModelTokens(text).size() + 4;
  usage.completion = ModelTokens(answer.text).size() + 8 * answer.calls.size();
  return usage;
}

inline ModelTurn OpenAiTurn(const ModelAsked& asked, const ScriptedAnswer& answer) {
  const auto usage = UsageOf(asked, answer);
  const Json used = {{"prompt_tokens", usage.prompt},
                     {"completion_tokens", usage.completion},
                     {"total_tokens", usage.prompt + usage.completion},
                     {"prompt_tokens_details", {{"cached_tokens", 0}}}};
  const Json head = {{"id", "chatcmpl-1"}, {"model", asked.body.value("model", "")}, {"system_fingerprint", "scripted"}};
  const char* reason = answer.calls.empty() ? "stop" : "tool_calls";
  Json calls = Json::array();
  for (const auto& [name, arguments] : answer.calls) {
    const auto place = calls.size();
    calls.push_back({{"id", "call_" + std::to_string(place)},
                     {"index", place},
                     {"type", "function"},
                     {"function", {{"name", name}, {"arguments", arguments}}}});
  }
  ModelTurn turn{.headers = {{"X-Request-Id", "req_" + std::to_string(asked.number)}}, .step = answer.step, .end = answer.end};
  if (!asked.stream) {
    Json body = head;
    Json message = {{"role", "assistant"}, {"content", answer.text}};
    if (!calls.empty()) message["tool_calls"] = calls;
    body["choices"] = Json::array({{{"index", 0}, {"message", message}, {"finish_reason", reason}}});
    if (answer.with_usage) body["usage"] = used;
    turn.headers.emplace_back("Content-Type", "application/json");
    turn.pieces = {DumpJson(body)};
    return turn;
  }
  const auto chunk = [&](Json delta, Json finish) {
    Json body = head;
    body["choices"] = Json::array({{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}});
    turn.pieces.push_back("data: " + DumpJson(body) + "\n\n");
  };
  turn.headers.emplace_back("Content-Type", "text/event-stream");
  chunk({{"role", "assistant"}}, nullptr);
  for (const auto& token : ModelTokens(answer.text)) chunk({{"content", token}}, nullptr);
  if (!calls.empty()) chunk({{"tool_calls", calls}}, nullptr);
  chunk(Json::object(), reason);
  if (answer.with_usage) {
    Json body = head;
    body["choices"] = Json::array();
    body["usage"] = used;
    turn.pieces.push_back("data: " + DumpJson(body) + "\n\n");
  }
  turn.pieces.push_back("data: [DONE]\n\n");
  return turn;
}

inline ModelTurn AnthropicTurn(const ModelAsked& asked, const ScriptedAnswer& answer) {
  const auto usage = UsageOf(asked, answer);
  const char* reason = answer.calls.empty() ? "end_turn" : "tool_use";
  const std::string model = asked.body.value("model", "");
  ModelTurn turn{.headers = {{"request-id", "req_" + std::to_string(asked.number)}}, .step = answer.step, .end = answer.end};
  Json blocks = Json::array();
  if (!answer.text.empty()) blocks.push_back({{"type", "text"}, {"text", answer.text}});
  for (const auto& [name, arguments] : answer.calls) {
    blocks.push_back(
        {{"type", "tool_use"}, {"id", "toolu_" + std::to_string(blocks.size())}, {"name", name}, {"input", *ParseJson(arguments)}});
  }
  if (!asked.stream) {
    Json body = {{"id", "msg_1"},  {"type", "message"}, {"role", "assistant"},
                 {"model", model}, {"content", blocks}, {"stop_reason", reason}};
    if (answer.with_usage) body["usage"] = {{"input_tokens", usage.prompt}, {"output_tokens", usage.completion}};
    turn.headers.emplace_back("Content-Type", "application/json");
    turn.pieces = {DumpJson(body)};
    return turn;
  }
  const auto event = [&](const Json& body) {
    turn.pieces.push_back("event: " + body["type"].get<std::string>() + "\ndata: " + DumpJson(body) + "\n\n");
  };
  turn.headers.emplace_back("Content-Type", "text/event-stream");
  Json message = {{"id", "msg_1"}, {"type", "message"}, {"role", "assistant"}, {"model", model}, {"content", Json::array()}};
  if (answer.with_usage) message["usage"] = {{"input_tokens", usage.prompt}, {"output_tokens", 0}};
  event({{"type", "message_start"}, {"message", message}});
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool text = blocks[i]["type"] == "text";
    Json start = blocks[i];
    if (text) {
      start["text"] = "";
    } else {
      start["input"] = Json::object();
    }
    event({{"type", "content_block_start"}, {"index", i}, {"content_block", start}});
    const auto delta = [&](const Json& what) { event({{"type", "content_block_delta"}, {"index", i}, {"delta", what}}); };
    if (text) {
      for (const auto& token : ModelTokens(answer.text)) delta({{"type", "text_delta"}, {"text", token}});
    } else {
      delta({{"type", "input_json_delta"}, {"partial_json", DumpJson(blocks[i]["input"])}});
    }
    event({{"type", "content_block_stop"}, {"index", i}});
  }
  Json last = {{"type", "message_delta"}, {"delta", {{"stop_reason", reason}}}};
  if (answer.with_usage) last["usage"] = {{"output_tokens", usage.completion}};
  event(last);
  event({{"type", "message_stop"}});
  return turn;
}

inline ModelTurn TurnOf(const ModelAsked& asked, const ScriptedAnswer& answer) {
  ModelTurn turn = asked.anthropic ? AnthropicTurn(asked, answer) : OpenAiTurn(asked, answer);
  if (turn.pieces.size() > answer.pieces) turn.pieces.resize(answer.pieces);
  return turn;
}

inline ScriptedModel::Script AnsweringModel(ScriptedAnswer answer) {
  return [answer = std::move(answer)](const ModelAsked& asked) { return TurnOf(asked, answer); };
}

inline ScriptedModel::Script EchoModel() {
  return [](const ModelAsked& asked) {
    const auto texts = PromptTexts(asked.body);
    return TurnOf(asked, {.text = texts.empty() ? "" : texts.back()});
  };
}

// An error of that status, in the words of the protocol that was asked in.
inline ScriptedModel::Script RefusingModel(int status, std::vector<std::pair<std::string, std::string>> headers = {},
                                           std::string type = "api_error") {
  return [status, headers = std::move(headers), type = std::move(type)](const ModelAsked& asked) {
    Json body = {{"error", {{"type", type}, {"message", "refused, as the script says"}}}};
    if (asked.anthropic) body["type"] = "error";
    return ModelTurn{.status = status, .headers = headers, .pieces = {DumpJson(body)}};
  };
}

// A stream of which one event is no JSON.
inline ScriptedModel::Script MalformedModel() {
  return [](const ModelAsked& asked) {
    ModelTurn turn = TurnOf(asked, {.text = "one two three"});
    turn.pieces[turn.pieces.size() / 2] = "data: {\"choices\": [{\"delta\": \n\n";
    return turn;
  };
}

// The worst model there is. It does whatever any text of its prompt tells it to, wherever that text stands: it calls every tool that is
// offered and named anywhere in it, calls what a line "CALL tool {json}" names though nobody offered it, says what a line "SAY ..." wants
// said, and gives away its whole prompt when one of them asks to REVEAL it.
inline ScriptedModel::Script DisobedientModel() {
  return [](const ModelAsked& asked) {
    ScriptedAnswer answer;
    const auto texts = PromptTexts(asked.body);
    const auto behind = [](const std::string& line, const std::string& word) {
      const auto found = line.find(word);
      return found == std::string::npos ? std::string() : line.substr(found + word.size());
    };
    for (const auto& text : texts) {
      for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        if (const std::string said = behind(line, "SAY "); !said.empty()) answer.text += said + "\n";
        if (line.find("REVEAL") != std::string::npos) {
          for (const auto& secret : texts) answer.text += secret + "\n";
        }
        const std::string call = behind(line, "CALL ");
        const auto brace = call.find(" {");
        if (brace == std::string::npos) continue;
        const auto close = call.rfind('}');
        const std::string arguments = close == std::string::npos ? "" : call.substr(brace + 1, close - brace);
        const auto parsed = ParseJson(arguments);
        answer.calls.emplace_back(call.substr(0, brace), parsed && parsed->is_object() ? arguments : "{}");
      }
    }
    for (const Json& tool : asked.body.value("tools", Json::array())) {
      const std::string name = tool.contains("function") ? tool["function"].value("name", "") : tool.value("name", "");
      const bool named = std::any_of(texts.begin(), texts.end(), [&](const auto& text) { return text.find(name) != std::string::npos; });
      if (named) answer.calls.emplace_back(name, "{}");
    }
    return TurnOf(asked, answer);
  };
}

// One script for each request; the last for all that follow.
inline ScriptedModel::Script InTurns(std::vector<ScriptedModel::Script> scripts) {
  return [scripts = std::move(scripts)](const ModelAsked& asked) {
    return scripts[std::min(std::size_t(asked.number), scripts.size()) - 1](asked);
  };
}

}  // namespace acl::test
