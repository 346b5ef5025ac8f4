#pragma once
// Where a worker may connect to on behalf of a workflow: public addresses only, unless configured. The
// decision is made on the numeric address of each connection, after name resolution and inside the connection's own set-up, so neither
// spellings (0x7f.1, 2130706433) nor DNS rebinding nor redirects get around it.

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "shared/base/result.h"
#include "shared/capability/config.h"

namespace acl {

// "" for an address of the public internet, else what it is: "loopback", "private", "link-local" ... IPv6 forms that carry an IPv4 address
// (mapped, NAT64) are judged by it; those that tunnel (6to4, Teredo, v4-compatible) are never public. Unknown families are not public.
std::string_view NotPublic(const sockaddr* address);
// The same for text as inet_pton reads it; "not an address" if it is none.
std::string_view NotPublicText(const std::string& address);

// The URL with what may not stand in its path, query or fragment (spaces, what is not ASCII, quotes, braces ...) percent-encoded; a % that
// is there stays. Scheme and host stay as they are.
std::string EncodeUrl(const std::string& url);

struct CheckedUrl {
  std::string scheme, host, port;  // lower case; port always there
  std::string origin() const { return scheme + "://" + host + ":" + port; }
};

// Form only, no resolution: a scheme of the list, no user:password, a host, one of the allowed hosts if there is such a list.
// kInvalid or kDenied with what to write instead.
Result<CheckedUrl> CheckUrl(const std::string& url, const HttpConfig& config);

// Whether a host, as CheckUrl says it, is one of the patterns: exact names, "*.example.org" for every name below, "*" for any.
bool HostMatches(std::string_view host, const std::vector<std::string>& patterns);

}  // namespace acl
