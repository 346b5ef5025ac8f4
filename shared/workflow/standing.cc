#include "shared/workflow/standing.h"

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
bool ReadRunOf(const SpecCache& specs, const Document& state, RunStatus status, Standing& standing) {
  const Members* members = MembersAt(state, trie::PathOf(kRunKey));
  if (members == nullptr) return false;
  bool there = false;
  std::string spec_hash;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "phase" || key == "deadline_left_ms") return false;
    if (status == RunStatus::kPending && (key == "started_at" || key == "deadline_at")) return false;
    if (key == "status") there = Is(value, Name(status));
    if (key == "run_id" && value.is_string()) standing.run_id = value.get_ref<const std::string&>();
    if (key == "spec_hash" && value.is_string()) spec_hash = value.get_ref<const std::string&>();
  }
  if (!there) return false;
  const auto spec = specs.Of(state, spec_hash);
  if (!spec) return false;
  standing.spec = *spec;
  return true;
}

// How many steps are done, if the one that runs is all that there is besides; `running` false: if nothing is.
bool ReadDone(const Document& state, bool running, Standing& standing) {
  const Members* members = MembersAt(state, trie::PathOf(kProgressKey));
  if (members == nullptr || members->size() != (running ? 2 : 1)) return false;
  bool done = false, alone = !running;
  for (const auto& [key, value] : *members) {
    if (key == "done" && value.is_number_integer()) {
      done = true;
      standing.done = value.get<std::int64_t>();
    }
    if (key == "open" && value.is_array() && value.size() == 1) {
      alone = Is(value.get_ref<const Json::array_t&>().front(), standing.spec->step_id(standing.step));
    }
  }
  return done && alone;
}

// When the step began, if it runs in this attempt and none before has an outcome.
bool ReadBegan(const Document& state, Standing& standing) {
  const Members* members = MembersAt(state, standing.spec->words(standing.step).record.path);
  if (members == nullptr) return false;
  bool running = false, attempt = false, began = false;
  for (const auto& [name, value] : *members) {
    const std::string_view key = name;
    if (key == "status") {
      running = Is(value, Name(StepStatus::kRunning));
    } else if (key == "attempt") {
      attempt = value.is_number_integer() && value.get<std::int64_t>() == standing.attempt;
    } else if (key == "started_at") {
      began = IsTime(value);
      if (began) standing.began = value.get<std::int64_t>();
    } else if (key != "call") {
      return false;
    }
  }
  return running && attempt && began;
}

// The position of the one step that is ready.
std::optional<int> OnlyReady(const Document& state, const CompiledSpec& spec) {
  const ReadySet ready(state, spec.total());
  const auto first = ready.Next(0);
  return first && !ready.Next(*first + 1) ? first : std::nullopt;
}

// Of a run of this status in which nothing runs.
std::shared_ptr<Standing> IdleOf(const SpecCache& specs, const Document& state, RunStatus status) {
  auto standing = std::make_shared<Standing>();
  if (!ReadRunOf(specs, state, status, *standing)) return nullptr;
  const CompiledSpec& spec = *standing->spec;
  const auto ready = OnlyReady(state, spec);
  if (!ready || spec.has_own() || spec.dispatches()) return nullptr;
  standing->step = spec.at(*ready);
  if (!ReadDone(state, false, *standing)) return nullptr;
  return trie::Find(state.root_node(), spec.words(standing->step).record.path) == nullptr ? standing : nullptr;
}

}  // namespace

std::shared_ptr<Standing> StandingOf(const SpecCache& specs, const Document& state, const StepFinishedInput& input) {
  auto standing = std::make_shared<Standing>();
  if (!ReadRunOf(specs, state, RunStatus::kRunning, *standing)) return nullptr;
  const CompiledSpec& spec = *standing->spec;
  const auto instance = spec.Find(input.step_id);
  if (!instance || instance->undo || spec.has_own()) return nullptr;
  standing->step = instance->step;
  standing->attempt = input.attempt_id;
  if (!ReadDone(state, true, *standing) || !ReadBegan(state, *standing)) return nullptr;
  return OnlyReady(state, spec) == spec.position(standing->step) ? standing : nullptr;
}

std::shared_ptr<Standing> BeginningOf(const SpecCache& specs, const Document& state) {
  auto standing = IdleOf(specs, state, RunStatus::kPending);
  return standing && standing->done == 0 ? standing : nullptr;
}

std::shared_ptr<Standing> RestingOf(const SpecCache& specs, const Document& state) { return IdleOf(specs, state, RunStatus::kRunning); }

std::optional<std::vector<const Output*>> NamedOutputs(const Document& state, const Json& outputs, Standing& standing) {
  constexpr std::size_t kMostKept = 32;  // looked through for each output
  if (!outputs.is_object() || !CheckStorable(outputs)) return std::nullopt;
  std::vector<const Output*> named;
  std::vector<std::string>& unnamed = standing.unnamed;
  for (const Output& output : outputs.get_ref<const Members&>()) {
    const auto& [key, value] = output;
    if (standing.spec->IsStep(key)) return std::nullopt;
    if (key == "success" && value.is_boolean() && !value.get<bool>()) return std::nullopt;  // it may be a failure
    if (std::find(unnamed.begin(), unnamed.end(), key) != unnamed.end()) continue;
    if (standing.spec->Mentions(key) || trie::Find(state.root_node(), trie::PathOf(VarKey(key))) != nullptr) {
      named.push_back(&output);
    } else if (unnamed.size() < kMostKept) {
      unnamed.push_back(key);
    }
  }
  return named;
}

}  // namespace acl::workflow
