#include "shared/workflow/create_run.h"

#include "shared/base/json_object.h"
#include "shared/capability/manifest.h"
#include "shared/spec/loader.h"
#include "shared/workflow/first_event.h"
#include "shared/workflow/run_mold.h"
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

Result<Poured> FirstOf(const SubjectKind& kind, const WorkflowSpec& spec, const CreateRequest& request, Json inputs, Json files,
                       RunMolds* molds) {
  if (molds != nullptr && files.empty()) return molds->Make(kind, spec, request, std::move(inputs));
  auto worded = WordFirstEvent(kind, spec, request, std::move(inputs), std::move(files));
  if (!worded) return worded.error();
  return Poured{std::move(worded->event), worded->state.Root()};
}

}  // namespace

Result<CreateItem> MakeCreateItem(const SubjectKind& kind, const WorkflowSpec& spec, CreateRequest request, RunMolds* molds) {
  auto inputs = CheckInputs(spec, request.inputs);
  if (!inputs) return inputs.error();
  request.inputs = Json();  // what was checked is a copy, and either may be large
  CreateItem item;
  for (const FileChange& file : request.files) {
    if (file.hash && !file.is_dir) item.contents.push_back(*file.hash);
  }
  auto files = FilesOf(std::exchange(request.files, {}));
  if (!files) return files.error();
  for (const Json* value : std::initializer_list<const Json*>{&*inputs, &spec.initial_state, &request.labels}) {
    if (Status storable = CheckStorable(*value); !storable) return storable.error();
  }
  auto first = FirstOf(kind, spec, request, std::move(*inputs), std::move(*files), molds);
  if (!first) return first.error();

  item.subject = request.subject;
  item.project = request.project;
  item.kind = std::string(kind.Name());
  item.queue = spec.queue;
  item.band = spec.band;
  if (spec.time_limit_stated) item.time_limit = spec.max_execution_time;
  item.required_version = EventSchemaVersion();  // of the event below
  item.request_key = std::move(request.request_key);
  item.request_hash = request.request_hash;
  item.traceparent = FormatTraceparent({request.trace.trace_id, RunSpanId(request.subject), request.trace.sampled});
  item.events.push_back(std::move(first->event));
  item.state_root = first->state_root;
  item.listing = ListingRow{spec.name,
                            spec.version,
                            OwnerOf(spec, request),
                            std::string(Name(RunStatus::kPending)),
                            std::move(request.spec_text),
                            DumpJson(request.labels)};
  return item;
}

}  // namespace acl::workflow
