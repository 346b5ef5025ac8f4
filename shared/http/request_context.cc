#include "shared/http/request_context.h"

#include <fmt/ranges.h>

#include "shared/base/memory.h"
#include "shared/base/random.h"
#include "shared/base/trace_context.h"
#include "shared/http/problem.h"
#include "shared/http/url.h"

namespace acl::internal {
namespace {

bool IsUsableId(std::string_view text) {
  if (text.empty() || text.size() > 100) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
  });
}

std::string RandomHex() {
  SystemRandom random;
  const std::array<std::uint64_t, 2> words = {random.Next(), random.Next() | 1};  // never all zero
  return ToHex(words.data(), sizeof words);
}

std::string LowerTrimmed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t') out += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

std::optional<HttpResponse> FillRequest(const HttpHead& head, const Router& router, HttpRequest& request, const Route*& route) {
  request.method = head.method;
  request.headers = head.headers;
  const auto mark = head.target.find('?');
  request.path = head.target.substr(0, mark);
  const auto* id = request.Header("x-request-id");
  request.request_id = id != nullptr && IsUsableId(*id) ? *id : RandomHex();
  const auto* parent = request.Header("traceparent");
  if (auto caller = parent == nullptr ? std::nullopt : ParseTraceparent(*parent)) request.caller = std::move(*caller);
  request.trace_id = request.caller.trace_id.empty() ? RandomHex() : request.caller.trace_id;
  if (mark != std::string::npos) {
    auto query = ParseQuery(std::string_view(head.target).substr(mark + 1));
    if (!query) return Problem(400, "bad-query", "the query does not decode: use %XX escapes of UTF-8, at most 100 parameters");
    request.query = std::move(*query);
  }
  if (request.path == "*") return HttpResponse::Empty().With("Allow", "GET, HEAD, POST, PUT, OPTIONS");
  auto match = router.Find(request.method, request.path);
  if (match.malformed) return Problem(400, "bad-target", "the path does not decode: use %XX escapes of UTF-8");
  if (match.route == nullptr) {
    if (match.allowed.empty())
      return Problem(404, "no-such-route", "there is nothing at " + request.path + "; /openapi.json lists what there is");
    const auto allow = fmt::format("{}, OPTIONS", fmt::join(match.allowed, ", "));
    if (request.method == "OPTIONS") return HttpResponse::Empty().With("Allow", allow);
    return Problem(405, "method-not-allowed", request.method + " is not for " + request.path + "; it takes " + allow).With("Allow", allow);
  }
  route = match.route;
  request.route = route->pattern;
  request.params = std::move(match.params);
  return std::nullopt;
}

std::optional<HttpResponse> CheckBody(const HttpHead& head, const Route& route) {
  if (!head.has_body()) return std::nullopt;
  if (route.options.max_body == 0) return Problem(400, "unexpected-body", head.method + " " + route.pattern + " takes no body");
  if (head.content_length > route.options.max_body) {
    return Problem(413, "body-too-large", "the body is larger than this route takes: " + std::to_string(route.options.max_body) + " bytes");
  }
  return std::nullopt;
}

std::optional<HttpResponse> CheckContentType(const HttpRequest& request, const Route& route) {
  if (request.body.empty()) {
    if (route.options.body_required) return Problem(400, "body-missing", "this route needs a body");
    return std::nullopt;
  }
  if (route.options.content_types.empty()) return std::nullopt;
  const auto* header = request.Header("content-type");
  const std::string type = header == nullptr ? "" : LowerTrimmed(header->substr(0, header->find(';')));
  for (const auto& allowed : route.options.content_types) {
    if (type == allowed) return std::nullopt;
  }
  return Problem(415, "unsupported-media-type",
                 fmt::format("Content-Type is {}; this route takes {}", type.empty() ? "missing" : "'" + type + "'",
                             fmt::join(route.options.content_types, " or ")));
}

namespace {

// Nothing: it left the request to somebody else.
std::optional<HttpResponse> Guarded(const Logger& log, const Route& route, const HttpRequest& request,
                                    const std::function<std::optional<HttpResponse>(const HttpRequest&)>& call) {
  std::string what = "unknown";
  try {
    std::optional<HttpResponse> answer;
    if (WithinMemory([&] { answer = call(request); })) return answer;
    log.Error("a request was given up: not enough memory", {{"route", route.pattern}, {"request_id", request.request_id}});
    return Problem(503, "out-of-memory", "there is not enough memory for this request now; try again, or ask for less")
        .With("Retry-After", "5");
  } catch (const std::exception& exception) {
    what = exception.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): answered below
  }
  log.Error("a handler threw: a bug", {{"route", route.pattern}, {"error", what}, {"request_id", request.request_id}});
  return Problem(500, "internal", "a fault of the server's own; its log has the request id " + request.request_id);
}

}  // namespace

HttpResponse CallHandler(const Logger& log, const Route& route, const HttpRequest& request) {
  return *Guarded(log, route, request, [&](const HttpRequest& asked) { return std::optional(route.handler(asked)); });
}

std::optional<HttpResponse> CallQuick(const Logger& log, const Route& route, const HttpRequest& request) {
  if (!route.options.quick) return std::nullopt;
  return Guarded(log, route, request, route.options.quick);
}

}  // namespace acl::internal
