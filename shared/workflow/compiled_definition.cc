#include "shared/workflow/compiled_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>

#include "shared/base/canonical_json.h"
#include "shared/definition/template.h"
#include "shared/definition/template_scan.h"
#include "shared/journal/trie.h"
#include "shared/workflow/conditions.h"
#include "shared/workflow/first_event.h"
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

bool IsJournaled(const CapabilityDefinition* effect) { return effect != nullptr && NeedsRowFirst(effect->effect); }

}  // namespace

EntryWords EntryWordsOf(std::string_view key) {
  std::string pointer;
  AppendPointer(key, "", pointer);
  return {std::string(key), trie::PathOf(key), "{\"op\":\"add\",\"path\":" + Quoted(pointer) + ",\"value\":"};
}

Result<std::shared_ptr<const CompiledDefinition>> CompiledDefinition::Make(WorkflowDefinition definition,
                                                                           const CapabilityRegistry& capabilities) {
  std::shared_ptr<CompiledDefinition> made(new CompiledDefinition());
  CompiledDefinition& c = *made;
  c.definition_ = std::move(definition);
  for (const StepDefinition& step : c.definition_.steps) {
    c.step_names_.insert(step.name);
    c.capability_.push_back(capabilities.Find(step.capability));
  }
  c.asks_ = AsksForApproval(c.definition_);
  if (Status ordered = c.Order(); !ordered) return ordered.error();
  c.Link();
  if (Status named = c.Name(); !named) return named.error();
  for (int i = 0; i < c.steps(); ++i) {
    c.words_.push_back(WordsOf(c.step_id(i), c.step(i).name));
    c.follower_.push_back(c.FollowerOf(i));
  }
  return std::shared_ptr<const CompiledDefinition>(std::move(made));
}

// Regions and positions.
Status CompiledDefinition::Order() {
  const std::size_t total = definition_.steps.size();
  const std::vector<int> order = PlanOrder(definition_);
  if (order.size() != total) {
    return Error{Code::kInvalid,
                 fmt::format("workflow '{}': only {} of {} steps can ever run; the rest depend on each other or on unknown steps",
                             definition_.name, order.size(), total)};
  }
  regions_.emplace_back();
  region_.resize(total);
  position_.resize(total);
  body_.assign(total, -1);
  for (const int index : order) {  // a scope before what it holds
    const int outer = parent(index);
    const int number = outer < 0 ? 0 : body_[std::size_t(outer)] >= 0 ? body_[std::size_t(outer)] : region_[std::size_t(outer)];
    region_[std::size_t(index)] = number;
    Region& region = regions_[std::size_t(number)];
    position_[std::size_t(index)] = region.total();
    region.order.push_back(index);
    if (outer < 0) last_ = index;
    if (!step(index).foreach) continue;
    body_[std::size_t(index)] = int(regions_.size());
    regions_.push_back({index, {}});
  }
  return {};
}

// Who waits for whom, and what each step is.
void CompiledDefinition::Link() {
  const std::size_t total = definition_.steps.size();
  dependencies_.resize(total);
  dependents_.resize(total);
  children_.resize(total);
  auto dependencies = EffectiveDependencies(definition_);
  for (std::size_t i = 0; i < total; ++i) {
    const StepDefinition& named = definition_.steps[i];
    auto& on = dependencies[i];
    std::sort(on.begin(), on.end());
    on.erase(std::unique(on.begin(), on.end()), on.end());
    dependencies_[i] = int(on.size());
    for (int other : on) dependents_[std::size_t(other)].push_back(int(i));
    if (named.parent >= 0) {
      children_[std::size_t(named.parent)].push_back(int(i));
      if (!step(named.parent).foreach) ++dependencies_[i];
    }
    const bool calls = !IsScope(named) && !named.wait && !named.signal && !named.publish && !named.child && !named.next_inputs &&
                       named.type != StepType::kHumanApproval;
    calls_.push_back(calls);
    own_.push_back(!calls || !named.when.empty());
    has_own_ |= own_.back();
    has_signals_ |= named.signal.has_value();
    has_approvals_ |= named.approval.has_value();
    if (const auto& asks = named.approval; asks)
      Mention(Json::array({asks->role, asks->approvers, asks->escalate_to, asks->timeout.value_or(Json())}));
    constant_.push_back(!HasTemplate(named.inputs) && ExpandTemplates(named.inputs, [](std::string_view) { return nullptr; }).ok());
    Mention(named.inputs);
    if (named.compensation) Mention(named.compensation->inputs);
    if (named.wait) Mention(named.wait->time);
    if (named.wait) waits_.push_back(int(i));
    if (named.foreach && named.foreach->list.is_string()) MentionExpression(named.foreach->list.get<std::string>());
    if (named.foreach && !named.foreach->list.is_string()) Mention(named.foreach->list);
    if (named.signal) MentionSignal(*named.signal);
    if (const auto& said = named.publish; said) Mention(Json::array({said->event, said->endpoint, said->topic, said->subject, said->data}));
    if (named.child) Mention(named.child->inputs);
    if (named.next_inputs) Mention(*named.next_inputs), continues_.push_back(int(i));
    if (!named.when.empty()) MentionExpression(named.when);
    for (const std::string& test : named.cases) MentionExpression(test);
  }
}

