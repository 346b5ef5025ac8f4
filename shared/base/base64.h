#pragma once
// Base64 (RFC 4648), strict: full padding, no white space, no other characters.

#include <algorithm>
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

inline std::string EncodeBase64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace acl
