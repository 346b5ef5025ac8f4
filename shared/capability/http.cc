#include <fmt/format.h>

#include "shared/base/clock.h"
#include "shared/base/fail_point.h"
#include "shared/base/memory.h"
#include "shared/capability/egress.h"
#include "shared/capability/handlers.h"
#include "shared/capability/http_answer.h"
#include "shared/capability/http_client.h"
#include "shared/webhook/key_file.h"

namespace acl {

namespace {

bool IsToken(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos;
}

// The same name to a receiver: gateways (CGI, WSGI and what imitates them) read '_' and '-' as one character.
bool SameToReceiver(std::string_view a, std::string_view b) {
  const auto folded = [](char c) { return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return folded(x) == folded(y); });
}

// The headers of the file, checked: no line breaks to smuggle others in, nothing that frames the message or is ours to say.
Result<HttpHeaders> ReadHeaders(const Json& given) {
  HttpHeaders headers;
  for (const auto& [name, value] : given.items()) {
    if (!IsToken(name)) return Error{Code::kInvalid, fmt::format("headers: '{}' is not a header name", name.substr(0, 100))};
    for (std::string_view ours : {"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer", "Expect",
                                  "Fencing-Token", "Fencing-Scope"}) {
      if (SameToReceiver(name, ours))
        return Error{Code::kInvalid, fmt::format("headers: {} is set by the worker, it cannot be given", ours)};
    }
    if (value.is_structured() || value.is_null())
      return Error{Code::kInvalid, fmt::format("headers: the value of '{}' must be a string", name)};
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    for (char c : text) {
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f)
        return Error{Code::kInvalid, fmt::format("headers: '{}' holds a line break or control character", name)};
    }
    headers.emplace_back(name, std::move(text));
  }
  return headers;
}

std::string BadHeaders(const Json& given) {
  const auto headers = given.is_object() ? ReadHeaders(given) : HttpHeaders();
  return headers ? "" : "does not work: " + headers.message();
}
// Which schemes and hosts a worker lets calls go to is its own to say.
std::string BadUrl(const Json& url) {
  const auto checked = CheckUrl(EncodeUrl(url.is_string() ? url.get<std::string>() : ""), HttpConfig());
  return checked ? "" : "must be an absolute URL, such as https://example.org/path: " + checked.message();
}
constexpr int kMostSeconds = 86'400;

bool Has(const HttpHeaders& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(), [&](const auto& header) { return SameToReceiver(header.first, name); });
}

// As a Standard Webhook: signed now, under an id that stays the same however often it is tried.
Status AddSignature(const HttpConfig& config, const Json& parameters, const CallContext& context, HttpCall* call) {
  const std::string name = StringOf(parameters, "sign_with");
  if (name.empty()) return {};
  for (const char* ours : {webhook::kIdHeader, webhook::kTimestampHeader, webhook::kSignatureHeader}) {
    if (Has(call->headers, ours)) return Error{Code::kInvalid, fmt::format("headers: {} is set by the worker, sign_with says so", ours)};
  }
  const auto keys = config.webhook_keys ? config.webhook_keys->find(name) : webhook::Keyring::const_iterator();
  if (!config.webhook_keys || keys == config.webhook_keys->end()) {
    // Another worker may have it, where workers are being started anew with another file.
    return Error{Code::kUnavailable, fmt::format("sign_with: this worker has no webhook key '{}' (setting webhook_keys_file)", name)};
  }
  const auto url = CheckUrl(EncodeUrl(call->url), config);
  if (!url) return url.error();
  if (!HostMatches(url->host, keys->second.hosts)) {
    return Error{
        Code::kDenied,
        fmt::format("sign_with: the key '{}' signs nothing for host '{}'; the worker's webhook_keys_file says for which", name, url->host)};
  }
  const auto made = webhook::Sign(keys->second.keys, context.call.step.idempotency_key, SystemClock().Wall(), call->body);
  if (!made) return made.error();
  call->own_headers.emplace_back(webhook::kIdHeader, made->id);
  call->own_headers.emplace_back(webhook::kTimestampHeader, made->timestamp);
  call->own_headers.emplace_back(webhook::kSignatureHeader, made->signature);
  return {};
}

