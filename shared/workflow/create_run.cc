#include "shared/workflow/create_run.h"

#include <fmt/format.h>

#include "shared/base/canonical_json.h"
#include "shared/capability/manifest.h"
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
  if (!request.trace.trace_id.empty()) run["trace_id"] = request.trace.trace_id;
  if (std::string parent = FormatTraceparent(request.trace); !parent.empty()) run["traceparent"] = std::move(parent);
  run["status"] = Name(RunStatus::kPending);
  return run;
}

Result<Json> FilesOf(std::vector<FileChange> files) {
  auto complete = WithParents(std::move(files));
  if (!complete) return Error{Code::kInvalid, "files: " + complete.message()};
  Json entries = Json::object();
  for (const FileChange& file : *complete) entries[file.path] = FileEntryToJson(EntryOf(file));
  return entries;
}

}  // namespace

Result<CreateItem> MakeCreateItem(const SubjectKind& kind, const WorkflowSpec& given, CreateRequest request) {
  auto inputs = CheckInputs(given, request.inputs);
  if (!inputs) return inputs.error();
  CreateItem item;
  for (const FileChange& file : request.files) {
    if (file.hash && !file.is_dir) item.contents.push_back(*file.hash);
  }
  auto files = FilesOf(std::move(request.files));
  if (!files) return files.error();
  for (const Json* value : std::initializer_list<const Json*>{&*inputs, &given.initial_state, &request.labels}) {
    if (Status storable = CheckStorable(*value); !storable) return storable.error();
  }

  // Variables: initial_state, over it the inputs by name (compat.md 1.5; inputs are our addition).
  Json variables = given.initial_state.is_object() ? given.initial_state : Json::object();
  for (auto it = inputs->begin(); it != inputs->end(); ++it) variables[it.key()] = it.value();

  const std::string owner = given.owner.empty() ? request.submitter : given.owner;
  WorkflowSpec spec = given;
  for (StepSpec& step : spec.steps)
    if (step.agent_name.empty()) step.agent_name = owner;  // compat.md 1.3; the file may have named no owner
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
                   {kInputsKey, std::move(*inputs)},
                   {"variables", std::move(variables)},
                   {"files", std::move(*files)}};

  Document state;
  auto folded = FoldDraft(kind, state, draft);
  if (!folded) return Error{Code::kInvalid, fmt::format("workflow '{}' cannot be run: {}", spec.name, folded.message())};

  item.subject = request.subject;
  item.project = request.project;
  item.kind = std::string(kind.Name());
  item.queue = spec.queue;
  item.band = spec.band;
  item.required_version = EventSchemaVersion();  // of the event below
  item.request_key = std::move(request.request_key);
  item.request_hash = request.request_hash;
  item.traceparent = FormatTraceparent({request.trace.trace_id, RunSpanId(request.subject), request.trace.sampled});
  folded->subject = request.subject;
  folded->seq = 1;
  item.events.push_back(std::move(*folded));
  item.state_root = state.Root();
  item.listing = ListingRow{
      spec.name, spec.version, owner, std::string(Name(RunStatus::kPending)), std::move(request.spec_text), DumpJson(request.labels)};
  return item;
}

}  // namespace acl::workflow
