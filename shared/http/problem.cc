#include "shared/http/problem.h"

#include "shared/base/redact.h"

namespace acl {

HttpResponse Problem(int status, std::string_view code, std::string_view detail, Json errors, Json more) {
  Json body = {{"type", "about:blank"},
               {"title", std::string(HttpReason(status))},
               {"status", status},
               {"detail", RedactText(detail)},
               {"code", std::string(code)}};
  if (!errors.empty()) body["errors"] = std::move(errors);
  for (auto& [name, value] : more.items()) body[name] = std::move(value);
  HttpResponse response = HttpResponse::OfJson(status, body);
  response.headers = {{"Content-Type", "application/problem+json"}};
  return response;
}

HttpResponse ProblemOf(const Error& error) {
  switch (error.code) {
    case Code::kInvalid: return Problem(400, "invalid", error.message);
    case Code::kDenied: return Problem(403, "denied", error.message);
    case Code::kNotFound: return Problem(404, "not-found", error.message);
    case Code::kConflict: return Problem(409, "conflict", error.message);
    case Code::kExhausted:
    case Code::kUnavailable: return Problem(503, "unavailable", error.message).With("Retry-After", "1");
    case Code::kTimeout: return Problem(503, "timeout", error.message).With("Retry-After", "1");
    case Code::kOutcomeUnknown:
      return Problem(503, "outcome-unknown",
                     "the answer of the database was lost, it may have happened: repeat with the same Idempotency-Key")
          .With("Retry-After", "1");
    case Code::kCorrupt: return Problem(500, "corrupt", error.message);
    case Code::kCancelled:
    case Code::kLeaseLost:
    case Code::kInternal: break;
  }
  return Problem(500, "internal", error.message);
}

}  // namespace acl
