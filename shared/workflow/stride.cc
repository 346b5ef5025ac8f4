#include "shared/workflow/stride.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/base/sha256.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/trie.h"
#include "shared/workflow/call.h"
#include "shared/workflow/events.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

using Members = Json::object_t;

// What must be known of a run that is in the middle of a step, with nothing else to see to. `step` waits for nobody any more.
struct Standing final : Footing {
  std::shared_ptr<const CompiledSpec> spec;
  std::string run_id;
  int step = -1;
  int attempt = 1;
  std::int64_t began = 0;  // microseconds, of the step
  std::int64_t done = 0;   // steps
  // Names of outputs that no variable of the run has.
  std::vector<std::string> unnamed;
};

const Members* MembersAt(const Document& state, const Hash256& path) {
  const trie::Leaf* leaf = trie::Find(state.root_node(), path);
  return leaf && leaf->value().is_object() ? &leaf->value().get_ref<const Members&>() : nullptr;
}

bool Is(const Json& value, std::string_view text) { return value.is_string() && value.get_ref<const std::string&>() == text; }
bool IsTime(const Json& value) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() < std::int64_t(1) << 53;
}

// A run that goes on: neither paused, stopping nor closed.
bool ReadRunning(const SpecCache& specs, const Document& state, Standing& at) {
  const Members* members = MembersAt(state, trie::PathOf(kRunKey));
  if (members == nullptr) return false;
  bool running = false;
  std::string spec_hash;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "phase") return false;
    if (key == "status") running = Is(value, Name(RunStatus::kRunning));
    if (key == "run_id" && value.is_string()) at.run_id = value.get_ref<const std::string&>();
    if (key == "spec_hash" && value.is_string()) spec_hash = value.get_ref<const std::string&>();
  }
  if (!running) return false;
  const auto spec = specs.Of(state, spec_hash);
  if (!spec) return false;
  at.spec = *spec;
  return true;
}

// How many steps are done, if the step is all that there is besides.
bool ReadDone(const Document& state, Standing& at) {
  const Members* members = MembersAt(state, trie::PathOf(kProgressKey));
  if (members == nullptr || members->size() != 2) return false;
  bool done = false, alone = false;
  for (const auto& [key, value] : *members) {
    if (key == "done" && value.is_number_integer()) {
      done = true;
      at.done = value.get<std::int64_t>();
    }
    if (key == "open" && value.is_array() && value.size() == 1) {
      alone = Is(value.get_ref<const Json::array_t&>().front(), at.spec->step_id(at.step));
    }
  }
  return done && alone;
}

// When the step began, if this is its first attempt with an outcome and it runs.
bool ReadBegan(const Document& state, Standing& at) {
  const Members* members = MembersAt(state, at.spec->words(at.step).record.path);
  if (members == nullptr) return false;
  bool running = false, attempt = false, began = false;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "status") {
      running = Is(value, Name(StepStatus::kRunning));
    } else if (key == "attempt") {
      attempt = value.is_number_integer() && value.get<std::int64_t>() == at.attempt;
    } else if (key == "started_at") {
      began = IsTime(value);
      if (began) at.began = value.get<std::int64_t>();
    } else if (key != "call") {
      return false;
    }
  }
  return running && attempt && began;
}

std::shared_ptr<Standing> Read(const SpecCache& specs, const Document& state, const StepFinishedInput& input) {
  auto at = std::make_shared<Standing>();
  if (!ReadRunning(specs, state, *at)) return nullptr;
  const Instance* instance = at->spec->Find(input.step_id);
  if (instance == nullptr || instance->undo) return nullptr;
  at->step = instance->step;
  at->attempt = input.attempt_id;
  if (at->spec->follower(at->step) < 0 || !ReadDone(state, *at) || !ReadBegan(state, *at)) return nullptr;
  const ReadySet ready(state, at->spec->total());
  const int here = at->spec->position(at->step);
  return ready.Next(0) == here && !ready.Next(here + 1) ? at : nullptr;
}

bool StandsAt(const Standing& at, const StepFinishedInput& input) {
  return at.attempt == input.attempt_id && at.spec->step_id(at.step) == input.step_id && at.spec->follower(at.step) >= 0;
}

