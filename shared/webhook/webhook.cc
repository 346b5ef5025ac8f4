#include "shared/webhook/webhook.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "shared/base/base64.h"
#include "shared/base/check.h"

namespace acl::webhook {

namespace {

constexpr std::size_t kLeastSecret = 24, kMostSecret = 64, kEdKey = 32, kEdSignature = 64, kMac = 32;
constexpr std::size_t kMostSignatures = 32;  // looked at; each may cost a verification for each key
constexpr std::size_t kLongestId = 256;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using PKey = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* Raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

bool IsId(std::string_view id) {
  return !id.empty() && id.size() <= kLongestId &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '.'; });
}

std::string Content(std::string_view id, std::string_view timestamp, std::string_view body) {
  std::string content;
  content.reserve(id.size() + timestamp.size() + body.size() + 2);
  content.append(id).append(1, '.').append(timestamp).append(1, '.').append(body);
  return content;
}

std::string_view VersionOf(Key::Kind kind) { return kind == Key::Kind::kSecret ? "v1" : "v1a"; }

}  // namespace

// What is done with a key's bytes.
class Signer {
 public:
  static std::string Sign(const Key& key, std::string_view content) {
    if (key.kind_ == Key::Kind::kSecret) return Mac(key, content);
    const PKey pair = Pair(key);
    const Context context(EVP_MD_CTX_new());
    std::string signature(kEdSignature, '\0');
    std::size_t size = signature.size();
    const bool done =
        pair && context && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pair.get()) == 1 &&
        EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, Raw(content), content.size()) == 1 &&
        size == kEdSignature;
    ACL_CHECK(done, "Ed25519 failed in OpenSSL");
    return signature;
  }

  static bool IsBy(const Key& key, std::string_view content, std::string_view signature) {
    if (key.kind_ == Key::Kind::kSecret) {
      const std::string mac = Mac(key, content);
      return signature.size() == mac.size() && CRYPTO_memcmp(mac.data(), signature.data(), mac.size()) == 0;
    }
    if (signature.size() != kEdSignature) return false;
    const PKey pair = Pair(key);
    const Context context(EVP_MD_CTX_new());
    return pair && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, pair.get()) == 1 &&
           EVP_DigestVerify(context.get(), Raw(signature), signature.size(), Raw(content), content.size()) == 1;
  }

 private:
  static std::string Mac(const Key& key, std::string_view content) {
    std::string mac(kMac, '\0');
    unsigned size = 0;
    const auto* done = HMAC(EVP_sha256(), key.bytes().data(), int(key.bytes().size()), Raw(content), content.size(),
                            reinterpret_cast<unsigned char*>(mac.data()), &size);
    ACL_CHECK(done != nullptr && size == kMac, "HMAC-SHA-256 failed in OpenSSL");
    return mac;
  }
  static PKey Pair(const Key& key) {
    const auto make = key.kind_ == Key::Kind::kPrivate ? EVP_PKEY_new_raw_private_key : EVP_PKEY_new_raw_public_key;
    return PKey(make(EVP_PKEY_ED25519, nullptr, Raw(key.bytes()), key.bytes().size()));
  }
};

Key::Key(Kind kind, std::string_view bytes) : kind_(kind), size_(std::min(bytes.size(), kMostSecret)) {
  std::copy_n(bytes.begin(), size_, bytes_.begin());
}

