#pragma once
// What stands where a secret was cut: "[secret:aws-key:7f3a]". The four digits are of an HMAC over the value, so the same secret has the
// same placeholder wherever it stands, and nobody without the key can try values out.

#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace acl::aegis {

class PlaceholderKey {
 public:
  // At least 16 bytes: a shorter key could be guessed, and values with it.
  static Result<PlaceholderKey> Make(std::string bytes);

  std::string Placeholder(std::string_view kind, std::string_view value) const;
  // The whole HMAC in hex: what a hash column keeps of the original beside the hash of the sanitised text.
  std::string Digest(std::string_view original) const;

 private:
  explicit PlaceholderKey(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

// Whether the text is one, whole.
bool IsPlaceholder(std::string_view text);

}  // namespace acl::aegis
