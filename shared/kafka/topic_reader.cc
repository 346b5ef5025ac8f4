#include "shared/kafka/topic_reader.h"

#include "shared/base/clock.h"
#include "shared/kafka/received.h"
#include "shared/kafka/topics.h"

namespace acl::kafka {

Result<std::vector<Received>> ReadTopic(const ClientSettings& settings, const std::string& topic, std::chrono::milliseconds within) {
  auto described = DescribeTopics(settings, {topic}, within);
  if (!described) return described.error();
  const int partitions = described->front().partitions;
  if (partitions == 0) return Error{Code::kNotFound, "there is no topic '" + topic + "'; make it by `airun queue init`"};
  Config config;
  if (auto set = config.SetAll(settings, {{"group.id", topic + ".reader"}, {"enable.auto.commit", "false"}, {"log_level", "0"}}); !set) {
    return set.error();
  }
  auto made = config.Make(RD_KAFKA_CONSUMER);
  if (!made) return made.error();
  rd_kafka_t* const handle = made->get();
  rd_kafka_poll_set_consumer(handle);
  const SystemClock clock;
  const SteadyTime until = clock.Steady() + within;
  std::map<int, std::int64_t> ends;  // partitions not read to their end yet
  PartitionList list = NewPartitionList(std::size_t(partitions));
  for (int partition = 0; partition < partitions; ++partition) {
    std::int64_t low = 0, high = 0;
    const auto code = rd_kafka_query_watermark_offsets(handle, topic.c_str(), partition, &low, &high, int(within.count()));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return KafkaError("reading '" + topic + "'", code);
    if (low >= high) continue;
    ends[partition] = high;
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = low;
  }
  std::vector<Received> out;
  if (ends.empty()) return out;
  rd_kafka_assign(handle, list.get());
  while (!ends.empty()) {
    if (clock.Steady() >= until) return Error{Code::kTimeout, "'" + topic + "' was not read to its end in time"};
    const MessageHandle message(rd_kafka_consumer_poll(handle, 100));
    if (!message || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    const auto end = ends.find(message->partition);
    if (end == ends.end()) continue;
    if (message->offset < end->second) out.push_back(TakeReceived(*message, 0));
    if (message->offset >= end->second - 1) ends.erase(end);
  }
  std::sort(out.begin(), out.end(),
            [](const Received& a, const Received& b) { return std::tie(a.partition, a.offset) < std::tie(b.partition, b.offset); });
  return out;
}

}  // namespace acl::kafka
