// PEM and what looks like it: "-----BEGIN RSA PRIVATE KEY-----", also within JSON text, where line ends are written \n.
#include <algorithm>

#include "shared/aegis/sanitize/blocks.h"

namespace acl::aegis {
namespace {

constexpr std::string_view kBegins = "-----BEGIN ", kEnds = "-----END ", kDashes = "-----";
constexpr std::size_t kLongestLabel = 64, kShortestBody = 16;

const char* KindOfLabel(std::string_view label) {
  if (label.find("PRIVATE KEY") != label.npos || label.find("STATIC KEY") != label.npos) return "private-key";
  return label.ends_with("CERTIFICATE") || label.find("PKCS") != label.npos ? "certificate" : nullptr;
}

std::size_t Base64Bytes(std::string_view text) { return std::size_t(std::count_if(text.begin(), text.end(), IsBase64Byte)); }

// Where the body of a block without END ends: behind the last line of base64 or of a header ("DEK-Info: ...").
std::size_t EndOfBody(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (from < text.size()) {
    const auto line_end = std::min(text.find('\n', from), text.size());
    auto line = text.substr(from, line_end - from);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    const auto is_body = [](char c) { return IsBase64Byte(c) || c == '\\'; };
    const auto run = std::size_t(std::find_if_not(line.begin(), line.end(), is_body) - line.begin());
    const bool header =
        line.starts_with("Proc-Type:") || line.starts_with("DEK-Info:") || line.starts_with("Version:") || line.starts_with("Comment:");
    if (!header && !line.empty() && run < std::min(line.size(), kShortestBody)) break;
    if (!line.empty()) end = from + (header ? line.size() : run);
    if (!header && run < line.size()) break;
    from = line_end + 1;
  }
  return end;
}

// The label behind `at`, up to its dashes; empty: none.
std::string_view LabelAt(std::string_view text, std::size_t at) {
  const auto near = text.substr(at, kLongestLabel + kDashes.size());
  const auto end = near.find(kDashes);
  return end == near.npos ? std::string_view() : near.substr(0, end);
}

}  // namespace

void FindArmor(std::string_view text, Blocks& blocks) {
  std::size_t ends = 0;  // the first END at or behind the last body: each is looked for once
  for (std::size_t at = 0; (at = text.find(kBegins, at)) != text.npos;) {
    const std::size_t label_at = at + kBegins.size();
    const auto label = LabelAt(text, label_at);
    const char* kind = KindOfLabel(label);
    if (kind == nullptr) {
      at = label_at;
      continue;
    }
    const std::size_t body = label_at + label.size() + kDashes.size();
    if (ends != text.npos && ends < body) ends = text.find(kEnds, body);
    const auto closing = ends == text.npos || ends > body + kLongestArmor ? std::string_view() : LabelAt(text, ends + kEnds.size());
    const bool closed = KindOfLabel(closing) != nullptr;
    const std::size_t end = closed ? ends + kEnds.size() + closing.size() + kDashes.size() : EndOfBody(text, body);
    if (!closed && (text.size() < body + 2 * kLongestArmor || end >= text.size())) blocks.open = std::min(blocks.open, at);
    if (end > body && Base64Bytes(text.substr(body, (closed ? ends : end) - body)) >= kShortestBody) {
      blocks.found.push_back({at, end, kind});
      at = end;
    } else {
      at = body;
    }
  }
}

}  // namespace acl::aegis
