#pragma once
// Members of a JSON object that a program of ours wrote: what is not there is empty, zero or none.

#include <cstdint>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/json.h"

namespace acl {

inline std::string TextIn(const Json& object, const char* key) { return object.value(key, ""); }
inline std::int64_t NumberIn(const Json& object, const char* key) { return object.value(key, std::int64_t(0)); }
inline WallTime TimeIn(const Json& object, const char* key) { return ParseWallTime(TextIn(object, key)).value_or(WallTime{}); }

}  // namespace acl
