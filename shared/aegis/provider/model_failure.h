#pragma once
// How a call of a model fails: a closed set, each with one line that says what to do. Nothing of a prompt, an answer or a key stands in a
// failure: what a provider says in its own words is read for its meaning and dropped.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "shared/aegis/provider/model_answer.h"
#include "shared/base/check.h"
#include "shared/base/result.h"

namespace acl::aegis {

enum class Failure {
  kKeyRefused,       // the provider does not take the key
  kNoCredit,         // the account has no money left, or a limit of the provider's own
  kRateLimited,      // too many requests or tokens for this account
  kOverloaded,       // the provider has no capacity now
  kBadRequest,       // the provider refuses the request as it is: model, parameter, path
  kContextExceeded,  // the prompt is longer than the model's context
  kTruncatedStream,  // the answer broke off
  kMalformedAnswer,  // what came is not of the protocol
  kTooLarge,         // more came than is taken
  kTimedOut,
  kCancelled,
  kNotConnected,    // no connection was made: the model surely did not run
  kNotAllowed,      // refused by our own rules: address, scheme, size of the request
  kOutcomeUnknown,  // it may have run, and may be billed
};
inline constexpr Failure kFailures[] = {
    Failure::kKeyRefused,      Failure::kNoCredit,        Failure::kRateLimited,     Failure::kOverloaded,    Failure::kBadRequest,
    Failure::kContextExceeded, Failure::kTruncatedStream, Failure::kMalformedAnswer, Failure::kTooLarge,      Failure::kTimedOut,
    Failure::kCancelled,       Failure::kNotConnected,    Failure::kNotAllowed,      Failure::kOutcomeUnknown};

std::string_view NameOf(Failure failure);  // "rate_limited": stable, for records and metrics
std::string_view HintOf(Failure failure);  // one line: what to do

// Whether the model ran, as far as can be known. Spending is settled by it.
enum class Ran { kNo, kMaybe, kYes };

struct ModelFailure {
  Failure code = Failure::kOutcomeUnknown;
  Ran ran = Ran::kMaybe;
  int status = 0;                                                                           // of HTTP, if there was an answer
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;                      // as the provider asks
  std::optional<std::int64_t> prompt_tokens = std::nullopt, context_tokens = std::nullopt;  // of kContextExceeded, where the provider says
  std::string detail = {};                                                                  // our own words only
  // Of the call, set by the client.
  std::string provider = {}, request_id = {}, request_digest = {};
  std::size_t request_bytes = 0, answer_bytes = 0;
  int attempts = 0, unknown_attempts = 0;  // as in ModelAnswer
};

// "provider local: context_exceeded: the prompt has 1431 tokens, the context 1024: ..."
std::string Describe(const ModelFailure& failure);
// For who only knows the codes of shared/base: kOutcomeUnknown whenever the model may have run.
Error AsError(const ModelFailure& failure);

// An answer or a failure.
class [[nodiscard]] ModelResult {
 public:
  ModelResult(ModelAnswer answer) : state_(std::move(answer)) {}     // NOLINT(google-explicit-constructor)
  ModelResult(ModelFailure failure) : state_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  ModelAnswer& operator*() { return answer(); }
  const ModelAnswer& operator*() const { return answer(); }
  ModelAnswer* operator->() { return &answer(); }
  const ModelAnswer* operator->() const { return &answer(); }
  const ModelFailure& failure() const {
    ACL_CHECK(!ok(), "failure() of an answer");
    return std::get<1>(state_);
  }
  ModelFailure& failure() {
    ACL_CHECK(!ok(), "failure() of an answer");
    return std::get<1>(state_);
  }

 private:
  ModelAnswer& answer() {
    ACL_CHECK(ok(), "the answer of a failure");
    return std::get<0>(state_);
  }
  const ModelAnswer& answer() const {
    ACL_CHECK(ok(), "the answer of a failure");
    return std::get<0>(state_);
  }
  std::variant<ModelAnswer, ModelFailure> state_;
};

}  // namespace acl::aegis