// The request of a call; kInvalid: parameters that make none.
Result<HttpCall> CallOf(const HttpConfig& config, const std::string& method, const Json& parameters, const CallContext& context) {
  HttpCall call;
  call.method = method;
  call.url = StringOf(parameters, "url");
  auto headers = ReadHeaders(parameters.at("headers"));
  if (!headers) return headers.error();
  call.headers = std::move(*headers);
  if (method != "GET") {
    call.body = StringOf(parameters, "body");
    if (!Has(call.headers, "Content-Type")) {
      std::string type = StringOf(parameters, "content_type");
      if (type.find_first_of("\r\n") != std::string::npos) return Error{Code::kInvalid, "content_type must not hold a line break"};
      call.headers.emplace_back("Content-Type", type);
    }
  }
  if (Status is_signed = AddSignature(config, parameters, context, &call); !is_signed) return is_signed.error();
  // The key is the engine's, stable across attempts; a file that brings its own knows its receiver.
  if (!Has(call.headers, "Idempotency-Key")) call.own_headers.emplace_back("Idempotency-Key", context.call.step.idempotency_key);
  call.own_headers.emplace_back("Fencing-Token", std::to_string(context.call.token.value));
  call.own_headers.emplace_back("Fencing-Scope", context.call.scope);
  if (!context.traceparent.empty() && !Has(call.headers, "traceparent")) call.own_headers.emplace_back("traceparent", context.traceparent);
  call.repeatable = method != "POST";
  call.follow_redirects = method == "GET" && FlagOf(parameters, "follow_redirects");
  const bool has_own = parameters.contains("timeout");
  const double seconds = NumberOf(parameters, "timeout", 0);
  if (has_own && !(seconds > 0 && seconds <= kMostSeconds)) {
    return Error{Code::kInvalid, "timeout must be more than 0 and at most 86400 seconds"};
  }
  using std::chrono::steady_clock;
  call.deadline = context.deadline;
  if (has_own)
    call.deadline = std::min(
        call.deadline, steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds)));
  call.stopped = [stop = context.stop] { return stop.stopped(); };
  return call;
}

void Send(const HttpConfig& config, HttpClient& client, const std::string& method, const Json& parameters, const CallContext& context,
          CapabilityDone done) {
  auto call = CallOf(config, method, parameters, context);
  if (!call) return done(Failed(call.error()));
  auto wanted = ReadWanted(parameters);
  if (!wanted) return done(Failed(wanted.error()));
  FailPoint("step.before_effect");
  client.Start(std::move(*call), [method, wanted = std::move(*wanted), done = std::move(done)](HttpAnswer answer) {
    FailPoint("effect.after_reply");
    const bool unsafe = method == "POST" && answer.sent;
    StepResult result;
    if (!WithinMemory([&] { result = ToResult(std::move(answer), method, wanted); })) {
      UntilThereIsMemory([&] {
        result = unsafe ? Ended(StepResult::Outcome::kUnknown, std::string(kOutOfMemory)) : Failed(std::string(kOutOfMemory), true);
      });
    }
    done(std::move(result));
  });
}

