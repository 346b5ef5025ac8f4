#pragma once
// RFC 8785 (JCS): the text that hashes are taken over. Keys in UTF-16 code unit order, numbers as ECMAScript prints them.

#include <string>

#include "shared/base/ids.h"
#include "shared/base/json.h"

namespace acl {

// The value must be storable (CheckStorable); integers beyond 2^53 are printed as the double they read as, as RFC 8785 says.
std::string CanonicalJson(const Json& value);
Hash256 CanonicalHash(const Json& value);
// Hash and length of the text.
struct CanonicalMeasure {
  Hash256 hash{};
  std::size_t bytes = 0;
};
CanonicalMeasure MeasureCanonical(const Json& value);

}  // namespace acl
