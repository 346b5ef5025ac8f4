#include "shared/http/response_head.h"

#include <fmt/format.h>

namespace acl::internal {

std::string FormatResponseHead(const HttpResponse& response, BodyForm form, bool keep_alive, const std::string& request_id) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, HttpReason(response.status));
  bool cache_control = false;
  for (const auto& [name, value] : response.headers) {
    cache_control = cache_control || name == "Cache-Control";
    head += name;
    head += ": ";
    for (const char c : value) head += (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) ? ' ' : c;
    head += "\r\n";
  }
  if (!cache_control) head += "Cache-Control: no-store\r\n";
  head += "X-Content-Type-Options: nosniff\r\n";
  if (!request_id.empty()) head += "X-Request-Id: " + request_id + "\r\n";
  if (form == BodyForm::kLength) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  if (form == BodyForm::kChunked) head += "Transfer-Encoding: chunked\r\n";
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

std::string FormatChunk(std::string_view bytes) {
  if (bytes.empty()) return "";
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace acl::internal
