#pragma once
// Suspicion (docs/architecture.md#suspicion): which run or dispatch is to blame when a worker dies. Pure decisions; the store of the tests
// decides by them, and migrations/functions/blame_of.sql says the same in SQL. One conformance suite holds both
// (conformance_suspicion_test.cc).
//
//   died with its worker --> deaths + 1 --(2)--> suspect --(alone, its worker died in the trial)--> died alone + 1 --(5)--> judged
//          ^                                                            |
//          '----------------- a step completed, or given up by its holder's own will: acquitted, both counts are 0 again
//
// A suspect is granted only to a worker that has proven itself (it lived for ProofTime before), in a group that halves twice with each
// death, and while at most half of the fleet has suspects on trial. Whoever is no suspect runs everywhere, beside suspects too. Only the
// one suspect of a dead worker is blamed, and only if the rest of the fleet mostly lived meanwhile. So a fleet that crashes for other
// reasons judges nobody.

#include <optional>
#include <span>

#include "shared/base/clock.h"
#include "shared/base/ids.h"

namespace acl {

using std::chrono::milliseconds;

// Deaths of its worker in a row, without a completed step between, from which on a run or dispatch is granted with care.
inline constexpr int kSuspectFrom = 2;
// Deaths in a row for which it alone is to blame, after which it is judged: its open step fails.
inline constexpr int kJudgedAt = 5;
// The reason in quarantine.
inline constexpr const char* kKillsItsWorker = "kills_its_worker";

// How the last grant of a lease ended; `leases.last_end`.
enum class LeaseEnd {
  kOwnWill = 0,    // released, closed
  kDied = 1,       // its worker died with it
  kUncounted = 2,  // its worker ended cleanly, or over half of the fleet died at once, or the grant was never heard of
  kDiedAlone = 3,  // its worker died, and it alone is to blame
};

struct Suspicion {
  int deaths = 0;  // of its workers in a row, since its last completed step
  int alone = 0;   // of them, those for which it alone is to blame
  friend bool operator==(const Suspicion&, const Suspicion&) = default;
};

// Of the next grant. `progressed`: a step completed under the last one.
Suspicion NextSuspicion(const Suspicion& last, LeaseEnd end, bool progressed);
bool IsSuspect(int deaths);
// Whoever holds it is to fail the step that is open; if none is (a pure step leaves no row), it gets one death less to be found.
bool IsJudged(const Suspicion& suspicion);
// The run as a whole: no step was there to fail, or failing it was no help.
bool MustBeQuarantined(const Suspicion& suspicion, bool has_open_attempt);
// How long a takeover waits.
milliseconds TakeoverDelay(int deaths);

// How long a worker must have lived to be given suspects; as long as it takes to notice three deaths.
milliseconds ProofTime(milliseconds lease_ttl);
// How long a suspect is on trial from its grant on; doubles with each death, so that what kills slowly is met.
milliseconds TrialTime(milliseconds lease_ttl, int deaths);
// Suspects that a worker may hold on trial at once, if one of them was in so many deaths.
int TrialGroup(int slots, int deaths);

// What a living worker holds, as far as suspects are concerned.
struct TrialBench {
  int slots = 1;
  milliseconds age{0}, lease_ttl{10'000};
  int on_trial = 0;     // suspects whose trial is not over
  int most_deaths = 0;  // of them
  int others = 0;       // other living workers with suspects on trial
  int alive = 1;        // living workers, this one included
};
// How many suspects more it may be given, the worst of those that wait having been in so many deaths.
int SuspectsAdmitted(const TrialBench& bench, int worst);

struct Suspect {
  Uuid id;  // a run's or a dispatch's
  int deaths = 0;
  WallTime since;  // its grant
};
struct WorkerDeath {
  WallTime at;  // when its session expired
  milliseconds lease_ttl{10'000};
  int others_died = 0;  // other sessions that expired since the suspect's grant
  int others_alive = 0;
};
// Who is to blame: the only suspect without progress, if its worker died in the trial and the rest of the fleet lived.
std::optional<Uuid> Blame(std::span<const Suspect> suspects, const WorkerDeath& death);

}  // namespace acl
