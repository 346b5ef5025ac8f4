#pragma once
// AWS Signature Version 4 in headers, as S3 wants it: pure functions over values, held against AWS's published vectors. (libcurl's own,
// CURLOPT_AWS_SIGV4 of 7.88, sends no x-amz-content-sha256 and canonicalises queries wrongly.)
//
//   canonical request -> SHA-256 -> string to sign -> HMAC chain over (secret, day, region, service) -> Authorization header

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"

namespace acl::sigv4 {

struct Credentials {
  std::string access_key, secret_key;
  std::string session_token;  // of temporary credentials; empty: none
};

// One request as it will be sent. All headers given are signed; at least host and x-amz-date must be among them.
struct Request {
  std::string method = "GET";
  std::string path = "/";                                  // not encoded: it is encoded once, slashes kept
  std::vector<std::pair<std::string, std::string>> query;  // not encoded, any order
  std::map<std::string, std::string> headers;              // names in lower case
  std::string payload_hash;                                // hex of the body's SHA-256
};

struct Scope {
  WallTime at;
  std::string region, service = "s3";
};

// "20130524T000000Z": the x-amz-date header.
std::string AmzDate(WallTime at);
// Sorted and encoded: for the URL too, so that what is sent is what was signed.
std::string CanonicalQuery(const std::vector<std::pair<std::string, std::string>>& query);
std::string CanonicalRequest(const Request& request);
std::string StringToSign(const Scope& scope, std::string_view canonical_request);
Hash256 SigningKey(const Scope& scope, std::string_view secret_key);
// The value of the Authorization header.
std::string Authorization(const Request& request, const Scope& scope, const Credentials& credentials);

}  // namespace acl::sigv4
