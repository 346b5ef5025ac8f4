#include "shared/workflow/next_run.h"

#include "shared/capability/manifest.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

Json KeptSignals(const Document& ended) {
  Json kept = Json::object();
  ended.ForEach([&](const std::string& key, const Json& value) {
    if (key == kSignalsKey || key.starts_with("signal:")) kept[key] = value;
    return true;
  });
  if (auto signals = kept.find(std::string(kSignalsKey)); signals != kept.end()) signals->erase("waiting");
  return kept;
}

Result<std::vector<FileChange>> FilesIn(const Document& ended) {
  auto manifest = ReadManifest(ended);
  if (!manifest) return manifest.error();
  std::vector<FileChange> files;
  for (const auto& [path, entry] : *manifest) {
    FileChange file;
    file.path = path;
    file.is_dir = entry.is_dir;
    if (!entry.is_dir) file.hash = entry.hash;
    file.size = entry.size;
    file.mode = entry.mode;
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

Result<CreateItem> MakeNextItem(const SubjectKind& kind, const Document& ended, const Json& asked, CreateRequest request) {
  const auto run = ReadRun(ended);
  const Json* stored = Lookup(ended, kDefinitionKey);
  if (!run || stored == nullptr || run->status != RunStatus::kCompleted || TextOf(run->json, "continued_as") != request.subject.ToString())
    return Error{Code::kInvalid, "only a run that completed and says so goes on as another"};
  auto definition = DefinitionFromJson(*stored);
  if (!definition) return definition.error();
  auto files = FilesIn(ended);
  if (!files) return files.error();
  request.files = std::move(*files);
  request.inputs = asked.value("inputs", Json::object());
  request.session_id = TextOf(run->json, "session_id");
  request.submitter = TextOf(run->json, "submitter");
  if (request.submitter.empty()) request.submitter = TextOf(run->json, "owner");
  if (const auto trace = ParseTraceparent(asked.value("traceparent", ""))) request.trace = *trace;
  if (const Json* parent = MemberOf(run->json, "parent")) {
    if (const auto id = SubjectId::Parse(TextOf(parent, "run_id")))
      request.parent = CreateRequest::Parent{*id, TextOf(parent, "step_id"), int(NumberOf(parent, "depth", 1))};
  }
  if (const Json* task = MemberOf(run->json, "task")) {
    if (const auto project = ProjectId::Parse(TextOf(task, "project_id")))
      request.task = CreateRequest::Task{*project, TextOf(task, "task_id")};
  }
  request.continued = CreateRequest::Continued{asked.value("continue_of", ""), asked.value("first", ""),
                                               asked.value("number", std::int64_t(1)), KeptSignals(ended)};
  return MakeCreateItem(kind, *definition, std::move(request));
}

}  // namespace acl::workflow
