#pragma once
// How airun reaches Kafka: by the same variables as the fleet's programs.

#include "cli/session.h"
#include "shared/kafka/fleet_settings.h"

namespace acl::cli {

struct KafkaAccess {
  kafka::FleetSettings fleet;
  kafka::ClientSettings client;
};
// ACL_KAFKA_BOOTSTRAP, ACL_KAFKA_PREFIX, ACL_KAFKA_PROPERTIES_FILE; what is given in `flags` and not empty wins.
Result<KafkaAccess> ReachKafka(const Session& session, const kafka::FleetSettings& flags);

}  // namespace acl::cli
