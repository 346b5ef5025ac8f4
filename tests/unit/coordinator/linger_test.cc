#include "coordinator/linger.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;

TEST(BatchInterval, WhoIsAloneIsNeverKept) {
  const SteadyTime now{std::chrono::hours(1)};
  BatchInterval interval(8);
  const InFlightLoad none, few{7, milliseconds(80)}, many{64, milliseconds(80)};
  EXPECT_LE(interval.Latest(many), now);  // the first of all
  EXPECT_EQ(interval.Enough(none), 1U);
  EXPECT_EQ(interval.Enough(few), 1U);
  interval.Went(1, now);
  EXPECT_LE(interval.Latest(many), now);  // after one that went alone, whoever else is in flight
  interval.Went(5, now);
  EXPECT_LE(interval.Latest(none), now);
}

TEST(BatchInterval, AShareOfTheLoadOrOfItsTime) {
  const SteadyTime now{std::chrono::hours(1)};
  BatchInterval interval(8);
  interval.Went(5, now);
  EXPECT_EQ(interval.Enough({64, milliseconds(40)}), 8U);
  EXPECT_EQ(interval.Latest({64, milliseconds(40)}), now + milliseconds(5));
  EXPECT_EQ(interval.Latest({64, milliseconds(60'000)}), now + milliseconds(10));  // runs of a minute are no reason to wait for seconds
}

struct LingerWindowTest : ::testing::Test {
  const SteadyTime now_{std::chrono::hours(1)};
  const LingerWindow linger_{8};
  const InFlightLoad load_{64, milliseconds(40)};
};

TEST_F(LingerWindowTest, FewAreNoLoad) {
  EXPECT_EQ(linger_.Await({0, milliseconds(0)}, now_, now_, 0, 1), std::nullopt);
  EXPECT_EQ(linger_.Await({7, milliseconds(80)}, now_, now_, 0, 1), std::nullopt);
}

TEST_F(LingerWindowTest, WaitsWhileTheyCome) {
  const auto gap = std::chrono::microseconds(1'250);
  EXPECT_EQ(linger_.Await(load_, now_, now_, 0, 1), now_ + gap);
  EXPECT_EQ(linger_.Await(load_, now_, now_ + gap, 1, 3), now_ + 2 * gap);
  EXPECT_EQ(linger_.Await(load_, now_, now_ + 2 * gap, 3, 3), std::nullopt) << "nobody was close behind";
}

TEST_F(LingerWindowTest, HalfOfTheLoadIsEnough) {
  EXPECT_NE(linger_.Await(load_, now_, now_, 0, 31), std::nullopt);
  EXPECT_EQ(linger_.Await(load_, now_, now_, 0, 32), std::nullopt);
}

TEST_F(LingerWindowTest, NobodyIsKeptForLong) {
  EXPECT_EQ(linger_.Await(load_, now_, now_ + milliseconds(4), 3, 4), now_ + milliseconds(5));
  EXPECT_EQ(linger_.Await(load_, now_, now_ + milliseconds(5), 4, 5), std::nullopt);
  const InFlightLoad slow{64, milliseconds(60'000)};
  EXPECT_EQ(linger_.Await(slow, now_, now_, 0, 1), now_ + std::chrono::microseconds(2'500));
  EXPECT_EQ(linger_.Await(slow, now_, now_ + milliseconds(10), 1, 2), std::nullopt);
}

// However many come, and whenever: nobody is forgotten by who waits for more.
struct PacedTest : ApiFixture {};

TEST_F(PacedTest, EveryoneIsMadeAndTold) {
  const auto load = [] { return InFlightLoad{64, milliseconds(16)}; };
  RunCreator creator(store_, [](const std::string&) {}, {}, {.load = load});
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
    EXPECT_EQ(ends_.load().runs, 40U);
    for (const SubjectId& run : runs) ends_.Nudge(run);
    for (auto& one : told) {
      ASSERT_EQ(one.wait_for(std::chrono::seconds(30)), std::future_status::ready);
      EXPECT_EQ(one.get(), "COMPLETED");
    }
    EXPECT_EQ(ends_.load().runs, 0U);
    EXPECT_EQ(ends_.load().each, SteadyTime::duration(0));
  }
}

}  // namespace
}  // namespace acl::coordinator
