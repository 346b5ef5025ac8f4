#include "shared/aegis/provider/http_model_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/aegis/provider/answer_pipe.h"
#include "shared/aegis/provider/spending.h"
#include "shared/base/canonical_json.h"
#include "shared/base/memory.h"
#include "shared/capability/egress.h"

namespace acl::aegis {
namespace {

using std::chrono::milliseconds;

// How often a thread that waits asks whether it was cancelled, and asks the clock.
constexpr milliseconds kLook{50};

bool IsThisMachine(const std::string& host) {
  return host == "localhost" || NotPublicText(host) == "loopback" ||
         (host.size() > 2 && host.front() == '[' && NotPublicText(host.substr(1, host.size() - 2)) == "loopback");
}

ModelFailure NotRun(Failure code, std::string detail) { return {.code = code, .ran = Ran::kNo, .detail = std::move(detail)}; }

// What no provider could make sense of, and what would leave 64 bits.
std::string WrongIn(const ModelRequest& request) {
  constexpr std::int64_t kMostTokens = 10'000'000;
  if (request.model.empty()) return "no model is named, neither by the request nor by the provider";
  if (request.messages.empty()) return "there is no message";
  if (request.max_tokens < 1 || request.max_tokens > kMostTokens) return fmt::format("max_tokens must be from 1 to {}", kMostTokens);
  return "";
}

}  // namespace

struct HttpModelClient::Call {
  const ModelHooks& hooks;
  SteadyTime began, deadline;
  std::string body, path, digest;
  Headers headers;
  bool stream = false, given_out = false;
  std::optional<milliseconds> first_text;
  std::int64_t tokens = 0, most_tokens = 0;  // what it probably uses, and can use at most
  int attempts = 0, unknown_attempts = 0;
  std::size_t answer_bytes = 0;
  std::string request_id;

  bool Cancelled() const { return hooks.cancelled && hooks.cancelled(); }
};

Result<std::unique_ptr<HttpModelClient>> HttpModelClient::Make(ProviderConfig provider, std::string key, const Clock& clock,
                                                               Random& random) {
  while (provider.base_url.ends_with('/')) provider.base_url.pop_back();
  HttpConfig config;
  config.max_redirects = 0;
  config.max_body_bytes = provider.most_answer_bytes;
  config.connect_timeout = provider.connect_timeout;
  config.ca_file = provider.ca_file;
  const auto checked = CheckUrl(provider.base_url, config);
  if (!checked) return Error{checked.code(), fmt::format("provider {}: base_url: {}", provider.name, checked.message())};
  if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c <= 0x20 || c >= 0x7f; }))
    return Error{Code::kInvalid, fmt::format("provider {}: the key holds a blank or a character that no key has", provider.name)};
  const bool own = IsThisMachine(checked->host);
  if (!key.empty() && checked->scheme != "https" && !own) {
    return Error{
        Code::kInvalid,
        fmt::format("provider {}: base_url is http and there is a key: anybody on the way could read it; write https", provider.name)};
  }
  config.allow_private_networks = provider.allow_private_networks || own;
  config.allowed_hosts = {checked->host};
  return std::unique_ptr<HttpModelClient>(new HttpModelClient(std::move(provider), std::move(key), std::move(config), clock, random));
}

HttpModelClient::HttpModelClient(ProviderConfig provider, std::string key, HttpConfig config, const Clock& clock, Random& random)
    : provider_(std::move(provider)),
      key_(std::move(key)),
      protocol_(ProtocolOf(provider_.kind)),
      clock_(clock),
      random_(random),
      limiter_(provider_.limits, clock.Steady()),
      client_(std::move(config)) {}

