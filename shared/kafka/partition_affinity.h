#pragma once
// Into which partition a message goes when what one worker reads is gathered in one of its partitions. A produce request and an answer to a
// fetch cost the broker as much as many messages, and there is one of each for every partition (docs/decisions.md, "Kafka"). Who gets the
// message is as if the key alone had decided: the partition that the key names belongs to a member of the group, and of this member's
// partitions of the topic the first one is taken. A guess that has grown old costs no more than any partition that moved: a message only
// names a ready row. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acl::kafka {

class PartitionAffinity {
 public:
  // A partition of a member of the group.
  struct Owned {
    std::string member, topic;
    int partition = 0;
  };

  PartitionAffinity() = default;
  explicit PartitionAffinity(const std::vector<Owned>& assignment);

  // Nothing for a topic whose partitions, from 0 to the highest that was assigned, have not each an owner: then the key decides.
  std::optional<int> PartitionFor(const std::string& topic, std::string_view key) const;

 private:
  std::map<std::string, std::vector<int>> first_;  // by topic: for each partition the first of its owner, -1 if it has none
};

// The partition that librdkafka's own choice (CRC-32 of the key) names among so many.
int PartitionOfKey(std::string_view key, int partitions);

}  // namespace acl::kafka
