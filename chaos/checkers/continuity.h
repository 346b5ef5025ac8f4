#pragma once
// c01 to c08: agents that work on projects, against the journals of these projects. Pure: the lines of a history in, results out
// (README.md, "Projects"). tests/unit/chaos/continuity_test.cc breaks a good history once for each.

#include "chaos/checkers/invariants.h"

namespace acl::chaos {

// Empty for a run without agents.
std::vector<InvariantResult> CheckContinuity(const std::vector<Json>& lines);

}  // namespace acl::chaos
