#pragma once
// A program's question to the process of its own kind on this machine: is it ready? For HEALTHCHECK lines and for images without a shell
// (`acl-worker --health`).

#include <chrono>
#include <string>

#include "shared/base/host_port.h"

namespace acl {

struct HealthAnswer {
  bool ready = false;
  std::string text;  // one line for people: what /readyz said, or why nobody answered
};

// GET /readyz of the process that listens at `address`; where it listens on every address, this asks over loopback. `host` is the Host
// header, for a process that takes only some (allowed_hosts); empty: the address asked. An answer that takes longer than `within` is none.
HealthAnswer AskHealth(const HostPort& address, const std::string& host, std::chrono::milliseconds within);

}  // namespace acl