// Ids.
Status CompiledDefinition::Name() {
  for (std::size_t i = 0; i < definition_.steps.size(); ++i) {
    const StepDefinition& named = definition_.steps[i];
    ids_.push_back(StepIdOf(named.name));
    forward_.push_back({ids_[i], int(i), -1, false, "", {}});
    undo_.push_back({UndoIdOf(named.name), int(i), -1, true, "", {}});
  }
  for (std::size_t g = 0; g < definition_.global_compensation_steps.size(); ++g) {
    global_.push_back({GlobalUndoIdOf(int(g)), -1, int(g), true, "", {}});
    Mention(definition_.global_compensation_steps[g].inputs);
  }
  dispatches_ = std::any_of(forward_.begin(), forward_.end(), [this](const Instance& i) { return TargetOf(i).has_value(); });
  for (const auto* list : {&forward_, &undo_, &global_}) {
    for (const Instance& instance : *list) {
      if (instance.step >= 0 && region_[std::size_t(instance.step)] > 0) continue;
      if (!by_id_.emplace(instance.step_id, &instance).second) {
        return Error{Code::kInvalid,
                     fmt::format("workflow '{}': two steps have the id '{}'; rename one", definition_.name, instance.step_id)};
      }
    }
  }
  for (int i = 0; i < steps(); ++i) {
    if (region_[std::size_t(i)] > 0) in_bodies_.emplace(ids_[std::size_t(i)], i);
  }
  return {};
}

// An effect here whose completion is just that.
bool CompiledDefinition::IsPlain(int index) const {
  return IsJournaled(capability(index)) && !dispatches_ && !has_own_ && !step(index).compensation;
}

int CompiledDefinition::FollowerOf(int index) const {
  if (dependents(index).size() != 1 || !IsPlain(index)) return -1;
  const int next = dependents(index).front();
  return dependencies(next) == 1 && IsJournaled(capability(next)) ? next : -1;
}

void CompiledDefinition::Mention(const Json& inputs) {
  for (const TemplateReference& reference : References(inputs)) mentioned_.emplace(FirstToken(reference.path));
}

void CompiledDefinition::MentionSignal(const SignalDefinition& signal) {
  Mention(Json(signal.name));
  if (signal.timeout) Mention(*signal.timeout);
  if (signal.default_payload) Mention(*signal.default_payload);
}

void CompiledDefinition::MentionExpression(const std::string& text) {
  for (const std::string& path : ReferencesOf(text)) mentioned_.emplace(FirstToken(path));
}

std::optional<Instance> CompiledDefinition::Find(std::string_view step_id) const {
  if (auto it = by_id_.find(step_id); it != by_id_.end()) return *it->second;
  if (in_bodies_.empty()) return std::nullopt;
  constexpr std::string_view kUndo = "undo:";
  if (!step_id.starts_with(kUndo)) return FindInItems(step_id);
  auto forward = FindInItems(step_id.substr(kUndo.size()));
  return forward ? std::optional(UndoOf(*forward)) : std::nullopt;
}

// "each[3]/inner[0]/step", or "each[3]" of a FOREACH that is its own body.
std::optional<Instance> CompiledDefinition::FindInItems(std::string_view step_id) const {
  std::string item;
  std::vector<int> items;
  int each = -1;  // the last FOREACH that was named
  for (std::string_view rest = step_id;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash), name = part.substr(0, part.find('['));
    int index = -1;
    if (each < 0) {
      const auto it = by_id_.find(name);
      if (it != by_id_.end() && !it->second->undo) index = it->second->step;
    } else if (const auto it = in_bodies_.find(name); it != in_bodies_.end() && RegionOf(it->second).foreach == each) {
      index = it->second;
    }
    if (index < 0) return std::nullopt;
    if (name.size() == part.size()) return slash == rest.npos && each >= 0 ? std::optional(InstanceOf(index, item, items)) : std::nullopt;
    const std::string_view digits = part.substr(name.size() + 1, part.size() - name.size() - 2);
    int number = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool whole = wrong == std::errc() && end == digits.data() + digits.size() && part.back() == ']';
    if (!whole || number < 0 || number >= kForeachItems || (digits.size() > 1 && digits.front() == '0') || !step(index).foreach)
      return std::nullopt;
    item = std::string(step_id.substr(0, std::size_t(part.data() + part.size() - step_id.data())));
    items.push_back(number);
    each = index;
    if (slash == rest.npos) {
      return step(each).foreach->plain ? std::optional(InstanceOf(children(each).front(), item, items)) : std::nullopt;
    }
    rest.remove_prefix(slash + 1);
  }
}

