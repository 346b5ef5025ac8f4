#pragma once
// ParseJson's short cut: simdjson, for texts in which nothing is out of the ordinary. It never refuses anything: what it does not answer
// the strict parser reads, which says what is wrong and where.

#include <optional>

#include "shared/base/json.h"

namespace acl {

// The same value, of the same types, that the strict parser gives; nullopt if that has to be asked: an error, a key that stands twice,
// nesting beyond the limit, a \u escape. `text` holds no NUL byte.
std::optional<Json> ParseJsonFast(std::string_view text, int max_depth);

}  // namespace acl
