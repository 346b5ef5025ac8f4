#pragma once
// SHA-256 over OpenSSL.

#include <initializer_list>
#include <string_view>

#include "shared/base/ids.h"

namespace acl {

Hash256 Sha256(std::string_view bytes);
// The hash of the parts one after another, without joining them first.
Hash256 Sha256(std::initializer_list<std::string_view> parts);
// The same of bytes that come in pieces, too many to be held at once.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;
  void Add(std::string_view bytes);
  Hash256 Finish();  // and begins anew

 private:
  void Begin();
  void* context_;  // OpenSSL's
};
inline std::string_view AsBytes(const Hash256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

}  // namespace acl
