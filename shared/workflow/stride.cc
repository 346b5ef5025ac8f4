#include "shared/workflow/stride.h"

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/journal/trie.h"
#include "shared/workflow/call.h"
#include "shared/workflow/events.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

using Members = Json::object_t;

const Members* MembersAt(const Document& state, const Hash256& path) {
  const trie::Leaf* leaf = trie::Find(state.root_node(), path);
  return leaf && leaf->value.is_object() ? &leaf->value.get_ref<const Members&>() : nullptr;
}

bool Is(const Json& value, std::string_view text) { return value.is_string() && value.get_ref<const std::string&>() == text; }
std::string_view TextIn(const Json& value) {
  return value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view();
}

// Of a run that goes on: neither paused, stopping nor closed.
struct RunningRun {
  std::string_view run_id, spec_hash;
};
std::optional<RunningRun> ReadRunning(const Document& state) {
  static const Hash256 path = trie::PathOf(kRunKey);
  const Members* members = MembersAt(state, path);
  if (members == nullptr) return std::nullopt;
  RunningRun run;
  bool running = false;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "status") running = Is(value, Name(RunStatus::kRunning));
    if (key == "phase") return std::nullopt;
    if (key == "run_id") run.run_id = TextIn(value);
    if (key == "spec_hash") run.spec_hash = TextIn(value);
  }
  return running ? std::optional(run) : std::nullopt;
}

// How many steps are done, if the one is all that there is besides.
std::optional<std::int64_t> DoneBeside(const Document& state, const std::string& open) {
  static const Hash256 path = trie::PathOf(kProgressKey);
  const Members* members = MembersAt(state, path);
  if (members == nullptr || members->size() != 2) return std::nullopt;
  std::optional<std::int64_t> done;
  bool alone = false;
  for (const auto& [key, value] : *members) {
    if (key == "done" && value.is_number_integer()) done = value.get<std::int64_t>();
    if (key == "open" && value.is_array() && value.size() == 1) alone = Is(value.get_ref<const Json::array_t&>().front(), open);
  }
  return alone ? done : std::nullopt;
}

// When the step began, if this is its first attempt and it runs.
const Json* FirstBegan(const Document& state, const Place& record, int attempt_id) {
  const Members* members = MembersAt(state, record.path);
  if (members == nullptr) return nullptr;
  const Json* began = nullptr;
  bool running = false, attempt = false;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "status") {
      running = Is(value, Name(StepStatus::kRunning));
    } else if (key == "attempt") {
      attempt = value.is_number_integer() && value.get<std::int64_t>() == attempt_id;
    } else if (key == "started_at") {
      if (value.is_number_integer()) began = &value;
    } else if (key != "call") {
      return nullptr;
    }
  }
  return running && attempt ? began : nullptr;
}

// Outputs that become the variable of the step and nothing else.
bool Plain(const CompiledSpec& spec, const Document& state, int step, const Json& outputs) {
  if (!outputs.is_object() || !CheckStorable(outputs)) return false;
  const std::string& name = spec.step(step).name;
  for (const auto& [key, value] : outputs.get_ref<const Members&>()) {
    if (key == name || key == "success" || spec.Mentions(key) || state.Has(VarKey(key))) return false;
  }
  return true;
}

// An operation that puts the whole entry, and the entry.
DeltaOp Put(const Place& place, Json value) {
  DeltaOp op;
  op.entry = place.key;
  op.leaf = trie::MakeLeaf(place.path, place.key, std::move(value));
  return op;
}
DeltaOp Put(std::string_view key, Json value) {
  DeltaOp op;
  op.entry = key;
  op.leaf = trie::MakeLeaf(op.entry, std::move(value));
  return op;
}

