#pragma once
// What could go on in a run: the steps whose turn has come, in two sets. READY are those with a call, which WhatNext names; OWN are those
// that the engine tends to itself (Decider::TendOwn), empty after nearly every commit.
//
// The run's own steps stand in one ready set by plan position. Each item of a FOREACH has sets of its own, and above them a set says which
// items have something in theirs, so that ten thousand items cost no more than one to look through:
//
//   ready/  own/                    of the run; a FOREACH stands in ready/ while an item of it has a step there, in within/ while one has
//   within/                         a step that the engine tends to
//   ready@each[3]/ ...              the same of item 3 of `each`
//   items@each/  own-items@each/    the items of `each` with something to call, and to tend to

#include <functional>
#include <map>

#include "shared/workflow/compiled_definition.h"
#include "shared/workflow/ready_set.h"

namespace acl::workflow {

class Frontier {
 public:
  enum class Kind { kReady, kOwn };

  Frontier(const Document& state, const CompiledDefinition& definition)
      : state_(state), definition_(definition), run_(state, definition.total()) {}

  bool Has(Kind kind, const Instance& instance) const;
  void Insert(Kind kind, const Instance& instance);
  void Erase(Kind kind, const Instance& instance);
  // In plan order, item by item; until `visit` answers false.
  using Visit = std::function<bool(const Instance&)>;
  void ForEach(Kind kind, const Visit& visit) const;
  std::optional<Instance> First(Kind kind) const;
  // Of a PARALLEL that lets only so many steps in at once: those whose turn has come and that wait to be let in.
  ReadySet& Held(const Instance& scope) const { return Set("held", scope.step_id, definition_.RegionOf(scope.step).total()); }
  // The operations of all changes made.
  void AppendTo(Delta& delta) const;

 private:
  ReadySet& Set(std::string_view name, const std::string& of, int total) const;
  ReadySet& Direct(Kind kind, const Instance& instance) const;
  ReadySet& Items(Kind kind, const Instance& each) const;
  bool Walk(Kind kind, const Region& region, const std::string& item, const std::vector<int>& items, const Visit& visit) const;

  const Document& state_;
  const CompiledDefinition& definition_;
  mutable ReadySet run_;                            // ready/
  mutable std::map<std::string, ReadySet> others_;  // by prefix, those that were asked for
};

}  // namespace acl::workflow
