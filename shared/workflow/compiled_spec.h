#pragma once
// A workflow made ready for running: plan positions, who waits for whom, what each step does to the outside. Built once a spec, kept by
// content hash, shared by all runs of it in the process.

#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shared/capability/capability.h"
#include "shared/journal/document.h"
#include "shared/spec/workflow_spec.h"

namespace acl::workflow {

// What an instance id stands for.
struct Instance {
  std::string step_id;
  int step = -1;      // index into spec.steps; -1: a global compensation step
  int global = -1;    // index into spec.global_compensation_steps
  bool undo = false;  // a compensation
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

class CompiledSpec {
 public:
  // kInvalid: the steps have no order (a cycle), or two steps get one id.
  static Result<std::shared_ptr<const CompiledSpec>> Make(WorkflowSpec spec, const CapabilityRegistry& capabilities);

  const WorkflowSpec& spec() const { return spec_; }
  int total() const { return int(spec_.steps.size()); }
  const StepSpec& step(int index) const { return spec_.steps[std::size_t(index)]; }
  const std::string& step_id(int index) const { return ids_[std::size_t(index)]; }
  int position(int index) const { return position_[std::size_t(index)]; }
  int at(int position) const { return order_[std::size_t(position)]; }
  int dependencies(int index) const { return dependencies_[std::size_t(index)]; }
  const std::vector<int>& dependents(int index) const { return dependents_[std::size_t(index)]; }
  // nullptr: no such capability.
  const CapabilitySpec* capability(int index) const { return capability_[std::size_t(index)]; }

  // The step that alone waits for this one, and for no other, if of this one's completion nothing else must be seen to (stride.h); else -1.
  int follower(int index) const { return follower_[std::size_t(index)]; }
  // The same of the last step in plan order, for which none waits.
  bool EndsAlone(int index) const { return at(total() - 1) == index && dependents(index).empty() && IsPlain(index); }
  const StepWords& words(int index) const { return words_[std::size_t(index)]; }

  // Whether the inputs of a step hold no template: what it is called with stands in the spec.
  bool constant(int index) const { return constant_[std::size_t(index)]; }
  // Whether a template of the workflow begins with that name: such a variable has an entry of its own, whichever step says it.
  bool Mentions(std::string_view name) const { return mentioned_.contains(name); }

  // Where the instance is sent: the queue and band of its step if they are others than the run's; its compensation goes there too.
  std::optional<TaskTarget> TargetOf(const Instance& instance) const;
  bool dispatches() const { return dispatches_; }           // some step is sent elsewhere
  const std::vector<int>& waits() const { return waits_; }  // WAIT steps

  // Whether a step has this name: its outputs stand at the top level of the state under it, so no output of that name does.
  bool IsStep(std::string_view name) const { return step_names_.contains(name); }
  // By instance id; nullptr if this workflow has no such step or compensation.
  const Instance* Find(std::string_view step_id) const;
  const Instance& UndoOf(int index) const { return undo_[std::size_t(index)]; }
  const Instance& GlobalUndo(int number) const { return global_[std::size_t(number)]; }

 private:
  CompiledSpec() = default;
  void Mention(const Json& inputs);
  int FollowerOf(int index) const;
  bool IsPlain(int index) const;

  WorkflowSpec spec_;
  std::vector<std::string> ids_;
  std::vector<int> order_, position_, dependencies_, waits_, follower_;
  std::vector<StepWords> words_;
  std::vector<std::vector<int>> dependents_;
  std::vector<const CapabilitySpec*> capability_;
  std::vector<bool> constant_;
  std::set<std::string, std::less<>> mentioned_;
  std::unordered_set<std::string_view> step_names_;
  bool dispatches_ = false;
  std::vector<Instance> forward_, undo_, global_;
  std::unordered_map<std::string_view, const Instance*> by_id_;
};

// Thread-safe; the least recently used go first.
class SpecCache {
 public:
  explicit SpecCache(std::shared_ptr<const CapabilityRegistry> capabilities, std::size_t max_specs = 256)
      : capabilities_(std::move(capabilities)), max_specs_(max_specs) {}

  const CapabilityRegistry& capabilities() const { return *capabilities_; }
  // Of a run: by the hash in its run record; parsed from its `spec` entry if it is not here. kCorrupt: the state holds no such spec.
  Result<std::shared_ptr<const CompiledSpec>> Of(const Document& state) const;
  // The same for whoever has read that hash.
  Result<std::shared_ptr<const CompiledSpec>> Of(const Document& state, std::string_view hash) const;
  // The same of a run record and a spec that are not in a state yet.
  Result<std::shared_ptr<const CompiledSpec>> Of(const Json& run, const Json& spec) const;

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const CompiledSpec>>;

  std::shared_ptr<const CompiledSpec> Known(std::string_view hash) const;
  std::shared_ptr<const CompiledSpec> KnownToAll(std::string_view hash) const;
  static std::uint64_t NextNumber();
  Result<std::shared_ptr<const CompiledSpec>> Learn(std::string_view hash, const Json& spec) const;

  const std::uint64_t number_ = NextNumber();  // of this cache in the process
  const std::shared_ptr<const CapabilityRegistry> capabilities_;
  const std::size_t max_specs_;
  mutable std::mutex mutex_;
  mutable std::list<Entry> entries_;  // most recently used first
  mutable std::unordered_map<std::string, std::list<Entry>::iterator> by_hash_;
};

}  // namespace acl::workflow
