#include "shared/base/sha256.h"

// The plain functions: what is hashed is mostly shorter than what a digest context costs.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "shared/base/check.h"

namespace acl {

namespace {

using State = SHA256_CTX;
// Not filled with zeros in the builds where every variable is: it is written before it is read, and short texts are most of what is hashed.
#ifdef __clang__
#define ACL_UNINITIALIZED [[clang::uninitialized]]
#else
#define ACL_UNINITIALIZED [[gnu::uninitialized]]
#endif

constexpr std::size_t kBlock = SHA256_CBLOCK, kLengthBytes = 8;
// Texts up to here, with their padding, are hashed out of one buffer.
constexpr std::size_t kShortBlocks = 4, kShort = kShortBlocks * kBlock - kLengthBytes - 1;

void PutBigEndian(std::uint64_t value, std::size_t bytes, unsigned char* out) {
  for (std::size_t i = bytes; i-- > 0; value >>= 8) out[i] = static_cast<unsigned char>(value & 0xff);
}

Hash256 ShortSha256(State& state, std::initializer_list<std::string_view> parts, std::size_t size) {
  const std::size_t blocks = (size + 1 + kLengthBytes + kBlock - 1) / kBlock;
  ACL_UNINITIALIZED std::array<unsigned char, kShortBlocks * kBlock> text;  // zeros behind the text of its blocks, and no further
  std::memset(text.data() + size, 0, blocks * kBlock - size);
  std::size_t at = 0;
  for (std::string_view part : parts) {
    if (!part.empty()) std::memcpy(text.data() + at, part.data(), part.size());
    at += part.size();
  }
  text[at] = 0x80;
  PutBigEndian(std::uint64_t(size) * 8, kLengthBytes, text.data() + blocks * kBlock - kLengthBytes);
  for (std::size_t i = 0; i < blocks; ++i) SHA256_Transform(&state, text.data() + i * kBlock);
  Hash256 hash{};
  for (std::size_t i = 0; i < hash.size() / 4; ++i) {
    const std::uint32_t word = std::endian::native == std::endian::little ? __builtin_bswap32(state.h[i]) : state.h[i];
    std::memcpy(hash.data() + i * 4, &word, 4);
  }
  return hash;
}

// Fetched once: an implicit fetch costs more than hashing a small value.
const EVP_MD* Sha256Method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  ACL_CHECK(method != nullptr, "OpenSSL has no SHA-256");
  return method;
}

}  // namespace

Hash256 Sha256(std::string_view bytes) { return Sha256({bytes}); }

Hash256 Sha256(std::initializer_list<std::string_view> parts) {
  State state;
  ACL_CHECK(SHA256_Init(&state) == 1, "SHA-256 failed in OpenSSL");
  std::size_t size = 0;
  for (std::string_view part : parts) size += part.size();
  if (size <= kShort) return ShortSha256(state, parts, size);
  for (std::string_view part : parts) SHA256_Update(&state, part.data(), part.size());
  Hash256 hash{};
  ACL_CHECK(SHA256_Final(hash.data(), &state) == 1, "SHA-256 failed in OpenSSL");
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
