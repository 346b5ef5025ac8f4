#pragma once
// What must hold of a history. Pure: lines in, findings out.

#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::chaos {

struct Finding {
  std::string id, what;
  std::int64_t examined = 0, anomalies = 0;
  std::vector<std::string> examples;  // the first few

  void Look(bool holds, const std::string& otherwise);
};

// h01...: each is there, also when it met nothing.
std::vector<Finding> CheckHistory(const std::vector<Json>& lines);

// Why a run proves nothing, whatever it found: faults that were not seen, a phase that is missing, a fence that nobody ran into.
std::vector<std::string> WhyInvalid(const std::vector<Json>& lines);

}  // namespace acl::chaos
