#pragma once
// A workflow made ready for running: plan positions, who waits for whom, what each step does to the outside. Built once a definition, kept
// by content hash, shared by all runs of it in the process.
//
// Steps in PARALLEL, SEQUENCE and CONDITION steps run once a run, like those of the file itself: together they are region 0. The body of a
// FOREACH is a region of its own, which runs once for each item.

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shared/capability/capability.h"
#include "shared/definition/workflow_definition.h"
#include "shared/journal/document.h"

namespace acl::workflow {

// What an instance id stands for.
struct Instance {
  std::string step_id;
  int step = -1;           // index into definition.steps; -1: a global compensation step
  int global = -1;         // index into definition.global_compensation_steps
  bool undo = false;       // a compensation
  std::string item;        // the id of the item in whose body it runs, "each[3]"; empty: in none
  std::vector<int> items;  // numbers of the items around it, the outermost first
};

// The steps that run together, once a run or once an item, by plan position.
struct Region {
  int foreach = -1;  // whose body it is; -1: the run's
  std::vector<int> order;
  int total() const { return int(order.size()); }
};

// What is said of an entry of the state each time that it is put: its key, the key's path in the trie, and how the operation begins.
struct EntryWords {
  std::string key;
  Hash256 path{};
  std::string put;  // {"op":"add","path":"/step:a","value":
};

EntryWords EntryWordsOf(std::string_view key);

// What the events of a step say of it each time.
struct StepWords {
  EntryWords record, outputs;
  std::string id;     // quoted
  std::string facts;  // "step_id":"a", and its name if that is another
};

class CompiledDefinition {
 public:
  // kInvalid: the steps have no order (a cycle), or two steps get one id.
  static Result<std::shared_ptr<const CompiledDefinition>> Make(WorkflowDefinition definition, const CapabilityRegistry& capabilities);

  const WorkflowDefinition& definition() const { return definition_; }
  int steps() const { return int(definition_.steps.size()); }
  const StepDefinition& step(int index) const { return definition_.steps[std::size_t(index)]; }
  const std::string& step_id(int index) const { return ids_[std::size_t(index)]; }
  int position(int index) const { return position_[std::size_t(index)]; }
  // Steps that run once a run.
  int total() const { return regions_.front().total(); }
  int at(int position) const { return regions_.front().order[std::size_t(position)]; }
  const Region& region(int number) const { return regions_[std::size_t(number)]; }
  const Region& RegionOf(int index) const { return region(region_[std::size_t(index)]); }
  // Of a FOREACH.
  const Region& BodyOf(int index) const { return region(body_[std::size_t(index)]); }
  // Ends that a step waits for; the beginning of the scope it stands in is one more. Without those of FOREACH bodies: an item begins them.
  int dependencies(int index) const { return dependencies_[std::size_t(index)]; }
  const std::vector<int>& dependents(int index) const { return dependents_[std::size_t(index)]; }
  int parent(int index) const { return step(index).parent; }
  const std::vector<int>& children(int index) const { return children_[std::size_t(index)]; }
  // Whose outputs the run gives out: the last in plan order of those that stand in no other.
  int last() const { return last_; }
  // nullptr: no such capability.
  const CapabilityDefinition* capability(int index) const { return capability_[std::size_t(index)]; }

  // The step that alone waits for this one, and for no other, if of this one's completion nothing else must be seen to (fast_path.h); else
  // -1.
  int follower(int index) const { return follower_[std::size_t(index)]; }
  // The same of the last step in plan order, for which none waits.
  bool EndsAlone(int index) const { return last_ == index && dependents(index).empty() && IsPlain(index); }
  const StepWords& words(int index) const { return words_[std::size_t(index)]; }

  // Whether the inputs of a step hold no template: what it is called with stands in the definition.
  bool constant(int index) const { return constant_[std::size_t(index)]; }
  // Whether a template of the workflow begins with that name: such a variable has an entry of its own, whichever step says it.
  bool Mentions(std::string_view name) const { return mentioned_.contains(name); }

  // Where the instance is sent: the queue and priority of its step if they are others than the run's; its compensation goes there too.
  std::optional<DispatchTarget> TargetOf(const Instance& instance) const;
  bool dispatches() const { return dispatches_; }                   // some step is sent elsewhere
  const std::vector<int>& waits() const { return waits_; }          // WAIT steps
  const std::vector<int>& continues() const { return continues_; }  // CONTINUE_AS_NEW steps
  // A step that the engine tends to itself when its turn has come: it calls nothing, or `when` has yet to be asked.
  bool IsOwn(int index) const { return own_[std::size_t(index)]; }
  bool has_own() const { return has_own_; }
  // A step that has an attempt and a call.
  bool Calls(int index) const { return calls_[std::size_t(index)]; }
  bool has_signals() const { return has_signals_; }
  bool has_approvals() const { return has_approvals_; }
  bool asks() const { return asks_; }  // it, or a workflow that its CHILD steps may start

