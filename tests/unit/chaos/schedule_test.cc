#include "chaos/plan/schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "chaos/faults/fault.h"

namespace acl::chaos {
namespace {

TEST(Schedule, TheSameSeedGivesTheSameAndAnotherAnother) {
  const Profile& quick = *FindProfile("quick");
  EXPECT_EQ(MakeSchedule(quick, 7), MakeSchedule(quick, 7));
  EXPECT_NE(MakeSchedule(quick, 7), MakeSchedule(quick, 8));
}

TEST(Schedule, EveryKindOfAProfileComesAsOftenAsItsDose) {
  for (const Profile& profile : Profiles()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      std::map<std::string, int> times;
      for (const auto& fault : MakeSchedule(profile, seed)) {
        ++times[fault.kind];
        EXPECT_GE(fault.hold, profile.hold);
        EXPECT_LE(fault.hold, 2 * profile.hold);
      }
      for (const auto& kind : profile.kinds) EXPECT_GE(times[kind], profile.dose) << profile.name << " seed " << seed << ": " << kind;
    }
  }
}

TEST(Schedule, GoesOnForAsLongAsIsAskedFor) {
  Profile profile = *FindProfile("quick");
  profile.at_least = milliseconds(60'000);
  milliseconds planned{0};
  for (const auto& fault : MakeSchedule(profile, 3)) planned += fault.rest + fault.hold;
  EXPECT_GE(planned, profile.at_least);
  profile.kinds.clear();  // nothing of it can be done here
  EXPECT_TRUE(MakeSchedule(profile, 3).empty());
}

TEST(Schedule, EveryKindOfEveryProfileIsAFault) {
  for (const Profile& profile : Profiles()) {
    for (const auto& kind : profile.kinds) EXPECT_NE(FindFaultKind(kind), nullptr) << profile.name << ": " << kind;
  }
  TestBed elsewhere;
  elsewhere.conninfo = "host=elsewhere";
  EXPECT_TRUE(UnsupportedReason(*FindFaultKind("kill-worker"), elsewhere).has_value());
  EXPECT_FALSE(UnsupportedReason(*FindFaultKind("lock-sessions"), elsewhere).has_value());
  EXPECT_TRUE(UnsupportedReason(*FindFaultKind("lock-sessions"), TestBed{}).has_value());
}

TEST(Schedule, PartsOfARunHaveSeedsOfTheirOwn) {
  EXPECT_NE(SubSeed(1, "faults"), SubSeed(1, "workload"));
  EXPECT_NE(SubSeed(1, "faults"), SubSeed(2, "faults"));
  EXPECT_EQ(SubSeed(1, "faults"), SubSeed(1, "faults"));
}

}  // namespace
}  // namespace acl::chaos
