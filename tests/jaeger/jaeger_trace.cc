#include "tests/jaeger/jaeger_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/support/http.h"

namespace acl::test {

namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << "run ./dev test jaeger";
  return value ? value : "";
}

std::string TextOfValue(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

JaegerSpan SpanOf(const Json& span, const Json& processes) {
  JaegerSpan out;
  out.id = span.at("spanID");
  out.name = span.at("operationName");
  out.service = processes.at(span.at("processID").get<std::string>()).at("serviceName");
  out.start_us = span.at("startTime");
  out.duration_us = span.at("duration");
  for (const Json& reference : span.value("references", Json::array())) {
    const bool child = reference.at("refType") == "CHILD_OF" && out.parent.empty();
    if (child) out.parent = reference.at("spanID");
    if (!child) out.links.push_back(reference.at("spanID"));
  }
  for (const Json& tag : span.value("tags", Json::array())) out.tags[tag.at("key")] = TextOfValue(tag.at("value"));
  for (const Json& log : span.value("logs", Json::array())) {
    for (const Json& field : log.at("fields")) {
      if (field.at("key") == "event") out.events.push_back(field.at("value"));
    }
  }
  return out;
}

}  // namespace

std::string JaegerUrl() { return FromEnvironment("ACL_TEST_JAEGER"); }
std::string JaegerOtlp() { return FromEnvironment("ACL_TEST_OTLP"); }

JaegerTrace ReadTrace(const std::string& trace_id) {
  JaegerTrace trace;
  const HttpAnswer reply = HttpGet(JaegerUrl() + "/api/traces/" + trace_id);
  trace.answer = reply.json();
  if (reply.status != 200 || !trace.answer["data"].is_array()) return trace;
  for (const Json& one : trace.answer["data"]) {
    ++trace.traces;
    for (const Json& span : one.at("spans")) trace.spans.push_back(SpanOf(span, one.at("processes")));
  }
  std::stable_sort(trace.spans.begin(), trace.spans.end(), [](const auto& a, const auto& b) { return a.start_us < b.start_us; });
  return trace;
}

std::vector<JaegerSpan> JaegerTrace::Named(const std::string& start) const {
  std::vector<JaegerSpan> found;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(found), [&](const auto& span) { return span.name.starts_with(start); });
  return found;
}

void JaegerTrace::ExpectWhole(const std::string& outside) const {
  EXPECT_EQ(traces, 1);
  std::set<std::string> ids;
  for (const JaegerSpan& span : spans) EXPECT_TRUE(ids.insert(span.id).second) << span.name << " is there twice";
  int roots = 0;
  for (const JaegerSpan& span : spans) {
    if (span.parent == outside) ++roots;
    EXPECT_TRUE(span.parent == outside || ids.contains(span.parent)) << "an orphan: " << span.name << " of " << span.parent;
    for (const std::string& link : span.links) EXPECT_TRUE(ids.contains(link)) << span.name << " links to nothing";
  }
  EXPECT_GE(roots, 1);
  if (outside.empty()) {
    EXPECT_EQ(roots, 1);
  }
}

}  // namespace acl::test
