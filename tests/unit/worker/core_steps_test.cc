// What a worker does with the steps of what it holds: promises before it starts, and starts nothing it must not.
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

using Outcome = StepResult::Outcome;
using Kind = CommitOutcome::Kind;

TEST_F(CoreBench, AnEffectStartsOnlyAfterItsPromiseIsDurableAndThePromiseRidesWithTheLastResult) {
  StartCore();
  Create({.steps = 2, .effects = "i"});
  auto promise = Await<command::Commit>();
  ASSERT_EQ(promise.items->size(), 1u);
  EXPECT_EQ(promise.items->at(0).attempts.size(), 1u);
  EXPECT_EQ(promise.items->at(0).events.back().type, "step.started");
  EXPECT_TRUE(steps.empty()) << "not durable yet";
  EXPECT_EQ(core->running_steps(), 0);
  ExecuteOne(promise);
  Settle();
  ASSERT_EQ(steps.size(), 1u);

  EndStep();
  auto fused = Await<command::Commit>();
  ASSERT_EQ(fused.items->size(), 1u);
  EXPECT_EQ(fused.items->at(0).completions.size(), 1u) << "the result of step0";
  ASSERT_EQ(fused.items->at(0).attempts.size(), 1u) << "and the promise of step1, in one commit";
  EXPECT_EQ(fused.items->at(0).attempts[0].step_id, "step1");
}

TEST_F(CoreBench, APromiseThatJoinsNeedsNoRowOfItsOwn) {
  counter->joins = true;
  StartCore();
  const SubjectId subject = Create({.steps = 3, .effects = "i"});
  Live(milliseconds(500));
  EndStep();
  const auto fused = Await<command::Commit>();
  ASSERT_EQ(fused.items->size(), 1u);
  const CommitItem& item = fused.items->at(0);
  ASSERT_EQ(item.events.size(), 1u);
  EXPECT_EQ(item.events[0].type, "step.completed");
  const Json payload = Json::parse(*item.events[0].payload);
  EXPECT_EQ(payload["step_id"], "step0");
  ASSERT_EQ(payload["also"].size(), 1u);
  EXPECT_EQ(payload["also"][0]["type"], "step.started");
  EXPECT_EQ(payload["also"][0]["step_id"], "step1");
  EXPECT_TRUE(Verify(item.events[0], memory.Inspect(subject)->head.chain).ok()) << "sealed as it is read";
  EXPECT_EQ(payload["state_root"], ToHex(item.state_root)) << "of the state after both";
  ASSERT_EQ(item.completions.size(), 1u);
  EXPECT_EQ(item.completions[0].event_seq, item.events[0].seq);
  EXPECT_EQ(item.attempts.back().step_id, "step1");
  ExecuteOne(fused);
  Settle();
  EndStep();
  Settle();
  EndStep();
  Settle();
  EXPECT_TRUE(memory.Inspect(subject)->closed);
  const auto restored = Restore(subject, std::nullopt, memory.Inspect(subject)->events, [](const Hash256&) -> Result<std::string> {
    return Error{Code::kNotFound, "no chunks here"};
  });
  ASSERT_TRUE(restored) << restored.message();
  EXPECT_EQ(restored->state.Root(), memory.Inspect(subject)->head.state_root);
}

TEST_F(CoreBench, ManyHandsBuildAGroupCommit) {
  HelperThreads hands(3);
  helpers = &hands;
  config.step_slots = 40;  // for ten runs at once; thirty have something to say
  StartCore();
  std::vector<SubjectId> subjects;
  for (int i = 0; i < 30; ++i) subjects.push_back(Create({.steps = 3, .effects = "ipi"}));
  const auto first = Await<command::Commit>();
  EXPECT_GE(first.items->size(), 10u);
  EXPECT_TRUE(std::is_sorted(first.items->begin(), first.items->end(),
                             [](const CommitItem& a, const CommitItem& b) { return a.subject < b.subject; }));
  ExecuteOne(first);
  for (int ended = 0; ended < 90; ++ended) {
    Settle();
    ASSERT_LE(core->running_steps(), 40);
    ASSERT_FALSE(steps.empty()) << ended;
    EndStep();
  }
  Settle();
  for (const SubjectId& subject : subjects) {
    EXPECT_TRUE(Look(subject).closed);
    EXPECT_EQ(Look(subject).events.size(), Look(subjects.front()).events.size());
    EXPECT_EQ(Look(subject).head.state_root, Look(subjects.front()).head.state_root);
  }
}