// Names of outputs that become variables of their own beside that of the step, in order: a template mentions them, or they are there
// already. Nothing if they are not as usual: not to be stored, a success that may be none, one with the step's own name.
std::optional<std::vector<std::string>> Named(const Document& state, const Json& outputs, Standing& at) {
  if (!outputs.is_object() || !CheckStorable(outputs)) return std::nullopt;
  std::vector<std::string> named;
  for (const auto& [key, value] : outputs.get_ref<const Members&>()) {
    if (key == at.spec->step(at.step).name) return std::nullopt;
    if (key == "success" && value.is_boolean() && !value.get<bool>()) return std::nullopt;  // it may be a failure
    if (std::find(at.unnamed.begin(), at.unnamed.end(), key) != at.unnamed.end()) continue;
    if (at.spec->Mentions(key) || state.Has(VarKey(key))) {
      named.push_back(key);
    } else {
      at.unnamed.push_back(key);
    }
  }
  return named;
}

// ---- what follows

// Most runs have one word of steps that are ready (ready_set.h).
const Place& KnownPlace(const std::string& key) {
  thread_local Place last;
  if (last.key != key) last = PlaceOf(key);
  return last;
}

Delta MovedReady(const CompiledSpec& spec, const Document& state, int from, int to) {
  ReadySet ready(state, spec.total());
  ready.Erase(spec.position(from));
  ready.Insert(spec.position(to));
  Delta moved;
  ready.AppendTo(moved);
  return moved;
}

// The event's payload and the state after it, an entry at a time.
class Telling {
 public:
  Telling() { changes_.reserve(6); }

  Telling& operator<<(std::string_view text) {
    text_.Raw(text);
    return *this;
  }
  Telling& operator<<(std::int64_t number) {
    char digits[24];
    return *this << std::string_view(digits, std::size_t(std::to_chars(digits, digits + sizeof digits, number).ptr - digits));
  }

  // An operation that puts an entry: its text is canonical.
  void Put(const Place& place, std::string stored) {
    *this << Next() << place.put << stored << "}";
    const Hash256 canonical = Sha256(stored);
    Keep(place, std::move(stored), canonical);
  }
  // The hash of its canonical text.
  Hash256 Put(const Place& place, const Json& value) {
    *this << Next() << place.put;
    const StoredText::Texts texts = text_.Value(value);
    const Hash256 canonical = Sha256(texts.canonical);
    Keep(place, std::string(texts.stored), canonical);
    *this << "}";
    return canonical;
  }
  // One that says what a member of another says.
  void Copy(const Place& from, const std::string& member, const Json& outputs) {
    const std::string key = VarKey(member);
    std::string pointer, to;
    AppendPointer(from.key, "", pointer);
    AppendPointerToken(member, pointer);
    AppendPointer(key, "", to);
    *this << Next() << R"({"from":)";
    text_.String(pointer).Raw(R"(,"op":"copy","path":)").String(to).Raw("}");
    changes_.push_back({trie::PathOf(key), trie::MakeLeaf(key, outputs.at(member))});
  }
  void Put(const DeltaOp& op) {
    if (op.kind == DeltaOp::Kind::kAdd) return Put(KnownPlace(op.entry), DumpJson(op.value));
    std::string pointer;
    AppendPointer(op.entry, "", pointer);
    *this << Next() << R"({"op":"remove","path":)";
    text_.String(pointer).Raw("}");
    changes_.push_back({trie::PathOf(op.entry), nullptr});
  }

  std::vector<trie::Change> TakeChanges() { return std::exchange(changes_, {}); }
  void End(std::string_view type, Event& event) && {
    event.type = type;
    const StoredText::Hashes hashes = text_.Measure();
    event.checksum = hashes.canonical;
    event.content_hash = hashes.stored;
    event.payload = std::move(text_).Take();
  }

 private:
  std::string_view Next() { return std::exchange(first_, false) ? "[" : ","; }
  void Keep(const Place& place, std::string stored, const Hash256& canonical) {
    const std::size_t bytes = stored.size();
    auto leaf = trie::MakeLeafOfText(place.path, place.key, std::move(stored));
    leaf->Know(bytes, canonical);
    changes_.push_back({place.path, std::move(leaf)});
  }

