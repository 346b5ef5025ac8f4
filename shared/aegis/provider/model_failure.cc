#include "shared/aegis/provider/model_failure.h"

#include <fmt/format.h>

namespace acl::aegis {

std::string_view NameOf(Failure failure) {
  switch (failure) {
    case Failure::kKeyRefused: return "key_refused";
    case Failure::kNoCredit: return "no_credit";
    case Failure::kRateLimited: return "rate_limited";
    case Failure::kOverloaded: return "overloaded";
    case Failure::kBadRequest: return "bad_request";
    case Failure::kContextExceeded: return "context_exceeded";
    case Failure::kTruncatedStream: return "truncated_stream";
    case Failure::kMalformedAnswer: return "malformed_answer";
    case Failure::kTooLarge: return "too_large";
    case Failure::kTimedOut: return "timed_out";
    case Failure::kCancelled: return "cancelled";
    case Failure::kNotConnected: return "not_connected";
    case Failure::kNotAllowed: return "not_allowed";
    case Failure::kOutcomeUnknown: return "outcome_unknown";
  }
  return "outcome_unknown";
}

std::string_view HintOf(Failure failure) {
  switch (failure) {
    case Failure::kKeyRefused: return "put a valid key into the provider's key_file";
    case Failure::kNoCredit: return "add credit or raise the limit in the provider's own console; retries do not help";
    case Failure::kRateLimited: return "ask later, or lower requests_per_minute of this provider";
    case Failure::kOverloaded: return "ask later, or ask another provider";
    case Failure::kBadRequest: return "check the model's name, base_url and the provider's `omit` list of parameters";
    case Failure::kContextExceeded: return "lower the kernel's caps, or take a model with a longer context";
    case Failure::kTruncatedStream: return "the answer is lost and may be billed; ask again if that is acceptable";
    case Failure::kMalformedAnswer: return "check that kind and base_url of the provider fit together";
    case Failure::kTooLarge: return "lower max_tokens, or raise max_answer_bytes of the provider";
    case Failure::kTimedOut: return "raise the provider's time limits, or lower max_tokens";
    case Failure::kCancelled: return "somebody asked to stop";
    case Failure::kNotConnected: return "check that the server runs and that base_url names it";
    case Failure::kNotAllowed: return "change the provider's configuration";
    case Failure::kOutcomeUnknown: return "the model may have run and may be billed; ask again only if that is acceptable";
  }
  return "";
}

std::string Describe(const ModelFailure& failure) {
  std::string text = fmt::format("provider {}: {}", failure.provider.empty() ? "?" : failure.provider, NameOf(failure.code));
  if (failure.status != 0) text += fmt::format(" (HTTP {})", failure.status);
  if (failure.prompt_tokens && failure.context_tokens)
    text += fmt::format(": the prompt has {} tokens, the context {}", *failure.prompt_tokens, *failure.context_tokens);
  if (failure.retry_after) text += fmt::format(": asked to wait {} ms", failure.retry_after->count());
  if (!failure.detail.empty()) text += ": " + failure.detail;
  if (failure.attempts > 1) text += fmt::format(", after {} attempts", failure.attempts);
  return fmt::format("{}; {}", text, HintOf(failure.code));
}

Error AsError(const ModelFailure& failure) {
  const auto code = [&] {
    if (failure.ran != Ran::kNo || failure.unknown_attempts > 0) return Code::kOutcomeUnknown;
    switch (failure.code) {
      case Failure::kKeyRefused:
      case Failure::kNoCredit:
      case Failure::kNotAllowed: return Code::kDenied;
      case Failure::kBadRequest:
      case Failure::kContextExceeded:
      case Failure::kMalformedAnswer:
      case Failure::kTooLarge: return Code::kInvalid;
      case Failure::kTimedOut: return Code::kTimeout;
      case Failure::kCancelled: return Code::kCancelled;
      default: return Code::kUnavailable;
    }
  }();
  return {code, Describe(failure)};
}

}  // namespace acl::aegis
