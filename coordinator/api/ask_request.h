#pragma once
// What the routes of ask sessions and ledgers have in common.

#include "coordinator/api/request.h"

namespace acl::coordinator {

// The project that is named, by id or name; the default one if none is. 404.
OrRefusal<ProjectId> ReadProjectNamed(const ApiContext& api, const std::string& name);

// Who says it: the key's name; where nobody is asked for a key, `by` of the body. 422 if neither is there.
OrRefusal<std::string> ReadBy(const HttpRequest& request, const Json& body);

// Texts of the body: 422 names the member that is no text, or is missing though `needed`.
std::optional<HttpResponse> WrongText(const Json& body, std::initializer_list<const char*> needed,
                                      std::initializer_list<const char*> optional);

// A refusal of a ledger or a session.
HttpResponse RefusedBy(const std::string& reason, Code code, const std::string& message, const Json& details);

}  // namespace acl::coordinator
