// What runs of the simulator met, summed up and in words.
#include <fmt/format.h>

#include "tests/sim/test_bed.h"

namespace acl::test {

void SimReport::Add(const SimReport& other) {
  subjects += other.subjects;
  closed += other.closed;
  events += other.events;
  takeovers += other.takeovers;
  stale_commits_refused += other.stale_commits_refused;
  unknown_commits += other.unknown_commits;
  unknown_landed += other.unknown_landed;
  signals_acked += other.signals_acked;
  signals_at_close += other.signals_at_close;
  direct_commands += other.direct_commands;
  crashes += other.crashes;
  freezes += other.freezes;
  uncertain_resolved += other.uncertain_resolved;
  snapshots += other.snapshots;
  rolls += other.rolls;
  dropped += other.dropped;
  effects += other.effects;
  stale_effects_refused += other.stale_effects_refused;
  by_messages += other.by_messages;
  messages_lost += other.messages_lost;
  messages_repeated += other.messages_repeated;
  messages_dropped += other.messages_dropped;
  late_claims += other.late_claims;
  ready_hints += other.ready_hints;
  dispatches_offered += other.dispatches_offered;
  dispatches_taken += other.dispatches_taken;
  dispatch_results += other.dispatch_results;
  dispatches_lost += other.dispatches_lost;
  dispatches_withdrawn += other.dispatches_withdrawn;
  late_results_refused += other.late_results_refused;
  dispatch_results_kept += other.dispatch_results_kept;
  ticks += other.ticks;
  ticks_side_by_side += other.ticks_side_by_side;
  jobs_taken += other.jobs_taken;
  jobs_stolen += other.jobs_stolen;
  coordinators_killed += other.coordinators_killed;
  coordinators_frozen += other.coordinators_frozen;
  fire_times += other.fire_times;
  scheduled_runs += other.scheduled_runs;
  hints += other.hints;
  granted_as_made += other.granted_as_made;
  grants_unheard += other.grants_unheard;
  grants_heard_twice += other.grants_heard_twice;
  grants_to_the_dead += other.grants_to_the_dead;
  for (const std::string& violation : other.violations) violations.push_back(fmt::format("seed {}: {}", other.seed, violation));
}

std::string SimReport::ToString() const {
  return fmt::format(
      "subjects {} closed {} events {} takeovers {} stale-commits-refused {} unknown-commits {} (landed {}) signals-acked {} "
      "signals-at-close {} direct {} crashes {} freezes {} uncertain-resolved {} snapshots {} journals {} (events dropped {}) effects {} "
      "stale-effects-refused {} "
      "claimed-by-message {} messages-lost {} repeated {} dropped {} late-claims {} rows-told {} dispatches-offered {} taken {} results {} "
      "lost "
      "{} withdrawn "
      "{} "
      "late-results-refused {} results-kept {} ticks {} (side by side {}) jobs-taken {} stolen {} coordinators-killed {} frozen {} "
      "fire-times {} scheduled-runs {} hints {} granted-as-made {} (unheard {} heard-twice {} to-the-dead {}) violations {}",
      subjects, closed, events, takeovers, stale_commits_refused, unknown_commits, unknown_landed, signals_acked, signals_at_close,
      direct_commands, crashes, freezes, uncertain_resolved, snapshots, rolls, dropped, effects, stale_effects_refused, by_messages,
      messages_lost, messages_repeated, messages_dropped, late_claims, ready_hints, dispatches_offered, dispatches_taken, dispatch_results,
      dispatches_lost, dispatches_withdrawn, late_results_refused, dispatch_results_kept, ticks, ticks_side_by_side, jobs_taken,
      jobs_stolen, coordinators_killed, coordinators_frozen, fire_times, scheduled_runs, hints, granted_as_made, grants_unheard,
      grants_heard_twice, grants_to_the_dead, violations.size());
}

}  // namespace acl::test
