#include "shared/http/gate.h"

#include <algorithm>
#include <optional>

namespace acl {
namespace {

using Refusal = std::optional<GateRefusal>;

GateRefusal Refuse(std::string code, std::string detail, int status = 400) { return {status, std::move(code), std::move(detail)}; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }
std::string Lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

bool IsTokenChar(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool IsToken(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// host[:port] of a Host header or an absolute target; the host without port and lower case, or nothing if it is malformed.
std::optional<std::string> HostOf(std::string_view authority) {
  std::string_view host = authority, port;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = authority.substr(0, end + 1);
    const auto rest = authority.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return std::nullopt;
    port = rest.empty() ? rest : rest.substr(1);
    for (const char c : host.substr(1, end - 1)) {
      if (!((c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'f') || c == ':' || c == '.')) return std::nullopt;
    }
  } else {
    const auto colon = authority.find(':');
    host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon + 1);
    for (const char c : host) {
      if (!((c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') || c == '.' || c == '-' || c == '_')) return std::nullopt;
    }
  }
  if (host.empty() || host == "[]" || host.size() > 255 || port.size() > 5) return std::nullopt;
  if (!std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  return Lowered(host);
}

Refusal CheckRequestLine(std::string_view line, const GateOptions& options, HttpHead& head) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return Refuse("bad-request-line", "the request line is not METHOD TARGET VERSION");
  const auto method = line.substr(0, first), target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  if (!IsToken(method) || method.size() > 20) return Refuse("bad-method", "the method is not a token");
  if (version.size() != 8 || !version.starts_with("HTTP/") || version[6] != '.')
    return Refuse("bad-version", "the version is not HTTP/1.1");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return Refuse("version-not-supported", "only HTTP/1.1 and HTTP/1.0 are spoken here", 505);
  if (target.size() > options.max_target) return Refuse("target-too-long", "the target is too long", 414);
  for (const char c : target) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f) return Refuse("bad-target", "the target holds a byte that a target cannot hold; percent-encode it");
  }
  if (target.empty() || target.find('#') != std::string_view::npos) return Refuse("bad-target", "the target is empty or holds a fragment");
  head.method = method;
  head.target = target;
  head.minor_version = version[7] - '0';
  return {};
}

Refusal ReadHeaderLine(std::string_view line, HttpHead& head) {
  if (line[0] == ' ' || line[0] == '\t') return Refuse("folded-header", "a header is folded over lines");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return Refuse("bad-header", "a header line has no colon");
  const auto name = line.substr(0, colon);
  if (!IsToken(name)) return Refuse("bad-header", "a header name is empty or holds a character that no name has");
  if (name.find('_') != std::string_view::npos) return Refuse("bad-header", "a header name holds '_', which proxies confuse with '-'");
  head.headers.emplace_back(Lowered(name), Trim(line.substr(colon + 1)));
  return {};
}

int CountOf(const HttpHead& head, std::string_view name) {
  return int(std::count_if(head.headers.begin(), head.headers.end(), [&](const auto& header) { return header.first == name; }));
}

Refusal CheckHost(const GateOptions& options, HttpHead& head) {
  const int count = CountOf(head, "host");
  if (count > 1) return Refuse("bad-host", "more than one Host header");
  if (count == 0 && head.minor_version == 1) return Refuse("bad-host", "HTTP/1.1 needs a Host header");
  std::optional<std::string> host;
  if (count == 1) {
    host = HostOf(*FindHeader(head.headers, "host"));
    if (!host) return Refuse("bad-host", "the Host header is not a host");
    const auto& allowed = options.allowed_hosts;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), *host) == allowed.end()) {
      return Refuse("bad-host", "this server does not go by the name in the Host header; add it to --allowed-hosts");
    }
  }
  if (head.target[0] == '/') return {};
  if (head.target == "*") {
    if (head.method == "OPTIONS") return {};
    return Refuse("bad-target", "only OPTIONS may have the target *");
  }
  const std::string lower = Lowered(std::string_view(head.target).substr(0, 8));
  const std::size_t scheme = lower.starts_with("http://") ? 7 : lower.starts_with("https://") ? 8 : 0;
  if (scheme == 0) return Refuse("bad-target", "the target is neither a path nor an http URL");
  auto end = head.target.find_first_of("/?", scheme);
  if (end == std::string::npos) end = head.target.size();
  const std::string_view authority = std::string_view(head.target).substr(scheme, end - scheme);
  if (count != 1 || Lowered(authority) != Lowered(*FindHeader(head.headers, "host"))) {
    return Refuse("bad-target", "the authority of the target is not that of the Host header");
  }
  const std::string rest = head.target.substr(end);
  head.target = rest.starts_with('/') ? rest : "/" + rest;
  return {};
}

