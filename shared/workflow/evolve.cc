#include "shared/workflow/evolve.h"

#include <fmt/format.h>

#include "shared/capability/manifest.h"
#include "shared/workflow/events.h"
#include "shared/workflow/evolution.h"
#include "shared/workflow/record_patch.h"

namespace acl::workflow {

Delta Evolution::Run() {
  const std::string& type = draft_.type;
  if (type.starts_with("workflow.")) {
    WorkflowEvent(type);
  } else if (type == event::kSignalReceived) {
    if (!definition_.has_signals()) return {};
    KeepSignal();
  } else if (type == event::kInputRefused || type == event::kQuarantineReleased) {
    return {};
  } else {
    StepEvent(type);
  }
  if (!impossible_.empty()) return Delta::Impossible(impossible_);
  return Patch();
}

const Json* Evolution::Given(std::string_view key) const {
  const Json* fact = MemberOf(facts_, key);
  return fact ? fact : MemberOf(&draft_.carried, key);
}

// As the state keeps a moment: microseconds since 1970.
Json Evolution::At() const { return MicrosOf(draft_.at); }

Json& Evolution::RunJson() {
  if (run_json_.is_null()) run_json_ = *run_.json;
  return run_json_;
}

void Evolution::GoRun(RunStatus to) {
  if (!MayGo(run_.status, to)) {
    impossible_ = fmt::format("run {} -> {}", Name(run_.status), Name(to));
    return;
  }
  RunJson()["status"] = Name(to);
}

void Evolution::Keep(std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const Json* fact = MemberOf(facts_, key)) RunJson()[key] = *fact;
  }
}

void Evolution::KeepDeadline() {
  if (MemberOf(facts_, "deadline_at")) {
    RunJson()["deadline_at"] = *MemberOf(facts_, "deadline_at");
    RunJson().erase("deadline_left_ms");
  } else if (MemberOf(facts_, "deadline_left_ms")) {
    RunJson()["deadline_left_ms"] = *MemberOf(facts_, "deadline_left_ms");
    RunJson().erase("deadline_at");
  }
}

void Evolution::Close() {
  RunJson()["phase"] = "closed";
  RunJson()["completed_at"] = At();
  RunJson().erase("deadline_at");
  RunJson().erase("deadline_left_ms");
}

void Evolution::WorkflowEvent(const std::string& type) {
  if (run_.phase == Phase::kClosed) {
    impossible_ = type + " of a closed run";
  } else if (type == event::kWorkflowStarted) {
    GoRun(RunStatus::kRunning);
    RunJson()["started_at"] = At();
    KeepDeadline();
  } else if (type == event::kWorkflowPaused) {
    GoRun(RunStatus::kPaused);
    KeepDeadline();
  } else if (type == event::kWorkflowClockGoesOn) {
    KeepDeadline();
  } else if (type == event::kWorkflowResumed) {
    GoRun(RunStatus::kRunning);
    KeepDeadline();
  } else if (type == event::kWorkflowCompleted) {
    GoRun(RunStatus::kCompleted);
    Keep({"outputs_of", "continued_as"});
    Close();
  } else if (type == event::kWorkflowFailed) {
    GoRun(RunStatus::kFailed);
    RunJson()["phase"] = "stopping";
    RunJson()["failed_at"] = At();
    RunJson().erase("deadline_at");
    RunJson().erase("deadline_left_ms");
    Keep({"reason", "error", "failed_step", "rollback"});
  } else if (type == event::kWorkflowRolledBack) {
    GoRun(RunStatus::kRolledBack);
    Close();
  } else if (type == event::kWorkflowEnded) {
    if (run_.status != RunStatus::kFailed) impossible_ = fmt::format("{} of a run that is {}", type, Name(run_.status));
    Close();
  } else {
    impossible_ = TextOf(facts_, "reason") + " (" + type + ")";
  }
}

