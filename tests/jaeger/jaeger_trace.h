#pragma once
// A trace as Jaeger's API gives it (GET /api/traces/{id}).

#include <map>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::test {

struct JaegerSpan {
  std::string id, name, service;
  std::string parent;              // empty: none
  std::vector<std::string> links;  // span ids
  std::map<std::string, std::string> tags;
  std::vector<std::string> events;  // names
  std::int64_t start_us = 0, duration_us = 0;

  std::string Tag(const std::string& name_of_tag) const {
    auto it = tags.find(name_of_tag);
    return it == tags.end() ? "" : it->second;
  }
};

struct JaegerTrace {
  int traces = 0;                 // with this id
  std::vector<JaegerSpan> spans;  // by their start
  Json answer;

  // Of this name, or a name that begins so.
  std::vector<JaegerSpan> Named(const std::string& start) const;
  // Each parent is there but `outside` (a caller's span that is not sent here), no id twice, no link to nothing.
  void ExpectWhole(const std::string& outside = "") const;
};

// Where Jaeger's API answers, and where it takes spans: of this test run (./dev test jaeger).
std::string JaegerUrl();
std::string JaegerOtlp();

// An empty trace if Jaeger does not know it.
JaegerTrace ReadTrace(const std::string& trace_id);

}  // namespace acl::test
