#pragma once
// One span of a trace, and spans as an OTLP/HTTP request in JSON (opentelemetry-proto 1.x: hex ids, 64-bit numbers as text, enums as
// numbers).

#include <span>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/json.h"

namespace acl {

struct SpanEvent {
  std::string name;
  WallTime at;
  Json attributes = Json::object();
};

// To a span of the same trace.
struct SpanLink {
  std::string span_id;
  Json attributes = Json::object();
};

struct Span {
  enum class Kind { kInternal = 1, kServer = 2, kClient = 3, kProducer = 4, kConsumer = 5 };

  std::string trace_id, span_id;
  std::string parent_id;  // empty: the trace begins here
  std::string name;
  Kind kind = Kind::kInternal;
  WallTime start, end;
  Json attributes = Json::object();  // of text, numbers, truth values, or lists of text
  std::vector<SpanEvent> events;
  std::vector<SpanLink> links;
  bool failed = false;
  std::string message;  // why it failed; passwords in it are masked, and it is cut
};

// `resource`: attributes of the process that sends them (service.name ...).
std::string EncodeSpans(const Json& resource, std::span<const Span> spans);

}  // namespace acl
