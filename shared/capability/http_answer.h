#pragma once
// What an HTTP answer is for a step: outputs, or how the attempt failed.

#include <optional>
#include <string>
#include <string_view>

#include "shared/capability/handlers.h"
#include "shared/capability/http_client.h"
#include "shared/capability/http_status.h"

namespace acl {

bool SameHeader(std::string_view a, std::string_view b);

// What the file says of statuses and of the body.
struct Wanted {
  std::optional<StatusSet> expected, retried;
  std::optional<bool> parses;  // parse_json; not given: what says that it is JSON, and is short
};

Result<Wanted> ReadWanted(const Json& parameters);
StepResult ToResult(HttpAnswer answer, const std::string& method, const Wanted& wanted);
// A parameter that is a set of statuses.
FieldDefinition StatusField(std::string name, std::string description);

}  // namespace acl
