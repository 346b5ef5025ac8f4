#pragma once
// Making and looking at topics. They are made by a person (`airun queue init`), never by accident.

#include <chrono>
#include <string>
#include <vector>

#include "shared/kafka/client.h"

namespace acl::kafka {

struct TopicDefinition {
  std::string name;
  int partitions = 6, replication = 1;
  std::map<std::string, std::string> config;  // "retention.ms", "min.insync.replicas" ...
};
struct TopicState {
  std::string name;
  int partitions = 0;   // 0: there is no such topic
  int replication = 0;  // of the partition that has fewest
  int without_leader = 0;
};

// One answer a topic, in order: made (true) or there already (false).
Result<std::vector<bool>> CreateTopics(const ClientSettings& settings, const std::vector<TopicDefinition>& topics,
                                       std::chrono::milliseconds within);
Result<std::vector<TopicState>> DescribeTopics(const ClientSettings& settings, const std::vector<std::string>& names,
                                               std::chrono::milliseconds within);

}  // namespace acl::kafka