TEST_F(CoreBench, AnotherCommitGoesBesideOneOnItsWayIfItIsWorthIt) {
  config.step_slots = 64;
  StartCore();
  std::vector<SubjectId> subjects;
  for (int i = 0; i < 8; ++i) subjects.push_back(Create({.steps = 1, .effects = "i"}));
  const auto first = Await<command::Commit>();
  ASSERT_EQ(first.items->size(), 8u);
  const SubjectId late = Create({.steps = 1, .effects = "i"});
  for (int round = 0; round < 100; ++round) {
    for (const Command& command : Take()) {
      EXPECT_FALSE(std::holds_alternative<command::Commit>(command)) << "one item beside eight waits";
      ExecuteOne(command);
    }
    Advance(milliseconds(10));
  }
  ASSERT_EQ(core->held(), 9);
  for (int i = 0; i < 3; ++i) Create({.steps = 1, .effects = "i"});
  const auto second = Await<command::Commit>();
  EXPECT_GE(second.items->size(), 4u);
  EXPECT_TRUE(std::any_of(second.items->begin(), second.items->end(), [&](const CommitItem& item) { return item.subject == late; }));
  EXPECT_NE(second.batch, first.batch);
  ExecuteOne(second);  // the answers come in any order
  ExecuteOne(first);
  Settle();
  EXPECT_EQ(steps.size(), 12u);
}

TEST_F(CoreBench, NothingStartsAfterTheTrustMargin) {
  StartCore();
  const SubjectId subject = Create({.steps = 1, .effects = "n"});
  const auto promise = Await<command::Commit>();
  Advance(kTtl - config.trust_margin);  // the answer comes late: by now another worker may be near
  ExecuteOne(promise);
  bool not_started = false;
  for (const Command& command : Take()) {
    EXPECT_FALSE(std::holds_alternative<command::RunStep>(command));
    if (const auto* commit = std::get_if<command::Commit>(&command)) {
      for (const Event& event : commit->items->at(0).events) not_started |= event.type == "attempt.not_started";
    }
    ExecuteOne(command);
  }
  EXPECT_TRUE(not_started);
  EXPECT_EQ(core->counts().steps_not_started, 1);
  Live(milliseconds(500));  // renewed: it starts as a new attempt
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].call.attempt_id, 2);
  EXPECT_EQ(EventsOf(subject, "attempt.not_started"), 1);
}

