#pragma once
// A span for each API request that changes something, and for each that comes with a trace context of its own. The run that a request
// makes goes below it.

#include "shared/http/router.h"
#include "shared/telemetry/tracer.h"

namespace acl::coordinator {

class RequestSpans {
 public:
  RequestSpans(Tracer& tracer, const Clock& clock) : tracer_(tracer), clock_(clock) {}

  // Before anything else of the request is done; sets `request.span`.
  void Begin(HttpRequest& request, const Route& route) const;
  void Answered(const HttpRequest& request, int status, SteadyTime::duration took) const;

 private:
  Tracer& tracer_;
  const Clock& clock_;
};

}  // namespace acl::coordinator
