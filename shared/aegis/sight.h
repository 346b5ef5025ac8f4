#pragma once
// Sight: what the declared observational tools say for this turn (document 004, sections 3 and 7). A declared tool gives real values, or
// says that it is unavailable and why: there is no third.

#include <cstdint>
#include <string>
#include <vector>

#include "shared/aegis/kernel_file.h"

namespace acl::aegis {

struct SightEntry {
  std::string tool;
  Json stamp;   // without values: available, observed_at and freshness_s, or available and reason
  Json values;  // null: none
  std::vector<std::string> unknowns;
  std::string execution;  // of the tool, with its time: if there are values
  WallTime observed_at{};
  bool without_values = false;  // it said that it is available and gave none: completeness drift
};

struct SightExclusion {
  std::string artifact;
  std::string reason;
};

struct Sight {
  std::vector<SightEntry> entries;  // by tool
  std::vector<SightExclusion> exclusions;
};

Sight CompileSight(const Kernel& kernel, const std::vector<ToolOutput>& outputs, WallTime now);

// Makes an entry unavailable, for that reason; what was seen is gone.
void MakeUnavailable(SightEntry* entry, std::string_view reason, std::string_view detail);

// Seconds from then to now, never below 0.
std::int64_t FreshnessSeconds(WallTime observed_at, WallTime now);
// "2026-01-08T00:00:00Z": as document 004 writes times, whole seconds.
std::string WholeSeconds(WallTime time);

}  // namespace acl::aegis
