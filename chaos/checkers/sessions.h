#pragma once
// a01 to a08: agent sessions under faults, against their journals and the receiver of effects. Pure: the lines of a history in, results out
// (README.md, "Agents"). tests/unit/chaos/sessions_test.cc breaks a good history once for each.

#include "chaos/checkers/invariants.h"

namespace acl::chaos {

// Empty for a run without agent sessions.
std::vector<InvariantResult> CheckSessions(const std::vector<Json>& lines);
// Attempts whose outcome nobody knew, and turns: what a run without them has not tried.
struct SessionFigures {
  std::int64_t sessions = 0, moves = 0, turns = 0, stimuli = 0, actions = 0, attempts_lost = 0, uncertain = 0, approved = 0;
  double heard_ms_median = 0, heard_ms_p99 = 0;  // from what was said to its being in the journal, where the answer says so
  double turns_per_second = 0;                   // while the faults lasted
};
SessionFigures FiguresOfSessions(const std::vector<Json>& lines);

}  // namespace acl::chaos
