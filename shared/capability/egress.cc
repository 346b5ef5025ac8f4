#include "shared/capability/egress.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace acl {

namespace {

struct Range4 {
  std::uint32_t base;
  int bits;
  std::string_view what;
};

constexpr std::uint32_t V4(unsigned a, unsigned b, unsigned c, unsigned d) { return a << 24 | b << 16 | c << 8 | d; }

// IANA special-purpose registry.
constexpr Range4 kRanges4[] = {
    {V4(0, 0, 0, 0), 8, "this network"},
    {V4(10, 0, 0, 0), 8, "private"},
    {V4(100, 64, 0, 0), 10, "carrier-grade NAT"},
    {V4(127, 0, 0, 0), 8, "loopback"},
    {V4(169, 254, 0, 0), 16, "link-local"},
    {V4(172, 16, 0, 0), 12, "private"},
    {V4(192, 0, 0, 0), 24, "protocol assignment"},
    {V4(192, 0, 2, 0), 24, "documentation"},
    {V4(192, 88, 99, 0), 24, "6to4 relay"},
    {V4(192, 168, 0, 0), 16, "private"},
    {V4(198, 18, 0, 0), 15, "benchmarking"},
    {V4(198, 51, 100, 0), 24, "documentation"},
    {V4(203, 0, 113, 0), 24, "documentation"},
    {V4(224, 0, 0, 0), 4, "multicast"},
    {V4(240, 0, 0, 0), 4, "reserved"},
};

std::string_view NotPublic4(std::uint32_t address) {
  for (const auto& range : kRanges4) {
    if (((address ^ range.base) >> (32 - range.bits)) == 0) return range.what;
  }
  return "";
}

struct Range6 {
  std::uint8_t base[16];
  int bits;
  std::string_view what;
};

constexpr Range6 kRanges6[] = {
    {{0xfe, 0x80}, 10, "link-local"},
    {{0xfe, 0xc0}, 10, "site-local"},
    {{0xfc}, 7, "private"},
    {{0xff}, 8, "multicast"},
    {{0x20, 0x02}, 16, "6to4 tunnel"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {{0x20, 0x01}, 23, "Teredo or protocol assignment"},
    {{0x3f, 0xff}, 20, "documentation"},
};

bool InRange(const std::uint8_t* address, const std::uint8_t* base, int bits) {
  int whole = bits / 8, rest = bits % 8;
  if (std::memcmp(address, base, std::size_t(whole)) != 0) return false;
  return rest == 0 || ((address[whole] ^ base[whole]) >> (8 - rest)) == 0;
}

std::uint32_t Embedded(const std::uint8_t* at) { return V4(at[0], at[1], at[2], at[3]); }

std::string_view NotPublic6(const std::uint8_t* address) {
  static constexpr std::uint8_t kZero[16] = {};
  static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  static constexpr std::uint8_t kNat64[12] = {0, 0x64, 0xff, 0x9b};
  if (std::memcmp(address, kZero, 15) == 0 && address[15] <= 1) return address[15] == 1 ? "loopback" : "unspecified";
  if (std::memcmp(address, kMapped, 12) == 0 || std::memcmp(address, kNat64, 12) == 0) return NotPublic4(Embedded(address + 12));
  for (const auto& range : kRanges6) {
    if (InRange(address, range.base, range.bits)) return range.what;
  }
  if ((address[0] & 0xe0) != 0x20) return "not a global address";  // only 2000::/3 is given out
  return "";
}

}  // namespace

bool HostMatches(std::string_view host, const std::vector<std::string>& patterns) {
  if (host.size() > 1 && host.back() == '.') host.remove_suffix(1);  // fully qualified: the same host
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    if (pattern == host || pattern == "*") return true;
    if (pattern.size() <= 2 || !pattern.starts_with("*.")) return false;
    return host.size() >= pattern.size() && host.ends_with(pattern.substr(1));
  });
}

std::string_view NotPublic(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return NotPublic4(ntohl(v4.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    return NotPublic6(v6.sin6_addr.s6_addr);
  }
  return "not an internet address";
}

std::string_view NotPublicText(const std::string& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return NotPublic4(ntohl(v4.s_addr));
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return NotPublic6(v6.s6_addr);
  return "not an address";
}

std::string EncodeUrl(const std::string& url) {
  const auto slashes = url.find("://");
  const auto path = slashes == std::string::npos ? std::string::npos : url.find_first_of("/?#", slashes + 3);
  if (path == std::string::npos) return url;
  std::string encoded = url.substr(0, path);
  for (const char c : url.substr(path)) {
    // Control characters and backslashes are nobody's spelling of anything: CheckUrl refuses them.
    const auto byte = static_cast<unsigned char>(c);
    const bool stays = byte > 0x20 && byte < 0x7f && std::string_view("\"<>^`{|}").find(c) == std::string_view::npos;
    if (stays || byte < 0x20 || byte == 0x7f) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", unsigned(byte));
    }
  }
  return encoded;
}

Result<CheckedUrl> CheckUrl(const std::string& url, const HttpConfig& config) {
  if (url.size() > 8192) return Error{Code::kInvalid, fmt::format("url has {} bytes, 8192 are allowed", url.size())};
  for (char c : url) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '\\') {
      return Error{Code::kInvalid, "url must not hold control characters or backslashes, nor spaces in its host; encode them (%5C)"};
    }
  }
  std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(::curl_url(), ::curl_url_cleanup);
  if (!parsed) return Error{Code::kUnavailable, "out of memory"};
  CURLUcode code = ::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME);
  if (code != CURLUE_OK)
    return Error{Code::kInvalid, fmt::format("'{}' is not an absolute URL: {}", url.substr(0, 200), ::curl_url_strerror(code))};
  auto part = [&](CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    std::string out;
    if (::curl_url_get(parsed.get(), which, &text, flags) == CURLUE_OK) out = text;
    ::curl_free(text);
    return out;
  };
  auto lower = [](std::string text) {
    for (char& c : text) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return text;
  };
  CheckedUrl checked{lower(part(CURLUPART_SCHEME)), lower(part(CURLUPART_HOST)), part(CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  if (std::find(config.schemes.begin(), config.schemes.end(), checked.scheme) == config.schemes.end()) {
    return Error{Code::kDenied, fmt::format("scheme '{}' is not allowed; write {}", checked.scheme, fmt::join(config.schemes, " or "))};
  }
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty() || url.find('@') < url.find('/', url.find("//") + 2)) {
    return Error{Code::kDenied, "a URL with user or password is refused; put credentials into a header"};
  }
  bool slashes = url.find(":///") != std::string::npos && url.find(":///") < url.find('?');  // libcurl takes what follows for the host
  if (checked.host.empty() || slashes) return Error{Code::kInvalid, "the URL names no host"};
  if (!config.allowed_hosts.empty() && !HostMatches(checked.host, config.allowed_hosts))
    return Error{Code::kDenied, fmt::format("host '{}' is not in this worker's list of allowed hosts", checked.host)};
  return checked;
}

}  // namespace acl
