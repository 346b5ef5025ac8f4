#pragma once
// One attempt at one message: a signed POST, or a CloudEvent in a topic. What becomes of the message then: shared/delivery/decide.h.

#include <atomic>
#include <functional>
#include <memory>

#include "coordinator/deliveries/endpoints.h"
#include "shared/capability/http_client.h"
#include "shared/delivery/decide.h"
#include "shared/kafka/producer.h"

namespace acl::coordinator {

using OnAnswered = std::function<void(delivery::Answer)>;  // once, from any thread
// Must not block. The message's body and id, nothing of its state.
using SendMessage = std::function<void(const delivery::Delivery& message, OnAnswered done)>;

// Follows no redirect, keeps nothing of what comes back; to a private address only where the operator's file says so.
class WebhookSender {
 public:
  WebhookSender(Endpoints endpoints, const Clock& clock, std::chrono::milliseconds timeout = std::chrono::seconds(20),
                std::string ca_file = "");
  void Send(const delivery::Delivery& message, OnAnswered done);

 private:
  const Endpoints endpoints_;
  const Clock& clock_;
  const std::chrono::milliseconds timeout_;
  HttpClient public_, private_;
};

// The value of a Kafka message: CloudEvents 1.0, structured, JSON.
std::string CloudEventOf(const delivery::Delivery& message);

// `own_prefix`: of the fleet's own topics, into which nobody publishes. `producer` null: this fleet has no Kafka.
class KafkaSender {
 public:
  KafkaSender(kafka::Producer* producer, std::string own_prefix) : producer_(producer), own_prefix_(std::move(own_prefix)) {}
  void Send(const delivery::Delivery& message, OnAnswered done);

 private:
  kafka::Producer* const producer_;
  const std::string own_prefix_;
};

}  // namespace acl::coordinator
