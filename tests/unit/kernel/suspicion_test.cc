#include "shared/kernel/suspicion.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

constexpr milliseconds kTtl{10'000};

Uuid Id(std::uint8_t n) {
  Uuid id;
  id.bytes[15] = n;
  return id;
}
WallTime At(int seconds) { return WallTime(std::chrono::seconds(1'800'000'000 + seconds)); }

TEST(SuspicionTest, DeathsCountUntilAStepCompletesOrTheHolderGivesItUp) {
  Suspicion now;
  now = NextSuspicion(now, LeaseEnd::kDied, false);
  EXPECT_EQ(now, (Suspicion{1, 0}));
  now = NextSuspicion(now, LeaseEnd::kDiedAlone, false);
  EXPECT_EQ(now, (Suspicion{2, 1}));
  now = NextSuspicion(now, LeaseEnd::kUncounted, false);
  EXPECT_EQ(now, (Suspicion{2, 1})) << "neither counted nor acquitted";
  EXPECT_EQ(NextSuspicion(now, LeaseEnd::kDied, true), (Suspicion{1, 0})) << "it died in the step after";
  EXPECT_EQ(NextSuspicion(now, LeaseEnd::kUncounted, true), Suspicion{});
  EXPECT_EQ(NextSuspicion(now, LeaseEnd::kOwnWill, false), Suspicion{});
}

TEST(SuspicionTest, FiveDeathsAloneAreJudgedAndOneMoreIsQuarantined) {
  EXPECT_FALSE(IsJudged({40, 4}));
  EXPECT_TRUE(IsJudged({7, 5}));
  EXPECT_TRUE(MustBeQuarantined({7, 5}, false));
  EXPECT_FALSE(MustBeQuarantined({7, 5}, true)) << "its holder fails the open step";
  EXPECT_TRUE(MustBeQuarantined({8, 6}, true));
  EXPECT_FALSE(MustBeQuarantined({1'000, 4}, false)) << "deaths in company judge nobody";
}

TEST(SuspicionTest, ATakeoverWaitsFromTheSecondOnFourSecondsAtMost) {
  EXPECT_EQ(TakeoverDelay(1), milliseconds(0));
  EXPECT_EQ(TakeoverDelay(2), milliseconds(1'000));
  EXPECT_EQ(TakeoverDelay(3), milliseconds(2'000));
  EXPECT_EQ(TakeoverDelay(4), milliseconds(4'000));
  EXPECT_EQ(TakeoverDelay(400), milliseconds(4'000));
}

// Whatever number of slots a worker has, soon only one suspect is left in a group.
TEST(SuspicionTest, GroupsShrinkToOne) {
  EXPECT_EQ(TrialGroup(64, 2), 16);
  EXPECT_EQ(TrialGroup(64, 3), 4);
  EXPECT_EQ(TrialGroup(64, 4), 1);
  EXPECT_EQ(TrialGroup(1, 2), 1);
  EXPECT_EQ(TrialGroup(10'000, 8), 1);
  EXPECT_EQ(TrialGroup(2'000'000'000, 1'000'000), 1);
}

TEST(SuspicionTest, TrialsDouble) {
  EXPECT_EQ(TrialTime(kTtl, 2), 2 * ProofTime(kTtl));
  EXPECT_EQ(TrialTime(kTtl, 3), 4 * ProofTime(kTtl));
  EXPECT_EQ(TrialTime(kTtl, 1'000'000), TrialTime(kTtl, 11)) << "and end";
}

TEST(SuspicionTest, OnlyAProvenWorkerIsGivenSuspects) {
  TrialBench bench{64, ProofTime(kTtl) - milliseconds(1), kTtl, 0, 0, 0, 4};
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 0);
  bench.age = ProofTime(kTtl);
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 16);
  EXPECT_EQ(SuspectsAdmitted(bench, 9), 1);
}

TEST(SuspicionTest, HalfOfTheFleetHasNoSuspects) {
  TrialBench bench{64, milliseconds(100'000), kTtl, 0, 0, 2, 4};
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 0);
  bench.others = 1;
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 16);
  bench.others = 0;
  bench.alive = 1;
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 16) << "a fleet of one has nobody else";
  bench.others = 1;
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 0);
}

TEST(SuspicionTest, AGroupIsFilledUpUnlessSomebodyWorseWaits) {
  TrialBench bench{64, milliseconds(100'000), kTtl, 15, 2, 2, 4};
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 1);
  EXPECT_EQ(SuspectsAdmitted(bench, 3), 0);
  bench.on_trial = 16;
  EXPECT_EQ(SuspectsAdmitted(bench, 2), 0);
}

TEST(SuspicionTest, TheOnlySuspectIsBlamedIfItsWorkerDiedInTheTrialAndTheFleetLived) {
  const Suspect one{Id(1), 2, At(0)}, two{Id(2), 2, At(0)};
  const std::vector<Suspect> alone{one}, both{one, two};
  WorkerDeath death{At(20), kTtl, 0, 0};
  EXPECT_EQ(Blame(alone, death), Id(1));
  EXPECT_EQ(Blame(both, death), std::nullopt);
  EXPECT_EQ(Blame({}, death), std::nullopt);
  death.at = At(60);
  EXPECT_EQ(Blame(alone, death), std::nullopt) << "it outlived the trial";
  death.at = At(20);
  death.others_died = 1;
  EXPECT_EQ(Blame(alone, death), std::nullopt);
  death.others_alive = 1;
  EXPECT_EQ(Blame(alone, death), std::nullopt);
  death.others_alive = 2;
  EXPECT_EQ(Blame(alone, death), Id(1));
}

// What kills slowly is met: the trial outgrows any time to live, after a few deaths more.
TEST(SuspicionTest, ASlowKillerIsJudgedToo) {
  const auto lives_for = std::chrono::minutes(20);
  Suspicion now{kSuspectFrom, 0};
  int deaths = 0;
  while (!MustBeQuarantined(now, false)) {
    ASSERT_LT(++deaths, 20);
    const std::vector<Suspect> alone{{Id(1), now.deaths, At(0)}};
    const bool blamed = Blame(alone, {At(0) + lives_for, kTtl, 0, 3}).has_value();
    now = NextSuspicion(now, blamed ? LeaseEnd::kDiedAlone : LeaseEnd::kDied, false);
  }
  EXPECT_EQ(now.alone, kJudgedAt);
}

}  // namespace
}  // namespace acl
