// A worker's core: whichever of its allocations fails, its runs go on to their ends, each step recorded once, and nothing is quarantined.

#include "shared/base/memory.h"
#include "tests/allocation/fail_allocation.h"
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class Bench : public CoreBench {
 public:
  void TestBody() override {}

  // Drives the core as the shell does, until every run is closed. `fails`: of the core's own allocations.
  void Drive(FailAllocation& fails, const std::vector<SubjectId>& subjects) {
    const auto within = [&](const auto& piece) {
      fails.GoOn();
      const bool enough = WithinMemory(piece);
      fails.Pause();
      if (!enough) core->LoseAll(clock.Steady(), kOutOfMemory);
    };
    const auto all_closed = [&] {
      return std::all_of(subjects.begin(), subjects.end(), [&](const SubjectId& subject) { return Look(subject).closed; });
    };
    core = std::make_unique<WorkerCore>(config, kinds, random, &told, helpers);
    core->Start(clock.Steady());
    for (int round = 0; round < 2'000 && !all_closed(); ++round) {
      std::vector<Command> commands;
      within([&] { commands = core->TakeCommands(clock.Steady()); });
      for (const Command& command : commands) {
        if (const auto* run = std::get_if<command::RunStep>(&command)) {
          steps.push_back(*run);
          continue;
        }
        Report report;
        const bool carried_out = ++carried_ != not_carried_out;
        report = carried_out ? ExecuteCommand(executor, command, clock.Steady()) : NotExecuted(command, clock.Steady());
        within([&] { report(*core, clock.Steady()); });
      }
      if (!steps.empty()) {
        const command::RunStep run = steps.front();
        steps.erase(steps.begin());
        within([&] {
          core->OnStepDone(clock.Steady(), run.call.subject, run.call.token, run.call.step.step_id, run.call.attempt_id, StepResult());
        });
      }
      Advance(milliseconds(20));
      if (round % 50 == 0) {
        ASSERT_TRUE(memory.Reap(10).ok());
      }
    }
    EXPECT_TRUE(all_closed());
  }

  int Completions(const SubjectId& subject) { return int(Look(subject).completions.size()); }
  int carried() const { return carried_; }
  int not_carried_out = 0;  // which command there is not enough memory for
  using CoreBench::Create;
  using CoreBench::told;

 private:
  int carried_ = 0;
};

constexpr int kSteps = 3;
constexpr int kEach = 400, kFastPath = 13;  // each of so many fails once, then some

// True if one failed.
bool RunWith(int allocation, int command, int* commands) {
  Bench bench;
  bench.not_carried_out = command;
  std::vector<SubjectId> subjects;
  for (const char* effects : {"pri", "iii"}) subjects.push_back(bench.Create({.steps = kSteps, .effects = effects}));
  FailAllocation fails(allocation);
  fails.Pause();
  bench.Drive(fails, subjects);
  for (const SubjectId& subject : subjects) EXPECT_EQ(bench.Completions(subject), kSteps);
  EXPECT_TRUE(bench.told.quarantines.empty());
  if (commands != nullptr) *commands = bench.carried();
  return FailAllocation::Failed();
}

TEST(Allocation, AWorkersRunsEndWhicheverOfItsAllocationsFails) {
  int allocation = 0;
  while (RunWith(allocation, 0, nullptr)) {
    if (::testing::Test::HasFailure()) FAIL() << "allocation " << allocation;
    allocation += allocation < kEach ? 1 : kFastPath;
  }
  EXPECT_GT(allocation, 500);
}

TEST(Allocation, AWorkersRunsEndWhicheverCommandThereIsNoMemoryFor) {
  int commands = 0;
  (void)RunWith(1'000'000'000, 0, &commands);
  ASSERT_GT(commands, 5);
  for (int command = 1; command <= commands; ++command) {
    (void)RunWith(1'000'000'000, command, nullptr);
    if (::testing::Test::HasFailure()) FAIL() << "command " << command;
  }
}

}  // namespace
}  // namespace acl::test
