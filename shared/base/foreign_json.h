#pragma once
// JSON that others wrote and nobody here can correct: an answer of a service, a file that was found.

#include "shared/base/json.h"

namespace acl {

// What ParseJson refuses though a reader can make sense of it is read by a stated rule, as most readers do:
//   - a key that stands twice: the last value, at the place of the first
//   - an integer beyond 64 bits: its digits, as a string, so that none is lost
//   - \u0000, which cannot be stored: U+FFFD
// Everything else is as there: what is no JSON, a number beyond a double, a lone surrogate, deeper nesting is kInvalid.
Result<Json> ParseForeignJson(std::string_view text, const JsonLimits& limits = {});

}  // namespace acl
