#pragma once
// Reading agent sessions for their routes: as they are listed, and as they were behind a move.

#include "coordinator/api/answer_budget.h"
#include "coordinator/api/request.h"
#include "shared/journal/document.h"

namespace acl::coordinator {

// The session that `id` of the request names. 404.
OrRefusal<SubjectView> ReadAgentView(const ApiContext& api, const HttpRequest& request);

struct PastState {
  AnswerBudget::Part memory;  // of the state
  Document state;             // behind event `seq`
  Event event;                // that event
};
// Restored from the journal alone, and the snapshot that the oldest kept journal begins with, so that it is what the moves say. kInvalid:
// there is no such event (any more).
Result<PastState> ReadStateAt(const ApiContext& api, const SubjectId& id, std::int64_t seq);

}  // namespace acl::coordinator
