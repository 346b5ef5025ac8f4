#include "shared/aegis/provider/openai_chat.h"
#include "shared/base/foreign_json.h"

namespace acl::aegis {
namespace {

Finish OpenAiFinish(const std::string& reason) {
  if (reason == "stop") return Finish::kStop;
  if (reason == "length") return Finish::kLength;
  if (reason == "tool_calls" || reason == "function_call") return Finish::kToolCalls;
  if (reason == "content_filter") return Finish::kRefused;
  return Finish::kOther;
}

void ReadOpenAiUsage(const Json& object, ModelAnswer& answer) {
  const auto found = object.find("usage");
  if (found == object.end() || !found->is_object()) return;
  const auto prompt = CountOf(*found, "prompt_tokens"), completion = CountOf(*found, "completion_tokens");
  if (!prompt || !completion) return;
  answer.usage = {.prompt = *prompt, .completion = *completion};
  const auto details = found->find("prompt_tokens_details");
  if (details != found->end()) answer.usage.cached = CountOf(*details, "cached_tokens").value_or(0);
  answer.usage_missing = false;
}

// Of chunks and whole answers alike. What a later chunk does not say again stays.
void ReadOpenAiHead(const Json& object, ModelAnswer& answer) {
  for (const auto& [name, where] :
       {std::pair{"model", &answer.model}, {"id", &answer.answer_id}, {"system_fingerprint", &answer.system_fingerprint}}) {
    if (std::string word = PlainWord(object, name); !word.empty()) *where = std::move(word);
  }
  ReadOpenAiUsage(object, answer);
}

// Text, or a list of parts of which some are text.
std::string OpenAiContent(const Json& message) {
  const auto found = message.find("content");
  if (found == message.end() || !found->is_array()) return TextOf(message, "content");
  std::string text;
  for (const Json& part : *found) text += TextOf(part, "text");
  return text;
}

const Json* FirstChoice(const Json& object) {
  const auto choices = object.find("choices");
  if (choices == object.end() || !choices->is_array()) return nullptr;
  for (const Json& choice : *choices) {
    if (choice.is_object() && CountOf(choice, "index").value_or(0) == 0) return &choice;
  }
  return nullptr;
}

// A server may give the arguments as an object instead of its text.
std::string OpenAiArguments(const Json& function) {
  const auto found = function.is_object() ? function.find("arguments") : function.end();
  return found != function.end() && found->is_object() ? DumpJson(*found) : TextOf(function, "arguments");
}

void SetOpenAiFinish(const Json& choice, ModelAnswer& answer) {
  answer.finish_reason = PlainWord(choice, "finish_reason");
  answer.finish = OpenAiFinish(answer.finish_reason);
}

class OpenAiEvents final : public EventReader {
 public:
  std::optional<ModelFailure> OnEvent(const SseEvent& event, const OnText& on_text) override {
    if (done_) return std::nullopt;
    if (event.data == "[DONE]") {
      done_ = true;
      return std::nullopt;
    }
    const auto chunk = ParseForeignJson(event.data, {.max_bytes = kMostEventBytes, .max_depth = 64, .max_values = 100'000});
    if (!chunk || !chunk->is_object()) return Malformed("an event of the stream is no JSON object");
    if (const auto error = chunk->find("error"); error != chunk->end() && !error->is_null())
      return DecodeErrorObject(*error, 200, begun_ ? Ran::kYes : Ran::kMaybe);
    begun_ = true;
    ReadOpenAiHead(*chunk, answer_);
    const Json* choice = FirstChoice(*chunk);
    if (choice == nullptr) return std::nullopt;
    if (const auto delta = choice->find("delta"); delta != choice->end() && delta->is_object()) {
      TakeText(OpenAiContent(*delta), on_text);
      if (std::string refusal = TextOf(*delta, "refusal"); !refusal.empty()) {
        refused_ = true;
        TakeText(refusal, on_text);
      }
      if (const auto calls = delta->find("tool_calls"); calls != delta->end() && calls->is_array()) {
        for (const Json& call : *calls) {
          if (auto failed = TakeFragment(call)) return failed;
        }
      }
    }
    if (!PlainWord(*choice, "finish_reason").empty()) SetOpenAiFinish(*choice, answer_);
    return std::nullopt;
  }

  ModelResult Finish() override {
    if (!done_ && answer_.finish_reason.empty()) {
      return ModelFailure{.code = Failure::kTruncatedStream,
                          .ran = begun_ ? Ran::kYes : Ran::kMaybe,
                          .detail = begun_ ? "no finish reason came" : "the stream ended before it began"};
    }
    if (!begun_) return Malformed("a stream without an answer");
    if (refused_) answer_.finish = Finish::kRefused;
    return std::move(answer_);
  }

 private:
  void TakeText(const std::string& text, const OnText& on_text) {
    if (text.empty()) return;
    answer_.text += text;
    if (on_text) on_text(text);
  }

  std::optional<ModelFailure> TakeFragment(const Json& fragment) {
    if (!fragment.is_object()) return Malformed("a tool call is no object");
    const auto index = CountOf(fragment, "index").value_or(0);
    const std::string id = TextOf(fragment, "id");
    const auto function = fragment.find("function");
    auto open = open_.find(index);
    const bool another =
        open != open_.end() && !id.empty() && !answer_.tool_calls[open->second].id.empty() && answer_.tool_calls[open->second].id != id;
    if (open == open_.end() || another) {
      if (answer_.tool_calls.size() == kMostToolCalls) return Malformed("more than 128 tool calls");
      answer_.tool_calls.emplace_back();
      open = open_.insert_or_assign(index, answer_.tool_calls.size() - 1).first;
    }
    ToolCall& call = answer_.tool_calls[open->second];
    if (!id.empty()) call.id = id;
    if (function == fragment.end()) return std::nullopt;
    call.name += TextOf(*function, "name");
    call.arguments += OpenAiArguments(*function);
    return std::nullopt;
  }

  ModelAnswer answer_{.usage_missing = true};
  std::map<std::int64_t, std::size_t> open_;  // by the index of the stream: into answer_.tool_calls
  bool begun_ = false, done_ = false, refused_ = false;
};

}  // namespace

ModelResult OpenAiChat::DecodeAnswer(std::string_view body) const {
  const auto object = ParseForeignJson(body);
  if (!object || !object->is_object()) return Malformed("the answer is no JSON object");
  if (const auto error = object->find("error"); error != object->end() && !error->is_null())
    return DecodeErrorObject(*error, 200, Ran::kMaybe);
  const Json* choice = FirstChoice(*object);
  const auto message = choice != nullptr ? choice->find("message") : Json::const_iterator();
  if (choice == nullptr || message == choice->end() || !message->is_object()) return Malformed("the answer has no choice with a message");
  ModelAnswer answer{.usage_missing = true};
  ReadOpenAiHead(*object, answer);
  SetOpenAiFinish(*choice, answer);
  answer.text = OpenAiContent(*message);
  if (const std::string refusal = TextOf(*message, "refusal"); !refusal.empty()) {
    answer.text += refusal;
    answer.finish = Finish::kRefused;
  }
  if (const auto calls = message->find("tool_calls"); calls != message->end() && calls->is_array()) {
    if (calls->size() > kMostToolCalls) return Malformed("more than 128 tool calls");
    for (const Json& call : *calls) {
      const Json function = call.is_object() ? call.value("function", Json()) : Json();
      answer.tool_calls.push_back({TextOf(call, "id"), TextOf(function, "name"), OpenAiArguments(function)});
    }
  }
  return answer;
}

std::unique_ptr<EventReader> OpenAiChat::ReadEvents() const { return std::make_unique<OpenAiEvents>(); }

}  // namespace acl::aegis