Refusal CheckFraming(HttpHead& head) {
  const int encodings = CountOf(head, "transfer-encoding"), lengths = CountOf(head, "content-length");
  if (encodings > 0) {
    if (head.minor_version == 0) return Refuse("bad-transfer-encoding", "HTTP/1.0 has no Transfer-Encoding");
    if (encodings > 1 || Lowered(*FindHeader(head.headers, "transfer-encoding")) != "chunked") {
      return Refuse("bad-transfer-encoding", "the only Transfer-Encoding taken is one 'chunked'");
    }
    if (lengths > 0) return Refuse("bad-framing", "both Transfer-Encoding and Content-Length");
    head.chunked = true;
  }
  if (lengths > 1) return Refuse("bad-content-length", "more than one Content-Length");
  if (lengths == 1) {
    const auto& text = *FindHeader(head.headers, "content-length");
    if (text.empty() || text.size() > 18 || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return Refuse("bad-content-length", "Content-Length is not one number");
    }
    head.has_length = true;
    head.content_length = std::stoull(text);
  }
  return {};
}

Refusal CheckConnection(HttpHead& head) {
  head.keep_alive = head.minor_version == 1;
  for (const auto& [name, value] : head.headers) {
    if (name != "connection") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      const auto option = Lowered(Trim(rest.substr(0, comma)));
      if (option == "close") {
        head.keep_alive = false;
        return {};
      }
      if (option == "keep-alive") head.keep_alive = true;
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  return {};
}

Refusal CheckExpect(HttpHead& head) {
  if (const auto* expect = FindHeader(head.headers, "expect")) {
    if (Lowered(*expect) != "100-continue") return Refuse("expectation-failed", "the only expectation met is 100-continue", 417);
    head.expect_continue = head.minor_version == 1 && head.has_body();
  }
  return {};
}

// A browser says from where a page asks. A page of another origin may read (the browser keeps the answer from it), but what changes
// something is refused: without a key (dev mode) nothing else would stand in its way.
Refusal CheckOrigin(const HttpHead& head) {
  if (head.method == "GET" || head.method == "HEAD" || head.method == "OPTIONS") return {};
  const auto refuse = [] { return Refuse("foreign-origin", "a page of another origin asks; this API is not for it", 403); };
  const auto* site = FindHeader(head.headers, "sec-fetch-site");
  if (site != nullptr && *site != "same-origin" && *site != "none") return refuse();
  const auto* origin = FindHeader(head.headers, "origin");
  if (origin == nullptr) return {};
  const std::string lower = Lowered(*origin);
  const std::size_t scheme = lower.starts_with("http://") ? 7 : lower.starts_with("https://") ? 8 : 0;
  if (scheme == 0) return refuse();  // "null" too
  const auto* host = FindHeader(head.headers, "host");
  if (host != nullptr && lower.substr(scheme) == Lowered(*host)) return {};
  return refuse();
}

}  // namespace

bool MayBecomeHead(std::string_view bytes, std::size_t searched) {
  for (std::size_t i = searched > 0 ? searched - 1 : 0; i < bytes.size(); ++i) {  // the last byte before had no successor yet
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte == '\n' && (i == 0 || bytes[i - 1] != '\r')) return false;
    if (byte == '\r' && i + 1 < bytes.size() && bytes[i + 1] != '\n') return false;
    if ((byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7f) return false;
  }
  return true;
}

std::variant<HttpHead, GateRefusal> CheckHead(std::string_view text, const GateOptions& options) {
  HttpHead head;
  bool first = true;
  while (!text.empty()) {
    const auto end = text.find("\r\n");
    const auto line = text.substr(0, end);
    if (end == std::string_view::npos) return Refuse("bad-head", "the head does not end with an empty line");
    text.remove_prefix(end + 2);
    for (const char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t') || byte == 0x7f) return Refuse("bad-head", "the head holds a control character");
    }
    if (first) {
      if (auto refusal = CheckRequestLine(line, options, head)) return *refusal;
      first = false;
      continue;
    }
    if (line.empty()) break;
    if (auto refusal = ReadHeaderLine(line, head)) return *refusal;
    if (head.headers.size() > options.max_headers) return Refuse("too-many-headers", "too many headers", 431);
  }
  if (first) return Refuse("bad-head", "empty");
  for (const auto check : {CheckFraming, CheckConnection, CheckExpect}) {
    if (auto refusal = check(head)) return *refusal;
  }
  if (CountOf(head, "authorization") > 1) return Refuse("bad-header", "more than one Authorization header");
  if (auto refusal = CheckHost(options, head)) return *refusal;
  if (auto refusal = CheckOrigin(head)) return *refusal;
  return head;
}

}  // namespace acl