Instance CompiledDefinition::InstanceOf(int index, const std::string& item, const std::vector<int>& items) const {
  if (region_[std::size_t(index)] == 0) return forward_[std::size_t(index)];
  const bool plain = step(RegionOf(index).foreach).foreach->plain;
  return {plain ? item : item + "/" + ids_[std::size_t(index)], index, -1, false, item, items};
}

Instance CompiledDefinition::EachOf(const Instance& instance) const {
  const int each = RegionOf(instance.step).foreach;
  std::vector<int> items(instance.items.begin(), instance.items.end() - 1);
  std::string outer;
  if (!items.empty()) outer = instance.item.substr(0, instance.item.rfind('/'));
  return InstanceOf(each, outer, items);
}

std::string CompiledDefinition::ItemId(const Instance& each, int number) { return fmt::format("{}[{}]", each.step_id, number); }

Instance CompiledDefinition::UndoOf(const Instance& forward) const {
  if (forward.item.empty()) return undo_[std::size_t(forward.step)];
  Instance undo = forward;
  undo.undo = true;
  undo.step_id = "undo:" + forward.step_id;
  return undo;
}

Instance CompiledDefinition::ForwardOf(const Instance& undo) const { return InstanceOf(undo.step, undo.item, undo.items); }

std::string CompiledDefinition::OutputsKey(const Instance& instance) const {
  return instance.item.empty() ? VarKey(step(instance.step).name) : ItemOutputsKey(instance.step_id);
}

std::optional<DispatchTarget> CompiledDefinition::TargetOf(const Instance& instance) const {
  if (instance.step < 0) return std::nullopt;  // global compensations are the run's own
  const StepDefinition& named = step(instance.step);
  DispatchTarget target{named.queue.value_or(definition_.queue), named.priority.value_or(definition_.priority)};
  if (target.queue == definition_.queue && target.priority == definition_.priority) return std::nullopt;
  return target;
}

std::uint64_t DefinitionCache::NextNumber() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// A decision asks several times for the same: the one asked for last is remembered by the thread.
std::shared_ptr<const CompiledDefinition> DefinitionCache::Known(std::string_view hash) const {
  struct Last {
    std::uint64_t cache = 0;
    std::string hash;
    std::shared_ptr<const CompiledDefinition> definition;
  };
  thread_local Last last;
  if (last.cache == number_ && last.hash == hash) return last.definition;
  auto known = KnownToAll(hash);
  if (known) last = {number_, std::string(hash), known};
  return known;
}

std::shared_ptr<const CompiledDefinition> DefinitionCache::KnownToAll(std::string_view hash) const {
  std::lock_guard lock(mutex_);
  if (!entries_.empty() && entries_.front().first == hash) return entries_.front().second;  // mostly
  auto it = by_hash_.find(std::string(hash));
  if (it == by_hash_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->second;
}

Result<std::shared_ptr<const CompiledDefinition>> DefinitionCache::Of(const Document& state) const {
  return Of(state, TextOf(Lookup(state, kRunKey), "spec_hash"));
}

Result<std::shared_ptr<const CompiledDefinition>> DefinitionCache::Of(const Document& state, std::string_view hash) const {
  if (auto known = Known(hash)) return known;
  const Json* json = Lookup(state, kDefinitionKey);
  if (!json) return Error{Code::kCorrupt, "the run's state holds no spec"};
  return Learn(hash, *json);
}

Result<std::shared_ptr<const CompiledDefinition>> DefinitionCache::Of(const Json& run, const Json& definition) const {
  const std::string hash = TextOf(&run, "spec_hash");
  if (auto known = Known(hash)) return known;
  return Learn(hash, definition);
}

Result<std::shared_ptr<const CompiledDefinition>> DefinitionCache::Learn(std::string_view hash, const Json& json) const {
  if (ToHex(CanonicalHash(json)) != hash)
    return Error{Code::kCorrupt, fmt::format("the run's definition does not have the hash {} of its run record", hash)};
  auto definition = DefinitionFromJson(json);
  if (!definition) return Error{Code::kCorrupt, fmt::format("the run's definition cannot be read: {}", definition.message())};
  auto compiled = CompiledDefinition::Make(std::move(*definition), *capabilities_);
  if (!compiled) return Error{Code::kCorrupt, compiled.message()};

  std::lock_guard lock(mutex_);
  if (auto it = by_hash_.find(std::string(hash)); it != by_hash_.end()) return it->second->second;  // another thread was quicker
  entries_.emplace_front(hash, *compiled);
  by_hash_[entries_.front().first] = entries_.begin();
  if (entries_.size() > max_definitions_) {
    by_hash_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return *compiled;
}

}  // namespace acl::workflow
