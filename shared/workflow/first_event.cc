#include "shared/workflow/first_event.h"

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/definition/loader.h"
#include "shared/kernel/fold.h"
#include "shared/workflow/events.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

Json RunRecordOf(const WorkflowDefinition& definition, const CreateRequest& request, const std::string& definition_hash,
                 const std::string& owner) {
  const std::string id = request.subject.ToString();
  Json run = {{"v", kStateVersion}, {"run_id", id}, {"workflow_id", definition.workflow_id.empty() ? id : definition.workflow_id}};
  run["session_id"] = request.session_id.empty() ? id : request.session_id;
  run["name"] = definition.name;
  run["version"] = definition.version;
  run["owner"] = owner;
  run["spec_hash"] = definition_hash;
  const bool asks = AsksForApproval(definition);
  if (!request.submitter.empty() && request.submitter != owner && asks) run["submitter"] = request.submitter;
  if (!request.requesters.empty() && asks) run["requesters"] = request.requesters;
  if (!request.trace.trace_id.empty()) run["trace_id"] = request.trace.trace_id;
  if (std::string parent = FormatTraceparent(request.trace); !parent.empty()) run["traceparent"] = std::move(parent);
  if (request.task) run["task"] = {{"project_id", request.task->project.ToString()}, {"task_id", request.task->task_id}};
  if (request.parent)
    run["parent"] = {{"run_id", request.parent->run.ToString()}, {"step_id", request.parent->step_id}, {"depth", request.parent->depth}};
  if (const auto& before = request.continued; before)
    run["continued"] = {{"from", before->from}, {"first", before->first}, {"number", before->number}};
  run["status"] = Name(RunStatus::kPending);
  return run;
}

}  // namespace

bool AsksForApproval(const WorkflowDefinition& definition) {
  if (std::any_of(definition.steps.begin(), definition.steps.end(), [](const StepDefinition& step) { return step.approval.has_value(); }))
    return true;
  for (const Json& child : definition.workflows) {
    const Json* steps = MemberOf(&child, "steps");
    for (const Json& step : steps && steps->is_array() ? *steps : Json::array())
      if (MemberOf(&step, "approval")) return true;
  }
  return false;
}

std::string OwnerOf(const WorkflowDefinition& definition, const CreateRequest& request) {
  return definition.owner.empty() ? request.submitter : definition.owner;
}

Result<FirstEvent> WordFirstEvent(const SubjectKind& kind, const WorkflowDefinition& given, const CreateRequest& request, Json inputs,
                                  Json files) {
  // Variables: initial_state, over it the inputs by name (docs/reference/other-runtimes.md#state-and-templates; inputs are our addition).
  KeyedObject named(given.initial_state.is_object() ? given.initial_state.get_ref<const Json::object_t&>() : Json::object_t());
  for (const auto& [name, value] : inputs.get_ref<const Json::object_t&>()) named.Put(name, value);
  Json variables = std::move(named).Take();

  const std::string owner = OwnerOf(given, request);
  WorkflowDefinition definition = given;
  for (StepDefinition& step : definition.steps)
    if (step.agent_name.empty()) step.agent_name = owner;  // docs/reference/other-runtimes.md#steps; the file may have named no owner
  Json definition_json = DefinitionToJson(definition);
  const std::string definition_hash = ToHex(CanonicalHash(definition_json));
  EventDraft draft{std::string(event::kWorkflowCreated),
                   {{"name", definition.name},
                    {"version", definition.version},
                    {"owner", owner},
                    {"steps", definition.steps.size()},
                    {"spec_hash", definition_hash}},
                   Json::object()};
  if (!request.submitter.empty()) draft.facts["submitter"] = request.submitter;
  if (!request.trace.trace_id.empty()) draft.facts["trace_id"] = request.trace.trace_id;
  draft.carried = {{kRunKey, RunRecordOf(definition, request, definition_hash, owner)},
                   {kDefinitionKey, std::move(definition_json)},
                   {kInputsKey, std::move(inputs)},
                   {"variables", std::move(variables)},
                   {"files", std::move(files)}};
  if (request.continued) {
    draft.facts["continued_from"] = request.continued->from;
    draft.carried["kept"] = request.continued->kept;
  }

  FirstEvent first;
  auto folded = FoldDraft(kind, first.state, std::move(draft));
  if (!folded) return Error{Code::kInvalid, fmt::format("workflow '{}' cannot be run: {}", definition.name, folded.message())};
  first.event = std::move(*folded);
  first.event.subject = request.subject;
  first.event.seq = 1;
  return first;
}

}  // namespace acl::workflow
