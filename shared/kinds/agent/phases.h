#pragma once
// The eleven phases at which an extension may look in (document 003, section 3), and what it may change at each. The names are fixed.

#include <array>
#include <optional>
#include <string_view>

namespace acl::agent {

enum class Phase {
  kAfterPrepare,
  kBeforePlan,
  kAfterPlan,
  kBeforeRequest,
  kAfterRequest,
  kBeforeProcess,
  kBeforeAction,
  kAfterAction,
  kAfterProcess,
  kBeforeRest,
  kAfterRest,
};
inline constexpr int kPhases = 11;

struct PhaseRule {
  Phase phase;
  std::string_view name;
  std::string_view draft;  // what it may change; empty: it looks on, and a patch of it is refused
  // What a stop means: "turn" ends the turn before anything of it happens, "action" refuses this action alone, "rest" lets the turn end and
  // the agent rest.
  std::string_view stop;
};

inline constexpr std::array<PhaseRule, kPhases> kPhaseRules = {{
    {Phase::kAfterPrepare, "after_prepare", "", "rest"},
    {Phase::kBeforePlan, "before_plan", "context", "turn"},
    {Phase::kAfterPlan, "after_plan", "plan", "turn"},
    {Phase::kBeforeRequest, "before_request", "request", "turn"},
    {Phase::kAfterRequest, "after_request", "response", "turn"},
    {Phase::kBeforeProcess, "before_process", "actions", "turn"},
    {Phase::kBeforeAction, "before_action", "action", "action"},
    {Phase::kAfterAction, "after_action", "", "rest"},
    {Phase::kAfterProcess, "after_process", "", "rest"},
    {Phase::kBeforeRest, "before_rest", "", "rest"},
    {Phase::kAfterRest, "after_rest", "", "rest"},
}};

constexpr const PhaseRule& RuleOf(Phase phase) { return kPhaseRules[std::size_t(phase)]; }
constexpr std::string_view NameOf(Phase phase) { return RuleOf(phase).name; }
constexpr std::optional<Phase> ParsePhase(std::string_view name) {
  for (const PhaseRule& rule : kPhaseRules)
    if (rule.name == name) return rule.phase;
  return std::nullopt;
}

}  // namespace acl::agent