ModelResult HttpModelClient::Invoke(const ModelRequest& given, const ModelHooks& hooks) {
  Call call{.hooks = hooks, .began = clock_.Steady()};
  call.deadline = std::min(hooks.deadline, call.began + provider_.total_timeout);
  call.stream = bool(hooks.on_delta);
  ModelRequest request = given;
  if (request.model.empty()) request.model = provider_.model;
  if (std::string wrong = WrongIn(request); !wrong.empty()) return Completed(NotRun(Failure::kNotAllowed, std::move(wrong)), call);
  const std::int64_t prompt = WorstCase(request, {}).prompt_tokens;
  call.tokens = prompt / 4 + request.max_tokens;  // for the rate only: bytes are seldom tokens
  call.most_tokens = prompt + request.max_tokens;
  WireRequest wire = protocol_.Encode(request, call.stream, provider_.dialect);
  if (!CheckStorable(wire.body) || DumpedBytes(wire.body) > provider_.most_request_bytes) {
    return Completed(
        NotRun(Failure::kNotAllowed, fmt::format("the request is larger than max_request_bytes ({}) of the provider, or no valid UTF-8",
                                                 provider_.most_request_bytes)),
        call);
  }
  call.digest = ToHex(CanonicalHash(wire.body));
  call.body = DumpJson(wire.body);
  call.path = wire.path;
  call.headers = std::move(wire.headers);
  for (;;) {
    if (auto failed = TakeTurn(call)) return Completed(*std::move(failed), call);
    ++call.attempts;
    ModelResult result = Attempt(call);
    ReturnTurn(call, result);
    if (result) return Completed(std::move(result), call);
    const auto left = std::chrono::duration_cast<milliseconds>(call.deadline - clock_.Steady());
    const auto decision = DecideRetry(result.failure(), call.attempts, call.given_out, provider_.retries, left, Unit());
    if (!decision.again) return Completed(std::move(result), call);
    if (!Pause(call, decision.wait)) {
      result.failure().code = Failure::kCancelled;
      return Completed(std::move(result), call);
    }
    if (result.failure().ran != Ran::kNo) ++call.unknown_attempts;
  }
}

double HttpModelClient::Unit() {
  std::lock_guard lock(mutex_);
  return random_.Unit();
}

// What the client knows of the call, into whatever came of it.
ModelResult HttpModelClient::Completed(ModelResult result, const Call& call) const {
  const auto fill = [&](auto& of) {
    of.provider = provider_.name;
    of.request_digest = call.digest;
    of.request_bytes = call.body.size();
    of.answer_bytes = call.answer_bytes;
    of.attempts = call.attempts;
    of.unknown_attempts = call.unknown_attempts;
    if (of.request_id.empty()) of.request_id = call.request_id;
  };
  if (!result) {
    fill(result.failure());
    return result;
  }
  fill(*result);
  result->latency = std::chrono::duration_cast<milliseconds>(clock_.Steady() - call.began);
  result->first_text = call.first_text;
  return result;
}

// Waits until the limits of the provider let this call begin.
std::optional<ModelFailure> HttpModelClient::TakeTurn(Call& call) {
  std::optional<CallLimiter::Ticket> ticket;
  {
    std::lock_guard lock(mutex_);
    ticket = limiter_.Queue();
  }
  if (!ticket) return NotRun(Failure::kOverloaded, "too many calls wait for this provider here (calls_waiting)");
  for (;;) {
    const bool cancelled = call.Cancelled();  // without the lock: it is somebody else's
    std::unique_lock lock(mutex_);
    const SteadyTime now = clock_.Steady();
    if (cancelled || now >= call.deadline) {
      limiter_.Leave(*ticket);
      changed_.notify_all();
      return cancelled ? NotRun(Failure::kCancelled, "while it waited for its turn")
                       : NotRun(Failure::kTimedOut, "while it waited for its turn (calls_at_once, requests_per_minute, tokens_per_minute)");
    }
    if (limiter_.Begin(*ticket, call.tokens, now).now) {
      changed_.notify_all();  // the next in the queue may begin too
      return std::nullopt;
    }
    changed_.wait_for(lock, kLook);
  }
}

void HttpModelClient::ReturnTurn(const Call& call, const ModelResult& result) {
  std::int64_t used = call.tokens;
  if (result && !result->usage_missing) used = std::min(result->usage.prompt + result->usage.completion, call.most_tokens);
  if (!result && result.failure().ran == Ran::kNo) used = 0;
  std::lock_guard lock(mutex_);
  limiter_.End(call.tokens, used, clock_.Steady());
  if (!result && result.failure().code == Failure::kRateLimited && result.failure().retry_after)
    limiter_.CloseUntil(clock_.Steady() + std::min(*result.failure().retry_after, provider_.retries.most_wait));
  changed_.notify_all();
}

