#include "shared/kafka/client.h"

#include <fmt/format.h>

namespace acl::kafka {

Error KafkaError(const std::string& what, rd_kafka_resp_err_t code, const std::string& detail) {
  const std::string text = fmt::format("{}: {}", what, detail.empty() ? rd_kafka_err2str(code) : detail);
  switch (code) {
    case RD_KAFKA_RESP_ERR__FATAL: return {Code::kInternal, text};
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: return {Code::kInvalid, text + "; make the topics by `airun queue init`"};
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS: return {Code::kInvalid, text};
    default: return {Code::kUnavailable, text};
  }
}

bool IsTooLarge(const Error& error) {
  return error.message.find(rd_kafka_err2str(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)) != std::string::npos;
}

Status Config::Set(const std::string& name, const std::string& value) {
  char why[512] = {};
  if (rd_kafka_conf_set(conf_, name.c_str(), value.c_str(), why, sizeof why) == RD_KAFKA_CONF_OK) return {};
  // librdkafka quotes the value, which may be a secret.
  std::string reason(why);
  if (!value.empty()) {
    for (auto at = reason.find(value); at != std::string::npos; at = reason.find(value, at + 3)) reason.replace(at, value.size(), "***");
  }
  return Error{Code::kInvalid, fmt::format("Kafka setting '{}' is refused: {}", name, reason)};
}

Status Config::SetAll(const ClientSettings& settings, const std::map<std::string, std::string>& ours) {
  if (settings.bootstrap.empty()) return Error{Code::kInvalid, "there is no Kafka address: give HOST:PORT of one broker or more"};
  for (const auto& [name, value] : settings.more) {
    if (ours.contains(name) || name == "bootstrap.servers") {
      return Error{Code::kInvalid, fmt::format("Kafka setting '{}' is not yours to give: this program depends on its own", name)};
    }
    if (auto set = Set(name, value); !set) return set;
  }
  if (auto set = Set("bootstrap.servers", settings.bootstrap); !set) return set;
  if (auto set = Set("client.id", settings.client_id); !set) return set;
  for (const auto& [name, value] : ours) {
    if (auto set = Set(name, value); !set) return set;
  }
  return {};
}

Result<Handle> Config::Make(rd_kafka_type_t type) {
  char why[512] = {};
  rd_kafka_t* handle = rd_kafka_new(type, conf_, why, sizeof why);
  if (!handle) return Error{Code::kInvalid, fmt::format("no Kafka client: {}", why)};
  conf_ = nullptr;
  return Handle(handle);
}

}  // namespace acl::kafka
