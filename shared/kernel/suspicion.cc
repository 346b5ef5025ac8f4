#include "shared/kernel/suspicion.h"

#include <algorithm>

#include "shared/base/mutant.h"

namespace acl {

namespace {
constexpr int kProofTtls = 3;
constexpr int kMostDoublings = 10;
constexpr milliseconds kLongestDelay{4'000};
}  // namespace

Suspicion NextSuspicion(const Suspicion& last, LeaseEnd end, bool progressed) {
  if (end == LeaseEnd::kOwnWill) return {};
  const Suspicion before = progressed ? Suspicion{} : last;
  const bool died = end == LeaseEnd::kDied || end == LeaseEnd::kDiedAlone;
  const bool alone = end == LeaseEnd::kDiedAlone || (died && Mutant("no_suspicion"));
  return {before.deaths + (died ? 1 : 0), before.alone + (alone ? 1 : 0)};
}

bool IsSuspect(int deaths) { return deaths >= kSuspectFrom && !Mutant("no_suspicion"); }

bool IsJudged(const Suspicion& suspicion) { return suspicion.alone >= kJudgedAt; }

bool MustBeQuarantined(const Suspicion& suspicion, bool has_open_attempt) {
  return suspicion.alone >= kJudgedAt + (has_open_attempt ? 1 : 0);
}

milliseconds TakeoverDelay(int deaths) {
  if (deaths < kSuspectFrom) return milliseconds(0);
  return std::min(kLongestDelay, milliseconds(1'000ll << std::min(deaths - kSuspectFrom, kMostDoublings)));
}

milliseconds ProofTime(milliseconds lease_ttl) { return kProofTtls * lease_ttl; }

milliseconds TrialTime(milliseconds lease_ttl, int deaths) {
  return ProofTime(lease_ttl) * (1ll << std::clamp(deaths - 1, 0, kMostDoublings));
}

int TrialGroup(int slots, int deaths) { return std::max(1, slots >> std::clamp(2 * (deaths - 1), 0, 30)); }

int SuspectsAdmitted(const TrialBench& bench, int worst) {
  if (bench.age < ProofTime(bench.lease_ttl)) return 0;
  if (bench.on_trial == 0 && bench.others >= std::max(1, bench.alive / 2)) return 0;
  if (bench.on_trial > 0 && worst > bench.most_deaths) return 0;  // who waits is worse: no more beside those here, so that its turn comes
  return std::max(0, TrialGroup(bench.slots, std::max(worst, bench.most_deaths)) - bench.on_trial);
}

std::optional<Uuid> Blame(std::span<const Suspect> suspects, const WorkerDeath& death) {
  if (suspects.size() != 1) return std::nullopt;
  const Suspect& only = suspects.front();
  const bool in_trial = death.at < only.since + TrialTime(death.lease_ttl, only.deaths);
  const bool fleet_lived = 2 * death.others_died <= death.others_alive;
  return in_trial && fleet_lived ? std::optional(only.id) : std::nullopt;
}

}  // namespace acl