// False: cancelled meanwhile.
bool HttpModelClient::Pause(const Call& call, milliseconds wait) {
  const SteadyTime until = clock_.Steady() + wait;
  for (SteadyTime now = clock_.Steady(); now < until; now = clock_.Steady()) {
    if (call.Cancelled()) return false;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::min<SteadyTime::duration>(kLook, until - now));
  }
  return true;
}

ModelResult HttpModelClient::Attempt(Call& call) {
  auto pipe = std::make_shared<AnswerPipe>();
  HttpCall http;
  http.method = "POST";
  http.url = provider_.base_url + call.path;
  http.headers = {{"Content-Type", "application/json"}, {"Accept", call.stream ? "text/event-stream" : "application/json"}};
  http.headers.insert(http.headers.end(), call.headers.begin(), call.headers.end());
  if (!key_.empty()) http.own_headers.push_back(protocol_.KeyHeader(key_));
  http.body = call.body;
  http.deadline = call.deadline;
  if (call.stream) http.most_quiet = provider_.quiet_timeout;
  http.stopped = [pipe, cancelled = call.hooks.cancelled] { return pipe->stopped() || (cancelled && cancelled()); };
  http.on_body = [pipe](std::string_view bytes) { return pipe->Put(bytes); };
  client_.Start(std::move(http), [pipe](HttpAnswer answer) { pipe->End(std::move(answer)); });

  AnswerBytes bytes(protocol_, call.stream, [&](std::string_view text) {
    if (!std::exchange(call.given_out, true)) call.first_text = std::chrono::duration_cast<milliseconds>(clock_.Steady() - call.began);
    call.hooks.on_delta(text);
  });
  std::optional<ModelFailure> failed;
  for (std::string piece; pipe->Take(piece);) {
    if (!failed && call.Cancelled()) failed = ModelFailure{.code = Failure::kCancelled, .ran = Ran::kYes};
    if (!failed) failed = bytes.Take(piece);
    if (failed) pipe->Stop();  // nothing that comes now is of use: the connection is closed
  }
  const HttpAnswer answer = pipe->Answer();
  call.answer_bytes = answer.body_bytes;
  call.request_id = RequestIdOf(answer.headers);
  if (failed) return *std::move(failed);
  if (answer.end != HttpAnswer::End::kAnswered) return OfEnd(call, answer);
  if (answer.status != 200) return DecodeFailure(answer.status, answer.headers, answer.body, clock_.Wall());
  return bytes.Finish();
}

ModelResult HttpModelClient::OfEnd(const Call& call, const HttpAnswer& answer) const {
  using End = HttpAnswer::End;
  ModelFailure failure{.code = Failure::kOutcomeUnknown, .ran = answer.sent ? Ran::kMaybe : Ran::kNo, .status = 0};
  switch (answer.end) {
    case End::kRefused:
      failure = NotRun(Failure::kNotAllowed, answer.error + " (allow_private_networks of the provider, if it is a server of yours)");
      break;
    case End::kNotSent: failure = NotRun(Failure::kNotConnected, answer.error); break;
    case End::kTimedOut:
      failure.code = answer.sent ? Failure::kTimedOut : Failure::kNotConnected;
      failure.detail = answer.error;
      break;
    case End::kStopped: failure.code = Failure::kCancelled; break;
    case End::kTooLarge:
      failure.code = Failure::kTooLarge;
      failure.ran = Ran::kYes;
      failure.detail = answer.error;
      break;
    default:
      if (answer.body_bytes > 0) failure = {.code = Failure::kTruncatedStream, .ran = Ran::kYes};
      failure.detail = answer.error;
  }
  if (failure.code == Failure::kTimedOut && call.given_out) failure.ran = Ran::kYes;
  return failure;
}

}  // namespace acl::aegis
