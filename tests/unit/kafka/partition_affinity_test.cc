#include "shared/kafka/partition_affinity.h"

#include <gtest/gtest.h>

#include <set>

namespace acl::kafka {
namespace {

std::string Key(int n) { return "subject-" + std::to_string(n); }

TEST(PartitionAffinity, WithoutAnAssignmentTheKeyDecides) {
  EXPECT_EQ(PartitionAffinity().PartitionFor("t", "k"), std::nullopt);
  const PartitionAffinity known({{"a", "t", 0}});
  EXPECT_EQ(known.PartitionFor("another", "k"), std::nullopt);
}

TEST(PartitionAffinity, WhoGetsAMessageIsWhomTheKeyNames) {
  const PartitionAffinity known({{"a", "t", 5}, {"a", "t", 2}, {"b", "t", 0}, {"b", "t", 1}, {"c", "t", 4}, {"c", "t", 3}});
  const char* const owners = "bbacca";
  const std::vector<int> firsts = {0, 0, 2, 3, 3, 2};
  std::set<int> used;
  for (int n = 0; n < 200; ++n) {
    const int named = PartitionOfKey(Key(n), 6);
    ASSERT_GE(named, 0);
    ASSERT_LT(named, 6);
    const auto chosen = known.PartitionFor("t", Key(n));
    ASSERT_TRUE(chosen.has_value());
    EXPECT_EQ(*chosen, firsts[std::size_t(named)]);
    EXPECT_EQ(owners[*chosen], owners[named]);
    used.insert(named);
  }
  EXPECT_EQ(used.size(), 6u) << "keys name all partitions";
}

TEST(PartitionAffinity, TopicsAreOfThemselves) {
  const PartitionAffinity known({{"a", "t", 0}, {"a", "t", 1}, {"a", "u", 1}, {"b", "u", 0}});
  EXPECT_EQ(known.PartitionFor("t", "k"), 0);
  std::set<int> used;
  for (int n = 0; n < 50; ++n) used.insert(known.PartitionFor("u", Key(n)).value());
  EXPECT_EQ(used, (std::set<int>{0, 1}));
}

// While members come and go some partitions have no owner; and what is no partition is passed over.
TEST(PartitionAffinity, ATopicWithAPartitionOfNobodyIsLeftToTheKey) {
  EXPECT_EQ(PartitionAffinity({{"a", "t", 0}, {"a", "t", 2}}).PartitionFor("t", "k"), std::nullopt);
  EXPECT_EQ(PartitionAffinity({{"a", "t", -1}}).PartitionFor("t", "k"), std::nullopt);
}

}  // namespace
}  // namespace acl::kafka
