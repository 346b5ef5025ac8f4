// Store conformance: which run or dispatch is to blame when a worker dies (shared/kernel/suspicion.h).
#include <gmock/gmock.h>

#include <algorithm>

#include "shared/base/uuid7.h"
#include "shared/kernel/dispatch.h"
#include "shared/kernel/suspicion.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class SuspicionConformance : public StoreConformance {
 protected:
  static constexpr milliseconds kTtl{100'000};
  static constexpr const char* kDispatchQueue = "conformance-dispatches";

  // A worker that is heard of until it dies. With so many slots a group of suspects that were in two deaths is a quarter of them.
  WorkerSessionId Worker(int slots = 8) {
    SessionRequest request{"worker", "localhost", 1, slots, {queue_, kDispatchQueue}, "test", kTtl};
    auto grant = store().OpenSession(request);
    EXPECT_TRUE(grant) << grant.error();
    alive_.push_back(grant->session);
    return grant->session;
  }
  void Beat() {
    for (const WorkerSessionId& session : alive_) EXPECT_TRUE(store().Heartbeat(session, kTtl));
  }
  void Live(milliseconds time) {
    for (; time.count() > 0; time -= milliseconds(50'000)) {
      Advance(std::min(time, milliseconds(50'000)));
      Beat();
    }
  }
  WorkerSessionId ProvenWorker(int slots = 8) {
    const WorkerSessionId session = Worker(slots);
    Live(ProofTime(kTtl) + milliseconds(1'000));
    return session;
  }
  // These end without a word, the others live on. What they held waits no longer than a minute for its next worker.
  void Die(const std::vector<WorkerSessionId>& sessions) {
    for (const WorkerSessionId& session : sessions) std::erase(alive_, session);
    Advance(milliseconds(60'000));
    Beat();
    Advance(milliseconds(41'000));
    auto reaped = store().Reap(1'000);
    ASSERT_TRUE(reaped) << reaped.error();
    EXPECT_EQ(reaped->sessions_died, int(sessions.size()));
    Beat();
    Live(milliseconds(10'000));
  }
  void Die(const WorkerSessionId& session) { Die(std::vector{session}); }
  // What one claim of all that is ready gets of these subjects.
  ClaimAnswer ClaimAll(const WorkerSessionId& session, int dispatches = 0) {
    ClaimRequest request = Request(session, 100);
    request.queues = {queue_, kDispatchQueue};
    request.max_dispatches = dispatches;
    auto answer = store().Claim(request);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? std::move(*answer) : ClaimAnswer{};
  }
  ClaimAnswer ClaimNamed(const WorkerSessionId& session, const ReadyKey& key) {
    ClaimRequest request = Request(session, 1);
    request.keys = {key};
    auto answer = store().Claim(request);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? std::move(*answer) : ClaimAnswer{};
  }
  // It was held by two workers that died, and is ready.
  void MakeSuspects(int count, std::vector<SubjectId>* subjects) {
    for (int i = 0; i < count; ++i) subjects->push_back(Create());
    for (int death = 0; death < kSuspectFrom; ++death) {
      const WorkerSessionId victim = Worker(64);
      ASSERT_THAT(ClaimAll(victim).claimed, SizeIs(count)) << "whoever was in one death is granted as ever";
      Die(victim);
    }
  }
  SubjectId MakeSuspect() {
    std::vector<SubjectId> one;
    MakeSuspects(1, &one);
    return one.at(0);
  }
  Suspicion LastGrant(const SubjectId& subject) {
    auto grants = queries().Grants(subject);
    EXPECT_TRUE(grants && !grants->empty());
    return {grants->back().takeovers_without_progress, grants->back().died_alone};
  }
  // A step completes.
  void Complete(const Claimed& claimed, const WorkerSessionId& session) {
    Holder holder(claimed, session);
    CommitItem item = holder.Item(1);
    item.attempts.push_back(Attempt("done-" + NewUuid7().ToString()));
    item.completions.push_back(Completion(item.attempts[0].step_id, 1, item.events[0].seq));
    MustCommit(holder, item);
  }

  std::vector<WorkerSessionId> alive_;
};

TEST_P(SuspicionConformance, ASuspectWaitsForAWorkerThatHasProvenItself) {
  Worker();  // and another that lives
  const SubjectId subject = MakeSuspect();
  EXPECT_EQ(View(subject).state, OpenState::kReady);
  auto backlog = queries().ReadBacklog();
  ASSERT_TRUE(backlog);
  EXPECT_EQ(backlog->suspects_waiting, 1);
  EXPECT_EQ(backlog->suspects_held, 0);
  const WorkerSessionId fresh = Worker();
  EXPECT_THAT(ClaimAll(fresh).claimed, IsEmpty()) << "what dies soon after its start has another reason";
  Live(ProofTime(kTtl));
  ASSERT_THAT(ClaimAll(fresh).claimed, SizeIs(1));
  EXPECT_EQ(LastGrant(subject), (Suspicion{2, 0}));
  backlog = queries().ReadBacklog();
  EXPECT_EQ(backlog->suspects_waiting, 0);
  EXPECT_EQ(backlog->suspects_held, 1);
}

TEST_P(SuspicionConformance, OnlyACompletedStepIsProgress) {
  Worker();
  const SubjectId subject = Create();
  for (int death = 0; death < 2; ++death) {
    const WorkerSessionId victim = Worker();
    auto claimed = ClaimAll(victim).claimed;
    ASSERT_THAT(claimed, SizeIs(1));
    EXPECT_EQ(claimed[0].takeovers_without_progress, death) << "an attempt that began, and other events, are none";
    Holder holder(claimed[0], victim);
    CommitItem item = holder.Item(2);
    item.attempts.push_back(Attempt("step", death + 1));
    MustCommit(holder, item);
    Die(victim);
  }
  const WorkerSessionId worker = ProvenWorker();
  auto claimed = ClaimAll(worker).claimed;
  ASSERT_THAT(claimed, SizeIs(1));
  EXPECT_EQ(claimed[0].takeovers_without_progress, 2);
  Complete(claimed[0], worker);
  Die(worker);
  ASSERT_THAT(ClaimAll(Worker()).claimed, SizeIs(1)) << "acquitted: any worker may have it";
  EXPECT_EQ(LastGrant(subject), (Suspicion{1, 0})) << "in the step after";
}

TEST_P(SuspicionConformance, OnlyTheOnlySuspectOfADeadWorkerIsBlamed) {
  Worker();
  std::vector<SubjectId> subjects;
  MakeSuspects(2, &subjects);
  const WorkerSessionId both = ProvenWorker(8);  // a group of two
  ASSERT_THAT(ClaimAll(both).claimed, SizeIs(2));
  Die(both);
  const WorkerSessionId one = ProvenWorker(8);
  auto claimed = ClaimAll(one).claimed;
  ASSERT_THAT(claimed, SizeIs(1)) << "narrowed: they were in three deaths";
  EXPECT_EQ(claimed[0].takeovers_without_progress, 3);
  EXPECT_EQ(claimed[0].died_alone, 0) << "it was not alone";
  Die(one);
  const WorkerSessionId next = ProvenWorker(8);
  auto again = ClaimAll(next).claimed;
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].subject, claimed[0].subject) << "the worst goes first";
  EXPECT_EQ(again[0].takeovers_without_progress, 4);
  EXPECT_EQ(again[0].died_alone, 1);
  EXPECT_EQ(LastGrant(again[0].subject), (Suspicion{4, 1}));
}

TEST_P(SuspicionConformance, AfterFiveDeathsAloneItIsQuarantinedAndTheOthersGoOn) {
  Worker();
  const SubjectId killer = MakeSuspect();
  for (int alone = 0; alone < kJudgedAt; ++alone) {
    const WorkerSessionId victim = ProvenWorker();
    const SubjectId innocent = Create();
    auto claimed = ClaimAll(victim).claimed;
    ASSERT_THAT(claimed, SizeIs(2)) << "whoever is no suspect runs beside one";
    EXPECT_EQ(LastGrant(killer), (Suspicion{2 + alone, alone}));
    Die(victim);
    const WorkerSessionId other = Worker();
    auto taken = ClaimAll(other).claimed;
    ASSERT_THAT(taken, SizeIs(1));
    EXPECT_EQ(taken[0].subject, innocent);
    EXPECT_EQ(taken[0].takeovers_without_progress, 1);
    EXPECT_EQ(taken[0].died_alone, 0);
    Complete(taken[0], other);
  }
  const WorkerSessionId last = ProvenWorker();
  ClaimAnswer answer = ClaimAll(last);
  EXPECT_THAT(answer.claimed, IsEmpty());
  EXPECT_EQ(answer.quarantined, 1);
  EXPECT_EQ(View(killer).state, OpenState::kQuarantined);
  auto quarantined = queries().Quarantined(false);
  ASSERT_TRUE(quarantined);
  ASSERT_THAT(*quarantined, SizeIs(1));
  EXPECT_EQ(quarantined->at(0).subject, killer);
  EXPECT_EQ(quarantined->at(0).reason, "kills_its_worker");
  EXPECT_THAT(quarantined->at(0).detail, ::testing::HasSubstr("5 workers died while it was the only suspect on them, 7 in all"));
  // A person's release counts from zero again.
  ASSERT_TRUE(store().ReleaseQuarantine(killer, "anna"));
  ASSERT_THAT(ClaimAll(Worker()).claimed, SizeIs(1));
  EXPECT_EQ(LastGrant(killer), Suspicion{});
}

TEST_P(SuspicionConformance, WhoeverHoldsItMayFailItsOpenStepBeforeTheRunIsQuarantined) {
  Worker();
  SubjectId killer = Create();
  int deaths = 0;
  ClaimAnswer answer;
  for (; deaths < 20 && answer.quarantined == 0; ++deaths) {
    const WorkerSessionId victim = ProvenWorker();
    answer = ClaimAll(victim);
    if (answer.quarantined > 0) break;
    ASSERT_THAT(answer.claimed, SizeIs(1));
    EXPECT_EQ(answer.claimed[0].died_alone, std::max(0, deaths - 2));
    if (deaths == 0) {
      Holder holder(answer.claimed[0], victim);
      CommitItem item = holder.Item(1);
      item.attempts.push_back(Attempt("kills"));
      MustCommit(holder, item);
    }
    Die(victim);
  }
  EXPECT_EQ(deaths, 2 + kJudgedAt + 1) << "granted once more after the fifth death alone, to be failed";
  EXPECT_EQ(View(killer).state, OpenState::kQuarantined);
}

TEST_P(SuspicionConformance, AtMostHalfOfTheFleetHasSuspects) {
  std::vector<SubjectId> subjects;
  Worker();
  MakeSuspects(3, &subjects);
  const WorkerSessionId one = ProvenWorker(4), two = ProvenWorker(4);  // three live, and a group is one
  ASSERT_THAT(ClaimAll(one).claimed, SizeIs(1));
  EXPECT_THAT(ClaimAll(one).claimed, IsEmpty()) << "it has one on trial";
  EXPECT_THAT(ClaimAll(two).claimed, IsEmpty());
  Worker();  // the fourth
  ASSERT_THAT(ClaimAll(two).claimed, SizeIs(1));
}

TEST_P(SuspicionConformance, TheNextComesWhenTheOneOnTrialMadeProgressOrItsTrialIsOver) {
  std::vector<SubjectId> subjects;
  Worker();
  MakeSuspects(3, &subjects);
  const WorkerSessionId worker = ProvenWorker(4);
  auto claimed = ClaimAll(worker).claimed;
  ASSERT_THAT(claimed, SizeIs(1));
  Complete(claimed[0], worker);
  ASSERT_THAT(ClaimAll(worker).claimed, SizeIs(1)) << "a step completed";
  EXPECT_THAT(ClaimAll(worker).claimed, IsEmpty());
  Live(TrialTime(kTtl, 2) + milliseconds(1'000));
  ASSERT_THAT(ClaimAll(worker).claimed, SizeIs(1)) << "its worker lived";
  Die(worker);
  const WorkerSessionId next = ProvenWorker(64);
  EXPECT_THAT(ClaimAll(next).claimed, SizeIs(3));
  int blamed = 0;
  for (const SubjectId& subject : subjects) blamed += LastGrant(subject).alone;
  EXPECT_EQ(blamed, 0) << "two without progress, and one acquitted";
}

TEST_P(SuspicionConformance, AWorkerThatOutlivedTheTrialDiedOfSomethingElse) {
  Worker();
  const SubjectId subject = MakeSuspect();
  const WorkerSessionId worker = ProvenWorker();
  ASSERT_THAT(ClaimAll(worker).claimed, SizeIs(1));
  Live(TrialTime(kTtl, 2) + milliseconds(1'000));
  Die(worker);
  ASSERT_THAT(ClaimAll(ProvenWorker()).claimed, SizeIs(1));
  EXPECT_EQ(LastGrant(subject), (Suspicion{3, 0})) << "not blamed; the next trial is twice as long";
}

TEST_P(SuspicionConformance, AFleetThatDiesForOtherReasonsBlamesNobody) {
  Worker();
  const SubjectId subject = MakeSuspect();
  for (int round = 0; round < 2 * kJudgedAt; ++round) {
    const WorkerSessionId worker = ProvenWorker(), other = Worker(), another = Worker();
    ASSERT_THAT(ClaimAll(worker).claimed, SizeIs(1)) << "round " << round;
    Die(other);  // one after another, with nothing on them
    Die(another);
    Die(worker);
    EXPECT_EQ(LastGrant(subject).alone, 0);
  }
}

TEST_P(SuspicionConformance, WhatDiesTogetherWithHalfOfTheFleetIsNotCounted) {
  const SubjectId subject = Create();
  for (int round = 0; round < 3; ++round) {
    const WorkerSessionId worker = Worker(), other = Worker();
    ASSERT_THAT(ClaimAll(worker).claimed, SizeIs(1));
    Die({worker, other});
    EXPECT_EQ(LastGrant(subject), Suspicion{});
  }
}

TEST_P(SuspicionConformance, AReleaseAcquitsAndGivingBackDoesNot) {
  Worker();
  const SubjectId subject = MakeSuspect();
  const WorkerSessionId worker = ProvenWorker();
  auto claimed = ClaimAll(worker).claimed;
  ASSERT_THAT(claimed, SizeIs(1));
  ASSERT_TRUE(store().ReleaseLease(subject, worker, claimed[0].token));
  EXPECT_THAT(ClaimAll(Worker()).claimed, IsEmpty()) << "nothing of it ran: it is a suspect still";
  claimed = ClaimAll(worker).claimed;
  ASSERT_THAT(claimed, SizeIs(1));
  EXPECT_EQ(LastGrant(subject), (Suspicion{2, 0}));
  Holder quiet(claimed[0], worker);
  CommitItem untouched = quiet.Item(0, Disposition::kRelease);
  untouched.requeue = true;
  MustCommit(quiet, untouched);
  EXPECT_THAT(ClaimAll(Worker()).claimed, IsEmpty())
      << "its contents could not be read, or there was no memory to decide: nothing of it ran";
  claimed = ClaimAll(worker).claimed;
  ASSERT_THAT(claimed, SizeIs(1));
  EXPECT_EQ(LastGrant(subject), (Suspicion{2, 0}));
  Holder holder(claimed[0], worker);
  CommitItem release = holder.Item(1, Disposition::kRelease);
  release.requeue = true;
  MustCommit(holder, release);
  ASSERT_THAT(ClaimAll(Worker()).claimed, SizeIs(1)) << "its holder lived and gave it up";
  EXPECT_EQ(LastGrant(subject), Suspicion{});
}

TEST_P(SuspicionConformance, AMessageThatNamesASuspectIsPassedByButByWhoeverMayHaveIt) {
  Worker();
  const SubjectId subject = MakeSuspect();
  MustPost(NewPost(subject));  // a second ready row, that does not say so
  const WorkerSessionId fresh = Worker();
  std::vector<ReadyKey> named;
  for (int shard = 0; shard < kReadyShards; ++shard) {
    auto due = store().DueReadyOf(shard, {}, 10);
    ASSERT_TRUE(due) << due.error();
    for (const DueRow& row : due->rows) {
      named.push_back(row.key);
      EXPECT_THAT(ClaimNamed(fresh, row.key).claimed, IsEmpty());
    }
  }
  ASSERT_THAT(named, SizeIs(2));
  EXPECT_THAT(ClaimAll(fresh).claimed, IsEmpty());
  Live(ProofTime(kTtl));
  // (The rows were moved back in time meanwhile, as far as PostgreSQL is concerned.)
  auto due = store().DueReadyOf(ReadyShard(subject), {}, 10);
  ASSERT_TRUE(due && due->rows.size() == 2u);
  EXPECT_THAT(ClaimNamed(fresh, due->rows.front().key).claimed, SizeIs(1));
}

// ---- dispatches

TEST_P(SuspicionConformance, ATaskIsBlamedByTheSameRule) {
  Worker();
  const WorkerSessionId home = Worker();
  Holder holder = ClaimNew(home);
  const auto offer = [&](int attempt) {
    CommitItem item = holder.Item(1, Disposition::kKeep);
    item.attempts.push_back(Attempt("kills", attempt));
    item.dispatches.push_back({"kills", attempt, kDispatchQueue, 1, "{}", std::nullopt});
    MustCommit(holder, item);
  };
  const auto counted = [&] {
    auto inbox = store().ReadInbox(holder.subject(), holder.token());
    EXPECT_TRUE(inbox && !inbox->rows.empty());
    return ParseJson(inbox->rows.back().payload)->at("counted").get<bool>();
  };
  int attempt = 0;
  for (; attempt < kSuspectFrom; ++attempt) {
    offer(attempt + 1);
    const WorkerSessionId victim = Worker();
    ASSERT_THAT(ClaimAll(victim, 10).dispatches, SizeIs(1));
    Die(victim);
    EXPECT_FALSE(counted());
  }
  offer(++attempt);
  const WorkerSessionId fresh = Worker();
  EXPECT_THAT(ClaimAll(fresh, 10).dispatches, IsEmpty());
  EXPECT_THAT(ClaimAll(fresh, 10).dispatches, IsEmpty());
  Live(ProofTime(kTtl));
  const SubjectId innocent = Create();
  EXPECT_EQ(ClaimAll(fresh, 0).claimed.size(), 1u) << "no room for dispatches";
  ASSERT_THAT(ClaimAll(fresh, 10).dispatches, SizeIs(1));
  Die(fresh);
  EXPECT_TRUE(counted());
  auto taken = ClaimAll(Worker()).claimed;
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].subject, innocent);
  EXPECT_EQ(taken[0].died_alone, 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, SuspicionConformance, ::testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
