#pragma once
// What a call of a model shows of itself in traces and metrics, by OpenTelemetry's semantic conventions for generative AI
// (docs/guides/aegis.md, "Traces and metrics"): names, numbers, ids and hashes, never a word of a prompt or an answer. The journal is the
// record, not the span: nothing waits for it, and what is lost of it changes nothing.

#include <string>

#include "shared/aegis/provider/model_failure.h"
#include "shared/aegis/provider/model_request.h"
#include "shared/aegis/provider/provider_config.h"
#include "shared/base/clock.h"
#include "shared/base/trace_context.h"
#include "shared/telemetry/metrics.h"
#include "shared/telemetry/tracer.h"

namespace acl::coordinator {

// Of whose exchange, and when.
struct ModelCallSeen {
  TraceContext caller;  // the request's span
  WallTime begun, ended;
  std::string exchange_id, session_id, prompt_hash;
};

class AskTelemetry {
 public:
  AskTelemetry(Tracer& tracer, Metrics& metrics) : tracer_(tracer), metrics_(metrics) {}

  void Called(const aegis::ProviderConfig& provider, const aegis::ModelRequest& request, const aegis::ModelResult& result,
              const ModelCallSeen& seen);

  // Without ids of its own.
  static Span SpanOf(const aegis::ProviderConfig& provider, const aegis::ModelRequest& request, const aegis::ModelResult& result,
                     const ModelCallSeen& seen);

 private:
  Tracer& tracer_;
  Metrics& metrics_;
};

}  // namespace acl::coordinator
