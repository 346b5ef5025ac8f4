#pragma once
// The two protocols, as encoders and decoders: bytes in, values out, nothing sent. tests/data/aegis/providers holds what real servers said.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/aegis/provider/model_failure.h"
#include "shared/aegis/provider/model_request.h"
#include "shared/aegis/provider/sse_reader.h"
#include "shared/base/clock.h"

namespace acl::aegis {

enum class ProviderKind { kOpenAi, kAnthropic };  // chat completions (OpenAI, Ollama, vLLM, llama.cpp); Messages

inline constexpr std::size_t kMostEventBytes = 4u << 20;  // of one event of a stream
inline constexpr std::size_t kMostToolCalls = 128;        // of one answer

using Headers = std::vector<std::pair<std::string, std::string>>;
using OnText = std::function<void(std::string_view)>;

// What one server does not take, or calls by another name.
struct Dialect {
  std::vector<std::string> omit;               // names of parameters that are not sent: temperature, seed, stream_options ...
  std::string max_tokens_name = "max_tokens";  // or max_completion_tokens
};

struct WireRequest {
  std::string path;  // behind base_url
  Headers headers;   // without the key
  Json body;
};

// The events of one stream, put together. Made anew for each answer.
class EventReader {
 public:
  virtual ~EventReader() = default;
  // A failure ends the stream.
  virtual std::optional<ModelFailure> OnEvent(const SseEvent& event, const OnText& on_text) = 0;
  // What has come by the end of the bytes: kTruncatedStream if the end of the answer is not among it.
  virtual ModelResult Finish() = 0;
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual WireRequest Encode(const ModelRequest& request, bool stream, const Dialect& dialect) const = 0;
  virtual std::pair<std::string, std::string> KeyHeader(const std::string& key) const = 0;
  virtual ModelResult DecodeAnswer(std::string_view body) const = 0;
  virtual std::unique_ptr<EventReader> ReadEvents() const = 0;
};

const Protocol& ProtocolOf(ProviderKind kind);

// ---- for both protocols

// An answer that is no 200: its meaning. `now` is for dates in Retry-After.
ModelFailure DecodeFailure(int status, const Headers& headers, std::string_view body, WallTime now);
// The error object of a body or an event; `ran`: what is known of the model when it came.
ModelFailure DecodeErrorObject(const Json& error, int status, Ran ran);
std::string RequestIdOf(const Headers& headers);
// As a provider's word goes into a record: letters, digits and _ - . : / @ only, at most 128 bytes; empty otherwise.
std::string PlainWord(const Json& object, const char* name);
std::string TextOf(const Json& object, const char* name);
std::optional<std::int64_t> CountOf(const Json& object, const char* name);  // a number of tokens
ModelFailure Malformed(std::string detail);

// The bytes of a 200 answer, streamed or not: a server that was asked to stream and answers at once is understood too.
class AnswerBytes {
 public:
  AnswerBytes(const Protocol& protocol, bool stream, OnText on_text);
  std::optional<ModelFailure> Take(std::string_view bytes);
  ModelResult Finish();

 private:
  std::optional<ModelFailure> TakeEvents(std::vector<SseEvent>& events);

  const Protocol& protocol_;
  const OnText on_text_;
  bool stream_, begun_ = false;
  std::string whole_;
  SseReader sse_{kMostEventBytes};
  std::unique_ptr<EventReader> events_;
};

}  // namespace acl::aegis
