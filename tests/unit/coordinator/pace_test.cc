#include "coordinator/pace.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;

TEST(Pace, WhoIsAloneIsNeverKept) {
  const SteadyTime now{std::chrono::hours(1)};
  Pace pace(8);
  const Crowd none, few{7, milliseconds(80)}, many{64, milliseconds(80)};
  EXPECT_LE(pace.Latest(many), now);  // the first of all
  EXPECT_EQ(pace.Enough(none), 1U);
  EXPECT_EQ(pace.Enough(few), 1U);
  pace.Went(1, now);
  EXPECT_LE(pace.Latest(many), now);  // after one that went alone, whoever else is in flight
  pace.Went(5, now);
  EXPECT_LE(pace.Latest(none), now);
}

TEST(Pace, AShareOfTheCrowdOrOfItsTime) {
  const SteadyTime now{std::chrono::hours(1)};
  Pace pace(8);
  pace.Went(5, now);
  EXPECT_EQ(pace.Enough({64, milliseconds(40)}), 8U);
  EXPECT_EQ(pace.Latest({64, milliseconds(40)}), now + milliseconds(5));
  EXPECT_EQ(pace.Latest({64, milliseconds(60'000)}), now + milliseconds(10));  // runs of a minute are no reason to wait for seconds
}

struct FlockTest : ::testing::Test {
  const SteadyTime now_{std::chrono::hours(1)};
  const Flock flock_{8};
  const Crowd crowd_{64, milliseconds(40)};
};

TEST_F(FlockTest, FewAreNoCrowd) {
  EXPECT_EQ(flock_.Await({0, milliseconds(0)}, now_, now_, 0, 1), std::nullopt);
  EXPECT_EQ(flock_.Await({7, milliseconds(80)}, now_, now_, 0, 1), std::nullopt);
}

TEST_F(FlockTest, WaitsWhileTheyCome) {
  const auto gap = std::chrono::microseconds(1'250);
  EXPECT_EQ(flock_.Await(crowd_, now_, now_, 0, 1), now_ + gap);
  EXPECT_EQ(flock_.Await(crowd_, now_, now_ + gap, 1, 3), now_ + 2 * gap);
  EXPECT_EQ(flock_.Await(crowd_, now_, now_ + 2 * gap, 3, 3), std::nullopt) << "nobody was close behind";
}

TEST_F(FlockTest, HalfOfTheCrowdIsEnough) {
  EXPECT_NE(flock_.Await(crowd_, now_, now_, 0, 31), std::nullopt);
  EXPECT_EQ(flock_.Await(crowd_, now_, now_, 0, 32), std::nullopt);
}

TEST_F(FlockTest, NobodyIsKeptForLong) {
  EXPECT_EQ(flock_.Await(crowd_, now_, now_ + milliseconds(4), 3, 4), now_ + milliseconds(5));
  EXPECT_EQ(flock_.Await(crowd_, now_, now_ + milliseconds(5), 4, 5), std::nullopt);
  const Crowd slow{64, milliseconds(60'000)};
  EXPECT_EQ(flock_.Await(slow, now_, now_, 0, 1), now_ + std::chrono::microseconds(2'500));
  EXPECT_EQ(flock_.Await(slow, now_, now_ + milliseconds(10), 1, 2), std::nullopt);
}

// However many come, and whenever: nobody is forgotten by who waits for more.
struct PacedTest : ApiFixture {};

TEST_F(PacedTest, EveryoneIsMadeAndTold) {
  const auto crowd = [] { return Crowd{64, milliseconds(16)}; };
  RunCreator creator(store_, [](const std::string&) {}, {}, {.crowd = crowd});
  ASSERT_TRUE(creator.Start());
  for (std::size_t count = 1; count < 24; ++count) {
    std::vector<std::future<bool>> told;
    for (std::size_t i = 0; i < count; ++i) {
      CreateItem item;
      item.subject = ids_.New<SubjectId>();
      item.kind = "workflow";
      auto made = std::make_shared<std::promise<bool>>();
      told.push_back(made->get_future());
      ASSERT_TRUE(creator.Add(std::move(item), [made](const Result<CreateOutcome>& outcome) { made->set_value(outcome.ok()); }));
    }
    for (auto& one : told) EXPECT_TRUE(one.get());
  }
  creator.Stop();
}

TEST_F(PacedTest, EveryEndIsTold) {
  for (std::size_t round = 0; round < 3; ++round) {
    std::vector<SubjectId> runs;
    std::vector<std::future<std::string>> told;
    for (std::size_t i = 0; i < 40; ++i) {
      const std::string id = Submit();
      Close(id);
      const SubjectId run{*Uuid::Parse(id)};
      auto ended = std::make_shared<std::promise<std::string>>();
      told.push_back(ended->get_future());
      runs.push_back(run);
      ASSERT_TRUE(ends_.Add(run, std::chrono::seconds(30), [ended](const std::optional<EndView>& end) { ended->set_value(end->status); }));
    }
    EXPECT_EQ(ends_.crowd().runs, 40U);
    for (const SubjectId& run : runs) ends_.Nudge(run);
    for (auto& one : told) {
      ASSERT_EQ(one.wait_for(std::chrono::seconds(30)), std::future_status::ready);
      EXPECT_EQ(one.get(), "COMPLETED");
    }
    EXPECT_EQ(ends_.crowd().runs, 0U);
    EXPECT_EQ(ends_.crowd().each, SteadyTime::duration(0));
  }
}

}  // namespace
}  // namespace acl::coordinator
