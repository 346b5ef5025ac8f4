#include "shared/telemetry/tracer.h"

#include <charconv>

#include "shared/base/redact.h"

namespace acl {

Tracer::Tracer(OtelConfig config, const Json& attributes, const Clock& clock, Metrics* metrics) : config_(std::move(config)) {
  const Logger log("traces");
  for (const std::string& warning : config_.warnings) log.Warn(warning);
  if (!config_.on) return;
  for (const auto& [name, value] : attributes.items()) {
    if (!config_.resource.contains(name)) config_.resource[name] = value;
  }
  exporter_ = std::make_unique<SpanExporter>(config_, clock, metrics);
  log.Info("traces are sent", {{"endpoint", RedactText(config_.url)}, {"service", config_.resource["service.name"]}});
}

bool Tracer::Samples(const TraceContext& parent) const {
  if (!on() || parent.trace_id.empty()) return false;
  if (config_.parent_based && !parent.span_id.empty()) return parent.sampled;
  switch (config_.sampler) {
    case OtelConfig::Sampler::kOn: return true;
    case OtelConfig::Sampler::kOff: return false;
    case OtelConfig::Sampler::kRatio: break;
  }
  // The last 56 bits of the trace id are random (W3C, level 2); the comparison is OpenTelemetry's.
  std::uint64_t value = 0;
  const char* end = parent.trace_id.data() + parent.trace_id.size();
  if (parent.trace_id.size() < 14) return false;
  std::from_chars(end - 14, end, value, 16);
  return config_.ratio >= 1 || double(value) < config_.ratio * 0x1.0p56;
}

void Tracer::Export(Span span) {
  if (exporter_) (void)exporter_->Add(std::move(span));
}

void Tracer::Hurry() {
  if (exporter_) exporter_->Hurry();
}

void Tracer::Stop(std::chrono::milliseconds at_most) {
  if (exporter_) exporter_->Stop(at_most);
}

}  // namespace acl
