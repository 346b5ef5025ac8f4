#pragma once
// From a checked head to a request with its route, and the checks between. Internal; no sockets.

#include <optional>

#include "shared/http/gate.h"
#include "shared/http/router.h"
#include "shared/telemetry/log.h"

namespace acl::internal {

// Path, query, headers, ids, route and its parameters. An answer: there is no such route (404, 405, OPTIONS), or the target is malformed.
std::optional<HttpResponse> FillRequest(const HttpHead& head, const Router& router, HttpRequest& request, const Route*& route);
// May this route have this body at all (400, 413)?
std::optional<HttpResponse> CheckBody(const HttpHead& head, const Route& route);
// 415, or 400 if a body is needed and there is none.
std::optional<HttpResponse> CheckContentType(const HttpRequest& request, const Route& route);
// The handler's answer; 503 if there is not enough memory for it, 500 if it throws anything else.
HttpResponse CallHandler(const Logger& log, const Route& route, const HttpRequest& request);
// The same of what the route answers at once; nothing: it is the handler's.
std::optional<HttpResponse> CallQuick(const Logger& log, const Route& route, const HttpRequest& request);

}  // namespace acl::internal
