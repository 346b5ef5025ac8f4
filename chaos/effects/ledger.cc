#include "chaos/effects/ledger.h"

#include <algorithm>
#include <array>

namespace acl::chaos {
namespace {

constexpr std::array<const char*, 5> kNames = {"applied", "replayed", "stale", "reused", "unfenced"};

// A token is compared within its scope: the run's, or that of one dispatched step.
std::string ScopeOf(const EffectCall& call) { return call.scope == "run/step" ? call.run + "/" + call.step : call.run; }

}  // namespace

std::string VerdictName(Verdict verdict) { return kNames[std::size_t(verdict)]; }

std::optional<Verdict> VerdictOf(const std::string& name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  return at == kNames.end() ? std::nullopt : std::optional(Verdict(at - kNames.begin()));
}

Verdict EffectLedger::Take(const EffectCall& call, std::int64_t at_ns) {
  const auto decide = [&] {
    if (call.key.empty() || call.token <= 0) return Verdict::kUnfenced;
    std::int64_t& highest = highest_[ScopeOf(call)];
    if (call.token < highest) return Verdict::kStale;
    highest = call.token;
    const auto before = applied_.find(call.key);
    if (before == applied_.end()) {
      applied_.emplace(call.key, call);
      return Verdict::kApplied;
    }
    const EffectCall& first = before->second;
    return first.run == call.run && first.step == call.step && first.body == call.body ? Verdict::kReplayed : Verdict::kReused;
  };
  const Verdict verdict = decide();
  entries_.push_back({at_ns, call, verdict});
  return verdict;
}

}  // namespace acl::chaos