  StoredText text_{1'024};
  std::vector<trie::Change> changes_;
  bool first_ = true;
};

// Texts of the entries, as state.h says them.
std::string CompletedRecord(const Standing& standing, std::int64_t at) {
  return fmt::format(R"({{"attempts":1,"completed_at":{},"order":{},"started_at":{},"status":"{}"}})", at, standing.done + 1,
                     standing.began, Name(StepStatus::kCompleted));
}
std::string RunningRecord(std::int64_t at) {
  return fmt::format(R"({{"attempt":1,"started_at":{},"status":"{}"}})", at, Name(StepStatus::kRunning));
}
Json RunningRecord(std::int64_t at, const Json& inputs) {
  Json call = ObjectFor(1), record = ObjectFor(4);
  AddMember(call, kCallInputs, inputs);
  AddMember(record, "attempt", 1);
  AddMember(record, "call", std::move(call));
  AddMember(record, "started_at", at);
  AddMember(record, "status", Name(StepStatus::kRunning));
  return record;
}
std::string ProgressOf(std::int64_t done, const std::string& open) { return fmt::format(R"({{"done":{},"open":[{}]}})", done, open); }

}  // namespace

bool StrideOf(const SpecCache& specs, const Document& state, StepFinishedInput& input, WallTime at, std::shared_ptr<Footing>& footing,
              Stride& stride) {
  StepResult& result = input.result;
  if (result.outcome != StepResult::Outcome::kSucceeded || !result.files.empty() || !input.note.is_null()) return false;
  auto standing = std::static_pointer_cast<Standing>(footing);
  if (!standing) standing = Read(specs, state, input);
  if (!standing || !StandsAt(*standing, input) || standing->done + 1 >= standing->spec->total()) return false;
  const CompiledSpec& spec = *standing->spec;
  const int step = standing->step, next = spec.follower(step);
  const StepWords &words = spec.words(step), &next_words = spec.words(next);
  if (trie::Find(state.root_node(), next_words.record.path) != nullptr) return false;
  const auto named = Named(state, result.outputs, *standing);
  if (!named) return false;

  static const Place progress = PlaceOf(kProgressKey);
  const std::int64_t micros = MicrosOf(at);
  Telling telling;
  telling << R"({"also":[{"attempt":1,)" << next_words.facts << R"(,"type":")" << event::kStepStarted << R"("}],"attempt":)"
          << std::int64_t(input.attempt_id);
  if (result.duration.count() > 0) telling << R"(,"duration_ms":)" << std::int64_t(result.duration.count());
  telling << R"(,"state_delta":)";
  telling.Put(words.record, CompletedRecord(*standing, micros));
  telling.Put(progress, ProgressOf(standing->done + 1, next_words.id));
  for (const DeltaOp& op : MovedReady(spec, state, step, next).ops) telling.Put(op);
  stride.completion = {input.step_id, input.attempt_id, at, telling.Put(words.outputs, result.outputs), 0};
  for (const std::string& name : *named) telling.Copy(words.outputs, name, result.outputs);
  stride.next_state = state;
  const bool constant = spec.constant(next);
  if (!constant) stride.next_state.Change(telling.TakeChanges());  // what its templates see
  stride.start = FirstStartOf(specs, spec, *spec.Find(spec.step_id(next)), stride.next_state, standing->run_id);
  if (stride.start.target || !stride.start.note.is_null() || stride.start.effect == EffectClass::kPure) return false;
  if (constant) {
    telling.Put(next_words.record, RunningRecord(micros));
  } else {
    telling.Put(next_words.record, RunningRecord(micros, *MemberOf(&stride.start.call, kCallInputs)));
  }
  stride.next_state.Change(telling.TakeChanges());
  telling << R"(],"state_root":")" << ToHex(stride.next_state.Root()) << R"(",)" << words.facts << "}";
  std::move(telling).End(event::kStepCompleted, stride.event);
  Dismiss(result.outputs);

  std::erase(standing->unnamed, spec.step(step).name);
  standing->step = next;
  standing->attempt = 1;
  standing->began = micros;
  ++standing->done;
  footing = std::move(standing);
  return true;
}

}  // namespace acl::workflow
