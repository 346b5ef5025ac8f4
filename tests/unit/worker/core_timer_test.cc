// Timers that the database fired, and a worker whose own count of the database's time lags behind it.
#include "shared/capability/capability.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/workflow_kind.h"
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

class CoreTimer : public CoreBench {
 protected:
  static constexpr milliseconds kLate{400};
  CoreTimer() { kinds.Add(workflows); }

  // The answers that tell the database's time arrive late: the worker's count of it is behind by that much.
  void SettleLate(milliseconds late) {
    for (auto commands = Take(); !commands.empty(); commands = Take()) {
      for (const Command& command : commands) {
        const bool tells = std::holds_alternative<command::OpenSession>(command) || std::holds_alternative<command::Heartbeat>(command);
        auto deliver = ExecuteCommand(executor, command, clock.Steady());
        if (tells) Advance(late);
        deliver(*core, clock.Steady());
      }
    }
  }
  void LiveLate(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += milliseconds(20)) {
      Advance(milliseconds(20));
      SettleLate(kLate);
    }
  }
  SubjectId CreateWaiting(Json time) {
    WorkflowDefinition definition;
    definition.name = "waits";
    StepDefinition step;
    step.name = "nap";
    step.type = StepType::kWait;
    step.wait = WaitDefinition{false, std::move(time)};
    definition.steps.push_back(std::move(step));
    workflow::CreateRequest request;
    request.subject = SubjectId{ids.Make()};
    auto item = workflow::MakeCreateItem(*workflows, definition, std::move(request));
    EXPECT_TRUE(item.ok());
    return Create(std::move(*item));
  }

  const std::shared_ptr<const SubjectKind> workflows = workflow::MakeWorkflowKind(std::make_shared<CapabilityRegistry>());
};

TEST_F(CoreTimer, WhatTheDatabaseFiredHasItsTimeBehindIt) {
  core = std::make_unique<WorkerCore>(config, kinds, random, &told);
  core->Start(clock.Steady());
  SettleLate(kLate);
  ASSERT_TRUE(core->live());
  const SubjectId subject = CreateWaiting(30);  // longer than a lease is held for it
  LiveLate(milliseconds(2'000));
  ASSERT_EQ(EventsOf(subject, "step.waiting"), 1);
  ASSERT_EQ(core->held(), 0) << "released meanwhile";
  const WallTime due = Look(subject).timers.at("wait:nap");
  while (clock.Wall() + 2 * kLate < due) LiveLate(milliseconds(20));
  Advance(std::chrono::duration_cast<milliseconds>(due - clock.Wall()) + milliseconds(1));
  ASSERT_EQ(memory.FireTimers(10)->fired, 1);  // at once, by the database's clock; the worker's is behind
  core->OnWorkHint(clock.Steady());
  for (auto commands = Take(); !commands.empty(); commands = Take()) {
    for (const Command& command : commands) {
      if (!std::holds_alternative<command::Heartbeat>(command)) ExecuteOne(command);  // that one is still on its way
    }
  }
  ASSERT_EQ(EventsOf(subject, "step.completed"), 1) << "the timer is gone from the table: what it said must not be lost";
  EXPECT_TRUE(Look(subject).closed);
  const auto events = Look(subject).events;
  for (const Event& event : events) {
    if (event.type == "step.completed") {
      EXPECT_GE(event.timestamp, due);
    }
  }
}

}  // namespace
}  // namespace acl::test
