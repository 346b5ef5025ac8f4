#include "shared/workflow/create_run.h"

#include "shared/base/json_object.h"
#include "shared/capability/manifest.h"
#include "shared/definition/loader.h"
#include "shared/workflow/first_event.h"
#include "shared/workflow/first_event_template.h"
#include "shared/workflow/status_machine.h"

namespace acl::workflow {

namespace {

Result<Json> FilesOf(std::vector<FileChange> files) {
  auto complete = WithParents(std::move(files));
  if (!complete) return Error{Code::kInvalid, "files: " + complete.message()};
  Json entries = ObjectFor(complete->size());
  for (const FileChange& file : *complete) AddMember(entries, file.path, FileEntryToJson(EntryOf(file)));
  return entries;
}

Result<InstantiatedEvent> FirstOf(const SubjectKind& kind, const WorkflowDefinition& definition, const CreateRequest& request, Json inputs,
                                  Json files, FirstEventTemplates* event_templates) {
  if (event_templates != nullptr && files.empty()) return event_templates->Make(kind, definition, request, std::move(inputs));
  auto worded = WordFirstEvent(kind, definition, request, std::move(inputs), std::move(files));
  if (!worded) return worded.error();
  return InstantiatedEvent{std::move(worded->event), worded->state.Root()};
}

}  // namespace

Result<CreateItem> MakeCreateItem(const SubjectKind& kind, const WorkflowDefinition& definition, CreateRequest request,
                                  FirstEventTemplates* event_templates) {
  auto inputs = CheckInputs(definition, request.inputs);
  if (!inputs) return inputs.error();
  request.inputs = Json();  // what was checked is a copy, and either may be large
  CreateItem item;
  for (const FileChange& file : request.files) {
    if (file.hash && !file.is_dir) item.contents.push_back(*file.hash);
  }
  auto files = FilesOf(std::exchange(request.files, {}));
  if (!files) return files.error();
  for (const Json* value : std::initializer_list<const Json*>{&*inputs, &definition.initial_state, &request.labels}) {
    if (Status storable = CheckStorable(*value); !storable) return storable.error();
  }
  auto first = FirstOf(kind, definition, request, std::move(*inputs), std::move(*files), event_templates);
  if (!first) return first.error();

  item.subject = request.subject;
  item.project = request.project;
  item.kind = std::string(kind.Name());
  item.queue = definition.queue;
  item.priority = definition.priority;
  if (definition.time_limit_stated) item.time_limit = definition.max_execution_time;
  item.required_version = EventSchemaVersion();  // of the event below
  item.request_key = std::move(request.request_key);
  item.request_hash = request.request_hash;
  item.traceparent = FormatTraceparent({request.trace.trace_id, RunSpanId(request.subject), request.trace.sampled});
  item.events.push_back(std::move(first->event));
  item.state_root = first->state_root;
  item.listing = ListingRow{definition.name,
                            definition.version,
                            OwnerOf(definition, request),
                            std::string(Name(RunStatus::kPending)),
                            std::move(request.definition_text),
                            DumpJson(request.labels)};
  return item;
}

}  // namespace acl::workflow
