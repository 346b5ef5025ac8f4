#include "shared/workflow/undo_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/capability/manifest.h"
#include "shared/kernel/fold.h"
#include "shared/workflow/compiled_definition.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

constexpr std::string_view kVarPrefix = "var:", kStepPrefix = "step:", kOutPrefix = "out:";

// What of an ended run's state another begins with, in the parts of its first event.
struct TakenOver {
  Json variables = Json::object(), files = Json::object(), entries = Json::object();
  std::vector<Hash256> contents;
};

TakenOver TakeOver(const Document& ended) {
  TakenOver taken;
  ended.ForEach([&](const std::string& key, const Json& value) {
    if (key.starts_with(kVarPrefix)) {
      taken.variables[key.substr(kVarPrefix.size())] = value;
    } else if (key.starts_with(kFileKeyPrefix)) {
      taken.files[key.substr(kFileKeyPrefix.size())] = value;
      if (const auto hash = HashFromHex(TextOf(&value, "hash"))) taken.contents.push_back(*hash);
    } else if (key.starts_with(kStepPrefix) || key.starts_with(kOutPrefix) || key == kProgressKey) {
      taken.entries[key] = value;
    }
    return true;
  });
  return taken;
}

Json RecordOfUndo(const RunRecord& ended, const SubjectId& subject) {
  Json run = *ended.json;
  for (const char* key : {"completed_at", "outputs_of", "task", "deadline_at", "deadline_left_ms", "started_at", "failed_at", "failed_step",
                          "parent", "finishes", "continued", "continued_as"})
    run.erase(key);
  const std::string undone = TextOf(ended.json, "run_id");
  run["run_id"] = subject.ToString();
  run["undo_of"] = undone;
  run["status"] = Name(RunStatus::kFailed);
  run["phase"] = "stopping";
  run["rollback"] = true;
  run["reason"] = "undone";
  return run;
}

Result<CreateItem> ItemOf(const SubjectKind& kind, const Document& ended, const Json& record, TakenOver taken, const Json& more,
                          CreateRequest request) {
  const Json* definition = Lookup(ended, kDefinitionKey);
  const Json* inputs = Lookup(ended, kInputsKey);
  EventDraft draft{std::string(event::kWorkflowCreated),
                   {{"name", TextOf(&record, "name")},
                    {"version", TextOf(&record, "version")},
                    {"owner", TextOf(&record, "owner")},
                    {"spec_hash", TextOf(&record, "spec_hash")},
                    {"undo_of", TextOf(&record, "undo_of")}},
                   Json::object()};
  draft.facts.update(more);
  draft.carried = {{kRunKey, record},
                   {kDefinitionKey, definition ? *definition : Json()},
                   {kInputsKey, inputs ? *inputs : Json::object()},
                   {"variables", std::move(taken.variables)},
                   {"files", std::move(taken.files)},
                   {"entries", std::move(taken.entries)}};
  Document state;
  auto event = FoldDraft(kind, state, std::move(draft));
  if (!event) return Error{Code::kInvalid, "it cannot be undone: " + event.message()};
  event->subject = request.subject;
  event->seq = 1;
  CreateItem item;
  item.contents = std::move(taken.contents);
  item.subject = request.subject;
  item.project = request.project;
  item.kind = std::string(kind.Name());
  item.queue = TextOf(definition, "queue");
  if (item.queue.empty()) item.queue = "default";
  item.priority = int(NumberOf(definition, "band", 1));
  item.required_version = EventSchemaVersion();
  item.request_key = std::move(request.request_key);
  item.request_hash = request.request_hash;
  item.events.push_back(std::move(*event));
  item.state_root = state.Root();
  item.listing =
      ListingRow{TextOf(&record, "name"), TextOf(&record, "version"), TextOf(&record, "owner"), std::string(Name(RunStatus::kFailed)), "",
                 DumpJson(request.labels)};
  return item;
}

// The rollback as it stands when nothing is left but this one compensation.
Progress ProgressOfFinish(const Document& ended, const std::string& left, const Instance& instance, const std::string& forward, bool skip,
                          std::size_t globals) {
  const Progress before = ReadProgress(ended);
  Progress progress;
  progress.done = before.done;
  progress.items = before.items;
  progress.skipped = before.skipped;
  progress.failed = before.failed;
  progress.global = int(globals);
  if (skip) {
    progress.not_undone = 1;
  } else if (instance.step < 0) {
    progress.global = instance.global;
  } else {
    progress.undo = forward.empty() ? left : forward;
  }
  return progress;
}

// Why another try would come to the same; empty: it may not.
std::string WhyInVain(const Document& ended, const Instance& instance, const std::string& left, const Json* undo) {
  const std::string child = TextOf(ReadStep(ended, left).json, "child");
  if (!child.empty())
    return fmt::format("what is left of '{}' is run {}'s: finish that one (airun workflow status {})", left, child, child);
  if (instance.step < 0) return "";
  if (const std::string error = TextOf(undo, kCallError); !error.empty())
    return fmt::format("the call of '{}' cannot be made, now as then: {}; undo it by hand and give it up here (skip)", left, error);
  if (MemberOf(undo, "files"))
    return fmt::format("the files of '{}' cannot come back, now as then: {}; give it up here (skip)", left, ReadStep(ended, left).error);
  return "";
}

}  // namespace

