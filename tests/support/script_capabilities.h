#pragma once
// The capabilities of runs whose steps a ScriptRunner (or the test itself) carries out: one of each class of effects, none of which does
// anything.

#include <memory>

#include "shared/capability/capability.h"

namespace acl::test {

// sim.pure, sim.read, sim.idempotent, sim.keyed (not idempotent, honours its key), sim.unkeyed, and sim.repeated (unkeyed too; for steps
// that say on_unknown_outcome: retry). Each takes `text` and gives `said`.
std::shared_ptr<CapabilityRegistry> ScriptCapabilities();

}  // namespace acl::test
