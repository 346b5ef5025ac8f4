#pragma once
// Base64 (RFC 4648), strict: full padding, no white space, no other characters.

#include <optional>
#include <string>
#include <string_view>

namespace acl {

inline std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  auto value = [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    bool last = i + 4 == text.size();
    int padding = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
    unsigned bits = 0;
    for (int k = 0; k < 4; ++k) {
      int digit = k >= 4 - padding ? 0 : value(text[i + std::size_t(k)]);
      if (digit < 0) return std::nullopt;
      bits = bits << 6 | unsigned(digit);
    }
    if ((padding == 1 && (bits & 0xff)) || (padding == 2 && (bits & 0xffff))) return std::nullopt;  // bits that mean nothing must be zero
    out += char(bits >> 16);
    if (padding < 2) out += char(bits >> 8 & 0xff);
    if (padding < 1) out += char(bits & 0xff);
  }
  return out;
}

}  // namespace acl
