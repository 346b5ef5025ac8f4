#pragma once
// The kernel file: under which phase, tier and rules a model is asked, what it may be shown and how much of it (document 004, sections 6.1,
// 6.2 and 7; docs/guides/aegis.md "The kernel file"). YAML or JSON; both give the same hash when they say the same.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/aegis/artifact.h"
#include "shared/base/result.h"
#include "shared/definition/loader.h"

namespace acl::aegis {

inline constexpr int kLowestTier = 1, kHighestTier = 3;

struct Cap {
  std::int64_t tokens = 0;  // EstimateTokens
  std::int64_t bytes = 0;
};

struct ToolRule {
  std::string name;
  int from_tier = kLowestTier;
  std::string about;               // a line for the model
  std::vector<std::string> verbs;  // what it does, as people say it ("restart"): by these the validator knows an act that is claimed
  // Of a tool that acts, and that models may propose: the workflow that does it once people have approved, as its file; empty: none may.
  std::string workflow;
  Json parameters = Json::object();    // JSON Schema of its arguments, which are the workflow's inputs
  std::vector<std::string> approvers;  // names, or "role:NAME"; empty: anybody
  bool allow_requester = true;         // who asked the model may approve what it proposed
  // Under a kernel of that tier.
  bool MayBeProposed(int tier) const { return !workflow.empty() && from_tier <= tier; }
};

struct RuleText {
  std::string rule;
  std::string text;
};

// What is done about drift of one class.
struct DriftRule {
  std::string severity;      // "low", "medium", "high", "critical"
  bool fail_closed = false;  // else the answer is shown and marked
};

struct ModelRule {
  std::string provider;  // "ollama": its name, as `model_id` has it before the model
  std::string api;       // "openai_compatible" or "anthropic_messages"
  std::string model;
  std::string url;  // empty: by the provider's settings
  std::string key;  // the name of a secret, never a secret
  std::int64_t max_tokens = 1'024;
  double temperature = 0;
  std::optional<std::int64_t> seed;
};

struct Kernel {
  std::string phase;
  int tier = kLowestTier;
  std::string host_role;
  std::vector<std::string> authority_rules;                                       // texts for the model
  std::vector<std::string> permits;                                               // verbs of acts that these rules give
  std::array<int, kArtifactTypes> artifact_from_tier{};                           // by type
  std::vector<RuleText> constraints;                                              // in file order
  std::vector<ToolRule> observational, actuation;                                 // by name
  std::array<Cap, 3> rings{};                                                     // ring 0, 1, 2
  std::int64_t exclusions_named = 64;                                             // beyond it they are counted
  std::int64_t recent_turns = 8;                                                  // of the session: newer ones are ring 1, others ring 2
  std::int64_t deep_after_s = 30 * 86'400;                                        // notes and decisions that are older are ring 2
  std::map<std::string, std::array<DriftRule, kHighestTier>, std::less<>> drift;  // class -> by tier - 1
  bool sanitise_for_model = true;
  ModelRule model;
  Json pricing = Json::object(), budgets = Json::object();  // as written; whoever charges reads them
  Json value;                                               // the whole file as a value: what the hash is over and what a ledger records
  std::string hash;                                         // "sha256:" and the hex digits of SHA-256 over RFC 8785 of `value`

  // "ollama llama3.1:8b"
  std::string ModelId() const { return model.provider + " " + model.model; }
  // nullptr: not declared.
  const ToolRule* Observational(std::string_view name) const;
  const ToolRule* Actuation(std::string_view name) const;
  // Of this kernel's tier. `drift_class`: authority, evidence, tone, schema or completeness.
  const DriftRule& Drift(std::string_view drift_class) const;
};

struct LoadedKernel {
  std::optional<Kernel> kernel;        // set if there is no error
  std::vector<acl::Finding> findings;  // sorted by place (FormatFinding writes one)
};

// All findings at once. Never throws, whatever the text.
LoadedKernel LoadKernel(const std::string& text);
// Of a recorded `Kernel::value`; kInvalid with every finding.
Result<Kernel> KernelFromValue(const Json& value);

}  // namespace acl::aegis
