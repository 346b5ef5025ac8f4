#pragma once
// How a program of the fleet reaches Kafka: the settings that all of them share.

#include "shared/kafka/client.h"

namespace acl::kafka {

struct FleetSettings {
  std::string bootstrap = "127.0.0.1:9092";
  std::string prefix = "acl";   // of topics and of the consumer group
  std::string group;            // empty: PREFIX.workers
  std::string properties_file;  // empty: none
};

// The client's settings. The properties file has a line NAME=VALUE for each of librdkafka's own settings (security.protocol,
// ssl.ca.location, sasl.mechanism, sasl.username, sasl.password ...); # begins a comment. kInvalid names file and line, never a value;
// settings that this program decides itself (group.id, enable.auto.commit ...) are refused there.
Result<ClientSettings> MakeClientSettings(const FleetSettings& fleet, const std::string& client_id);
std::string GroupOf(const FleetSettings& fleet);

}  // namespace acl::kafka
