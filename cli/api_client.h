#pragma once
// The coordinator's HTTP API as airun uses it. Transport is libcurl in production (curl_transport.h) and scripted in tests.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "shared/base/json.h"
#include "shared/base/result.h"
#include "shared/journal/document.h"

namespace acl::cli {

// How an answer is read: it holds what is stored, with a few levels around it.
inline constexpr JsonLimits kAnswerJson{
    .max_bytes = kStoredJson.max_bytes, .max_depth = kStoredJson.max_depth + 8, .max_values = kAnyNumberOfValues};

struct ApiRequest {
  std::string method = "GET";
  std::string path;  // with query, from "/v1/..."
  std::map<std::string, std::string> headers;
  std::string body;
  std::chrono::milliseconds timeout{30'000};  // 0: none (streams)
};

struct ApiReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // kUnavailable: no answer, nothing known to be done. kTimeout: no answer in time.
  virtual Result<ApiReply> Send(const ApiRequest& request) = 0;
  // The body of a 200 in pieces; `take` returns false to stop. Another status: the whole body is in the reply.
  virtual Result<ApiReply> Stream(const ApiRequest& request, const std::function<bool(std::string_view)>& take) = 0;
};

std::string UrlEncode(std::string_view text);
// Path segments encoded one by one: "a/b c" -> "a/b%20c".
std::string UrlEncodePath(std::string_view path);

class ApiClient {
 public:
  // `traceparent`: W3C, sent along with every request; empty: none.
  ApiClient(std::unique_ptr<Transport> transport, std::string server, std::string api_key, std::string traceparent = "")
      : transport_(std::move(transport)), server_(std::move(server)), api_key_(std::move(api_key)), traceparent_(std::move(traceparent)) {}

  const std::string& server() const { return server_; }

  // JSON in, JSON out. A problem document (RFC 9457) becomes an Error: 404 kNotFound, 401/403 kDenied, 409 and a reused idempotency key
  // kConflict, 400 and 422 kInvalid (a workflow with errors kCorrupt), other 4xx kInternal, 5xx kUnavailable; the message holds the detail
  // and each of its `errors`.
  Result<Json> Get(const std::string& path);
  Result<Json> Post(const std::string& path, const Json& body, const std::map<std::string, std::string>& headers = {});
  Result<Json> Put(const std::string& path, const Json& body);
  Result<Json> PostText(const std::string& path, std::string body, const std::string& content_type);
  Status Delete(const std::string& path);
  Status PutContent(const std::string& sha256_hex, std::string bytes);
  Result<std::string> GetBytes(const std::string& path);
  Result<ApiReply> Probe(const std::string& path);  // whatever the status

  struct ServerEvent {
    std::string id, event, data;
  };
  // Server-sent events until the server ends the stream or `take` returns false. `last_event_id` resumes after it. kTimeout after
  // `timeout`; 0: none.
  Status Events(const std::string& path, const std::string& last_event_id, const std::function<bool(const ServerEvent&)>& take,
                std::chrono::milliseconds timeout = std::chrono::milliseconds(0));

 private:
  ApiRequest Request(std::string method, const std::string& path) const;
  Result<Json> Exchange(ApiRequest request);
  Error ProblemOf(const ApiReply& reply) const;

  std::unique_ptr<Transport> transport_;
  std::string server_, api_key_, traceparent_;
};

// The text/event-stream format (WHATWG), fed in pieces of any size.
class EventStreamParser {
 public:
  // False as soon as `take` returns false.
  bool Feed(std::string_view bytes, const std::function<bool(const ApiClient::ServerEvent&)>& take);

 private:
  std::string line_;
  bool after_cr_ = false;
  ApiClient::ServerEvent event_;
  bool has_data_ = false;
  bool Line(const std::function<bool(const ApiClient::ServerEvent&)>& take);
};

}  // namespace acl::cli
