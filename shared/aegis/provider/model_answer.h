#pragma once
// What a language model answered, whole, with everything that the record of an exchange keeps of the call.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/aegis/provider/model_request.h"

namespace acl::aegis {

enum class Finish {
  kStop,       // the model ended by itself, or at a stop text
  kLength,     // cut at max_tokens
  kToolCalls,  // it waits for tools
  kRefused,    // the provider's filter, or the model's own refusal
  kOther,
};

struct Usage {
  std::int64_t prompt = 0;         // tokens of the prompt, those from the cache included
  std::int64_t completion = 0;     // tokens of the answer
  std::int64_t cached = 0;         // of `prompt`: read from the provider's cache
  std::int64_t cache_written = 0;  // of `prompt`: written to it

  friend bool operator==(const Usage&, const Usage&) = default;
};

struct ModelAnswer {
  std::string text;
  std::vector<ToolCall> tool_calls;
  Finish finish = Finish::kOther;
  std::string finish_reason;       // the provider's own word
  std::string model;               // as the provider names what answered
  std::string system_fingerprint;  // of the server's build, if it says so
  std::string answer_id;           // in the body of the answer
  Usage usage;
  bool usage_missing = false;  // the provider said nothing: `usage` is all zero, and spending is estimated (spending.h)

  // Of the call, set by the client.
  std::string provider;
  std::string request_id;                               // in the head of the answer
  std::string request_digest;                           // SHA-256 over the RFC 8785 text of the body that was sent
  std::chrono::milliseconds latency{0};                 // from the first attempt's start to the end of the answer
  std::optional<std::chrono::milliseconds> first_text;  // to the first piece of text, when streamed
  int attempts = 0;
  int unknown_attempts = 0;  // earlier ones that may have run and may be billed (retry_unknown_outcomes)
  std::size_t request_bytes = 0, answer_bytes = 0;
};

}  // namespace acl::aegis
