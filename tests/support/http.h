#pragma once
// A small HTTP client for tests, over libcurl.

#include <cstdint>
#include <map>
#include <string>

#include "shared/base/json.h"

namespace acl::test {

struct HttpReply {
  int status = 0;  // 0: no answer
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string error;                           // what curl says, if there was no answer

  Json json() const;  // null if the body is not JSON
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::string body;
  std::map<std::string, std::string> headers;
  long timeout_ms = 20'000;
};

HttpReply Http(const HttpRequest& request);
inline HttpReply HttpGet(const std::string& url) { return Http({"GET", url, "", {}}); }

// A TCP port on 127.0.0.1 that nobody listens on, below the range the kernel gives to clients.
std::uint16_t FreePort();

}  // namespace acl::test
