#pragma once
// A listen or peer address: "127.0.0.1:8733", "localhost:8733", "[::1]:8733". Port 0 = any free one (listening only).

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace acl {

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;

  std::string ToString() const;  // an IPv6 host in brackets
  bool is_loopback() const;      // 127.0.0.0/8, ::1 or "localhost"
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// kInvalid says what to write instead.
Result<HostPort> ParseHostPort(std::string_view text);

}  // namespace acl