Result<CreateItem> MakeUndoItem(const SubjectKind& kind, const Document& ended, CreateRequest request) {
  const auto run = ReadRun(ended);
  if (!run || run->status != RunStatus::kCompleted) return Error{Code::kInvalid, "only a run that completed can be undone by another"};
  Json record = RecordOfUndo(*run, request.subject);
  record["error"] = fmt::format("takes back what run {} did, for its parent was rolled back", run->run_id);
  if (request.parent)
    record["parent"] = {{"run_id", request.parent->run.ToString()}, {"step_id", request.parent->step_id}, {"depth", request.parent->depth}};
  return ItemOf(kind, ended, record, TakeOver(ended), Json::object(), std::move(request));
}

std::vector<std::string> LeftUndone(const Document& ended) {
  std::vector<std::string> left;
  const int count = ReadProgress(ended).not_undone;
  for (int n = 0; n < count; ++n) {
    const Json* id = Lookup(ended, NotUndoneKey(n));
    if (id && id->is_string()) left.push_back(id->get<std::string>());
  }
  return left;
}

std::string LeftUndone(const Document& ended, const std::string& step_id) {
  const std::vector<std::string> left = LeftUndone(ended);
  if (std::find(left.begin(), left.end(), step_id) != left.end()) return step_id;
  const Json* definition = Lookup(ended, kDefinitionKey);
  auto read = definition ? DefinitionFromJson(*definition) : Result<WorkflowDefinition>(Code::kCorrupt, "");
  auto compiled = read ? CompiledDefinition::Make(std::move(*read), CapabilityRegistry()) : read.error();
  const auto forward = compiled ? (*compiled)->Find(step_id) : std::nullopt;
  if (!forward || forward->undo) return "";
  const std::string undo = (*compiled)->UndoOf(*forward).step_id;
  return std::find(left.begin(), left.end(), undo) != left.end() ? undo : "";
}

SubjectId FinishIdOf(const SubjectId& run, std::string_view left, WallTime ended_at) {
  return MadeIdOf(run.ToString(), fmt::format("/finish {}", left), ended_at);
}

Result<CreateItem> MakeFinishItem(const SubjectKind& kind, const Document& ended, const Finish& finish, CreateRequest request) {
  const auto run = ReadRun(ended);
  if (!run || run->phase != Phase::kClosed) return Error{Code::kInvalid, "the run has not ended"};
  const std::string left = LeftUndone(ended, finish.step_id);
  if (left.empty()) return Error{Code::kInvalid, fmt::format("no compensation of '{}' is left", finish.step_id)};
  const Json* definition = Lookup(ended, kDefinitionKey);
  auto read = definition ? DefinitionFromJson(*definition) : Result<WorkflowDefinition>(Code::kCorrupt, "the run has no spec");
  if (!read) return read.error();
  const std::size_t globals = read->global_compensation_steps.size();
  const auto compiled = CompiledDefinition::Make(std::move(*read), CapabilityRegistry());
  if (!compiled) return compiled.error();
  const auto instance = (*compiled)->Find(left);
  if (!instance) return Error{Code::kCorrupt, fmt::format("the run names '{}', of which its workflow knows nothing", left)};
  const std::string forward = instance->undo && instance->step >= 0 ? (*compiled)->ForwardOf(*instance).step_id : "";
  if (!finish.skip)
    if (std::string why = WhyInVain(ended, *instance, left, ReadStep(ended, forward).undo); !why.empty())
      return Error{Code::kInvalid, std::move(why)};

  Json record = RecordOfUndo(*run, request.subject);
  const std::string what = finish.skip ? "given up" : "tried once more";
  record["error"] = fmt::format("compensation '{}' of run {} is {} by {}: {}", left, run->run_id, what, finish.by, finish.reason);
  record["finishes"] = {{"first", RollbackOf(*run)}, {"run_id", run->run_id},   {"step_id", left},          {"skip", finish.skip},
                        {"by", finish.by},           {"reason", finish.reason}, {"key", finish.request_key}};
  if (instance->step < 0) record["finishes"]["globals"] = instance->global + 1;
  TakenOver taken = TakeOver(ended);
  taken.entries[std::string(kProgressKey)] = ToJson(ProgressOfFinish(ended, left, *instance, forward, finish.skip, globals));
  if (finish.skip) {
    taken.entries[NotUndoneKey(0)] = left;
    taken.entries[StepKey(left)]["error"] = fmt::format("given up by {}: {}", finish.by, finish.reason);
  } else {
    taken.entries.erase(StepKey(left));
    if (!forward.empty()) taken.entries[StepKey(forward)]["undo"].erase("prev");
  }
  const Json more = {{"compensation", left}, {"decision", finish.skip ? "skip" : "retry"}, {"by", finish.by}, {"reason", finish.reason}};
  return ItemOf(kind, ended, record, std::move(taken), more, std::move(request));
}

}  // namespace acl::workflow
