#include "coordinator/request_spans.h"

#include "shared/base/random.h"

namespace acl::coordinator {

void RequestSpans::Begin(HttpRequest& request, const Route& route) const {
  if (!tracer_.on() || route.options.open) return;
  const bool looks = request.method == "GET" || request.method == "HEAD";
  if (looks && request.caller.span_id.empty()) return;
  SystemRandom random;
  const std::uint64_t number = random.Next() | 1;  // never zero
  const TraceContext caller{request.trace_id, request.caller.span_id, request.caller.sampled};
  request.span = {request.trace_id, ToHex(&number, sizeof number), tracer_.Samples(caller)};
}

void RequestSpans::Answered(const HttpRequest& request, int status, SteadyTime::duration took) const {
  if (request.span.span_id.empty() || !request.span.sampled) return;
  constexpr int kServerFault = 500;
  Span span;
  span.trace_id = request.span.trace_id;
  span.span_id = request.span.span_id;
  span.parent_id = request.caller.span_id;
  span.name = request.method + " " + request.route;
  span.kind = Span::Kind::kServer;
  span.end = clock_.Wall();
  span.start = span.end - std::chrono::duration_cast<std::chrono::microseconds>(took);
  span.attributes = {{"http.request.method", request.method},
                     {"http.route", request.route},
                     {"url.path", request.path},
                     {"http.response.status_code", status},
                     {"acl.request_id", request.request_id}};
  if (status >= kServerFault) {
    span.failed = true;
    span.attributes["error.type"] = std::to_string(status);
  }
  tracer_.Export(std::move(span));
}

}  // namespace acl::coordinator
