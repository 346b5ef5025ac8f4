#include "shared/objectstore/sigv4.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "shared/base/check.h"
#include "shared/base/sha256.h"
#include "shared/http/url.h"

namespace acl::sigv4 {
namespace {

Hash256 Hmac(std::string_view key, std::string_view text) {
  Hash256 mac{};
  unsigned size = 0;
  const auto* done =
      HMAC(EVP_sha256(), key.data(), int(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
  ACL_CHECK(done != nullptr && size == mac.size(), "HMAC-SHA-256 failed in OpenSSL");
  return mac;
}

// Ends trimmed, runs of blanks inside become one.
std::string Trimmed(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c != ' ' && c != '\t') {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string SignedHeaders(const Request& request) {
  std::string names;
  for (const auto& [name, value] : request.headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string Day(const Scope& scope) { return AmzDate(scope.at).substr(0, 8); }

std::string ScopeText(const Scope& scope) { return fmt::format("{}/{}/{}/aws4_request", Day(scope), scope.region, scope.service); }

}  // namespace

std::string AmzDate(WallTime at) {
  std::string date;
  for (const char c : FormatWallTime(at).substr(0, 19)) {  // 2013-05-24T00:00:00
    if (c != '-' && c != ':') date += c;
  }
  return date + "Z";
}

std::string CanonicalQuery(const std::vector<std::pair<std::string, std::string>>& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& [name, value] : query) encoded.emplace_back(PercentEncode(name), PercentEncode(value));
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  return text;
}

std::string CanonicalRequest(const Request& request) {
  std::string text = fmt::format("{}\n{}\n{}\n", request.method, PercentEncode(request.path, true), CanonicalQuery(request.query));
  for (const auto& [name, value] : request.headers) text += fmt::format("{}:{}\n", name, Trimmed(value));
  return text + fmt::format("\n{}\n{}", SignedHeaders(request), request.payload_hash);
}

std::string StringToSign(const Scope& scope, std::string_view canonical_request) {
  return fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", AmzDate(scope.at), ScopeText(scope), ToHex(Sha256(canonical_request)));
}

Hash256 SigningKey(const Scope& scope, std::string_view secret_key) {
  const Hash256 day = Hmac("AWS4" + std::string(secret_key), Day(scope));
  const Hash256 region = Hmac(AsBytes(day), scope.region);
  const Hash256 service = Hmac(AsBytes(region), scope.service);
  return Hmac(AsBytes(service), "aws4_request");
}

std::string Authorization(const Request& request, const Scope& scope, const Credentials& credentials) {
  const Hash256 key = SigningKey(scope, credentials.secret_key);
  const Hash256 signature = Hmac(AsBytes(key), StringToSign(scope, CanonicalRequest(request)));
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}", credentials.access_key, ScopeText(scope),
                     SignedHeaders(request), ToHex(signature));
}

}  // namespace acl::sigv4
