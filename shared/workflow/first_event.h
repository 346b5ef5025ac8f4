#pragma once
// The first event of a run, worded from what it is made of. create_run.h decides what that is.

#include "shared/definition/workflow_definition.h"
#include "shared/kernel/kind.h"
#include "shared/workflow/create_run.h"

namespace acl::workflow {

struct FirstEvent {
  Event event;     // type, payload, its hashes; subject and sequence
  Document state;  // after it
};

// `inputs` and `files` are checked and complete; of the request only who and whence: subject, submitter, session, trace. kInvalid: the
// steps' order does not work out.
Result<FirstEvent> WordFirstEvent(const SubjectKind& kind, const WorkflowDefinition& given, const CreateRequest& request, Json inputs,
                                  Json files);
// Whether a workflow has a HUMAN_APPROVAL step, or one that its CHILD steps may start has.
bool AsksForApproval(const WorkflowDefinition& definition);
// The file's, else who submitted it.
std::string OwnerOf(const WorkflowDefinition& definition, const CreateRequest& request);

}  // namespace acl::workflow
