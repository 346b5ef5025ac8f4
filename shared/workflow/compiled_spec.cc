#include "shared/workflow/compiled_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "shared/base/canonical_json.h"
#include "shared/journal/trie.h"
#include "shared/spec/template.h"
#include "shared/spec/template_scan.h"
#include "shared/workflow/state.h"
#include "shared/workflow/step_id.h"

namespace acl::workflow {

namespace {

std::string Quoted(std::string_view text) { return DumpJson(Json(text)); }

StepWords WordsOf(const std::string& step_id, const std::string& name) {
  StepWords words{EntryWordsOf(StepKey(step_id)), EntryWordsOf(VarKey(name)), Quoted(step_id), "\"step_id\":" + Quoted(step_id)};
  if (name != step_id) words.facts += ",\"step_name\":" + Quoted(name);
  return words;
}

bool IsJournaled(const CapabilitySpec* effect) { return effect != nullptr && NeedsRowFirst(effect->effect); }

}  // namespace

EntryWords EntryWordsOf(std::string_view key) {
  std::string pointer;
  AppendPointer(key, "", pointer);
  return {std::string(key), trie::PathOf(key), "{\"op\":\"add\",\"path\":" + Quoted(pointer) + ",\"value\":"};
}

Result<std::shared_ptr<const CompiledSpec>> CompiledSpec::Make(WorkflowSpec spec, const CapabilityRegistry& capabilities) {
  std::shared_ptr<CompiledSpec> made(new CompiledSpec());
  CompiledSpec& c = *made;
  c.spec_ = std::move(spec);
  const auto total = c.spec_.steps.size();
  c.order_ = PlanOrder(c.spec_);
  for (const StepSpec& step : c.spec_.steps) c.step_names_.insert(step.name);
  if (c.order_.size() != total) {
    return Error{Code::kInvalid,
                 fmt::format("workflow '{}': only {} of {} steps can ever run; the rest depend on each other or on unknown steps",
                             c.spec_.name, c.order_.size(), total)};
  }
  c.position_.resize(total);
  for (std::size_t p = 0; p < total; ++p) c.position_[std::size_t(c.order_[p])] = int(p);

  c.dependencies_.resize(total);
  c.dependents_.resize(total);
  auto dependencies = EffectiveDependencies(c.spec_);
  for (std::size_t i = 0; i < total; ++i) {
    auto& on = dependencies[i];
    std::sort(on.begin(), on.end());
    on.erase(std::unique(on.begin(), on.end()), on.end());
    c.dependencies_[i] = int(on.size());
    for (int other : on) c.dependents_[std::size_t(other)].push_back(int(i));
  }
  for (std::size_t i = 0; i < total; ++i) {
    const StepSpec& step = c.spec_.steps[i];
    c.ids_.push_back(StepIdOf(step.name));
    c.capability_.push_back(capabilities.Find(step.capability));
    c.forward_.push_back({c.ids_[i], int(i), -1, false});
    c.undo_.push_back({UndoIdOf(step.name), int(i), -1, true});
    c.constant_.push_back(!HasTemplate(step.inputs) && ExpandTemplates(step.inputs, [](std::string_view) { return nullptr; }).ok());
    c.Mention(step.inputs);
    if (step.compensation) c.Mention(step.compensation->inputs);
    if (step.wait) c.Mention(step.wait->time);
    if (step.wait) c.waits_.push_back(int(i));
  }
  for (std::size_t g = 0; g < c.spec_.global_compensation_steps.size(); ++g) {
    c.global_.push_back({GlobalUndoIdOf(int(g)), -1, int(g), true});
    c.Mention(c.spec_.global_compensation_steps[g].inputs);
  }
  c.dispatches_ = std::any_of(c.forward_.begin(), c.forward_.end(), [&c](const Instance& i) { return c.TargetOf(i).has_value(); });
  for (const auto* list : {&c.forward_, &c.undo_, &c.global_}) {
    for (const Instance& instance : *list) {
      if (!c.by_id_.emplace(instance.step_id, &instance).second) {
        return Error{Code::kInvalid, fmt::format("workflow '{}': two steps have the id '{}'; rename one", c.spec_.name, instance.step_id)};
      }
    }
  }
  for (int i = 0; i < c.total(); ++i) {
    c.words_.push_back(WordsOf(c.step_id(i), c.step(i).name));
    c.follower_.push_back(c.FollowerOf(i));
  }
  return std::shared_ptr<const CompiledSpec>(std::move(made));
}

// An effect here whose completion is just that.
bool CompiledSpec::IsPlain(int index) const {
  return IsJournaled(capability(index)) && !dispatches_ && waits_.empty() && !step(index).compensation;
}

int CompiledSpec::FollowerOf(int index) const {
  if (dependents(index).size() != 1 || !IsPlain(index)) return -1;
  const int next = dependents(index).front();
  return dependencies(next) == 1 && IsJournaled(capability(next)) ? next : -1;
}

void CompiledSpec::Mention(const Json& inputs) {
  for (const TemplateReference& reference : References(inputs)) mentioned_.emplace(FirstToken(reference.path));
}

const Instance* CompiledSpec::Find(std::string_view step_id) const {
  auto it = by_id_.find(step_id);
  return it == by_id_.end() ? nullptr : it->second;
}

std::optional<TaskTarget> CompiledSpec::TargetOf(const Instance& instance) const {
  if (instance.step < 0) return std::nullopt;  // global compensations are the run's own
  const StepSpec& named = step(instance.step);
  TaskTarget target{named.queue.value_or(spec_.queue), named.band.value_or(spec_.band)};
  if (target.queue == spec_.queue && target.band == spec_.band) return std::nullopt;
  return target;
}

std::uint64_t SpecCache::NextNumber() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// A decision asks several times for the same: the one asked for last is remembered by the thread.
std::shared_ptr<const CompiledSpec> SpecCache::Known(std::string_view hash) const {
  struct Last {
    std::uint64_t cache = 0;
    std::string hash;
    std::shared_ptr<const CompiledSpec> spec;
  };
  thread_local Last last;
  if (last.cache == number_ && last.hash == hash) return last.spec;
  auto known = KnownToAll(hash);
  if (known) last = {number_, std::string(hash), known};
  return known;
}

std::shared_ptr<const CompiledSpec> SpecCache::KnownToAll(std::string_view hash) const {
  std::lock_guard lock(mutex_);
  if (!entries_.empty() && entries_.front().first == hash) return entries_.front().second;  // mostly
  auto it = by_hash_.find(std::string(hash));
  if (it == by_hash_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->second;
}

Result<std::shared_ptr<const CompiledSpec>> SpecCache::Of(const Document& state) const {
  return Of(state, TextOf(Lookup(state, kRunKey), "spec_hash"));
}

Result<std::shared_ptr<const CompiledSpec>> SpecCache::Of(const Document& state, std::string_view hash) const {
  if (auto known = Known(hash)) return known;
  const Json* json = Lookup(state, kSpecKey);
  if (!json) return Error{Code::kCorrupt, "the run's state holds no spec"};
  return Learn(hash, *json);
}

Result<std::shared_ptr<const CompiledSpec>> SpecCache::Of(const Json& run, const Json& spec) const {
  const std::string hash = TextOf(&run, "spec_hash");
  if (auto known = Known(hash)) return known;
  return Learn(hash, spec);
}

Result<std::shared_ptr<const CompiledSpec>> SpecCache::Learn(std::string_view hash, const Json& json) const {
  if (ToHex(CanonicalHash(json)) != hash)
    return Error{Code::kCorrupt, fmt::format("the run's spec does not have the hash {} of its run record", hash)};
  auto spec = SpecFromJson(json);
  if (!spec) return Error{Code::kCorrupt, fmt::format("the run's spec cannot be read: {}", spec.message())};
  auto compiled = CompiledSpec::Make(std::move(*spec), *capabilities_);
  if (!compiled) return Error{Code::kCorrupt, compiled.message()};

  std::lock_guard lock(mutex_);
  if (auto it = by_hash_.find(std::string(hash)); it != by_hash_.end()) return it->second->second;  // another thread was quicker
  entries_.emplace_front(hash, *compiled);
  by_hash_[entries_.front().first] = entries_.begin();
  if (entries_.size() > max_specs_) {
    by_hash_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return *compiled;
}

}  // namespace acl::workflow
