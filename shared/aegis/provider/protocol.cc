#include "shared/aegis/provider/protocol.h"

#include "shared/aegis/provider/anthropic_messages.h"
#include "shared/aegis/provider/openai_chat.h"

namespace acl::aegis {

std::string PlainWord(const Json& object, const char* name) {
  const std::string word = TextOf(object, name);
  const bool plain = word.size() <= 128 &&
                     word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@") == std::string::npos;
  return plain ? word : "";
}

std::string TextOf(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::int64_t> CountOf(const Json& object, const char* name) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t(kMost)) return std::nullopt;
  const auto count = found->get<std::int64_t>();
  return count < 0 || count > kMost ? std::nullopt : std::optional(count);
}

ModelFailure Malformed(std::string detail) { return {.code = Failure::kMalformedAnswer, .ran = Ran::kYes, .detail = std::move(detail)}; }

const Protocol& ProtocolOf(ProviderKind kind) {
  static const OpenAiChat open_ai;
  static const AnthropicMessages anthropic;
  return kind == ProviderKind::kAnthropic ? static_cast<const Protocol&>(anthropic) : open_ai;
}

AnswerBytes::AnswerBytes(const Protocol& protocol, bool stream, OnText on_text)
    : protocol_(protocol), on_text_(std::move(on_text)), stream_(stream) {
  if (stream_) events_ = protocol_.ReadEvents();
}

std::optional<ModelFailure> AnswerBytes::Take(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  if (stream_ && !std::exchange(begun_, true)) {
    if (bytes.front() == '<') return Malformed("a web page, no stream of events");
    if (bytes.front() == '{') stream_ = false;  // no field of an event begins so
  }
  if (!stream_) {
    whole_ += bytes;
    return std::nullopt;
  }
  std::vector<SseEvent> events;
  if (!sse_.Feed(bytes, events))
    return ModelFailure{.code = Failure::kTooLarge, .ran = Ran::kYes, .detail = "one event of the stream is larger than 4 MiB"};
  return TakeEvents(events);
}

std::optional<ModelFailure> AnswerBytes::TakeEvents(std::vector<SseEvent>& events) {
  for (const SseEvent& event : events) {
    if (auto failed = events_->OnEvent(event, on_text_)) return failed;
  }
  return std::nullopt;
}

ModelResult AnswerBytes::Finish() {
  if (!stream_) {
    auto answer = protocol_.DecodeAnswer(whole_);
    if (answer && events_ && on_text_ && !answer->text.empty()) on_text_(answer->text);
    return answer;
  }
  std::vector<SseEvent> events;
  sse_.Finish(events);
  if (auto failed = TakeEvents(events)) return *std::move(failed);
  return events_->Finish();
}

}  // namespace acl::aegis
