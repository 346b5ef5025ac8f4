#include "shared/base/ids.h"

namespace acl {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

int Nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsDashPlace(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

std::string ToHex(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  std::string out(size * 2, '0');
  for (std::size_t i = 0; i < size; ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4];
    out[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return out;
}

std::optional<std::string> FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < out.size(); ++i) {
    int high = Nibble(hex[2 * i]), low = Nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = char(high * 16 + low);
  }
  return out;
}

std::optional<Hash256> HashFromHex(std::string_view hex) {
  auto bytes = FromHex(hex);
  if (!bytes || bytes->size() != 32) return std::nullopt;
  Hash256 hash;
  std::memcpy(hash.data(), bytes->data(), hash.size());
  return hash;
}

std::string Uuid::ToString() const {
  std::string hex = ToHex(bytes.data(), bytes.size());
  for (std::size_t place : {8, 13, 18, 23}) hex.insert(place, 1, '-');
  return hex;
}

std::optional<Uuid> Uuid::Parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::string hex;
  hex.reserve(32);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsDashPlace(i)) {
      if (text[i] != '-') return std::nullopt;
    } else {
      hex += text[i];
    }
  }
  auto raw = FromHex(hex);
  if (!raw) return std::nullopt;
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), raw->data(), 16);
  return uuid;
}

}  // namespace acl
