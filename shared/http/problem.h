#pragma once
// Errors of the API: RFC 9457 problem documents (application/problem+json) with `code` (stable, for programs) and `errors` (each wrong
// thing of the request).

#include "shared/base/result.h"
#include "shared/http/message.h"

namespace acl {

// `code` is kebab-case and stable: "not-found", "key-conflict", "invalid-workflow" ...
// `more`: members of its own (RFC 9457, 3.2).
HttpResponse Problem(int status, std::string_view code, std::string_view detail, Json errors = Json::array(), Json more = Json::object());

// How our errors look from outside: kInvalid 400, kDenied 403, kNotFound 404, kConflict 409, kUnavailable and kTimeout 503 with
// Retry-After, kOutcomeUnknown 503 (repeat with the same Idempotency-Key), the rest 500. Passwords in the text are masked.
HttpResponse ProblemOf(const Error& error);

}  // namespace acl
