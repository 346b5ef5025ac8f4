#pragma once
// Whether a trace is recorded, and where its spans go. Off (no thread, no cost) unless an OTLP endpoint is set.

#include <memory>

#include "shared/base/trace_context.h"
#include "shared/telemetry/span_exporter.h"

namespace acl {

class Tracer {
 public:
  // Off.
  Tracer() = default;
  // `attributes` join the resource unless the environment named them. Warnings of the configuration are logged.
  Tracer(OtelConfig config, const Json& attributes, const Clock& clock, Metrics* metrics);

  bool on() const { return exporter_ != nullptr; }
  // `parent`: the trace, and the span and flag of whoever called, if there was one. The same answer in every process with the same
  // settings.
  bool Samples(const TraceContext& parent) const;
  // Takes spans of sampled traces; never blocks.
  void Export(Span span);
  void Hurry();
  void Stop(std::chrono::milliseconds at_most = std::chrono::milliseconds(2'000));

 private:
  OtelConfig config_;
  std::unique_ptr<SpanExporter> exporter_;
};

}  // namespace acl
