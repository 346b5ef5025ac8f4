#include "shared/workflow/cached_position.h"

#include <algorithm>

#include "shared/journal/trie.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

using Members = Json::object_t;

const Members* MembersAt(const Document& state, const Hash256& path) {
  const trie::Leaf* leaf = trie::Find(state.root_node(), path);
  return leaf && leaf->value().is_object() ? &leaf->value().get_ref<const Members&>() : nullptr;
}

bool Is(const Json& value, std::string_view text) { return value.is_string() && value.get_ref<const std::string&>() == text; }
bool IsTime(const Json& value) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() < std::int64_t(1) << 53;
}

// A run of this status that neither stops nor is closed.
bool ReadRunOf(const DefinitionCache& definitions, const Document& state, RunStatus status, CachedPosition& position) {
  const Members* members = MembersAt(state, trie::PathOf(kRunKey));
  if (members == nullptr) return false;
  bool there = false;
  std::string definition_hash;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "phase" || key == "deadline_left_ms") return false;
    if (status == RunStatus::kPending && (key == "started_at" || key == "deadline_at")) return false;
    if (key == "status") there = Is(value, Name(status));
    if (key == "run_id" && value.is_string()) position.run_id = value.get_ref<const std::string&>();
    if (key == "spec_hash" && value.is_string()) definition_hash = value.get_ref<const std::string&>();
  }
  if (!there) return false;
  const auto definition = definitions.Of(state, definition_hash);
  if (!definition) return false;
  position.definition = *definition;
  return true;
}

// How many steps are done, if the one that runs is all that there is besides; `running` false: if nothing is.
bool ReadDone(const Document& state, bool running, CachedPosition& position) {
  const Members* members = MembersAt(state, trie::PathOf(kProgressKey));
  if (members == nullptr || members->size() != (running ? 2 : 1)) return false;
  bool done = false, alone = !running;
  for (const auto& [key, value] : *members) {
    if (key == "done" && value.is_number_integer()) {
      done = true;
      position.done = value.get<std::int64_t>();
    }
    if (key == "open" && value.is_array() && value.size() == 1) {
      alone = Is(value.get_ref<const Json::array_t&>().front(), position.definition->step_id(position.step));
    }
  }
  return done && alone;
}

// When the step began, if it runs in this attempt and none before has an outcome.
bool ReadBegan(const Document& state, CachedPosition& position) {
  const Members* members = MembersAt(state, position.definition->words(position.step).record.path);
  if (members == nullptr) return false;
  bool running = false, attempt = false, began = false;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "status") {
      running = Is(value, Name(StepStatus::kRunning));
    } else if (key == "attempt") {
      attempt = value.is_number_integer() && value.get<std::int64_t>() == position.attempt;
    } else if (key == "started_at") {
      began = IsTime(value);
      if (began) position.began = value.get<std::int64_t>();
    } else if (key != "call") {
      return false;
    }
  }
  return running && attempt && began;
}

// The position of the one step that is ready.
std::optional<int> OnlyReady(const Document& state, const CompiledDefinition& definition) {
  const ReadySet ready(state, definition.total());
  const auto first = ready.Next(0);
  return first && !ready.Next(*first + 1) ? first : std::nullopt;
}

// Of a run of this status in which nothing runs.
std::shared_ptr<CachedPosition> IdleOf(const DefinitionCache& definitions, const Document& state, RunStatus status) {
  auto position = std::make_shared<CachedPosition>();
  if (!ReadRunOf(definitions, state, status, *position)) return nullptr;
  const CompiledDefinition& definition = *position->definition;
  const auto ready = OnlyReady(state, definition);
  if (!ready || definition.has_own() || definition.dispatches()) return nullptr;
  position->step = definition.at(*ready);
  if (!ReadDone(state, false, *position)) return nullptr;
  return trie::Find(state.root_node(), definition.words(position->step).record.path) == nullptr ? position : nullptr;
}

}  // namespace

std::shared_ptr<CachedPosition> CachedPositionOf(const DefinitionCache& definitions, const Document& state,
                                                 const StepFinishedInput& input) {
  auto position = std::make_shared<CachedPosition>();
  if (!ReadRunOf(definitions, state, RunStatus::kRunning, *position)) return nullptr;
  const CompiledDefinition& definition = *position->definition;
  const auto instance = definition.Find(input.step_id);
  if (!instance || instance->undo || definition.has_own()) return nullptr;
  position->step = instance->step;
  position->attempt = input.attempt_id;
  if (!ReadDone(state, true, *position) || !ReadBegan(state, *position)) return nullptr;
  return OnlyReady(state, definition) == definition.position(position->step) ? position : nullptr;
}

std::shared_ptr<CachedPosition> BeginningOf(const DefinitionCache& definitions, const Document& state) {
  auto position = IdleOf(definitions, state, RunStatus::kPending);
  return position && position->done == 0 ? position : nullptr;
}

std::shared_ptr<CachedPosition> RestingOf(const DefinitionCache& definitions, const Document& state) {
  return IdleOf(definitions, state, RunStatus::kRunning);
}

std::optional<std::vector<const Output*>> NamedOutputs(const Document& state, const Json& outputs, CachedPosition& position) {
  constexpr std::size_t kMostKept = 32;  // looked through for each output
  if (!outputs.is_object() || !CheckStorable(outputs)) return std::nullopt;
  std::vector<const Output*> named;
  std::vector<std::string>& unnamed = position.unnamed;
  for (const Output& output : outputs.get_ref<const Members&>()) {
    const auto& [key, value] = output;
    if (position.definition->IsStep(key)) return std::nullopt;
    if (key == "success" && value.is_boolean() && !value.get<bool>()) return std::nullopt;  // it may be a failure
    if (std::find(unnamed.begin(), unnamed.end(), key) != unnamed.end()) continue;
    if (position.definition->Mentions(key) || trie::Find(state.root_node(), trie::PathOf(VarKey(key))) != nullptr) {
      named.push_back(&output);
    } else if (unnamed.size() < kMostKept) {
      unnamed.push_back(key);
    }
  }
  return named;
}

}  // namespace acl::workflow
