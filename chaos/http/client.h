#pragma once
// Requests with a time limit, and what became of them: an answer, certainly nothing, or nobody knows. For who stands outside the fleet: the
// chaos driver and the tests.

#include <chrono>
#include <map>
#include <string>

#include "shared/base/json.h"

namespace acl::chaos {

struct HttpAsk {
  std::string method = "GET", url, body;
  std::map<std::string, std::string> headers;
  std::chrono::milliseconds timeout{5'000};
};

struct HttpAnswer {
  int status = 0;    // 0: no answer
  bool sent = true;  // false: no connection was made, so certainly nothing happened
  std::string body, error;
  std::map<std::string, std::string> headers;  // names in lower case

  bool ok() const { return status / 100 == 2; }
  // The body as JSON; null if it is none.
  Json json() const;
};

HttpAnswer Http(const HttpAsk& ask);
// The sum of a metric over its lines that hold `labels`, of a /metrics page's text.
double MetricOf(const std::string& page, const std::string& name, const std::string& labels = "");

}  // namespace acl::chaos
