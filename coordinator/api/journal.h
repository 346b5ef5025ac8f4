#pragma once
// A subject's journal as an answer: a page as JSON, or server-sent events if the request accepts those.

#include "coordinator/api/api.h"

namespace acl::coordinator {

// Reads `after_seq`, `limit` and Last-Event-ID from the request. 404 if there is no such subject of this kind.
HttpResponse AnswerEvents(const ApiContext& api, const HttpRequest& request, const SubjectId& id, std::string_view kind);

}  // namespace acl::coordinator
