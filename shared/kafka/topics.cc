#include "shared/kafka/topics.h"

#include <algorithm>

namespace acl::kafka {

namespace {

Result<Handle> MakeClient(const ClientSettings& settings) {
  Config config;
  if (auto set = config.SetAll(settings, {{"log_level", "0"}}); !set) return set.error();
  return config.Make(RD_KAFKA_PRODUCER);
}

struct TopicEnd {
  void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
};
struct OptionsEnd {
  void operator()(rd_kafka_AdminOptions_t* options) const { rd_kafka_AdminOptions_destroy(options); }
};
struct MetadataEnd {
  void operator()(const rd_kafka_metadata_t* metadata) const { rd_kafka_metadata_destroy(metadata); }
};

}  // namespace

Result<std::vector<bool>> CreateTopics(const ClientSettings& settings, const std::vector<TopicDefinition>& topics,
                                       std::chrono::milliseconds within) {
  auto client = MakeClient(settings);
  if (!client) return client.error();
  char why[512] = {};
  std::vector<std::unique_ptr<rd_kafka_NewTopic_t, TopicEnd>> wanted;
  std::vector<rd_kafka_NewTopic_t*> raw;
  for (const TopicDefinition& topic : topics) {
    wanted.emplace_back(rd_kafka_NewTopic_new(topic.name.c_str(), topic.partitions, topic.replication, why, sizeof why));
    if (!wanted.back()) return Error{Code::kInvalid, "topic '" + topic.name + "': " + why};
    for (const auto& [name, value] : topic.config) rd_kafka_NewTopic_set_config(wanted.back().get(), name.c_str(), value.c_str());
    raw.push_back(wanted.back().get());
  }
  std::unique_ptr<rd_kafka_AdminOptions_t, OptionsEnd> options(rd_kafka_AdminOptions_new(client->get(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
  const int within_ms = int(within.count());
  rd_kafka_AdminOptions_set_request_timeout(options.get(), within_ms, why, sizeof why);
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), within_ms, why, sizeof why);
  std::unique_ptr<rd_kafka_queue_t, QueueEnd> queue(rd_kafka_queue_new(client->get()));
  rd_kafka_CreateTopics(client->get(), raw.data(), raw.size(), options.get(), queue.get());
  std::unique_ptr<rd_kafka_event_t, EventEnd> event(rd_kafka_queue_poll(queue.get(), within_ms + 1'000));
  if (!event) return Error{Code::kUnavailable, "Kafka did not answer in time; is the address right?"};
  if (auto code = rd_kafka_event_error(event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return KafkaError("making topics", code, rd_kafka_event_error_string(event.get()));
  }
  std::size_t count = 0;
  const rd_kafka_topic_result_t** results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  std::map<std::string, bool> made;
  for (std::size_t n = 0; n < count; ++n) {
    const auto code = rd_kafka_topic_result_error(results[n]);
    const std::string name = rd_kafka_topic_result_name(results[n]);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
      const char* detail = rd_kafka_topic_result_error_string(results[n]);
      return KafkaError("topic '" + name + "'", code, detail ? detail : "");
    }
    made[name] = code == RD_KAFKA_RESP_ERR_NO_ERROR;
  }
  std::vector<bool> out;
  for (const TopicDefinition& topic : topics) out.push_back(made[topic.name]);
  return out;
}

Result<std::vector<TopicState>> DescribeTopics(const ClientSettings& settings, const std::vector<std::string>& names,
                                               std::chrono::milliseconds within) {
  auto client = MakeClient(settings);
  if (!client) return client.error();
  const rd_kafka_metadata_t* raw = nullptr;
  if (auto code = rd_kafka_metadata(client->get(), 1, nullptr, &raw, int(within.count())); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return KafkaError("asking Kafka for its topics", code);
  }
  std::unique_ptr<const rd_kafka_metadata_t, MetadataEnd> metadata(raw);
  std::vector<TopicState> out;
  for (const std::string& name : names) {
    TopicState state{name, 0, 0, 0};
    for (int n = 0; n < metadata->topic_cnt; ++n) {
      const auto& topic = metadata->topics[n];
      if (name != topic.topic || topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      state.partitions = topic.partition_cnt;
      for (int p = 0; p < topic.partition_cnt; ++p) {
        const auto& partition = topic.partitions[p];
        state.replication = p == 0 ? partition.replica_cnt : std::min(state.replication, partition.replica_cnt);
        state.without_leader += partition.leader < 0;
      }
    }
    out.push_back(std::move(state));
  }
  return out;
}

}  // namespace acl::kafka
