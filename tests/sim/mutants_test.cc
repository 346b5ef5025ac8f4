// Every known mistake that the simulator can meet turns it red: which checker, with which seed, how soon. Only in the preset `mutants`
// (./dev chaos mutants); elsewhere it is checked that the mistakes are not there.
#include <gtest/gtest.h>

#include <iostream>

#include "shared/base/mutant.h"
#include "tests/sim/counter_load.h"
#include "tests/sim/killer_load.h"
#include "tests/sim/workflow_load.h"

namespace acl::test {
namespace {

#ifndef ACL_MUTANTS
static_assert(!Mutant("no_fence"), "a mistake is compiled into a build that is not `mutants`");
#else

enum class Met { kByCounters, kByWorkflows, kByKillers };

struct Mistake {
  const char* name;
  Met met;
  const char* noticed;  // part of what the checker says
  void (*choose)(MemoryStore::Mutants&) = nullptr;
};

// As the test is called.
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

// What lies between two statements of one transaction (a renewal without the second look, a grant beside a reap), and what needs a
// failover, is not in a store whose calls are atomic: tests/integration/kernel/isolation_mutant_test.cc and tests/model have those
// (docs/contribute/mutants.md).
const Mistake kMistakes[] = {
    {"no_fence", Met::kByCounters, "invariant 4"},
    {"stale_claim", Met::kByCounters, "read too early", [](MemoryStore::Mutants& m) { m.stale_claim = true; }},
    {"wake_ignored_at_release", Met::kByCounters, "signal"},
    {"no_dispatch_compare", Met::kByWorkflows, "dispatch", [](MemoryStore::Mutants& m) { m.no_dispatch_compare = true; }},
    {"fence_in_an_earlier_transaction", Met::kByCounters, "invariant 4"},
    {"owner_by_name", Met::kByCounters, "invariant 4"},
    {"lease_deleted_on_release", Met::kByCounters, "invariant 4"},
    {"unheard_grant_kept", Met::kByCounters, "not closed after healing"},
    {"change_unnoticed", Met::kByCounters, "not closed after healing"},
    {"offset_before_database", Met::kByCounters, "nothing will ever wake it"},
    {"no_ready_row_with_the_commit", Met::kByCounters, "nothing will ever wake it"},
    {"no_ready_row_with_the_reap", Met::kByCounters, "nothing will ever wake it"},
    {"effect_without_key", Met::kByWorkflows, "keys"},
    {"compensation_forgotten", Met::kByWorkflows, "invariant 7"},
    {"compensation_out_of_order", Met::kByWorkflows, "ran out of order"},
    {"signal_before_wait_lost", Met::kByWorkflows, "a signal that had come"},
    {"approval_without_digest", Met::kByWorkflows, "about another digest"},
    {"decision_not_compare_and_set", Met::kByWorkflows, "quarantined"},
    {"job_outlives_its_lease", Met::kByCounters, "without its lease"},
    {"lease_counted_from_the_answer", Met::kByCounters, "without its lease"},
    {"reap_by_an_earlier_look", Met::kByCounters, "from a session that lived"},
    {"timers_sleep_until_the_next", Met::kByWorkflows, "not closed after healing"},
    {"schedule_key_of_the_attempt", Met::kByWorkflows, "of no fire time"},
    {"schedule_moves_first", Met::kByWorkflows, "came to nothing"},
    {"schedule_starts_unsaid", Met::kByWorkflows, "of no fire time"},
    {"journal_on_another_chain", Met::kByCounters, "stands on something else"},
    {"journal_on_another_root", Met::kByCounters, "another root than the snapshot"},
    {"closing_snapshot_lost", Met::kByCounters, "the snapshot that ends the journal before it is gone",
     [](MemoryStore::Mutants& m) { m.closing_snapshot_lost = true; }},
    {"no_suspicion", Met::kByKillers, "it did no harm and was quarantined"},
};

class Mutants : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mutants, IsNoticed) {
  const Mistake& mistake = GetParam();
  ChosenMutant() = mistake.name;
  SystemClock clock;
  const SteadyTime begin = clock.Steady();
  std::string noticed;
  std::uint64_t seed = 0;
  while (noticed.empty() && seed < 600) {
    ++seed;
    SimOptions options;
    if (mistake.choose) mistake.choose(options.mutants);
    if (mistake.met == Met::kByWorkflows) options.subjects = 8;
    CounterLoad counters;
    WorkflowLoad workflows;
    KillerLoad killers;
    SimLoad& load = mistake.met == Met::kByCounters    ? static_cast<SimLoad&>(counters)
                    : mistake.met == Met::kByWorkflows ? static_cast<SimLoad&>(workflows)
                                                       : killers;
    for (const std::string& violation : SimTestBed(seed, load, options).Run().violations) {
      if (violation.find(mistake.noticed) != std::string::npos) noticed = violation;
    }
  }
  ChosenMutant().clear();
  const auto took = std::chrono::duration_cast<milliseconds>(clock.Steady() - begin);
  EXPECT_FALSE(noticed.empty()) << "nobody noticed " << mistake.name << " in " << seed << " seeds";
  std::cout << "mutant: " << mistake.name << " | seed " << seed << " | " << took.count() << " ms | " << noticed << "\n";
}

INSTANTIATE_TEST_SUITE_P(Sim, Mutants, ::testing::ValuesIn(kMistakes),
                         [](const ::testing::TestParamInfo<Mistake>& one) { return std::string(one.param.name); });

// Without a mistake the same build is green.
TEST(MutantsBuild, IsGreenWithoutAMistake) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CounterLoad counters;
    WorkflowLoad workflows;
    SimOptions options;
    EXPECT_TRUE(SimTestBed(seed, counters, options).Run().violations.empty()) << "seed " << seed;
    options.subjects = 8;
    EXPECT_TRUE(SimTestBed(seed, workflows, options).Run().violations.empty()) << "seed " << seed;
  }
}

#endif

}  // namespace
}  // namespace acl::test
