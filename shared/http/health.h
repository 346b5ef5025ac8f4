#pragma once
// /livez, /readyz and /metrics: the same on every process.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "shared/http/router.h"
#include "shared/telemetry/metrics.h"

namespace acl {

// What /readyz answers: 200 if every check is fine, else 503 with the reasons. Whoever reaches the address reads it without a key, so texts
// never hold secrets, addresses or what another program said: details are for the log.
struct Readiness {
  struct Check {
    std::string name;  // "database", "migrations", "drain" ...
    bool ok = false;
    std::string detail;  // why not, and the way out, in words of ours
  };
  std::vector<Check> checks;
  bool ready() const {
    for (const auto& check : checks) {
      if (!check.ok) return false;
    }
    return true;
  }
};

// `readiness` is asked on the server's thread: it reads what others found out, and never blocks. No API key is needed.
// `measure`, if given, is called the same way before each page of metrics: it sets what is only known by looking.
void AddHealthRoutes(Router& router, Metrics& metrics, std::function<Readiness()> readiness, std::function<void()> measure = {});

}  // namespace acl