Json Facts(const CompiledSpec& spec, int step, int attempt) {
  Json facts = ObjectFor(4);
  AddMember(facts, "step_id", spec.step_id(step));
  if (spec.step(step).name != spec.step_id(step)) AddMember(facts, "step_name", spec.step(step).name);
  AddMember(facts, "attempt", attempt);
  return facts;
}

}  // namespace

bool StrideOf(const SpecCache& specs, const Document& state, StepFinishedInput& input, WallTime at, Stride& stride) {
  StepResult& result = input.result;
  if (result.outcome != StepResult::Outcome::kSucceeded || !result.files.empty() || !input.note.is_null()) return false;
  const auto run = ReadRunning(state);
  if (!run) return false;
  const auto known = specs.Of(state, run->spec_hash);
  if (!known) return false;
  const CompiledSpec& spec = **known;
  const Instance* instance = spec.Find(input.step_id);
  if (instance == nullptr || instance->undo) return false;
  const int step = instance->step, next = spec.follower(step);
  if (next < 0) return false;
  const auto done = DoneBeside(state, input.step_id);
  if (!done || *done + 1 >= spec.total()) return false;
  const Json* began = FirstBegan(state, spec.record_place(step), input.attempt_id);
  if (began == nullptr || trie::Find(state.root_node(), spec.record_place(next).path) != nullptr) return false;
  ReadySet ready(state, spec.total());
  const int here = spec.position(step);
  if (ready.Next(0) != here || ready.Next(here + 1)) return false;
  if (!Plain(spec, state, step, result.outputs)) return false;

  RunRecord whose;
  whose.run_id = run->run_id;
  stride.start = StartOf(specs, spec, *spec.Find(spec.step_id(next)), state, whose, at);
  if (stride.start.target || !stride.start.note.is_null() || stride.start.effect == EffectClass::kPure) return false;
  ready.Erase(here);
  ready.Insert(spec.position(next));

  const std::int64_t micros = MicrosOf(at);
  Json facts = Facts(spec, step, input.attempt_id);
  if (result.duration.count() > 0) AddMember(facts, "duration_ms", result.duration.count());
  Json record = ObjectFor(5);
  AddMember(record, "attempts", 1);
  AddMember(record, "completed_at", micros);
  AddMember(record, "order", *done + 1);
  AddMember(record, "started_at", *began);
  AddMember(record, "status", Name(StepStatus::kCompleted));
  Json progress = ObjectFor(2);
  AddMember(progress, "done", *done + 1);
  AddMember(progress, "open", Json::array({spec.step_id(next)}));
  Json begun = ObjectFor(3);
  AddMember(begun, "attempt", 1);
  AddMember(begun, "started_at", micros);
  AddMember(begun, "status", Name(StepStatus::kRunning));

  stride.completion = {input.step_id, input.attempt_id, at, CanonicalHash(result.outputs), 0};
  Folded& folded = stride.folded;
  folded.type = event::kStepCompleted;
  folded.facts = std::move(facts);
  folded.also.push_back({std::string(event::kStepStarted), Facts(spec, next, 1)});
  std::vector<DeltaOp>& ops = folded.delta.ops;
  ops.reserve(6);
  ops.push_back(Put(spec.record_place(step), std::move(record)));
  ops.push_back(Put(kProgressKey, std::move(progress)));
  Delta moved;
  ready.AppendTo(moved);
  for (DeltaOp& op : moved.ops) ops.push_back(op.kind == DeltaOp::Kind::kAdd ? Put(op.entry, std::move(op.value)) : std::move(op));
  ops.push_back(Put(spec.outputs_place(step), std::move(result.outputs)));
  ops.push_back(Put(spec.record_place(next), std::move(begun)));
  std::vector<trie::Change> changes;
  changes.reserve(ops.size());
  for (const DeltaOp& op : ops) changes.push_back({op.leaf ? op.leaf->path : trie::PathOf(op.entry), op.leaf});
  stride.next_state = state;
  stride.next_state.Change(std::move(changes));
  return true;
}

}  // namespace acl::workflow
