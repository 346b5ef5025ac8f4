#pragma once
// Why a run does not go on, in words: from what the API says of it, of the queues and of the workers. Pure.

#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::cli {

struct Why {
  bool stuck = false;                 // nothing will wake it by itself: somebody has to act
  std::string what;                   // "waits for a worker of queue 'gpu'": one sentence without its full stop
  std::vector<std::string> because;   // what is known, a line each
  std::string wakes;                  // what would wake it
  std::vector<std::string> commands;  // what to do, in this order; commands as they are typed
};

// `run` as GET /v1/workflows/{id}, `queues` and `workers` the lists of GET /v1/queues and /v1/workers.
Why WhyOf(const Json& run, const Json& queues, const Json& workers);

}  // namespace acl::cli
