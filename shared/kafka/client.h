#pragma once
// What every Kafka client of ours has: settings, a handle that ends itself, errors in our own words. Over librdkafka's C interface.
//
// Kafka is only a wake-up here (docs/architecture.md#relay): nothing in it is the truth, so delivery at least once is enough.

#include <librdkafka/rdkafka.h>

#include <map>
#include <memory>
#include <string>

#include "shared/base/result.h"

namespace acl::kafka {

struct ClientSettings {
  std::string bootstrap;  // HOST:PORT, separated by commas
  std::string client_id = "acl";
  // Handed through to librdkafka by its own names: "security.protocol", "ssl.ca.location", "sasl.username" ... Ours come after them.
  std::map<std::string, std::string> more;
};

struct HandleEnd {
  void operator()(rd_kafka_t* handle) const { rd_kafka_destroy(handle); }
};
struct QueueEnd {
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
};
struct EventEnd {
  void operator()(rd_kafka_event_t* event) const {
    if (event) rd_kafka_event_destroy(event);
  }
};
using Handle = std::unique_ptr<rd_kafka_t, HandleEnd>;

// kUnavailable for what may pass (broker away, timed out, leader moves), kInvalid for what a person must mend (rights, unknown topic, bad
// setting), kInternal for a client that must be made anew (fatal).
Error KafkaError(const std::string& what, rd_kafka_resp_err_t code, const std::string& detail = {});
// Of such an error: less of it might be taken.
bool IsTooLarge(const Error& error);

// A configuration with our settings over `more`. kInvalid names the setting that librdkafka refuses, never its value.
class Config {
 public:
  Config() : conf_(rd_kafka_conf_new()) {}
  ~Config() {
    if (conf_) rd_kafka_conf_destroy(conf_);
  }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;

  Status Set(const std::string& name, const std::string& value);
  Status SetAll(const ClientSettings& settings, const std::map<std::string, std::string>& ours);
  rd_kafka_conf_t* get() { return conf_; }
  // The client takes the configuration over.
  Result<Handle> Make(rd_kafka_type_t type);

 private:
  rd_kafka_conf_t* conf_;
};

}  // namespace acl::kafka
