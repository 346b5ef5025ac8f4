#include "shared/base/sha256.h"

#include <openssl/evp.h>

#include <memory>

#include "shared/base/check.h"

namespace acl {

namespace {

// Fetched once: an implicit fetch costs more than hashing a small value.
const EVP_MD* Sha256Method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  ACL_CHECK(method != nullptr, "OpenSSL has no SHA-256");
  return method;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

EVP_MD_CTX* ThreadContext() {
  thread_local std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  ACL_CHECK(context != nullptr, "out of memory for a digest context");
  return context.get();
}

}  // namespace

Hash256 Sha256(std::string_view bytes) { return Sha256({bytes}); }

Hash256 Sha256(std::initializer_list<std::string_view> parts) {
  EVP_MD_CTX* context = ThreadContext();
  bool ok = EVP_DigestInit_ex2(context, Sha256Method(), nullptr) == 1;
  for (std::string_view part : parts) ok = ok && EVP_DigestUpdate(context, part.data(), part.size()) == 1;
  Hash256 hash{};
  unsigned size = 0;
  ok = ok && EVP_DigestFinal_ex(context, hash.data(), &size) == 1;
  ACL_CHECK(ok && size == hash.size(), "SHA-256 failed in OpenSSL");
  return hash;
}

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  ACL_CHECK(context_ != nullptr, "out of memory for a digest context");
  Begin();
}

Sha256Stream::~Sha256Stream() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256Stream::Begin() {
  ACL_CHECK(EVP_DigestInit_ex2(static_cast<EVP_MD_CTX*>(context_), Sha256Method(), nullptr) == 1, "SHA-256 failed in OpenSSL");
}

void Sha256Stream::Add(std::string_view bytes) {
  ACL_CHECK(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1, "SHA-256 failed in OpenSSL");
}

Hash256 Sha256Stream::Finish() {
  Hash256 hash{};
  unsigned size = 0;
  const bool ok = EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), hash.data(), &size) == 1;
  ACL_CHECK(ok && size == hash.size(), "SHA-256 failed in OpenSSL");
  Begin();
  return hash;
}

}  // namespace acl
