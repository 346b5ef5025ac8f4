#pragma once
// What handlers read from requests, and the refusals when it does not fit.

#include <optional>
#include <string>
#include <variant>

#include "coordinator/api/api.h"
#include "shared/http/problem.h"

namespace acl::coordinator {

// A value or the answer that refuses the request.
template <class T>
using OrRefusal = std::variant<T, HttpResponse>;

template <class T>
const HttpResponse* RefusalOf(const OrRefusal<T>& value) {
  return std::get_if<HttpResponse>(&value);
}
template <class T>
T& ValueOf(OrRefusal<T>& value) {
  return std::get<T>(value);
}

inline constexpr std::size_t kMaxKeyBytes = 200;

// `Idempotency-Key`, with or without the quotes of a structured field; nothing if there is none. 400 if it is empty, too long or not
// visible ASCII.
OrRefusal<std::optional<std::string>> ReadIdempotencyKey(const HttpRequest& request);

// The body as a JSON object; an empty body is an empty object. 400 with the place if it does not parse.
OrRefusal<Json> ReadAnyObject(const HttpRequest& request);
// The body as a JSON object with only these members; an empty body is an empty object. 400 with the place if it does not parse, 422
// naming each unknown member with the nearest known one.
OrRefusal<Json> ReadObject(const HttpRequest& request, const std::vector<std::string>& known);

// A whole number in the query within bounds, or the default.
OrRefusal<std::int64_t> ReadNumber(const HttpRequest& request, const std::string& name, std::int64_t otherwise, std::int64_t min,
                                   std::int64_t max);

// An id in full, or any part of it (6 hex digits at least) that only one subject has. 404, or 409 with the candidates.
OrRefusal<SubjectId> ReadSubject(const ApiContext& api, const std::string& text);

// One finding of `errors[]`: {"code", "message", "pointer"?}.
Json ErrorItem(std::string_view code, std::string_view message, std::string_view pointer = "");

// True if a KernelStore said that the request key was used for something else (422), not that the state forbids it (409).
bool IsKeyConflict(const Error& error);

}  // namespace acl::coordinator
