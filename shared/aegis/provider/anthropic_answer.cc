#include "shared/aegis/provider/anthropic_messages.h"
#include "shared/base/foreign_json.h"

namespace acl::aegis {
namespace {

Finish AnthropicFinish(const std::string& reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return Finish::kStop;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") return Finish::kLength;
  if (reason == "tool_use") return Finish::kToolCalls;
  if (reason == "refusal") return Finish::kRefused;
  return Finish::kOther;
}

// Of message_start and message_delta: the later one's numbers replace those of the first.
struct AnthropicUsage {
  std::optional<std::int64_t> input, output, cached, written;

  void Read(const Json& object) {
    const auto found = object.find("usage");
    if (found == object.end()) return;
    const auto take = [&](const char* name, std::optional<std::int64_t>& where) {
      if (const auto count = CountOf(*found, name)) where = count;
    };
    take("input_tokens", input);
    take("output_tokens", output);
    take("cache_read_input_tokens", cached);
    take("cache_creation_input_tokens", written);
  }
  void Into(ModelAnswer& answer) const {
    answer.usage_missing = !input || !output;
    if (answer.usage_missing) return;
    answer.usage.cached = cached.value_or(0);
    answer.usage.cache_written = written.value_or(0);
    answer.usage.prompt = *input + answer.usage.cached + answer.usage.cache_written;
    answer.usage.completion = *output;
  }
};

void SetAnthropicFinish(const Json& object, ModelAnswer& answer) {
  answer.finish_reason = PlainWord(object, "stop_reason");
  answer.finish = AnthropicFinish(answer.finish_reason);
}

class AnthropicEvents final : public EventReader {
 public:
  std::optional<ModelFailure> OnEvent(const SseEvent& event, const OnText& on_text) override {
    const auto object = ParseForeignJson(event.data, {.max_bytes = kMostEventBytes, .max_depth = 64, .max_values = 100'000});
    if (!object || !object->is_object()) return Malformed("an event of the stream is no JSON object");
    const std::string type = TextOf(*object, "type");
    if (type == "error" || event.event == "error")
      return DecodeErrorObject(object->value("error", Json()), 200, begun_ ? Ran::kYes : Ran::kMaybe);
    if (type == "message_start") {
      begun_ = true;
      const Json message = object->value("message", Json::object());
      answer_.model = PlainWord(message, "model");
      answer_.answer_id = PlainWord(message, "id");
      if (message.is_object()) usage_.Read(message);
    } else if (type == "content_block_start") {
      return StartBlock(*object, on_text);
    } else if (type == "content_block_delta") {
      return TakeDelta(*object, on_text);
    } else if (type == "message_delta") {
      SetAnthropicFinish(object->value("delta", Json()), answer_);
      usage_.Read(*object);
    }
    return std::nullopt;  // ping, the ends of blocks and of the message, and what is to come one day
  }

  ModelResult Finish() override {
    if (answer_.finish_reason.empty()) {
      return ModelFailure{.code = Failure::kTruncatedStream,
                          .ran = begun_ ? Ran::kYes : Ran::kMaybe,
                          .detail = begun_ ? "no stop reason came" : "the stream ended before it began"};
    }
    if (!begun_) return Malformed("a stream without the start of a message");
    for (ToolCall& call : answer_.tool_calls) {
      if (call.arguments.empty()) call.arguments = "{}";
    }
    usage_.Into(answer_);
    return std::move(answer_);
  }

 private:
  void TakeText(const std::string& text, const OnText& on_text) {
    if (text.empty()) return;
    answer_.text += text;
    if (on_text) on_text(text);
  }

  std::optional<ModelFailure> StartBlock(const Json& object, const OnText& on_text) {
    const auto index = CountOf(object, "index");
    const auto block = object.find("content_block");
    if (!index || block == object.end() || !block->is_object()) return Malformed("a block of the stream has no place");
    const std::string type = TextOf(*block, "type");
    if (type == "text") TakeText(TextOf(*block, "text"), on_text);
    if (type != "tool_use") return std::nullopt;
    if (answer_.tool_calls.size() == kMostToolCalls) return Malformed("more than 128 tool calls");
    answer_.tool_calls.push_back({TextOf(*block, "id"), TextOf(*block, "name"), ""});
    if (const auto input = block->find("input"); input != block->end() && input->is_object() && !input->empty())
      answer_.tool_calls.back().arguments = DumpJson(*input);
    open_[*index] = answer_.tool_calls.size() - 1;
    return std::nullopt;
  }

  std::optional<ModelFailure> TakeDelta(const Json& object, const OnText& on_text) {
    const Json delta = object.value("delta", Json());
    const std::string type = TextOf(delta, "type");
    if (type == "text_delta") TakeText(TextOf(delta, "text"), on_text);
    if (type != "input_json_delta") return std::nullopt;
    const auto open = open_.find(CountOf(object, "index").value_or(-1));
    if (open == open_.end()) return Malformed("a piece of a tool call that did not begin");
    answer_.tool_calls[open->second].arguments += TextOf(delta, "partial_json");
    return std::nullopt;
  }

  ModelAnswer answer_{.usage_missing = true};
  AnthropicUsage usage_;
  std::map<std::int64_t, std::size_t> open_;  // by the index of the stream: into answer_.tool_calls
  bool begun_ = false;
};

}  // namespace

ModelResult AnthropicMessages::DecodeAnswer(std::string_view body) const {
  const auto object = ParseForeignJson(body);
  if (!object || !object->is_object()) return Malformed("the answer is no JSON object");
  if (TextOf(*object, "type") == "error") return DecodeErrorObject(object->value("error", Json()), 200, Ran::kMaybe);
  const auto content = object->find("content");
  if (content == object->end() || !content->is_array()) return Malformed("the answer has no content");
  ModelAnswer answer{.usage_missing = true};
  answer.model = PlainWord(*object, "model");
  answer.answer_id = PlainWord(*object, "id");
  SetAnthropicFinish(*object, answer);
  AnthropicUsage usage;
  usage.Read(*object);
  usage.Into(answer);
  for (const Json& block : *content) {
    const std::string type = TextOf(block, "type");
    if (type == "text") answer.text += TextOf(block, "text");
    if (type != "tool_use") continue;
    if (answer.tool_calls.size() == kMostToolCalls) return Malformed("more than 128 tool calls");
    answer.tool_calls.push_back({TextOf(block, "id"), TextOf(block, "name"), DumpJson(block.value("input", Json::object()))});
  }
  return answer;
}

std::unique_ptr<EventReader> AnthropicMessages::ReadEvents() const { return std::make_unique<AnthropicEvents>(); }

}  // namespace acl::aegis
