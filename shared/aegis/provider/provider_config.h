#pragma once
// Where models are: a JSON file, checked whole before anything of it is used.
//
//   {"currency": "USD",
//    "providers": [
//      {"name": "local", "kind": "openai", "base_url": "http://127.0.0.1:8080/v1", "model": "smollm2-135m"},
//      {"name": "claude", "kind": "anthropic", "base_url": "https://api.anthropic.com/v1", "key_file": "/etc/acl/claude.key",
//       "model": "...", "prices": [{"model": "...", "from": "2026-01-01T00:00:00Z", "prompt": "3", "completion": "15"}]}]}
//
// A key is a reference: the name of a file that only its reader may read. The key itself stands in no configuration, log or error.

#include <string>
#include <vector>

#include "shared/aegis/provider/limiter.h"
#include "shared/aegis/provider/prices.h"
#include "shared/aegis/provider/protocol.h"
#include "shared/aegis/provider/retry.h"

namespace acl::aegis {

struct ProviderConfig {
  std::string name;
  ProviderKind kind = ProviderKind::kOpenAi;
  std::string base_url;  // what the protocol's paths stand behind: http://127.0.0.1:11434/v1
  std::string model;     // for requests that name none
  std::string key_file;  // empty: no key is sent
  std::string ca_file;   // empty: the system's
  // A server in the house, beside this machine (whose own loopback is always allowed: the operator wrote it there).
  bool allow_private_networks = false;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{300'000};  // of one call with all its attempts
  std::chrono::milliseconds quiet_timeout{60'000};   // from one piece of the answer to the next, and to the first
  std::size_t most_request_bytes = 8u << 20;
  std::size_t most_answer_bytes = 16u << 20;
  CallLimits limits;
  RetryRules retries;
  Dialect dialect;
  PriceTable prices;
};

inline constexpr std::size_t kMostProviders = 64;

// kInvalid names the place and what to write instead: "providers[1].base_url: ...".
Result<std::vector<ProviderConfig>> ParseProviders(const Json& file);
Result<std::vector<ProviderConfig>> ReadProviders(const std::string& path);

// The key that key_file names; empty if it names none. The file must be its reader's alone (shared/base/private_file.h).
Result<std::string> ReadProviderKey(const ProviderConfig& provider);

// For print-outs: everything but the key, which is not in it.
Json ShowProvider(const ProviderConfig& provider);

}  // namespace acl::aegis
