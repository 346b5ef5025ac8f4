#pragma once
// What every process says of itself, by the names of Prometheus' client libraries: CPU, memory, files, threads, when it started. Measured
// when a page of metrics is asked for.

#include <optional>
#include <string_view>

#include "shared/telemetry/metrics.h"

namespace acl {

// Of /proc/PID/stat. Pure.
struct ProcessUse {
  std::int64_t cpu_ticks = 0;      // user and system
  std::int64_t started_ticks = 0;  // since the machine's start
  std::int64_t virtual_bytes = 0, resident_pages = 0, threads = 0;
};
std::optional<ProcessUse> ParseProcStat(std::string_view text);

class ProcessMetrics {
 public:
  explicit ProcessMetrics(Metrics& metrics);
  // One thread at a time.
  void Measure();

 private:
  Counter cpu_;
  Gauge resident_, virtual_, fds_, max_fds_, threads_, start_;
};

}  // namespace acl
