#include "shared/base/host_port.h"

#include <charconv>

namespace acl {

std::string HostPort::ToString() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool HostPort::is_loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }

Result<HostPort> ParseHostPort(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Error{Code::kInvalid, "'" + std::string(text) + "' is not an address: " + std::string(why) +
                                     "; write HOST:PORT, for example 127.0.0.1:8733 or [::1]:8733"};
  };
  std::string_view host, port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || end + 1 >= text.size() || text[end + 1] != ':') return bad("no ]: after the host");
    host = text.substr(1, end - 1);
    port = text.substr(end + 2);
  } else {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return bad("no port");
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (host.find(':') != std::string_view::npos) return bad("an IPv6 host goes in brackets");
  }
  if (host.empty()) return bad("no host");
  for (const char c : host) {
    if (c <= ' ' || c == 0x7f || c == '/' || c == '@') return bad("the host has a character that no host has");
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (error != std::errc() || end != port.data() + port.size() || value > 65535) return bad("the port is a number from 0 to 65535");
  return HostPort{std::string(host), std::uint16_t(value)};
}

}  // namespace acl