CapabilityDefinition Common(std::string id, std::string summary) {
  CapabilityDefinition definition;
  definition.id = std::move(id);
  definition.summary = std::move(summary);
  definition.parameters = {
      {.name = "url", .type = "string", .description = "http or https, a public host", .required = true, .check_literal = BadUrl},
      {.name = "headers", .type = "object", .description = "name: value", .default_value = Json::object(), .check_literal = BadHeaders},
      {.name = "timeout",
       .type = "float",
       .description = "seconds, if less than the step's `timeout_seconds`",
       .check_literal = BadSeconds<kMostSeconds>},
      StatusField("expect_status", "statuses that are an answer: 200, \"200-299\" or a list; any other fails the attempt. Default: all"),
      StatusField("retry_on", "statuses that fail the attempt and are worth another; Retry-After delays it. Default: see below"),
      {.name = "parse_json", .type = "boolean", .description = "true: the body must be JSON; false: it is not parsed"}};
  definition.results = {Out("status_code", "integer", "of the answer"),
                        Out("body", "string", "text; bytes that are not UTF-8 become U+FFFD"), Out("headers", "object", "name: value"),
                        Out("success", "boolean", "status 200 to 299")};
  definition.results.push_back(OutIf("json", "any", "the body as a value, if it is JSON"));
  definition.retry_delay = std::chrono::seconds(1);
  definition.false_success = FalseSuccess::kResult;
  definition.default_timeout = std::chrono::seconds(30);
  definition.docs =
      "Any status is a result (look at `success`), unless `expect_status` or `retry_on` says otherwise; no answer at all is a failure. A "
      "status that is not expected is tried again if it is in `retry_on`; without `retry_on` if it is 408, 425, 429 or 503, of GET and PUT "
      "also 500, 502 or 504. A Retry-After of the answer (seconds or a date, at most an hour) delays the next attempt. `json` is there if "
      "the answer's content type is JSON and the body has at most 64 KiB, or if `parse_json` is true: then a body that is no JSON fails "
      "the "
      "attempt. Of a key that stands twice the last value counts; an integer beyond 64 bits becomes a string with its digits. Spaces and "
      "what is not ASCII in path and query are percent-encoded. Idempotency-Key, Fencing-Token, Fencing-Scope and "
      "traceparent are sent along. "
      "Addresses that are not public are refused unless the worker allows private networks. At most 4 MiB come back.";
  return definition;
}

}  // namespace

void AddHttp(CapabilityRegistry& registry, const ConfigPtr& config) {
  auto client = std::make_shared<HttpClient>(config->http);
  auto add = [&](CapabilityDefinition definition, const char* method) {
    registry.AddStarter(std::move(definition), [client, config, method](const Json& parameters, CallContext& context, CapabilityDone done) {
      Send(config->http, *client, method, parameters, context, std::move(done));
    });
  };
  const char* kept =
      " It goes over a connection that an earlier call has left, if there is one; if the server has closed that one meanwhile, it is sent "
      "again over a new one.";
  CapabilityDefinition get = Common("net.http.get", "Fetch a URL.");
  get.docs += kept;
  get.parameters.push_back(Flag("follow_redirects", true, "at most 5, each checked anew; secrets go to the first host only"));
  get.effect = EffectClass::kRead;
  add(std::move(get), "GET");

  std::vector<FieldDefinition> body{{.name = "body", .type = "string", .description = "what to send", .default_value = Json("")},
                                    {.name = "content_type",
                                     .type = "string",
                                     .description = "if headers have no Content-Type",
                                     .default_value = Json("application/json")},
                                    {.name = "sign_with",
                                     .type = "string",
                                     .description = "name of a key of the worker's webhook_keys_file: sent as a Standard Webhook"}};
  const char* is_signed =
      " With `sign_with` it carries webhook-id (the step's idempotency key: the same at every try), webhook-timestamp and "
      "webhook-signature "
      "as Standard Webhooks 1.0.0 has them.";
  CapabilityDefinition post = Common("net.http.post", "Send to a URL.");
  post.docs += is_signed;
  post.docs +=
      " Redirects are not followed. Each call has a connection of its own. If the connection is lost after sending, the outcome is "
      "UNCERTAIN, unless the step says `on_unknown_outcome`.";
  post.parameters.insert(post.parameters.end(), body.begin(), body.end());
  post.effect = EffectClass::kNonIdempotent;
  post.risk = RiskLevel::kHigh;
  post.needs_confirmation = true;
  add(std::move(post), "POST");

  CapabilityDefinition put = Common("net.http.put", "Put something at a URL.");
  put.docs += is_signed;
  put.docs += " Redirects are not followed. PUT may be repeated, so a lost answer is just tried again.";
  put.docs += kept;
  put.parameters.insert(put.parameters.end(), body.begin(), body.end());
  put.effect = EffectClass::kIdempotent;
  put.honours_key = true;
  put.risk = RiskLevel::kHigh;
  add(std::move(put), "PUT");
}

}  // namespace acl
