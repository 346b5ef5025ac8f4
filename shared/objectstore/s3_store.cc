#include "shared/objectstore/s3_store.h"

#include <fmt/format.h>

#include <thread>

#include "shared/base/sha256.h"
#include "shared/http/url.h"
#include "shared/telemetry/names.h"

namespace acl {
namespace {

using std::chrono::milliseconds;

// What an answer that is not an object may hold: listings, errors.
constexpr std::int64_t kMostAnswer = 8 << 20;
constexpr int kPageKeys = 1'000;

const std::string& EmptyHash() {
  static const std::string hash = ToHex(Sha256(""));
  return hash;
}

// "https://host:port" into its scheme and host; the default port goes, as HTTP clients leave it out of the Host header.
Result<std::pair<std::string, std::string>> SplitEndpoint(const std::string& endpoint) {
  for (const auto& [scheme, port] : {std::pair<std::string, std::string>{"https", ":443"}, {"http", ":80"}}) {
    if (!endpoint.starts_with(scheme + "://")) continue;
    std::string host = endpoint.substr(scheme.size() + 3);
    while (host.ends_with('/')) host.pop_back();
    if (host.ends_with(port)) host.resize(host.size() - port.size());
    if (host.empty() || host.find_first_of("/?#@ \t\r\n") != std::string::npos) break;
    return std::pair(scheme, host);
  }
  return Error{Code::kInvalid, "s3_endpoint: write https://HOST or http://HOST:PORT, without a path"};
}

Status CheckBucket(const std::string& bucket) {
  const bool good = bucket.size() >= 3 && bucket.size() <= 63 &&
                    bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos && bucket.front() != '-' &&
                    bucket.front() != '.';
  return good ? Status() : Status(Code::kInvalid, "s3_bucket: 3 to 63 characters of a-z, 0-9, . and -, beginning with a letter or digit");
}

}  // namespace

Result<std::unique_ptr<S3Store>> S3Store::Make(S3Options options, const Clock& clock) {
  auto endpoint = SplitEndpoint(options.endpoint);
  if (!endpoint) return endpoint.error();
  if (Status bucket = CheckBucket(options.bucket); !bucket) return bucket.error();
  if (options.credentials.access_key.empty() || options.credentials.secret_key.empty()) {
    return Error{Code::kInvalid, "s3_access_key and s3_secret_key (ACL_S3_ACCESS_KEY, ACL_S3_SECRET_KEY) are needed for s3_endpoint"};
  }
  auto& [scheme, host] = *endpoint;
  if (!options.path_style) host = options.bucket + "." + host;
  return std::unique_ptr<S3Store>(new S3Store(std::move(options), clock, scheme, host));
}

S3Store::S3Store(S3Options options, const Clock& clock, std::string scheme, std::string host)
    : options_(std::move(options)), clock_(clock), scheme_(std::move(scheme)), host_(std::move(host)), budget_(options_.retry_budget) {
  if (options_.metrics == nullptr) return;
  sent_ = options_.metrics->counter(names::kObjectBytes, {{"direction", "sent"}});
  received_ = options_.metrics->counter(names::kObjectBytes, {{"direction", "received"}});
  retries_ = options_.metrics->counter(names::kObjectRetries);
}

std::string S3Store::Name() const { return fmt::format("s3://{} at {}", options_.bucket, options_.endpoint); }

std::string S3Store::PathOf(const std::string& key) const { return (options_.path_style ? "/" + options_.bucket : "") + "/" + key; }

s3::Exchange S3Store::Signed(const Call& call, const std::string& body_hash, WallTime now) const {
  sigv4::Request request{call.method, PathOf(call.key), call.query, call.headers, body_hash};
  request.headers["host"] = host_;
  request.headers["x-amz-date"] = sigv4::AmzDate(now);
  request.headers["x-amz-content-sha256"] = body_hash;
  if (!options_.credentials.session_token.empty()) request.headers["x-amz-security-token"] = options_.credentials.session_token;
  s3::Exchange exchange;
  exchange.method = call.method;
  exchange.url = fmt::format("{}://{}{}", scheme_, host_, PercentEncode(request.path, true));
  if (!call.query.empty()) exchange.url += "?" + sigv4::CanonicalQuery(call.query);
  for (const auto& [name, value] : request.headers) exchange.headers.push_back(name + ": " + value);
  exchange.headers.push_back("authorization: " + sigv4::Authorization(request, {now, options_.region, "s3"}, options_.credentials));
  exchange.headers.emplace_back("Expect:");
  exchange.headers.emplace_back(call.method == "PUT" ? "Content-Type: application/octet-stream" : "Content-Type:");
  exchange.body = call.body;
  exchange.most = call.most;
  exchange.connect_timeout = options_.connect_timeout;
  exchange.timeout = options_.timeout;
  exchange.ca_file = options_.ca_file;
  return exchange;
}

void S3Store::Count(const std::string& operation, const char* outcome, double seconds) {
  if (options_.metrics == nullptr) return;
  options_.metrics->counter(names::kObjectRequests, {{"operation", operation}, {"outcome", outcome}}).Add();
  options_.metrics->histogram(names::kObjectTime, {{"operation", operation}}).Observe(seconds);
}

s3::Verdict S3Store::Once(const Call& call, const std::string& body_hash, s3::Answer& answer) {
  const WallTime now = clock_.Wall();
  const SteadyTime began = clock_.Steady();
  const std::string operation = call.key.empty() && call.method == "GET" ? "LIST" : call.method;
  const std::string what = fmt::format("{} s3://{}/{}", operation, options_.bucket, call.key);
  auto got = pool_.Send(Signed(call, body_hash, now));
  const double seconds = std::chrono::duration<double>(clock_.Steady() - began).count();
  if (!got) {
    Count(operation, got.code() == Code::kTimeout ? "timeout" : "lost", seconds);
    const Error error{got.code(), fmt::format("{} at {}: {}", what, options_.endpoint, got.message())};
    return {error, got.code() == Code::kUnavailable || got.code() == Code::kTimeout};
  }
  answer = std::move(*got);
  received_.Add(double(answer.body.size()));
  if (std::find(call.good.begin(), call.good.end(), answer.status) != call.good.end()) {
    sent_.Add(double(call.body.size()));
    Count(operation, "ok", seconds);
    return {};
  }
  s3::Verdict verdict = s3::Judge(answer, what, now);
  Count(operation, verdict.again ? "busy" : verdict.error.code == Code::kNotFound ? "missing" : "refused", seconds);
  return verdict;
}

Result<s3::Answer> S3Store::Run(const Call& call) {
  SystemRandom random;
  Backoff backoff(options_.backoff, random);
  const std::string body_hash = call.body.empty() ? EmptyHash() : ToHex(Sha256(call.body));
  for (int tried = 1;; ++tried) {
    s3::Answer answer;
    s3::Verdict verdict = Once(call, body_hash, answer);
    if (verdict.error.message.empty()) {
      budget_.Earn();
      return answer;
    }
    if (!verdict.again) return verdict.error;
    if (tried >= options_.tries || !budget_.Spend()) {
      verdict.error.message += fmt::format("; tried {} times", tried);
      return verdict.error;
    }
    retries_.Add();
    const milliseconds pause = backoff.Next();
    if (options_.wait) {
      options_.wait(pause);
    } else {
      std::this_thread::sleep_for(pause);
    }
  }
}

Result<ObjectStore::Put> S3Store::PutIfAbsent(const std::string& key, std::string_view bytes) {
  if (std::int64_t(bytes.size()) > options_.max_object_bytes) {
    return Error{Code::kInvalid,
                 fmt::format("{} has {} bytes, {} are allowed for one object", key, bytes.size(), options_.max_object_bytes)};
  }
  Call call{.method = "PUT", .key = key, .headers = {{"if-none-match", "*"}}, .body = bytes, .good = {200, 412}};
  auto answer = Run(call);
  if (!answer) return answer.error();
  if (answer->status == 200) return Put::kStored;
  auto there = Head(key);
  if (!there) return there.error();
  if (there->size == std::int64_t(bytes.size())) return Put::kThere;
  return Error{Code::kCorrupt,
               fmt::format("{} in {} has {} bytes and should have {}: something else wrote it", key, Name(), there->size, bytes.size())};
}

Result<std::string> S3Store::Get(const std::string& key, std::int64_t most) {
  // At least what an error may have, so that it can be read.
  auto answer = Run({.method = "GET", .key = key, .most = std::max(most, std::int64_t(64 << 10))});
  if (!answer) return answer.error();
  if (std::int64_t(answer->body.size()) > most) return Error{Code::kCorrupt, fmt::format("{} has more than {} bytes", key, most)};
  return std::move(answer->body);
}

Result<ObjectInfo> S3Store::Head(const std::string& key) {
  auto answer = Run({.method = "HEAD", .key = key});
  if (!answer) return answer.error();
  ObjectInfo info;
  info.key = key;
  const std::string length = answer->headers["content-length"];
  if (length.empty() || length.find_first_not_of("0123456789") != std::string::npos || length.size() > 15) {
    return Error{Code::kUnavailable, fmt::format("HEAD of {}: no size in the answer", key)};
  }
  info.size = std::stoll(length);
  if (auto at = s3::ServerTime({200, {{"date", answer->headers["last-modified"]}}, ""})) info.modified = *at;
  return info;
}

Result<ObjectPage> S3Store::List(const std::string& prefix, const std::string& from) {
  Call call{
      .method = "GET", .query = {{"list-type", "2"}, {"prefix", prefix}, {"max-keys", std::to_string(kPageKeys)}}, .most = kMostAnswer};
  if (!from.empty()) call.query.emplace_back("continuation-token", from);
  auto answer = Run(call);
  if (!answer) return answer.error();
  return s3::ReadListing(answer->body);
}

Status S3Store::Delete(const std::string& key) {
  auto answer = Run({.method = "DELETE", .key = key, .good = {200, 204}});
  if (answer || answer.code() == Code::kNotFound) return {};
  return answer.error();
}

Result<std::optional<std::chrono::seconds>> S3Store::ClockAhead() {
  s3::Answer answer;
  const Call call{.method = "GET", .query = {{"list-type", "2"}, {"max-keys", "1"}}, .most = kMostAnswer};
  const s3::Verdict verdict = Once(call, EmptyHash(), answer);
  if (answer.status == 0) return verdict.error;
  return s3::ClockAhead(answer, clock_.Wall());
}

Status S3Store::MakeBucket() {
  auto made = Run({.method = "PUT", .key = "", .good = {200, 409}});
  return made ? Status() : Status(made.error());
}

}  // namespace acl
