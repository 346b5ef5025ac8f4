#include "shared/workflow/first_event.h"

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/kernel/fold.h"
#include "shared/spec/loader.h"
#include "shared/workflow/events.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

Json RunRecordOf(const WorkflowSpec& spec, const CreateRequest& request, const std::string& spec_hash, const std::string& owner) {
  const std::string id = request.subject.ToString();
  Json run = {{"v", kStateVersion}, {"run_id", id}, {"workflow_id", spec.workflow_id.empty() ? id : spec.workflow_id}};
  run["session_id"] = request.session_id.empty() ? id : request.session_id;
  run["name"] = spec.name;
  run["version"] = spec.version;
  run["owner"] = owner;
  run["spec_hash"] = spec_hash;
  const bool asks = AsksForApproval(spec);
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

bool AsksForApproval(const WorkflowSpec& spec) {
  if (std::any_of(spec.steps.begin(), spec.steps.end(), [](const StepSpec& step) { return step.approval.has_value(); })) return true;
  for (const Json& child : spec.workflows) {
    const Json* steps = MemberOf(&child, "steps");
    for (const Json& step : steps && steps->is_array() ? *steps : Json::array())
      if (MemberOf(&step, "approval")) return true;
  }
  return false;
}

std::string OwnerOf(const WorkflowSpec& spec, const CreateRequest& request) { return spec.owner.empty() ? request.submitter : spec.owner; }

Result<FirstEvent> WordFirstEvent(const SubjectKind& kind, const WorkflowSpec& given, const CreateRequest& request, Json inputs,
                                  Json files) {
  // Variables: initial_state, over it the inputs by name (docs/reference/other-runtimes.md#state-and-templates; inputs are our addition).
  KeyedObject named(given.initial_state.is_object() ? given.initial_state.get_ref<const Json::object_t&>() : Json::object_t());
  for (const auto& [name, value] : inputs.get_ref<const Json::object_t&>()) named.Put(name, value);
  Json variables = std::move(named).Take();

  const std::string owner = OwnerOf(given, request);
  WorkflowSpec spec = given;
  for (StepSpec& step : spec.steps)
    if (step.agent_name.empty()) step.agent_name = owner;  // docs/reference/other-runtimes.md#steps; the file may have named no owner
  Json spec_json = SpecToJson(spec);
  const std::string spec_hash = ToHex(CanonicalHash(spec_json));
  EventDraft draft{
      std::string(event::kWorkflowCreated),
      {{"name", spec.name}, {"version", spec.version}, {"owner", owner}, {"steps", spec.steps.size()}, {"spec_hash", spec_hash}},
      Json::object()};
  if (!request.submitter.empty()) draft.facts["submitter"] = request.submitter;
  if (!request.trace.trace_id.empty()) draft.facts["trace_id"] = request.trace.trace_id;
  draft.carried = {{kRunKey, RunRecordOf(spec, request, spec_hash, owner)},
                   {kSpecKey, std::move(spec_json)},
                   {kInputsKey, std::move(inputs)},
                   {"variables", std::move(variables)},
                   {"files", std::move(files)}};
  if (request.continued) {
    draft.facts["continued_from"] = request.continued->from;
    draft.carried["kept"] = request.continued->kept;
  }

  FirstEvent first;
  auto folded = FoldDraft(kind, first.state, std::move(draft));
  if (!folded) return Error{Code::kInvalid, fmt::format("workflow '{}' cannot be run: {}", spec.name, folded.message())};
  first.event = std::move(*folded);
  first.event.subject = request.subject;
  first.event.seq = 1;
  return first;
}

}  // namespace acl::workflow
