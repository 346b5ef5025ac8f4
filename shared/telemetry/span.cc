#include "shared/telemetry/span.h"

#include "shared/base/redact.h"
#include "shared/base/utf8.h"

namespace acl {
namespace {

constexpr std::size_t kMaxText = 1'024;  // of one attribute or message

std::string CutText(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText) + "...";
  return StorableText(text);
}

Json ValueOf(const Json& value) {
  if (value.is_boolean()) return {{"boolValue", value}};
  if (value.is_number_integer()) return {{"intValue", std::to_string(value.get<std::int64_t>())}};
  if (value.is_number_float()) return {{"doubleValue", value}};
  if (value.is_array()) {
    Json values = Json::array();
    for (const Json& item : value) values.push_back(ValueOf(item));
    return {{"arrayValue", {{"values", std::move(values)}}}};
  }
  return {{"stringValue", CutText(value.is_string() ? value.get<std::string>() : DumpJson(value))}};
}

Json AttributesOf(const Json& attributes) {
  Json list = Json::array();
  for (const auto& [key, value] : attributes.items()) list.push_back({{"key", key}, {"value", ValueOf(value)}});
  return list;
}

std::string NanosOf(WallTime time) { return std::to_string(MicrosOf(time) * 1'000); }

Json SpanToJson(const Span& span) {
  constexpr int kError = 2;
  Json json = {{"traceId", span.trace_id},
               {"spanId", span.span_id},
               {"name", span.name},
               {"kind", int(span.kind)},
               {"startTimeUnixNano", NanosOf(span.start)},
               {"endTimeUnixNano", NanosOf(std::max(span.start, span.end))},
               {"attributes", AttributesOf(span.attributes)}};
  if (!span.parent_id.empty()) json["parentSpanId"] = span.parent_id;
  for (const SpanEvent& event : span.events) {
    json["events"].push_back({{"name", event.name}, {"timeUnixNano", NanosOf(event.at)}, {"attributes", AttributesOf(event.attributes)}});
  }
  for (const SpanLink& link : span.links) {
    json["links"].push_back({{"traceId", span.trace_id}, {"spanId", link.span_id}, {"attributes", AttributesOf(link.attributes)}});
  }
  if (span.failed) json["status"] = {{"code", kError}, {"message", CutText(RedactText(span.message))}};
  return json;
}

}  // namespace

std::string EncodeSpans(const Json& resource, std::span<const Span> spans) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(SpanToJson(span));
  Json scope = {{"scope", {{"name", "acl"}}}, {"spans", std::move(list)}};
  Json whole = {{"resource", {{"attributes", AttributesOf(resource)}}}, {"scopeSpans", Json::array({std::move(scope)})}};
  return DumpJson(Json{{"resourceSpans", Json::array({std::move(whole)})}});
}

}  // namespace acl
