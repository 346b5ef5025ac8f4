#pragma once
// The files of a run or a session as answers: their list, and one of them.

#include "coordinator/api/api.h"
#include "shared/journal/document.h"

namespace acl::coordinator {

HttpResponse AnswerFiles(const Document& state);
// `path` of the request.
HttpResponse AnswerFile(const ApiContext& api, const HttpRequest& request, const Document& state);

}  // namespace acl::coordinator
