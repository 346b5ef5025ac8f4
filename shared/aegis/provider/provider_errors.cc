// What providers say when they refuse, read for its meaning. Their own words may repeat the prompt: none is kept.
#include <curl/curl.h>

#include <algorithm>
#include <charconv>

#include "shared/aegis/provider/protocol.h"
#include "shared/base/foreign_json.h"

namespace acl::aegis {
namespace {

using std::chrono::milliseconds;

std::string_view HeaderOf(const Headers& headers, std::string_view wanted) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
  for (const auto& [name, value] : headers) {
    if (std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(), [&](char a, char b) { return lower(a) == b; })) return value;
  }
  return "";
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() || number < 0 || number > 1'000'000'000'000) return std::nullopt;
  return number;
}
std::optional<std::int64_t> NumberBehind(std::string_view text, std::string_view words) {
  const auto found = text.find(words);
  return found == std::string_view::npos ? std::nullopt : Number(text.substr(found + words.size()));
}

std::optional<milliseconds> RetryAfterOf(const Headers& headers, WallTime now) {
  constexpr milliseconds kMost = std::chrono::hours(24);
  std::optional<milliseconds> wait;
  const std::string text(HeaderOf(headers, "retry-after"));
  if (const auto exact = Number(HeaderOf(headers, "retry-after-ms"))) {
    wait = milliseconds(*exact);
  } else if (const auto seconds = Number(text)) {
    wait = milliseconds(std::min<std::int64_t>(*seconds, 86'400) * 1000);
  } else if (!text.empty()) {
    const std::time_t at = ::curl_getdate(text.c_str(), nullptr);
    if (at >= 0)
      wait = std::chrono::duration_cast<milliseconds>(std::chrono::seconds(at) -
                                                      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch());
  }
  if (!wait) return wait;
  return std::clamp(*wait, milliseconds(0), kMost);
}

bool Among(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The words by which providers tell a limit that time does not cure from one that it does.
bool IsAboutMoney(const Json& error) {
  const auto is_money = [](std::string_view word) {
    return Among(word, {"insufficient_quota", "billing_error", "billing_hard_limit_reached", "credit_balance_exhausted",
                        "enforced_spend_limit_reached", "quota_exceeded"});
  };
  const Json details = error.is_object() ? error.value("details", Json()) : Json();
  return is_money(TextOf(error, "type")) || is_money(TextOf(error, "code")) || is_money(TextOf(details, "error_code"));
}

// Of messages whose form is known: only their numbers.
void ReadOverflow(const std::string& message, const Json& error, ModelFailure& failure) {
  failure.prompt_tokens = CountOf(error, "n_prompt_tokens");  // llama.cpp
  failure.context_tokens = CountOf(error, "n_ctx");
  if (!failure.context_tokens) failure.context_tokens = NumberBehind(message, "maximum context length is ");  // OpenAI, vLLM
  if (!failure.prompt_tokens) failure.prompt_tokens = NumberBehind(message, "resulted in ");
  if (!failure.prompt_tokens) failure.prompt_tokens = NumberBehind(message, "you requested ");
  if (!failure.prompt_tokens) failure.prompt_tokens = NumberBehind(message, "prompt is too long: ");  // Anthropic
  if (!failure.context_tokens && message.find(" maximum") != std::string::npos)
    failure.context_tokens = NumberBehind(message, " tokens > ");
}

bool IsOverflow(const std::string& message, const Json& error) {
  return TextOf(error, "type") == "exceed_context_size_error" || TextOf(error, "code") == "context_length_exceeded" ||
         message.starts_with("prompt is too long: ") || message.find("maximum context length is ") != std::string::npos;
}

Failure CodeOfStatus(int status) {
  switch (status) {
    case 401:
    case 403: return Failure::kKeyRefused;
    case 402: return Failure::kNoCredit;
    case 429: return Failure::kRateLimited;
    case 503:
    case 529: return Failure::kOverloaded;
    case 408:
    case 409:
    case 425: return Failure::kOutcomeUnknown;
    default: return status < 500 ? Failure::kBadRequest : Failure::kOutcomeUnknown;
  }
}

std::optional<Failure> CodeOfType(std::string_view type) {
  if (Among(type, {"overloaded_error", "unavailable_error"})) return Failure::kOverloaded;
  if (Among(type, {"rate_limit_error", "rate_limit_exceeded", "requests", "tokens"})) return Failure::kRateLimited;
  if (Among(type, {"authentication_error", "permission_error"})) return Failure::kKeyRefused;
  if (Among(type, {"invalid_request_error", "not_found_error", "request_too_large", "BadRequestError"})) return Failure::kBadRequest;
  return std::nullopt;
}

std::string_view DetailOf(int status) {
  if (status >= 300 && status < 400) return "redirects are not followed: set base_url to where it is";
  if (status == 404) return "there is no such model or path";
  if (status == 413) return "the request is too large for the provider";
  return "";
}

}  // namespace

ModelFailure DecodeErrorObject(const Json& error, int status, Ran ran) {
  const std::string message = error.is_string() ? error.get<std::string>() : TextOf(error, "message");
  ModelFailure failure{.code = CodeOfStatus(status), .ran = ran, .status = status};
  if (const auto by_type = CodeOfType(TextOf(error, "type")); by_type && (status == 200 || status == 400)) failure.code = *by_type;
  if (IsOverflow(message, error)) {
    failure.code = Failure::kContextExceeded;
    ReadOverflow(message, error, failure);
  } else if (IsAboutMoney(error)) {
    failure.code = Failure::kNoCredit;
  } else if (status == 500 && message.starts_with("[json.exception.")) {
    failure.code = Failure::kBadRequest;  // llama.cpp, of a body that it cannot read: the same body never passes
    failure.detail = "the server cannot read the request";
  }
  if (status == 200 && failure.code == Failure::kBadRequest && !CodeOfType(TextOf(error, "type"))) failure.code = Failure::kOutcomeUnknown;
  // Who says why it refuses, before anything of an answer, has not run the model.
  if (failure.code == Failure::kContextExceeded || (ran != Ran::kYes && failure.code != Failure::kOutcomeUnknown)) failure.ran = Ran::kNo;
  if (failure.detail.empty()) failure.detail = DetailOf(status);
  return failure;
}

ModelFailure DecodeFailure(int status, const Headers& headers, std::string_view body, WallTime now) {
  const auto parsed = ParseForeignJson(body, {.max_bytes = 1u << 20, .max_depth = 32, .max_values = 10'000});
  Json error;
  if (parsed && parsed->is_object()) error = parsed->contains("error") ? parsed->at("error") : *parsed;  // vLLM: without an envelope
  ModelFailure failure = DecodeErrorObject(error, status, Ran::kMaybe);
  failure.retry_after = RetryAfterOf(headers, now);
  failure.request_id = RequestIdOf(headers);
  if (status < 300) {
    failure = Malformed("a status that is neither 200 nor an error");
    failure.status = status;
  }
  return failure;
}

std::string RequestIdOf(const Headers& headers) {
  for (const std::string_view name : {"request-id", "x-request-id"}) {
    const std::string_view value = HeaderOf(headers, name);
    if (!value.empty()) return PlainWord({{"id", std::string(value)}}, "id");
  }
  return "";
}

}  // namespace acl::aegis
