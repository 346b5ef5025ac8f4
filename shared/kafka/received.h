#pragma once
// A message as it was read, and what it is read with.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "shared/kafka/client.h"

namespace acl::kafka {

struct Received {
  std::string topic;
  int partition = 0;
  std::int64_t offset = 0;
  int assignment = 0;  // of which assignment of the partitions to this process
  std::string key, value;
  std::map<std::string, std::string> headers;
};

struct PartitionListEnd {
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, PartitionListEnd>;
inline PartitionList NewPartitionList(std::size_t size) { return PartitionList(rd_kafka_topic_partition_list_new(int(size))); }

struct MessageEnd {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using MessageHandle = std::unique_ptr<rd_kafka_message_t, MessageEnd>;

Received TakeReceived(const rd_kafka_message_t& message, int assignment);

}  // namespace acl::kafka
