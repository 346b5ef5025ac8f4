#pragma once
// Members of a JSON object; TextIn, NumberIn, TimeIn: of one that a program of ours wrote. What is not there is empty, zero or none.

#include <cstdint>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/json.h"

namespace acl {

// Of what others wrote: of another type, or of no object, it is not there.
inline std::string TextOrNone(const Json& json, const char* key) {
  if (!json.is_object()) return "";
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

inline std::string TextIn(const Json& object, const char* key) { return object.value(key, ""); }
inline std::int64_t NumberIn(const Json& object, const char* key) { return object.value(key, std::int64_t(0)); }
inline WallTime TimeIn(const Json& object, const char* key) { return ParseWallTime(TextIn(object, key)).value_or(WallTime{}); }

}  // namespace acl
