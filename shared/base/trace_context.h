#pragma once
// W3C trace context: which trace something belongs to and which span of it caused it. And the span ids of runs, steps, attempts and
// claims, which are derived from what they are spans of: a worker that takes over continues the same trace without memory of the first.

#include <optional>
#include <string>
#include <string_view>

#include "shared/base/ids.h"

namespace acl {

struct TraceContext {
  std::string trace_id;  // 32 hex digits, lower case; empty: belongs to no trace
  std::string span_id;   // 16 hex digits; empty: no span of another is known
  bool sampled = true;   // whoever began the trace records it
};

// Of a `traceparent` header or a TRACEPARENT variable; nullopt if it is malformed (it is ignored then, as the standard says).
std::optional<TraceContext> ParseTraceparent(std::string_view text);
// "00-<trace id>-<span id>-01"; empty unless both ids are there.
std::string FormatTraceparent(const TraceContext& context);

std::string RunSpanId(const SubjectId& subject);
std::string StepSpanId(const SubjectId& subject, std::string_view step_id);
// With the token: an attempt that left no row may be repeated under its number by the next holder.
std::string AttemptSpanId(const SubjectId& subject, std::string_view step_id, int attempt_id, Token token);
std::string ClaimSpanId(const SubjectId& subject, Token token);

}  // namespace acl
