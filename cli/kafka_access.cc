#include "cli/kafka_access.h"

#include "shared/config/settings.h"

namespace acl::cli {

Result<KafkaAccess> ReachKafka(const Session& session, const kafka::FleetSettings& flags) {
  const Settings defaults;
  const auto pick = [&](const std::string& flag, const char* variable, const std::string& otherwise) {
    if (!flag.empty()) return flag;
    const std::string set = session.environment.environment(variable);
    return set.empty() ? otherwise : set;
  };
  KafkaAccess access;
  access.fleet.bootstrap = pick(flags.bootstrap, "ACL_KAFKA_BOOTSTRAP", defaults.kafka_bootstrap);
  access.fleet.prefix = pick(flags.prefix, "ACL_KAFKA_PREFIX", defaults.kafka_prefix);
  access.fleet.properties_file = pick(flags.properties_file, "ACL_KAFKA_PROPERTIES_FILE", "");
  auto client = kafka::MakeClientSettings(access.fleet, "airun");
  if (!client) return client.error();
  access.client = std::move(*client);
  return access;
}

}  // namespace acl::cli
