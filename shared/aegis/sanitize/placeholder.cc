#include "shared/aegis/sanitize/placeholder.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

#include "shared/base/check.h"
#include "shared/base/ids.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kShortestKey = 16;
constexpr std::string_view kOpens = "[secret:";

std::array<unsigned char, 32> HmacOf(std::string_view key, std::string_view value) {
  std::array<unsigned char, 32> mac{};
  unsigned size = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), int(key.size()), reinterpret_cast<const unsigned char*>(value.data()), value.size(),
                          mac.data(), &size);
  ACL_CHECK(done != nullptr && size == mac.size(), "HMAC-SHA-256 failed in OpenSSL");
  return mac;
}

}  // namespace

Result<PlaceholderKey> PlaceholderKey::Make(std::string bytes) {
  if (bytes.size() < kShortestKey) {
    return Error{Code::kInvalid, fmt::format("the key for placeholders of secrets has {} bytes; give it at least {}, by chance",
                                             bytes.size(), kShortestKey)};
  }
  return PlaceholderKey(std::move(bytes));
}

std::string PlaceholderKey::Placeholder(std::string_view kind, std::string_view value) const {
  const auto mac = HmacOf(bytes_, value);
  return fmt::format("{}{}:{:02x}{:02x}]", kOpens, kind, mac[0], mac[1]);
}

std::string PlaceholderKey::Digest(std::string_view original) const {
  const auto mac = HmacOf(bytes_, original);
  return ToHex(mac.data(), mac.size());
}

bool IsPlaceholder(std::string_view text) {
  if (!text.starts_with(kOpens) || !text.ends_with(']')) return false;
  text.remove_prefix(kOpens.size());
  text.remove_suffix(1);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || text.size() - colon != 5) return false;
  const auto is_kind = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  const auto is_hex = [](char c) { return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9'); };
  const auto kind = text.substr(0, colon), digits = text.substr(colon + 1);
  return std::all_of(kind.begin(), kind.end(), is_kind) && std::all_of(digits.begin(), digits.end(), is_hex);
}

}  // namespace acl::aegis
