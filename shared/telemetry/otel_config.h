#pragma once
// What the standard OTEL_* variables say about traces (OpenTelemetry specification, "Environment Variable Specification" and "OTLP
// Exporter"). A value that makes no sense is told in `warnings` and its default stands, as that page asks; a header's value is never told.

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl {

struct OtelConfig {
  bool on = false;  // an endpoint is set, and OTEL_SDK_DISABLED and OTEL_TRACES_EXPORTER do not forbid it
  std::string url;  // where spans are posted
  std::vector<std::pair<std::string, std::string>> headers;  // may hold secrets
  std::string ca_file;                                       // empty: the system's
  std::chrono::milliseconds post_timeout{10'000};
  Json resource = Json::object();  // service.name, and OTEL_RESOURCE_ATTRIBUTES

  enum class Sampler { kOn, kOff, kRatio } sampler = Sampler::kOn;
  bool parent_based = true;  // the caller's flag decides, if there is a caller
  double ratio = 1;

  // Batches (OTEL_BSP_*).
  std::chrono::milliseconds delay{1'000};  // the standard's 5 s would lose that much of a killed worker's trace
  int max_queue = 2'048, max_batch = 512;
  std::chrono::milliseconds export_timeout{30'000};

  std::vector<std::string> warnings;
};

// `service`: OTEL_SERVICE_NAME unless set.
OtelConfig ReadOtelConfig(const std::map<std::string, std::string>& environment, const std::string& service);

}  // namespace acl
