#include "shared/workflow/undo_run.h"

#include <fmt/format.h>

#include "shared/capability/manifest.h"
#include "shared/kernel/fold.h"
#include "shared/workflow/events.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

constexpr std::string_view kVarPrefix = "var:", kStepPrefix = "step:", kOutPrefix = "out:";

Json RecordOfUndo(const RunRecord& ended, const CreateRequest& request) {
  Json run = *ended.json;
  for (const char* key : {"completed_at", "outputs_of", "task", "deadline_at", "deadline_left_ms", "started_at"}) run.erase(key);
  const std::string undone = TextOf(ended.json, "run_id");
  run["run_id"] = request.subject.ToString();
  run["undo_of"] = undone;
  run["status"] = Name(RunStatus::kFailed);
  run["phase"] = "stopping";
  run["rollback"] = true;
  run["reason"] = "undone";
  run["error"] = fmt::format("takes back what run {} did, for its parent was rolled back", undone);
  if (request.parent)
    run["parent"] = {{"run_id", request.parent->run.ToString()}, {"step_id", request.parent->step_id}, {"depth", request.parent->depth}};
  return run;
}

}  // namespace

Result<CreateItem> MakeUndoItem(const SubjectKind& kind, const Document& ended, CreateRequest request) {
  const auto run = ReadRun(ended);
  if (!run || run->status != RunStatus::kCompleted) return Error{Code::kInvalid, "only a run that completed can be undone by another"};
  Json variables = Json::object(), files = Json::object(), entries = Json::object();
  CreateItem item;
  ended.ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(kVarPrefix)) {
      variables[key.substr(kVarPrefix.size())] = value;
    } else if (key.starts_with(kFileKeyPrefix)) {
      files[key.substr(kFileKeyPrefix.size())] = value;
      if (const auto hash = HashFromHex(TextOf(&value, "hash"))) item.contents.push_back(*hash);
    } else if (key.starts_with(kStepPrefix) || key.starts_with(kOutPrefix) || key == kProgressKey) {
      entries[key] = value;
    }
    return true;
  });
  const Json record = RecordOfUndo(*run, request);
  const Json* spec = Lookup(ended, kSpecKey);
  const Json* inputs = Lookup(ended, kInputsKey);
  EventDraft draft{std::string(event::kWorkflowCreated),
                   {{"name", TextOf(run->json, "name")},
                    {"version", TextOf(run->json, "version")},
                    {"owner", TextOf(run->json, "owner")},
                    {"spec_hash", TextOf(run->json, "spec_hash")},
                    {"undo_of", TextOf(run->json, "run_id")}},
                   Json::object()};
  draft.carried = {{kRunKey, record},
                   {kSpecKey, spec ? *spec : Json()},
                   {kInputsKey, inputs ? *inputs : Json::object()},
                   {"variables", std::move(variables)},
                   {"files", std::move(files)},
                   {"entries", std::move(entries)}};
  Document state;
  auto event = FoldDraft(kind, state, std::move(draft));
  if (!event) return Error{Code::kInvalid, "it cannot be undone: " + event.message()};
  event->subject = request.subject;
  event->seq = 1;
  item.subject = request.subject;
  item.project = request.project;
  item.kind = std::string(kind.Name());
  item.queue = TextOf(spec, "queue");
  if (item.queue.empty()) item.queue = "default";
  item.band = int(NumberOf(spec, "band", 1));
  item.required_version = EventSchemaVersion();
  item.request_key = std::move(request.request_key);
  item.request_hash = request.request_hash;
  item.events.push_back(std::move(*event));
  item.state_root = state.Root();
  item.listing = ListingRow{
      TextOf(run->json, "name"), TextOf(run->json, "version"), TextOf(run->json, "owner"), std::string(Name(RunStatus::kFailed)), "",
      DumpJson(request.labels)};
  return item;
}

}  // namespace acl::workflow
