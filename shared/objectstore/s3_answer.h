#pragma once
// What an S3 server's answers mean: the little of its XML that we read, and which error is ours. Pure.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shared/objectstore/object_store.h"

namespace acl::s3 {

// One answer as it came. Names of headers in lower case.
struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;
};

// The text between the first <tag> and its end, entities decoded; nothing if it is not there.
std::optional<std::string> XmlText(std::string_view xml, std::string_view tag);
// kUnavailable if it is no listing.
Result<ObjectPage> ReadListing(std::string_view xml);

struct Verdict {
  Error error;
  bool again = false;  // worth another try
};
// Of an answer that is no success. `what`: "PUT s3://bucket/key". `now`: this machine's time when it was sent.
Verdict Judge(const Answer& answer, const std::string& what, WallTime now);

// The Date header: whole seconds. Nothing if there is none, or it cannot be read.
std::optional<WallTime> ServerTime(const Answer& answer);
// This machine's clock less the server's, from its Date header; nothing if that has none.
std::optional<std::chrono::seconds> ClockAhead(const Answer& answer, WallTime now);

}  // namespace acl::s3