Result<Key> Key::Parse(std::string_view text) {
  const auto bad = [](const char* what) { return Error{Code::kInvalid, std::string("a webhook key: ") + what}; };
  const auto prefix = text.substr(0, text.find('_') + 1);
  if (prefix != "whsec_" && prefix != "whsk_" && prefix != "whpk_")
    return bad("it begins with whsec_ (a secret), whsk_ (signs) or whpk_ (verifies), and base64 follows");
  auto bytes = DecodeBase64(text.substr(prefix.size()));
  if (!bytes) return bad("what follows its prefix is not base64 (RFC 4648 with padding)");
  if (prefix == "whsec_") {
    if (bytes->size() < kLeastSecret || bytes->size() > kMostSecret) return bad("a secret has 24 to 64 bytes");
    return Key(Kind::kSecret, *bytes);
  }
  if (bytes->size() != kEdKey) return bad("a key of Ed25519 has 32 bytes");
  return Key(prefix == "whsk_" ? Kind::kPrivate : Kind::kPublic, *bytes);
}

Result<Headers> Sign(std::span<const Key> keys, std::string_view id, WallTime at, std::string_view body) {
  if (!IsId(id))
    return Error{Code::kInvalid,
                 "a webhook's id is 1 to 256 visible ASCII characters without a full stop, which would end it in what is signed"};
  Headers headers{std::string(id), std::to_string(MicrosOf(at) / 1'000'000), ""};
  const std::string content = Content(id, headers.timestamp, body);
  for (const Key& key : keys) {
    if (key.kind() == Key::Kind::kPublic) continue;
    if (!headers.signature.empty()) headers.signature += ' ';
    headers.signature.append(VersionOf(key.kind())).append(1, ',').append(EncodeBase64(Signer::Sign(key, content)));
  }
  if (headers.signature.empty()) return Error{Code::kInvalid, "no key that signs a webhook: whsec_ or whsk_"};
  return headers;
}

Status Verify(const Headers& headers, std::string_view body, std::span<const Key> keys, WallTime now, std::chrono::seconds tolerance) {
  const auto bad = [](Code code, std::string what) { return Error{code, std::move(what)}; };
  for (const auto& [value, name] : {std::pair(&headers.id, kIdHeader), std::pair(&headers.timestamp, kTimestampHeader),
                                    std::pair(&headers.signature, kSignatureHeader)}) {
    if (value->empty()) return bad(Code::kInvalid, std::string(name) + " is missing");
  }
  if (!IsId(headers.id)) return bad(Code::kInvalid, "webhook-id is no id: visible ASCII characters without a full stop");
  std::int64_t sent = 0;
  const std::string& text = headers.timestamp;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), sent);
  constexpr std::int64_t kLast = 253'402'300'799;  // of the year 9999
  if (failed != std::errc() || end != text.data() + text.size() || sent < 0 || sent > kLast)
    return bad(Code::kInvalid, "webhook-timestamp is not a whole number of seconds since 1970");

  // First who it is from: what nobody known has signed tells nothing about its age.
  const std::string content = Content(headers.id, text, body);
  std::size_t known = 0;
  bool ours = false;
  std::string_view rest = headers.signature;
  for (std::size_t seen = 0; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (one.empty()) continue;
    if (++seen > kMostSignatures) return bad(Code::kInvalid, "webhook-signature holds more than 32 signatures");
    const auto comma = one.find(',');
    if (comma == std::string_view::npos) continue;
    const auto signature = DecodeBase64(one.substr(comma + 1));
    for (const Key& key : keys) {
      if (one.substr(0, comma) != VersionOf(key.kind())) continue;
      ++known;
      if (signature && Signer::IsBy(key, content, *signature)) ours = true;
    }
  }
  if (known == 0) return bad(Code::kDenied, "no signature is of a kind that there is a key for");
  if (!ours) return bad(Code::kDenied, "no signature is by a key that is known");
  const std::int64_t age = MicrosOf(now) / 1'000'000 - sent;
  if (age > tolerance.count())
    return bad(Code::kDenied, "webhook-timestamp is " + std::to_string(age) + " s ago, more than " + std::to_string(tolerance.count()));
  if (-age > tolerance.count())
    return bad(Code::kDenied, "webhook-timestamp is " + std::to_string(-age) + " s ahead, more than " + std::to_string(tolerance.count()));
  return {};
}

}  // namespace acl::webhook
