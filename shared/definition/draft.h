#pragma once
// What the parts of the loader share: the definition under construction with the places that later checks report at.

#include <map>
#include <set>

#include "shared/definition/reader.h"

namespace acl {

// One step as the graph sees it: all steps of a file share one name space, those that stand in others too
// (docs/reference/other-runtimes.md#steps).
struct DraftName {
  std::string name;
  SourceMark mark;
  int step = 0;  // index into WorkflowDefinition::steps
};

struct DraftDependency {
  int from = 0;  // index into names
  std::string on;
  SourceMark mark;
};

struct Draft {
  WorkflowDefinition definition;
  std::vector<DraftName> names;
  std::vector<DraftDependency> dependencies;
  bool graph_ok = true;  // no duplicate, unknown or cyclic name: the plan order is meaningful
};

// loader_step.cc: `steps` and `global_compensation_steps`.
void ReadSteps(Reader* reader, const SourceNode& list, const CapabilityRegistry& capabilities, Draft* draft);
void ReadGlobalCompensations(Reader* reader, const SourceNode& list, Draft* draft);
// Of a step or a compensation.
bool IsStepKey(std::string_view key);
// loader_retry.cc
// `capability`: of the step; nullptr if it is not known.
void ReadRetry(Reader* reader, Fields* fields, const CapabilityDefinition* capability, StepDefinition* step);
inline constexpr std::chrono::seconds kUnsaid{0};  // a step's `timeout_seconds` until SettleTimeouts
// `max_retries`, `timeout_seconds`, `on_unknown_outcome`
void ReadCompensationLimits(Reader* reader, Fields* fields, CompensationDefinition* compensation);
// `priority` of a workflow or step: the priority, 0 to 3.
std::optional<int> ReadStepPriority(Reader* reader, const Fields& fields);
// `queue` of a workflow or step. (loader_step.cc)
std::optional<std::string> ReadQueueName(Reader* reader, const Fields& fields);
// loader_scopes.cc: steps that hold others.
// The lists of steps within a step: of a PARALLEL, SEQUENCE or FOREACH `steps`, of a CONDITION one for each case.
struct ChildList {
  const SourceNode* list = nullptr;
  int branch = 0;
};
std::vector<ChildList> ChildListsOf(const SourceNode& step);
// What a scope says of itself: cases, list, limits. `nested`: it holds steps of its own.
// An expression (expression.h), as it is written; a boolean will do. nullopt: reported.
std::optional<std::string> ReadExpression(Reader* reader, const SourceNode& node, const std::string& what);
void ReadScope(Reader* reader, const Fields& fields, const std::string& owner, bool nested, StepDefinition* step);
void CheckScopes(Reader* reader, Draft* draft);
// loader_signal.cc
void ReadSignal(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step);
// loader_approval.cc
void ReadApproval(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step);
// loader_child.cc
void ReadChild(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step);
void CheckChildren(Reader* reader, const WorkflowDefinition& definition, const Json& workflows);
// What a step that calls nothing does not have: each is reported, and gone.
void DropCallKeys(Reader* reader, const Fields& fields, std::string_view kind, StepDefinition* step);
// loader_continue.cc
void ReadContinue(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step);
void CheckContinues(Reader* reader, const WorkflowDefinition& definition);
// loader_publish.cc
void ReadPublish(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step);
// loader_wait.cc
void ReadWait(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step);
// loader_inputs.cc
void ReadInputs(Reader* reader, const SourceNode& map, WorkflowDefinition* definition);
// loader_checks.cc
void CheckGraph(Reader* reader, Draft* draft);
// The time of attempts whose step or compensation has no `timeout_seconds`: that of the call's own `timeout`, else the capability's.
void SettleTimeouts(const CapabilityRegistry& capabilities, WorkflowDefinition* definition);
void CheckCapabilities(Reader* reader, const SourceNode& root, const CapabilityRegistry& capabilities, const Draft& draft);
// loader_references.cc: what templates name
void CheckReferences(Reader* reader, const CapabilityRegistry& capabilities, const Draft& draft);

// loader_templates.cc: templates as they are written. `text`: of the file, for places within a value.
void CheckTemplates(Reader* reader, const SourceNode& root, const std::string& text, const WorkflowDefinition& definition);

// nullopt: fine. Else what is wrong with a name of a step, a queue ...
std::optional<std::string> BadName(std::string_view name, std::size_t longest);

}  // namespace acl
