#pragma once
// The one way a coordinator makes a run of a workflow: for schedules, and for POST /v1/workflows, where run_creator.h makes many at once.

#include "shared/base/uuid7.h"
#include "shared/capability/capability.h"
#include "shared/kernel/store.h"
#include "shared/telemetry/metrics.h"
#include "shared/workflow/create_run.h"

namespace acl::coordinator {

struct RunMaker {
  KernelStore& store;
  const CapabilityRegistry& capabilities;
  const SubjectKind& kind;
  Uuid7Maker& ids;
  Counter created = {};  // by MakeRun
};

struct MadeRun {
  CreateOutcome outcome;
  std::string queue;
};

// What the store is to make. `request.subject` is made here if it is nil. Errors as below, but the store's.
Result<CreateItem> PrepareRun(const RunMaker& maker, const WorkflowDefinition& definition, workflow::CreateRequest request,
                              workflow::FirstEventTemplates* event_templates = nullptr);
// kInvalid: what was asked does not fit (inputs, files, order of steps); kNotFound: a content is not
// stored; else the store's errors.
Result<MadeRun> MakeRun(const RunMaker& maker, const WorkflowDefinition& definition, workflow::CreateRequest request);

}  // namespace acl::coordinator
