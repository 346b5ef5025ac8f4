#pragma once
// toxiproxy (a program of others, github.com/Shopify/toxiproxy) between a fleet's own proxies and its servers: delay, slices, resets,
// silence as somebody else makes them. What must see the protocol is our own proxy's (chaos/proxy).

#include "chaos/process/child.h"
#include "shared/base/json.h"

namespace acl::chaos {

// A toxic of this type on the answers ("downstream") or the questions ("upstream").
Json MakeToxic(const char* type, const char* stream, Json attributes);

class Toxiproxy {
 public:
  static Result<std::unique_ptr<Toxiproxy>> Start(const std::filesystem::path& program, const std::filesystem::path& log);

  // A way to this port, under a name: the port to connect to instead (`at`, or any).
  Result<std::uint16_t> Add(const std::string& name, std::uint16_t target_port, std::uint16_t at = 0);
  // As toxiproxy has it: {"type": "latency", "stream": "downstream", "attributes": {...}}.
  Status AddToxic(const std::string& name, const Json& toxic);
  // Those of this way, as toxiproxy tells them.
  Result<Json> Toxics(const std::string& name) const;
  Status RemoveToxics(const std::string& name);

 private:
  Toxiproxy(std::unique_ptr<Child> process, std::uint16_t port) : process_(std::move(process)), port_(port) {}
  Result<Json> Call(const std::string& method, const std::string& path, const Json& body = Json()) const;

  std::unique_ptr<Child> process_;
  const std::uint16_t port_;
};

}  // namespace acl::chaos
