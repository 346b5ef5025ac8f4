#pragma once
// Many seeds one after another, some of them twice, and what to do with one that breaks an invariant: the smallest list of faults with
// which it still does.

#include <functional>
#include <memory>
#include <string>

#include "tests/sim/test_bed.h"

namespace acl::test {

using MakeLoad = std::function<std::unique_ptr<SimLoad>()>;

// Of a run with this seed: one in twenty is large, the others are short and have few subjects, so that ten thousand are a minute.
SimOptions OptionsOf(std::uint64_t seed, const SimOptions& large);

// Seeds `first` to `first + count - 1` (or that of ACL_SIM_SEED alone), until one breaks something; every hundredth twice, which must be
// the same run. What is broken stands in the violations, with the shrunk list of faults of the first broken seed (`shrink`).
SimReport RunSeeds(std::uint64_t first, int count, const MakeLoad& make, const SimOptions& large,
                   const std::function<void(SimLoad&)>& ended = nullptr, bool shrink = true);

// "n of m faults are enough", a line each; the run must be one that breaks something.
std::string Shrink(std::uint64_t seed, const MakeLoad& make, const SimOptions& options);

}  // namespace acl::test
