#include "shared/kafka/partition_affinity.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <utility>

namespace acl::kafka {

PartitionAffinity::PartitionAffinity(const std::vector<Owned>& assignment) {
  std::map<std::pair<std::string, std::string>, int> lowest;  // of a topic and a member
  for (const Owned& one : assignment) {
    if (one.partition < 0) continue;
    const auto [it, fresh] = lowest.try_emplace({one.topic, one.member}, one.partition);
    if (!fresh) it->second = std::min(it->second, one.partition);
  }
  for (const Owned& one : assignment) {
    if (one.partition < 0) continue;
    std::vector<int>& first = first_[one.topic];
    if (first.size() <= std::size_t(one.partition)) first.resize(std::size_t(one.partition) + 1, -1);
    first[std::size_t(one.partition)] = lowest.at({one.topic, one.member});
  }
}

std::optional<int> PartitionAffinity::PartitionFor(const std::string& topic, std::string_view key) const {
  const auto it = first_.find(topic);
  if (it == first_.end() || std::find(it->second.begin(), it->second.end(), -1) != it->second.end()) return std::nullopt;
  return it->second[std::size_t(PartitionOfKey(key, int(it->second.size())))];
}

int PartitionOfKey(std::string_view key, int partitions) {
  return rd_kafka_msg_partitioner_consistent(nullptr, key.data(), key.size(), partitions, nullptr, nullptr);
}

}  // namespace acl::kafka
