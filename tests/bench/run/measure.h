#pragma once
// Runs the load or the model over its windows, and takes what the machine and the database counted meanwhile.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shared/base/json.h"
#include "tests/bench/figures/result.h"
#include "tests/bench/run/check.h"
#include "tests/bench/run/fleet.h"
#include "tests/bench/run/server.h"

namespace acl::bench {

struct Pace {
  double warm_up = 5, window = 20;
  int rounds = 3;
};

// A column of the results: one way to run the same work.
struct ColumnDef {
  std::string name;
  bool batch = false;      // submitted in batches
  int flush_delay_us = 0;  // of PostgreSQL
  bool kafka = false;      // over a broker of the runner's own
  bool handler = false;    // steps are requests to another process
  std::string capability = "test.effect";
  std::map<std::string, std::string> settings;  // of coordinator and worker
};
std::vector<ColumnDef> AllColumns();

// Everything that a point needs and that stays between points.
struct Stage {
  Server* server = nullptr;
  std::filesystem::path tools;  // where bench-load and bench-ceiling are
  FleetOptions fleet;
  Pace pace;
  std::filesystem::path dev, local;  // the checkout's ./dev, which runs the broker, and where it keeps what is private to this machine
  std::string broker;                // its name
  bool show_statements = false;      // those that cost most, from the short further load in which they are counted
  std::int64_t verify_all_up_to = 30'000;  // events; of more, `airun verify` reads a sample of runs
  std::function<void(const std::string&)> tell;
};

inline constexpr const char* kTemplateDatabase = "bench_template";  // empty, with the schema
inline constexpr const char* kFleetDatabase = "bench_fleet";
// A copy of the template, in place of the last fleet's; its conninfo.
std::string FreshDatabase(const Stage& stage);

// l1, l2 or closed N.
Window MeasureModel(const Stage& stage, const std::vector<std::string>& what, const Pace& pace);
// A fresh database, a fleet, the load, and the checks of everything that was submitted; throws if anything is wrong.
Point MeasurePoint(const Stage& stage, const ColumnDef& column, int in_flight);

}  // namespace acl::bench
