#include "cli/api_client.h"

#include "cli/format.h"

namespace acl::cli {

namespace {

std::string Encode(std::string_view text, bool keep_slash) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : text) {
    if (std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/')) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return out;
}

}  // namespace

std::string UrlEncode(std::string_view text) { return Encode(text, false); }
std::string UrlEncodePath(std::string_view path) { return Encode(path, true); }

ApiRequest ApiClient::Request(std::string method, const std::string& path) const {
  ApiRequest request;
  request.method = std::move(method);
  request.path = path;
  request.headers["Accept"] = "application/json";
  if (!api_key_.empty()) request.headers["Authorization"] = "Bearer " + api_key_;
  if (!traceparent_.empty()) request.headers["traceparent"] = traceparent_;
  return request;
}

Error ApiClient::ProblemOf(const ApiReply& reply) const {
  Code code = reply.status == 404                          ? Code::kNotFound
              : reply.status == 401 || reply.status == 403 ? Code::kDenied
              : reply.status == 409 || reply.status == 412 ? Code::kConflict
              : reply.status == 504 || reply.status == 408 ? Code::kTimeout
              : reply.status >= 500                        ? Code::kUnavailable
              : reply.status == 400 || reply.status == 422 ? Code::kInvalid
                                                           : Code::kInternal;
  std::string message = "the server answered " + std::to_string(reply.status);
  const auto body = ParseJson(reply.body);
  if (reply.status == 404 && !(body && body->is_object() && body->contains("code"))) {  // every refusal of a coordinator has one
    return {Code::kUnavailable,
            server_ + " answered 404, and not as a coordinator does: another server listens there (--server, ACL_SERVER)"};
  }
  if (body && body->is_object()) {
    const std::string name = TextOf(*body, "code");
    if (name == "key-reused") code = Code::kConflict;
    if (name == "invalid-workflow") code = Code::kCorrupt;  // the file, not the command line
    const std::string detail = TextOf(*body, body->contains("detail") ? "detail" : "title");
    if (!detail.empty()) message = detail;
    if (auto errors = body->find("errors"); errors != body->end() && errors->is_array())
      for (const Json& one : *errors) {
        std::string text = one.is_string() ? one.get<std::string>() : TextOf(one, TextOf(one, "text").empty() ? "message" : "text");
        if (!text.empty() && message.find(text) == std::string::npos) message += "\n  " + text;
      }
  }
  if (code == Code::kDenied && api_key_.empty()) message += " (no API key was sent; set ACL_API_KEY or --api-key-file)";
  return {code, message};
}

Result<Json> ApiClient::Exchange(ApiRequest request) {
  auto reply = transport_->Send(request);
  if (!reply) return reply.error();
  if (reply->status < 200 || reply->status >= 300) return ProblemOf(*reply);
  if (reply->body.empty()) return Json(Json::object());
  auto body = ParseJson(reply->body, kAnswerJson);
  if (!body)
    return Error{Code::kInternal, "the answer of " + server_ + request.path + " is no JSON (is this a coordinator?): " + body.message()};
  return body;
}

Result<Json> ApiClient::Get(const std::string& path) { return Exchange(Request("GET", path)); }

Result<Json> ApiClient::Post(const std::string& path, const Json& body, const std::map<std::string, std::string>& headers) {
  ApiRequest request = Request("POST", path);
  request.headers["Content-Type"] = "application/json";
  for (const auto& [name, value] : headers) request.headers[name] = value;
  request.body = DumpJson(body);
  return Exchange(std::move(request));
}

Result<Json> ApiClient::PostText(const std::string& path, std::string body, const std::string& content_type) {
  ApiRequest request = Request("POST", path);
  request.headers["Content-Type"] = content_type;
  request.body = std::move(body);
  request.timeout = std::chrono::minutes(10);
  return Exchange(std::move(request));
}

Result<Json> ApiClient::Put(const std::string& path, const Json& body) {
  ApiRequest request = Request("PUT", path);
  request.headers["Content-Type"] = "application/json";
  request.body = DumpJson(body);
  return Exchange(std::move(request));
}

Status ApiClient::Delete(const std::string& path) {
  auto answer = Exchange(Request("DELETE", path));
  return answer ? Status() : Status(answer.error());
}

Status ApiClient::PutContent(const std::string& sha256_hex, std::string bytes) {
  ApiRequest request = Request("PUT", "/v1/contents/" + sha256_hex);
  request.headers["Content-Type"] = "application/octet-stream";
  request.body = std::move(bytes);
  request.timeout = std::chrono::minutes(5);
  auto answer = Exchange(std::move(request));
  if (!answer) return answer.error();
  return {};
}

Result<std::string> ApiClient::GetBytes(const std::string& path) {
  ApiRequest request = Request("GET", path);
  request.headers["Accept"] = "*/*";
  request.timeout = std::chrono::minutes(5);
  auto reply = transport_->Send(request);
  if (!reply) return reply.error();
  if (reply->status != 200) return ProblemOf(*reply);
  return std::move(reply->body);
}

Result<ApiReply> ApiClient::Probe(const std::string& path) { return transport_->Send(Request("GET", path)); }

Status ApiClient::Events(const std::string& path, const std::string& last_event_id, const std::function<bool(const ServerEvent&)>& take,
                         std::chrono::milliseconds timeout) {
  ApiRequest request = Request("GET", path);
  request.headers["Accept"] = "text/event-stream";
  if (!last_event_id.empty()) request.headers["Last-Event-ID"] = last_event_id;
  request.timeout = timeout;
  EventStreamParser parser;
  auto reply = transport_->Stream(request, [&](std::string_view bytes) { return parser.Feed(bytes, take); });
  if (!reply) return reply.error();
  if (reply->status != 200) return ProblemOf(*reply);
  return {};
}

bool EventStreamParser::Feed(std::string_view bytes, const std::function<bool(const ApiClient::ServerEvent&)>& take) {
  for (char c : bytes) {
    if (c == '\n' && std::exchange(after_cr_, false)) continue;
    after_cr_ = c == '\r';
    if (c != '\n' && c != '\r') {
      line_ += c;
    } else if (!Line(take)) {
      return false;
    }
  }
  return true;
}

bool EventStreamParser::Line(const std::function<bool(const ApiClient::ServerEvent&)>& take) {
  std::string line;
  line.swap(line_);
  if (line.empty()) {
    bool go_on = !has_data_ || take(event_);
    event_.event.clear();
    event_.data.clear();
    has_data_ = false;
    return go_on;
  }
  std::size_t colon = line.find(':');
  if (colon == 0) return true;  // a comment: keep-alive
  std::string field = line.substr(0, colon), value = colon == std::string::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.erase(0, 1);
  if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  } else if (field == "id") {
    event_.id = value;
  } else if (field == "event") {
    event_.event = value;
  }
  return true;
}

}  // namespace acl::cli
