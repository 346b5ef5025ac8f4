#pragma once
// S3 and what speaks its protocol (docs/operate/operations.md, "Object store"). Every request is signed with the hash of its body, so that
// a server stores what was meant or nothing. What fails for a while is tried again with jitter, a number of times and within a budget of
// the process (retry_budget.h); writes are put-if-absent, so a repeat is harmless: its own first write answers "there already".
//
// An ETag is not believed: with encryption at rest it is not the MD5 of the bytes. Readers verify the bytes themselves.

#include <functional>

#include "shared/base/random.h"
#include "shared/objectstore/curl_exchange.h"
#include "shared/objectstore/object_store.h"
#include "shared/objectstore/retry_budget.h"
#include "shared/objectstore/sigv4.h"
#include "shared/runtime/backoff.h"
#include "shared/telemetry/metrics.h"

namespace acl {

struct S3Options {
  std::string endpoint;  // https://s3.eu-central-1.amazonaws.com, http://127.0.0.1:7070
  std::string region = "us-east-1";
  std::string bucket;
  bool path_style = true;  // ENDPOINT/BUCKET/KEY; else https://BUCKET.HOST/KEY
  sigv4::Credentials credentials;
  std::string ca_file;  // empty: the system's
  std::chrono::milliseconds connect_timeout{3'000};
  std::chrono::milliseconds timeout{30'000};  // of one try, its body included
  int tries = 4;
  BackoffPolicy backoff{std::chrono::milliseconds(100), std::chrono::milliseconds(3'000), 2.0};
  double retry_budget = 20;
  std::int64_t max_object_bytes = 5ll << 30;  // of one PUT
  Metrics* metrics = nullptr;
  std::function<void(std::chrono::milliseconds)> wait;  // between two tries; empty: this thread sleeps
};

class S3Store final : public ObjectStore {
 public:
  // kInvalid, naming the setting, if the options cannot work.
  static Result<std::unique_ptr<S3Store>> Make(S3Options options, const Clock& clock);

  Result<Put> PutIfAbsent(const std::string& key, std::string_view bytes) override;
  Result<std::string> Get(const std::string& key, std::int64_t most) override;
  Result<ObjectInfo> Head(const std::string& key) override;
  Result<ObjectPage> List(const std::string& prefix, const std::string& from) override;
  Status Delete(const std::string& key) override;
  std::string Name() const override;

  // This machine's clock less the store's; nothing if the store does not say. For `airun doctor`.
  Result<std::optional<std::chrono::seconds>> ClockAhead();
  // Makes the bucket; no error if it is ours already. For tests and development.
  Status MakeBucket();

 private:
  struct Call {
    std::string method, key;
    std::vector<std::pair<std::string, std::string>> query;
    std::map<std::string, std::string> headers;
    std::string_view body;
    std::int64_t most = 1 << 20;
    std::vector<int> good{200};
  };
  S3Store(S3Options options, const Clock& clock, std::string scheme, std::string host);
  std::string PathOf(const std::string& key) const;
  s3::Exchange Signed(const Call& call, const std::string& body_hash, WallTime now) const;
  // Tried as often as allowed.
  Result<s3::Answer> Run(const Call& call);
  s3::Verdict Once(const Call& call, const std::string& body_hash, s3::Answer& answer);
  void Count(const std::string& operation, const char* outcome, double seconds);

  const S3Options options_;
  const Clock& clock_;
  const std::string scheme_, host_;
  s3::CurlPool pool_;
  RetryBudget budget_;
  Counter sent_, received_, retries_;
};

}  // namespace acl
