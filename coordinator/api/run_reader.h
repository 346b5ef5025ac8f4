#pragma once
// A run as it stands: what the database lists, and its state restored from snapshot and events (and so verified by every reading).

#include "coordinator/api/answer_budget.h"
#include "coordinator/api/api.h"
#include "shared/journal/document.h"

namespace acl::coordinator {

struct ReadRunState {
  AnswerBudget::Part memory;  // of `state`
  SubjectView listed;
  Document state;
  std::string damage;  // not empty: the journal does not verify, `state` is empty; says what was found
};

// kNotFound if there is no such subject, or it is not a workflow run; kUnavailable also if too many large ones are being read. Damage is no
// error: a person wants to see the rest.
Result<ReadRunState> ReadRun(const ApiContext& api, const SubjectId& id);
// The same of a subject of another kind.
Result<ReadRunState> ReadStateOfKind(const ApiContext& api, const SubjectId& id, std::string_view kind);

}  // namespace acl::coordinator
