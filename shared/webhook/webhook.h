#pragma once
// Standard Webhooks 1.0.0: a message that says who sent it, when, and that nobody changed it, in three headers.
//
//   webhook-id: one a message, the same at every try        webhook-timestamp: seconds since 1970, of this try
//   webhook-signature: v1,BASE64 v1,BASE64 ...               over ID.TIMESTAMP.BODY; one for each key, so that keys can be changed
//
// v1 is HMAC-SHA-256 with a shared secret (whsec_...), v1a is Ed25519 (whsk_... signs, whpk_... verifies). Pure: the caller has the clock.

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/result.h"

namespace acl::webhook {

inline constexpr const char *kIdHeader = "webhook-id", *kTimestampHeader = "webhook-timestamp", *kSignatureHeader = "webhook-signature";
inline constexpr std::chrono::seconds kTolerance{300};

// A key. Its bytes leave it only as signatures; no error and no output holds them.
class Key {
 public:
  enum class Kind {
    kSecret,   // whsec_: 24 to 64 bytes that both sides know
    kPrivate,  // whsk_: the 32 bytes an Ed25519 key pair is made from; signs and verifies
    kPublic,   // whpk_: 32 bytes; verifies only
  };
  // kInvalid says what is wrong and quotes nothing.
  static Result<Key> Parse(std::string_view text);
  Kind kind() const { return kind_; }

 private:
  friend class Signer;
  Key(Kind kind, std::string_view bytes);
  std::string_view bytes() const { return {bytes_.data(), size_}; }
  Kind kind_;
  std::size_t size_;
  std::array<char, 64> bytes_{};
};

// The values of the three headers.
struct Headers {
  std::string id, timestamp, signature;
};

// kInvalid: no key that signs, or an id that is empty or holds anything but visible ASCII, or a full stop (it ends the id in what is
// signed).
Result<Headers> Sign(std::span<const Key> keys, std::string_view id, WallTime at, std::string_view body);

// Well if one of the signatures is by one of the keys. kInvalid: a header is missing or no such header; kDenied: too old, too new, or
// signed by nobody known. Signatures of versions not known are passed over. Compares in constant time.
Status Verify(const Headers& headers, std::string_view body, std::span<const Key> keys, WallTime now,
              std::chrono::seconds tolerance = kTolerance);

}  // namespace acl::webhook
