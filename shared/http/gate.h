#pragma once
// The strict gate (notes: reliability 4.3): what RFC 9112 says to refuse and Boost.Beast's parser lets through, checked on the raw bytes
// of the head before anything else looks at them. Request smuggling lives on two parsers reading one message in two ways; here there is
// one reading, or a 400 and a closed connection. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/http/message.h"

namespace acl {

struct GateOptions {
  std::size_t max_target = 8 * 1024;
  std::size_t max_headers = 100;
  std::vector<std::string> allowed_hosts;  // without port, lower case; empty = any well-formed one
};

struct HttpHead {
  std::string method;
  std::string target;     // origin form: starts with "/", or "*"
  int minor_version = 1;  // HTTP/1.x
  HttpHeaders headers;    // names in lower case, values trimmed
  bool chunked = false;
  bool has_length = false;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
  bool expect_continue = false;

  bool has_body() const { return chunked || content_length > 0; }
};

struct GateRefusal {
  int status = 400;
  std::string code;  // "bad-host", "bad-transfer-encoding" ...
  std::string detail;
};

// Whether these bytes, which hold no whole head yet, can still become one; `searched`: so many were asked about before. False for a line
// that ends with a bare LF, and for control characters (the first bytes of TLS).
bool MayBecomeHead(std::string_view bytes, std::size_t searched);

// `head` from the request line to the empty line, its CRLF included. After a refusal the connection is closed.
std::variant<HttpHead, GateRefusal> CheckHead(std::string_view head, const GateOptions& options);

}  // namespace acl