TEST_F(CoreBench, ARunnerThatDoesNotComeBackIsDropped) {
  const SubjectId subject = Create({.steps = 1, .effects = "i"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  const auto stop = steps[0].stop;
  Live(steps[0].call.step.timeout + config.runner_grace - milliseconds(200), milliseconds(100));
  EXPECT_EQ(core->counts().watchdog_drops, 0);
  Live(milliseconds(300));
  EXPECT_EQ(core->counts().watchdog_drops, 1);
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(told.ended, std::vector{Outcome::kTimedOut});
  EXPECT_EQ(EventsOf(subject, "step.attempt_failed"), 1);
  EndStep();  // it comes back after all
  Settle();
  EXPECT_EQ(EventsOf(subject, "step.completed"), 0);
}

TEST_F(CoreBench, ACallThatWaitsForItsTurnIsNotDropped) {
  Create({.steps = 1, .effects = "n"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  steps[0].stop.Wait();
  Live(3 * (steps[0].call.step.timeout + config.runner_grace), milliseconds(500));
  EXPECT_EQ(core->counts().watchdog_drops, 0) << "its time has not begun";
  EndStep();
  Settle();
  EXPECT_EQ(told.ended, std::vector{Outcome::kSucceeded});
}

// Its thread is not to be had: a worker that counted the slot as free would be ready and run nothing.
TEST_F(CoreBench, TheSlotOfADroppedStepIsNotFreeUntilItsRunnerComesBack) {
  config.step_slots = 2;
  Create({.steps = 1, .effects = "n"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  const auto drop = [&](std::size_t which) {
    Live(steps[which].call.step.timeout + config.runner_grace + milliseconds(100), milliseconds(100));
  };
  drop(0);
  EXPECT_EQ(core->lost_slots(), 1);
  const SubjectId second = Create({.steps = 1, .effects = "n"});
  Live(milliseconds(1'000), milliseconds(100));
  ASSERT_EQ(steps.size(), 2u) << "the other slot works on";
  drop(1);
  EXPECT_EQ(core->lost_slots(), 2);
  EXPECT_TRUE(Look(second).closed || core->held() == 0) << "what it held is released: others can run it";
  const SubjectId third = Create({.steps = 1, .effects = "n"});
  const std::int64_t claimed = core->counts().claimed;
  Live(milliseconds(2'000), milliseconds(100));
  EXPECT_EQ(core->counts().claimed, claimed) << "it claims nothing";
  EXPECT_EQ(steps.size(), 2u);

  const command::RunStep back = steps[0];
  core->OnStepDone(clock.Steady(), back.call.subject, back.call.token, back.call.step.step_id, back.call.attempt_id, StepResult());
  EXPECT_EQ(core->lost_slots(), 1);
  Live(milliseconds(2'000), milliseconds(100));
  EXPECT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps.back().call.subject, third);
}

// The worker's want is no failure of a run: others may have what it has not.
TEST_F(CoreBench, WhoIsShortOfSomethingGivesBackAndPauses) {
  struct Tells final : WorkerObserver {
    std::vector<std::string> said;
    void OnShortage(const std::string& of) override { said.push_back(of); }
    void OnShortageOver() override { said.emplace_back("over"); }
  } tells;
  const SubjectId subject = Create({.steps = 1, .effects = "n"});
  core = std::make_unique<WorkerCore>(config, kinds, random, &tells, helpers);
  core->Start(clock.Steady());
  Settle();
  const auto end_short = [&] {
    const command::RunStep step = steps.back();
    StepResult result;
    result.outcome = Outcome::kNotStarted;
    result.error = result.short_of = "disk full";
    core->OnStepDone(clock.Steady(), step.call.subject, step.call.token, step.call.step.step_id, step.call.attempt_id, result);
    Settle();
  };
  ASSERT_EQ(steps.size(), 1u);
  end_short();
  EXPECT_TRUE(core->is_short());
  EXPECT_EQ(core->held(), 0) << "another worker may have room";
  EXPECT_FALSE(Look(subject).closed);
  const std::int64_t claimed = core->counts().claimed;
  Live(config.shortage_min - milliseconds(100), milliseconds(100));
  EXPECT_EQ(core->counts().claimed, claimed);
  Live(milliseconds(1'000), milliseconds(100));
  ASSERT_EQ(steps.size(), 2u) << "it tries again";
  end_short();
  Live(2 * config.shortage_min - milliseconds(100), milliseconds(100));
  EXPECT_EQ(steps.size(), 2u) << "more and more rarely";
  Live(milliseconds(1'000), milliseconds(100));
  ASSERT_EQ(steps.size(), 3u);
  steps.erase(steps.begin(), steps.end() - 1);
  EndStep();
  Live(3 * config.shortage_min, milliseconds(100));
  EXPECT_FALSE(core->is_short());
  EXPECT_TRUE(Look(subject).closed);
  EXPECT_EQ(tells.said, (std::vector<std::string>{"disk full", "over"})) << "once for each change";
}

TEST_F(CoreBench, WhatADroppedRunnerDidIsNotDoneAgainIfThatDoesHarm) {
  Create({.steps = 1, .effects = "n"});
  StartCore();
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  Live(steps[0].call.step.timeout + config.runner_grace + milliseconds(100), milliseconds(100));
  EXPECT_EQ(core->counts().watchdog_drops, 1);
  EXPECT_EQ(told.ended, std::vector{Outcome::kUnknown});
  EXPECT_EQ(steps.size(), 1u) << "a person says";
}

// What has begun goes first: one look in four is for the run that has not.
TEST_F(CoreBench, ABusyRunGivesWayToAnotherOne) {
  config.run_slots = 1;
  config.subject.fairness_items = 2;
  const SubjectId first = Create({.steps = 16, .effects = "p"}), second = Create({.steps = 16, .effects = "p"});
  StartCore();
  std::vector<SubjectId> order;
  for (int i = 0; i < 32; ++i) {
    for (int wait = 0; steps.empty() && wait < 100; ++wait) Live(milliseconds(10), milliseconds(10));
    ASSERT_FALSE(steps.empty()) << "step " << i;
    order.push_back(EndStep().call.subject);
    Live(milliseconds(1), milliseconds(1));
  }
  Settle();
  EXPECT_TRUE(Look(first).closed);
  EXPECT_TRUE(Look(second).closed);
  const auto begun = std::find(order.begin(), order.end(), order.front() == first ? second : first) - order.begin();
  EXPECT_LT(begun, 16) << "the second began before the first had ended";
}

TEST_F(CoreBench, ABusyItemGoesAgain) {
  StartCore();
  const SubjectId subject = Create({.steps = 1, .effects = "i"});
  const auto promise = Await<command::Commit>();
  memory.LockLease(subject);
  ExecuteOne(promise);
  EXPECT_EQ(core->counts().busy, 1);
  const auto again = Await<command::Commit>();
  ASSERT_EQ(again.items->size(), 1u);
  EXPECT_EQ(again.items->at(0).chain, promise.items->at(0).chain) << "the same item";
  EXPECT_TRUE(steps.empty());
  memory.UnlockLease(subject);
  ExecuteOne(again);
  Settle();
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(EventsOf(subject, "step.started"), 1);
}

TEST_F(CoreBench, AnUnknownCommitThatLandedIsReadBackAndNotSentAgain) {
  const SubjectId subject = Create({.steps = 2, .effects = "i"});
  StartCore();
  Settle();
  EndStep();
  store.FailNext("Commit", FaultyStore::Fault::kLostAnswer);
  ExecuteOne(Await<command::Commit>());
  EXPECT_EQ(core->counts().unknown_commits, 1);
  EXPECT_TRUE(steps.empty()) << "step1 is promised, but nobody knows yet";
  const auto back = Await<command::ReadBack>();
  ASSERT_EQ(back.items->size(), 1u);
  ExecuteOne(back);
  EXPECT_EQ(core->counts().unknown_landed, 1);
  EXPECT_EQ(told.found_recorded, 1u) << "the completion of step0";
  EXPECT_GT(told.batches.back(), SteadyTime::duration::zero()) << "counted from when it was first sent";
  Settle();
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(EventsOf(subject, "step.completed"), 1);
}

TEST_F(CoreBench, AnUnknownCommitThatDidNotLandIsSentAgainAfterReadingBack) {
  StartCore();
  const SubjectId subject = Create({.steps = 1, .effects = "i"});
  store.FailNext("Commit", FaultyStore::Fault::kLostRequest);
  ExecuteOne(Await<command::Commit>());
  ExecuteOne(Await<command::ReadBack>());
  EXPECT_EQ(core->counts().unknown_landed, 0);
  Live(milliseconds(500));
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(EventsOf(subject, "step.started"), 1);
}

// State of many entries; an input changes one of them. Only changed chunks are sent with the next snapshot.
class BigKind final : public SubjectKind {
 public:
  std::string_view Name() const override { return "big"; }
  Decision Decide(const Document&, const Input& input, WallTime) const override {
    Decision decision;
    if (const auto* inbox = std::get_if<InboxInput>(&input)) decision.events.push_back({"big.touched", inbox->payload, {}});
    return decision;
  }
  Delta Evolve(const Document&, const EventDraft& draft) const override {
    Json delta = Json::array();
    const std::string text(100, 'x');
    if (draft.type == "big.created") {
      for (int i = 0; i < 1'000; ++i) delta.push_back({{"op", "add"}, {"path", "/e" + std::to_string(i)}, {"value", text}});
    } else {
      delta.push_back({{"op", "add"}, {"path", "/e7"}, {"value", text + DumpJson(draft.facts)}});
    }
    return delta;
  }
  Next WhatNext(const Document&, const NextContext&) const override {
    Next next;
    next.waiting = Waiting{"signal", std::nullopt};
    return next;
  }
};

// Each input adds an entry: a state that grows nearly as fast as what is written to change it.
class GrowingKind final : public SubjectKind {
 public:
  std::string_view Name() const override { return "growing"; }
  Decision Decide(const Document&, const Input& input, WallTime) const override {
    Decision decision;
    if (const auto* inbox = std::get_if<InboxInput>(&input)) decision.events.push_back({"grown", inbox->payload, {}});
    return decision;
  }
  Delta Evolve(const Document&, const EventDraft& draft) const override {
    const int n = draft.facts.value("n", 0);
    const std::string text(std::size_t(n == 0 ? 3'000 : 400), 'x');
    return Json::array({{{"op", "add"}, {"path", "/e" + std::to_string(n)}, {"value", text}}});
  }
  Next WhatNext(const Document&, const NextContext&) const override {
    Next next;
    next.waiting = Waiting{"signal", std::nullopt};
    return next;
  }
};

// Whether a snapshot comes is asked before a commit and decided after it: a run that waits for one which never comes would be held for
// ever.
TEST_F(CoreBench, NobodyIsHeldForASnapshotThatDoesNotCome) {
  auto growing = std::make_shared<GrowingKind>();
  kinds.Add(growing);
  CreateItem item;
  item.subject = SubjectId{ids.Make()};
  item.kind = "growing";
  Document state;
  item.events.push_back(*FoldDraft(*growing, state, {"grown", Json::object(), {}}));
  item.state_root = state.Root();
  const SubjectId subject = Create(std::move(item));
  StartCore();
  for (int n = 1; n <= 200; ++n) {
    ASSERT_TRUE(memory.Post({subject, InboxId{ids.Make()}, "grow", DumpJson(Json{{"n", n}}), std::nullopt}).ok());
    Live(milliseconds(1'000));
    ASSERT_FALSE(Look(subject).holder) << n << " inputs: it waits, and is held";
  }
  EXPECT_FALSE(Look(subject).snapshots.empty());
}

TEST_F(CoreBench, ASnapshotSendsOnlyTheChunksThatChanged) {
  auto big = std::make_shared<BigKind>();
  kinds.Add(big);
  CreateItem item;
  item.subject = SubjectId{ids.Make()};
  item.kind = "big";
  Document state;
  item.events.push_back(*FoldDraft(*big, state, {"big.created", Json::object(), {}}));
  item.state_root = state.Root();
  const SubjectId subject = Create(std::move(item));
  StartCore();
  int number = 0;
  const auto touch = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(memory.Post({subject, InboxId{ids.Make()}, "touch", DumpJson(Json{{"n", ++number}}), std::nullopt}).ok());
    }
    Live(milliseconds(1'000));
  };
  // One delta is as large as the whole state at creation: due after 32 events, then after 512 at the latest.
  for (int i = 0; i < 8 && store.sent.empty(); ++i) touch(100);
  ASSERT_EQ(store.sent.size(), 1u);
  touch(1);  // the snapshot's row goes with the next item
  for (int i = 0; i < 8 && store.sent.size() < 2; ++i) touch(100);
  ASSERT_EQ(store.sent.size(), 2u);
  EXPECT_GT(store.sent[0], 100'000u);
  EXPECT_LT(store.sent[1], 2 * kChunkBytes) << "one entry changed";
  touch(1);
  const auto snapshots = Look(subject).snapshots;
  ASSERT_EQ(snapshots.size(), 2u);
  EXPECT_GT(snapshots[1].created_at, snapshots[0].created_at);
}

// After a takeover much is waiting: claims grow while they find all that they ask for, and begin small again.
TEST_F(CoreBench, ClaimsGrowWhileTheyComeBackFull) {
  config.claim_batch = 2;
  config.largest_claim = 8;
  config.run_slots = 100;
  StartCore();
  for (int i = 0; i < 29; ++i) Create({.steps = 1, .effects = "p"});
  core->OnWorkHint(clock.Steady());
  std::vector<int> asked;
  while (core->held() < 29) {
    const auto claim = Await<command::Claim>();
    asked.push_back(claim.request.max);
    ExecuteOne(claim);
  }
  EXPECT_EQ(asked, (std::vector{2, 4, 8, 8, 8})) << "no larger, and the last found all there was";
  core->OnWorkHint(clock.Steady());
  EXPECT_EQ(Await<command::Claim>().request.max, 2);
}

}  // namespace
}  // namespace acl::test
