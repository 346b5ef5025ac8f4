#pragma once
// Work for a fleet beside the points: a load from its start to its end, single runs, and what they cost.

#include <string>
#include <utility>
#include <vector>

#include "shared/base/json.h"
#include "tests/bench/run/measure.h"

namespace acl::bench {

// Runs bench-load to its end; what it said of its last window and at its end.
std::pair<Json, Json> RunLoad(const Stage& stage, const Fleet& fleet, std::vector<std::string> options);
// Seconds of CPU of PostgreSQL, coordinator and workers so far.
double FleetCpu(const Stage& stage, const Fleet& fleet);
// One run, taken when it returns.
void SubmitRun(const Fleet& fleet, const std::string& workflow);

}  // namespace acl::bench
