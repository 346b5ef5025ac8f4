#pragma once
// A memory system over HTTP (docs/guides/memory.md): POST /v1/search, POST /v1/learnings, DELETE /v1/learnings/ID, JSON both ways.
//
// It stands on the client of net.http (shared/capability/http_client.h): that one's rules for addresses, its limits, no redirects. The
// bearer token goes to the memory's own origin only and stands in no message.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "shared/base/clock.h"
#include "shared/capability/http_client.h"
#include "shared/memory/external_memory.h"

namespace acl::memory {

struct HttpMemoryOptions {
  std::string url;    // what the paths stand behind
  std::string token;  // secret; empty: none is sent
  std::string ca_file;
  bool allow_private_networks = false;
  std::chrono::milliseconds timeout{2'000};  // of a whole call
};

class HttpMemory final : public ExternalMemory {
 public:
  // Calls that may be on their way at one time; one more ends as kUnavailable.
  static constexpr int kMostCalls = 32;

  // kInvalid, kDenied: options that cannot work, by the names of the settings. Nothing is asked of the memory yet.
  static Result<std::unique_ptr<HttpMemory>> Make(HttpMemoryOptions options, const Clock& clock);

  Result<Found> Search(const Passed<Query>& query) override;
  Status Learn(const Passed<Learning>& learning) override;
  Result<bool> Revoke(const std::string& id) override;

 private:
  HttpMemory(HttpMemoryOptions options, HttpConfig config, std::string origin, const Clock& clock);
  Result<HttpAnswer> Call(const std::string& method, const std::string& path, const Json& body);

  const HttpMemoryOptions options_;
  const std::string origin_;
  const Clock& clock_;
  std::atomic<int> calls_{0};
  HttpClient client_;
};

}  // namespace acl::memory
