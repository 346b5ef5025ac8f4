#pragma once
// A request and its answer, as handlers see them. Handlers know nothing of sockets.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/trace_context.h"

namespace acl {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// The first header of this name (lower case), or nullptr.
const std::string* FindHeader(const HttpHeaders& headers, std::string_view name);

struct HttpRequest {
  std::string method;                                      // upper case
  std::string path;                                        // percent-encoded, without the query
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  HttpHeaders headers;                                     // names in lower case
  std::string body;
  std::map<std::string, std::string> params;  // of the route's pattern, decoded
  std::string route;                          // the pattern: bounded, for metrics and logs
  std::string peer;                           // "127.0.0.1:51234"
  std::string request_id;                     // X-Request-Id if it was usable, else made
  std::string trace_id;                       // of `traceparent`, else made; 32 hex digits
  TraceContext caller;                        // of `traceparent`; without ids if it sent none
  TraceContext span;                          // that records this request, set by the authorizer; without ids: none does
  std::string principal;                      // who asks, set by the authorizer; empty = nobody in particular
  std::vector<std::string> roles;             // of the principal, set by the authorizer
  bool undecided = false;                     // set by an authorizer that refuses and may decide otherwise once it has looked

  const std::string* Header(std::string_view name) const { return FindHeader(headers, name); }
  const std::string* Query(std::string_view name) const;  // the first of this name
  const std::string& Param(const std::string& name) const { return params.at(name); }
};

// The sending end of a response that goes on (server-sent events). Safe from any thread; may outlive its connection.
class HttpStream {
 public:
  enum class Wrote {
    kOk,
    kFull,    // the reader is slow: nothing was taken, try again later
    kClosed,  // the reader is gone, or the server stops
  };
  static constexpr std::size_t kMaxBuffered = 1u << 20;

  virtual ~HttpStream() = default;
  virtual Wrote Write(std::string_view bytes) = 0;
  // Bytes that were written and that its reader has not taken.
  virtual std::size_t waiting() const = 0;
  // What was written goes out, then the response ends.
  virtual void End() = 0;
  virtual bool closed() const = 0;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;
  std::string body;
  // Set: `body` is not sent; the head goes out and the stream is handed over (on the server's thread: it must not block).
  std::function<void(std::shared_ptr<HttpStream>)> on_stream;
  // Set: nothing is sent yet. Called once, on the thread of who answered so; whoever has the answer gives it to `answer`, from any thread,
  // once. Dropped without an answer it is a 503. Not for routes on the server's thread (RouteOptions::quick may).
  using Answer = std::function<void(HttpResponse)>;
  std::function<void(Answer answer)> later;

  static HttpResponse OfJson(int status, const Json& json);
  static HttpResponse OfText(int status, std::string text, std::string_view content_type = "text/plain; charset=utf-8");
  static HttpResponse Empty(int status = 204) { return {.status = status}; }
  HttpResponse& With(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
    return *this;
  }
};

std::string_view HttpReason(int status);

}  // namespace acl
