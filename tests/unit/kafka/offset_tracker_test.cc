#include "shared/kafka/offset_tracker.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace acl::kafka {
namespace {

TEST(OffsetTracker, MovesOverDoneMessagesOnly) {
  OffsetTracker tracker;
  EXPECT_FALSE(tracker.Committable()) << "nothing was read";
  for (int offset : {10, 11, 14}) tracker.Out(offset);
  EXPECT_FALSE(tracker.Committable()) << "nothing is done";
  tracker.Done(11);
  EXPECT_FALSE(tracker.Committable()) << "10 is not done";
  tracker.Done(10);
  EXPECT_EQ(tracker.Committable(), 14);
  tracker.Committed(14);
  EXPECT_FALSE(tracker.Committable()) << "committed already";
  tracker.Done(14);
  tracker.Done(14);
  tracker.Done(99);
  EXPECT_EQ(tracker.Committable(), 15);
  EXPECT_EQ(tracker.open(), 0u);
}

// Whatever the order: what may be committed never passes a message that is not done, and reaches the end when all are.
RC_GTEST_PROP(OffsetTracker, NeverSkipsAndReachesTheEnd, ()) {
  const auto gaps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 4));
  OffsetTracker tracker;
  std::set<std::int64_t> open;
  std::int64_t offset = *rc::gen::inRange(0, 100);
  std::int64_t committed = offset;
  for (int gap : gaps) {
    tracker.Out(offset);
    open.insert(offset);
    offset += gap;
  }
  std::vector<std::int64_t> order(open.begin(), open.end());
  while (!open.empty()) {
    const auto pick = *rc::gen::elementOf(std::vector<std::int64_t>(open.begin(), open.end()));
    tracker.Done(pick);
    open.erase(pick);
    if (auto at = tracker.Committable()) {
      RC_ASSERT(*at > committed);
      RC_ASSERT(open.empty() || *at <= *open.begin());
      committed = *at;
      tracker.Committed(*at);
    }
  }
  if (!order.empty()) RC_ASSERT(committed == order.back() + 1);
}

}  // namespace
}  // namespace acl::kafka
