#pragma once
// Messages that nobody can deal with: put away whole, with the reason and where they came from, so that the partition moves on and a person
// can look at them and send them again (`airun queue dead`).

#include "shared/kafka/consumer.h"
#include "shared/kafka/fleet_settings.h"
#include "shared/kafka/producer.h"

namespace acl::kafka {

struct DeadLetter {
  // Where it lies.
  int partition = 0;
  std::int64_t offset = 0;
  // Where it came from, and why it is here.
  std::string topic, reason, at;
  int from_partition = 0;
  std::int64_t from_offset = 0;
  std::string key, value;
  std::map<std::string, std::string> headers;  // its own
};

Outgoing MakeDeadLetter(const std::string& prefix, const Received& message, const std::string& reason);
// Half of the value, for what Kafka does not take as it is; the header `acl-dead-cut` says how long it was.
void CutDeadLetter(Outgoing& letter);

// All that the topic keeps, oldest first in each partition. kNotFound: there is no such topic.
Result<std::vector<DeadLetter>> ReadDeadLetters(const FleetSettings& fleet, const ClientSettings& client, std::chrono::milliseconds within);
// Sent to where it came from, as it was. It also stays here until the topic's retention removes it.
Status ReplayDeadLetter(const ClientSettings& client, const DeadLetter& letter, std::chrono::milliseconds within);

}  // namespace acl::kafka