// A signal is kept until a step takes it.
void Evolution::KeepSignal() {
  const Json* before = Lookup(state_, kSignalsKey);
  Json signals = before ? *before : Json::object();
  const std::int64_t number = NumberOf(&signals, "next");
  signals["next"] = number + 1;
  Json& kept = signals["kept"][Fact("name")];
  if (!kept.is_array()) kept = Json::array();
  kept.push_back(number);
  const Json* payload = MemberOf(facts_, "payload");
  more_.Add(std::string(kSignalsKey), std::move(signals));
  more_.Add(SignalKey(number), Json{{"payload", payload ? *payload : Json()}});
}

Delta Evolution::Patch() {
  Delta delta;
  delta.ops.reserve(more_.ops.size() + touched_.size() + 4);
  if (!run_json_.is_null()) PatchMembers(delta, kRunKey, *run_.json, std::move(run_json_));
  if (instance_) {
    PatchRecord(delta, StepKey(instance_->step_id), record_.json, std::move(step_json_));
    PatchRecord(delta, std::string(kProgressKey), progress_.json, ToJson(progress_));
  }
  frontier_.AppendTo(delta);
  for (DeltaOp& operation : more_.ops) delta.ops.push_back(std::move(operation));
  for (auto& [key, entry] : touched_) {
    const Json* before = state_.Find(key);
    if (!entry.is_null()) {
      PatchRecord(delta, key, before, std::move(entry));
    } else if (before) {
      delta.Remove(key);
    }
  }
  return delta;
}

namespace {

// The first event: the whole state from what it carries.
Delta Created(const CompiledDefinition& definition, const Document& state, const EventDraft& draft) {
  Delta delta;
  for (auto key : {kRunKey, kDefinitionKey, kInputsKey}) delta.Add(key, draft.carried[std::string(key)]);
  delta.Add(kProgressKey, Json{{"done", 0}});
  const Json& variables = draft.carried["variables"];
  for (auto it = variables.begin(); it != variables.end(); ++it) delta.Add(VarKey(it.key()), it.value());
  const Json& files = draft.carried["files"];
  for (auto it = files.begin(); it != files.end(); ++it) delta.Add(FileKey(it.key()), it.value());
  if (const Json* entries = MemberOf(&draft.carried, "entries")) {  // of a run that undoes another: what that one did
    for (auto it = entries->begin(); it != entries->end(); ++it) {
      if (it.key() == kProgressKey) delta.ops.erase(delta.ops.begin() + 3);
      delta.Add(it.key(), it.value());
    }
    return delta;
  }
  if (const Json* kept = MemberOf(&draft.carried, "kept"))  // of a run that goes on in another's place: signals that nobody took
    for (auto it = kept->begin(); it != kept->end(); ++it) delta.Add(it.key(), it.value());
  Frontier frontier(state, definition);
  for (int index = 0; index < definition.steps(); ++index) {
    if (definition.parent(index) >= 0 || definition.dependencies(index) > 0) continue;
    frontier.Insert(definition.IsOwn(index) ? Frontier::Kind::kOwn : Frontier::Kind::kReady, definition.InstanceOf(index, "", {}));
  }
  frontier.AppendTo(delta);
  return delta;
}

}  // namespace

Delta EvolveRun(const DefinitionCache& definitions, const Document& state, const EventDraft& draft) {
  if (draft.type == event::kWorkflowCreated) {
    if (state.size() != 0) return Delta::Impossible("workflow.created on a state that is not empty");
    auto compiled = definitions.Of(draft.carried[std::string(kRunKey)], draft.carried[std::string(kDefinitionKey)]);
    if (!compiled) return Delta::Impossible(compiled.message());
    return Created(**compiled, state, draft);
  }
  auto run = ReadRun(state);
  if (!run) return Delta::Impossible(draft.type + " before workflow.created");
  auto compiled = definitions.Of(state, run->definition_hash);
  if (!compiled) return Delta::Impossible(compiled.message());
  return Evolution(**compiled, state, std::move(*run), draft).Run();
}

}  // namespace acl::workflow
