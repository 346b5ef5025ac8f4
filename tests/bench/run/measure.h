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

struct ColumnDef {
  std::string name;
  bool batch = false;
  int flush_delay_us = 0;
  std::string capability = "test.effect";
  std::map<std::string, std::string> coordinator, worker;  // settings of this column
};

// Everything that a point needs and that stays between points.
struct Stage {
  Server* server = nullptr;
  std::filesystem::path tools;  // where bench-load and bench-ceiling are
  FleetOptions fleet;
  Pace pace;
  std::vector<std::string> load_options;
  bool statements = true;  // a short further load in which the statements are counted
  std::function<void(const std::string&)> tell;
};

// l1, l2 or closed N.
Window MeasureModel(const Stage& stage, const std::vector<std::string>& what, const Pace& pace);
// A fresh database, a fleet, the load, and the checks of everything that was submitted; throws if anything is wrong.
Point MeasurePoint(const Stage& stage, const ColumnDef& column, int in_flight);

}  // namespace acl::bench
