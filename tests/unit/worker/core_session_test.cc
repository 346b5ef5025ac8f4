// What a worker does about its session and its leases: claims, losses, drains, what it gives back.
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

using Outcome = StepResult::Outcome;

TEST_F(CoreBench, ReconciliationGivesBackAGrantThatWasNeverHeard) {
  config.reconcile_every = milliseconds(3'000);
  StartCore();
  const SubjectId subject = Create({.steps = 1, .effects = "p"});
  ClaimRequest request;  // the answer is lost on its way
  request.session = core->session();
  const auto unheard = memory.Claim(request);
  ASSERT_EQ(unheard->claimed.size(), 1u);
  Live(milliseconds(2'900));
  EXPECT_TRUE(told.released.empty());
  EXPECT_EQ(core->held(), 0);
  Live(milliseconds(1'000));
  EXPECT_EQ(told.released.size(), 1u);
  EXPECT_EQ(core->counts().released, 1);
  EXPECT_EQ(core->held(), 1) << "and so it could be claimed and heard";
  EXPECT_GT(Look(subject).token, unheard->claimed[0].token);
}

TEST_F(CoreBench, ARingWhileAClaimIsOutIsNotLost) {
  config.poll_min = config.poll_max = milliseconds(3'600'000);  // it is notified of all there is
  StartCore();
  core->OnWorkHint(clock.Steady());
  auto commands = Take();
  const auto claim = std::find_if(commands.begin(), commands.end(), [](auto& c) { return std::holds_alternative<command::Claim>(c); });
  ASSERT_NE(claim, commands.end());
  const auto deliver = ExecuteCommand(executor, *claim, clock.Steady());  // it has looked, its answer is on the way
  Create(CounterOptions{.steps = 1, .effects = "p"});
  core->OnWorkHint(clock.Steady());
  deliver(*core, clock.Steady());
  EXPECT_EQ(core->held(), 0);
  Settle();
  EXPECT_EQ(core->held(), 1);
}

TEST_F(CoreBench, ADrainFinishesWhatRuns) {
  const SubjectId subject = Create({.steps = 3, .effects = "i"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  core->Drain(clock.Steady());
  Live(milliseconds(1'000));
  EXPECT_FALSE(core->finished()) << "a step runs";
  EXPECT_FALSE(steps[0].stop.stopped());
  EndStep();
  Settle();
  EXPECT_TRUE(core->finished());
  EXPECT_TRUE(steps.empty()) << "nothing new was started";
  EXPECT_EQ(EventsOf(subject, "step.completed"), 1);
  EXPECT_FALSE(Look(subject).holder);
}

TEST_F(CoreBench, ADrainPastItsDeadlineStopsWhatRunsAndGivesItBack) {
  config.drain_deadline = milliseconds(1'000);
  const SubjectId subject = Create({.steps = 3, .effects = "i"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  core->Drain(clock.Steady());
  Live(milliseconds(900));
  EXPECT_FALSE(steps[0].stop.stopped());
  EXPECT_TRUE(Look(subject).holder);
  Live(milliseconds(200));
  EXPECT_TRUE(steps[0].stop.stopped());
  EXPECT_TRUE(core->finished());
  EXPECT_FALSE(Look(subject).holder);
  ClaimRequest request;
  request.session = memory.OpenSession({.worker_name = "next", .ttl = kTtl})->session;
  EXPECT_EQ(memory.Claim(request)->claimed.size(), 1u) << "it is ready for the next worker";
}

TEST_F(CoreBench, ADrainWaitsLongerForWhatMayNotBeRepeated) {
  config.drain_deadline = milliseconds(1'000);
  config.drain_effects_deadline = milliseconds(10'000);
  const SubjectId charges = Create({.steps = 2, .effects = "n"}), writes = Create({.steps = 2, .effects = "i"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 2u);
  if (steps[0].call.subject == writes) std::swap(steps[0], steps[1]);
  core->Drain(clock.Steady());
  Live(milliseconds(1'200));
  EXPECT_TRUE(steps[1].stop.stopped()) << "what may be repeated is released";
  EXPECT_FALSE(Look(writes).holder);
  Live(milliseconds(5'000));
  EXPECT_FALSE(steps[0].stop.stopped());
  EXPECT_TRUE(Look(charges).holder) << "it still renews its session";
  EXPECT_FALSE(core->finished());
  const SubjectId late = Create({.steps = 1, .effects = "i"});
  Live(milliseconds(1'000));
  EXPECT_FALSE(Look(late).holder) << "nothing new is taken";
  EndStep();
  Settle();
  EXPECT_EQ(EventsOf(charges, "step.completed"), 1);
  EXPECT_FALSE(Look(charges).holder);
  EXPECT_TRUE(core->finished());
}

// A program that waits for its place would begin only to be stopped, its outcome unknown.
TEST_F(CoreBench, ADrainBeginsNothingThatStillWaitsForItsPlace) {
  Create({.steps = 1, .effects = "n"});
  Create({.steps = 1, .effects = "n"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 2u);
  steps[0].stop.Wait();
  steps[1].stop.Wait();
  steps[1].stop.Begin(clock.Steady());
  core->Drain(clock.Steady());
  EXPECT_TRUE(steps[0].stop.stopped());
  EXPECT_FALSE(steps[1].stop.stopped()) << "it runs";
}

TEST_F(CoreBench, AWorkerThatLosesAllOfItselfIsNotTakenForDead) {
  const SubjectId subject = Create({.steps = 1, .effects = "i"});
  StartCore();
  Settle();
  ASSERT_TRUE(Look(subject).holder);
  core->LoseAll(clock.Steady(), "not enough memory");
  Settle();
  ASSERT_EQ(memory.Reap(10)->leases_freed, 1) << "free at once, not when a session expires";
  EXPECT_EQ(Look(subject).ended, LeaseEnd::kUncounted);
}

TEST_F(CoreBench, WhatADrainStopsSaysSo) {
  config.drain_deadline = milliseconds(1'000);
  config.drain_effects_deadline = milliseconds(3'000);
  const SubjectId subject = Create({.steps = 1, .effects = "n"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  core->Drain(clock.Steady());
  Live(milliseconds(3'100));
  EXPECT_TRUE(steps[0].stop.stopped());
  EXPECT_TRUE(Look(subject).holder) << "how it ended is recorded first";
  EndStep(Outcome::kCancelled);
  Settle();
  EXPECT_EQ(told.ended_why.back(), kDrained);
  EXPECT_FALSE(Look(subject).holder);
  EXPECT_TRUE(core->finished());
}

TEST_F(CoreBench, ADrainDoesNotWaitForARunnerThatNeverComesBack) {
  config.drain_deadline = milliseconds(1'000);
  config.drain_effects_deadline = milliseconds(3'000);
  Create({.steps = 1, .effects = "n"});
  StartCore();
  Settle();
  core->Drain(clock.Steady());
  Live(milliseconds(5'500));
  EXPECT_TRUE(core->finished());
}

TEST_F(CoreBench, EveryLeaseOfALostSessionIsToldOnce) {
  const SubjectId subject = Create({.steps = 1, .effects = "i"});
  Create({.steps = 1, .effects = "i"});
  StartCore();
  Settle();
  ASSERT_EQ(core->held(), 2);
  Advance(kTtl + milliseconds(100));  // a long pause
  ASSERT_TRUE(memory.Reap(10).ok());
  Settle();
  EXPECT_EQ(told.sessions_lost.size(), 1u);
  EndStep();  // its result is offered once, and refused; so is the other's release
  Live(milliseconds(3'000));
  EXPECT_EQ(told.lost.size(), 2u);
  EXPECT_EQ(core->counts().subjects_lost, 2);
  EXPECT_EQ(core->counts().fenced, 2);
  EXPECT_TRUE(core->live()) << "with a session of its own";
  EXPECT_TRUE(Look(subject).holder);
}

TEST_F(CoreBench, AnInboxThatIsRefusedIsALostLease) {
  const SubjectId subject = Create({.steps = 1, .effects = "i"});
  StartCore();
  Settle();
  ASSERT_TRUE(memory.ReleaseLease(subject, core->session(), Look(subject).token).ok());
  ASSERT_TRUE(memory.Claim({.session = memory.OpenSession({.worker_name = "other", .ttl = kTtl})->session}).ok());
  core->OnSubjectHint(clock.Steady(), subject);
  Settle();
  EXPECT_EQ(told.refused, 1);
  EXPECT_EQ(told.lost.size(), 1u);
  EXPECT_EQ(core->held(), 0);
}

// Heard from the store through ExecuteCommand, not only counted there.
TEST_F(CoreBench, AQuarantineAtTheClaimIsTold) {
  const SubjectId subject = Create({.steps = 1, .effects = "p"});
  const auto alive = memory.OpenSession({.worker_name = "alive", .ttl = milliseconds(3'600'000)});  // else it would be the fleet that died
  ASSERT_TRUE(alive.ok());
  KillSevenWorkers();
  StartCore();
  Live(5 * kTtl);  // only who has lived for a while may have it
  EXPECT_EQ(told.quarantined_at_claim, 1);
  EXPECT_EQ(core->counts().claims_quarantined, 1);
  EXPECT_EQ(core->held(), 0);
  EXPECT_TRUE(Look(subject).quarantined());
}

TEST_F(CoreBench, ADatabaseThatCameBackWithAnotherSchemaEndsTheSession) {
  StartCore();
  Advance(config.heartbeat_every);
  auto beat = Await<command::Heartbeat>();
  core->OnHeartbeat(clock.Steady(), clock.Steady(), beat.session, Error{Code::kConflict, "the database is newer than this program"});
  const auto open = Await<command::OpenSession>();
  EXPECT_EQ(told.sessions_lost.size(), 1u);
  core->OnSessionOpened(clock.Steady(), clock.Steady(), Error{Code::kConflict, "the database is newer than this program"});
  EXPECT_FALSE(core->live());
  EXPECT_EQ(told.unavailable.back(), "open a session");
  ExecuteOne(Await<command::OpenSession>());  // it asks again
  EXPECT_TRUE(core->live());
}

// ---- written by a newer program

struct NewerEvents : CoreBench {
  // A worker appends events and dies before it could say which version they need; this program reads them with these versions.
  SubjectId WithEvents(const std::vector<int>& versions) {
    const SubjectId subject = Create({.steps = 1, .effects = "p"});
    ClaimRequest request;
    request.session = memory.OpenSession({.worker_name = "newer", .ttl = kTtl})->session;
    Claimed claimed = memory.Claim(request)->claimed.at(0);
    CommitItem item;
    item.subject = subject;
    item.session = request.session;
    item.token = claimed.token;
    item.base_seq = claimed.head.seq;
    item.chain = claimed.head.chain;
    item.last_timestamp = claimed.db_now;
    for (int version : versions) {
      Event event;
      event.subject = subject;
      event.seq = item.base_seq + std::int64_t(item.events.size()) + 1;
      event.journal = claimed.head.journal;
      event.type = "signal.received";
      store.schema_version[event.seq] = version;
      event.token = claimed.token;
      event.timestamp = claimed.db_now;
      event.payload = "{}";
      Seal(event, item.chain);
      item.chain = event.chain;
      item.events.push_back(std::move(event));
    }
    item.state_root = claimed.head.state_root;
    item.disposition = Disposition::kRelease;
    item.requeue = true;
    item.expected_wake = claimed.wake;
    EXPECT_EQ(memory.Commit({&item, 1})->at(0).kind, CommitOutcome::Kind::kCommitted);
    return subject;
  }
};

TEST_F(NewerEvents, AtTheEndOfTheJournalAreForANewerWorker) {
  const SubjectId subject = WithEvents({EventSchemaVersion(), EventSchemaVersion() + 2});
  StartCore();
  Live(milliseconds(10'000));
  EXPECT_EQ(core->counts().claimed, 1) << "it is not claimed again and again";
  EXPECT_EQ(core->held(), 0);
  ASSERT_EQ(told.released.size(), 1u);
  EXPECT_NE(told.released[0].find(std::to_string(EventSchemaVersion() + 2)), std::string::npos) << told.released[0];
  EXPECT_TRUE(told.quarantines.empty());
  const MemorySubject left = Look(subject);
  EXPECT_FALSE(left.quarantined());
  EXPECT_FALSE(left.holder);
  EXPECT_EQ(left.required_version, EventSchemaVersion() + 2);
  ClaimRequest newer;
  newer.session = memory.OpenSession({.worker_name = "newer", .ttl = kTtl})->session;
  newer.known_version = EventSchemaVersion() + 2;
  EXPECT_EQ(memory.Claim(newer)->claimed.size(), 1u);
}

TEST_F(NewerEvents, BehindWhichAnOlderProgramWroteAreDamage) {
  const SubjectId subject = WithEvents({EventSchemaVersion() + 1, EventSchemaVersion()});
  StartCore();
  Live(milliseconds(1'000));
  EXPECT_EQ(told.quarantines.size(), 1u);
  EXPECT_TRUE(told.released.empty());
  EXPECT_TRUE(Look(subject).quarantined());
}

TEST_F(NewerEvents, OfAVersionThatNeverWasAreDamage) {
  const SubjectId subject = WithEvents({0});
  StartCore();
  Live(milliseconds(1'000));
  EXPECT_TRUE(Look(subject).quarantined());
}

}  // namespace
}  // namespace acl::test