  // Whether a step has this name: its outputs stand at the top level of the state under it, so no output of that name does.
  bool IsStep(std::string_view name) const { return step_names_.contains(name); }
  // By instance id; nothing if this workflow has no such step or compensation. Of an item whether there is one with its number is not known
  // here.
  std::optional<Instance> Find(std::string_view step_id) const;
  const Instance& GlobalUndo(int number) const { return global_[std::size_t(number)]; }

  // The step in the run, or in the item of that id.
  Instance InstanceOf(int index, const std::string& item, const std::vector<int>& items) const;
  // The step beside this one: of the same run, or the same item.
  Instance InstanceOf(int index) const { return InstanceOf(index, "", {}); }  // of a step that stands in no FOREACH
  Instance Beside(const Instance& instance, int index) const { return InstanceOf(index, instance.item, instance.items); }
  // The FOREACH in whose body it runs.
  Instance EachOf(const Instance& instance) const;
  static std::string ItemId(const Instance& each, int number);
  Instance UndoOf(const Instance& forward) const;
  Instance ForwardOf(const Instance& undo) const;
  // The entry of its outputs.
  std::string OutputsKey(const Instance& instance) const;

 private:
  CompiledDefinition() = default;
  Status Order();
  void Link();
  Status Name();
  std::optional<Instance> FindInItems(std::string_view step_id) const;
  void Mention(const Json& inputs);
  void MentionSignal(const SignalDefinition& signal);
  void MentionExpression(const std::string& text);
  int FollowerOf(int index) const;
  bool IsPlain(int index) const;

  WorkflowDefinition definition_;
  std::vector<std::string> ids_;
  std::vector<Region> regions_;
  std::vector<int> region_, body_, position_, dependencies_, waits_, continues_, follower_;
  int last_ = 0;
  std::vector<StepWords> words_;
  std::vector<std::vector<int>> dependents_, children_;
  std::vector<const CapabilityDefinition*> capability_;
  std::vector<bool> constant_, own_, calls_;
  bool has_own_ = false, has_signals_ = false, has_approvals_ = false, asks_ = false;
  std::set<std::string, std::less<>> mentioned_;
  std::unordered_set<std::string_view> step_names_;
  bool dispatches_ = false;
  std::vector<Instance> forward_, undo_, global_;
  std::unordered_map<std::string_view, const Instance*> by_id_;
  std::unordered_map<std::string_view, int> in_bodies_;  // steps of FOREACH bodies, by the last part of their ids
};

// Thread-safe; the least recently used go first.
class DefinitionCache {
 public:
  explicit DefinitionCache(std::shared_ptr<const CapabilityRegistry> capabilities, std::size_t max_definitions = 256)
      : capabilities_(std::move(capabilities)), max_definitions_(max_definitions) {}

  const CapabilityRegistry& capabilities() const { return *capabilities_; }
  // Of a run: by the hash in its run record; parsed from its `spec` entry if it is not here. kCorrupt: the state holds no such definition.
  Result<std::shared_ptr<const CompiledDefinition>> Of(const Document& state) const;
  // The same for whoever has read that hash.
  Result<std::shared_ptr<const CompiledDefinition>> Of(const Document& state, std::string_view hash) const;
  // The same of a run record and a definition that are not in a state yet.
  Result<std::shared_ptr<const CompiledDefinition>> Of(const Json& run, const Json& definition) const;

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const CompiledDefinition>>;

  std::shared_ptr<const CompiledDefinition> Known(std::string_view hash) const;
  std::shared_ptr<const CompiledDefinition> KnownToAll(std::string_view hash) const;
  static std::uint64_t NextNumber();
  Result<std::shared_ptr<const CompiledDefinition>> Learn(std::string_view hash, const Json& definition) const;

  const std::uint64_t number_ = NextNumber();  // of this cache in the process
  const std::shared_ptr<const CapabilityRegistry> capabilities_;
  const std::size_t max_definitions_;
  mutable std::mutex mutex_;
  mutable std::list<Entry> entries_;  // most recently used first
  mutable std::unordered_map<std::string, std::list<Entry>::iterator> by_hash_;
};

}  // namespace acl::workflow
