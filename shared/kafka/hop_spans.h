#pragma once
// The hop of a ready row through Kafka as two spans of its run's trace, by OpenTelemetry's messaging conventions: `send TOPIC` by the
// relay, `process TOPIC` by the worker whose claim of it was granted. Both stand below the run's span; `process` links to `send`, whose
// context the message carries (a message may be sent again, and a worker may hear of a row otherwise: neither is the other's cause).
// Only of recorded traces; from any thread, never blocks.

#include "shared/kafka/received.h"
#include "shared/queue/message_driver.h"
#include "shared/telemetry/tracer.h"

namespace acl::kafka {

class HopSpans {
 public:
  // Tells nothing.
  HopSpans() = default;
  // Tracer and clock outlive it. `group`: the consumer's.
  HopSpans(Tracer& tracer, const Clock& clock, std::string client_id, std::string group = {})
      : tracer_(&tracer), clock_(&clock), client_id_(std::move(client_id)), group_(std::move(group)) {}

  // Begun now: `message.traceparent`, until here the run's span, becomes the hop's. nullopt: not recorded, the message stays as it is.
  std::optional<Span> BeginSend(const std::string& topic, const std::string& key, int times, StepMessage& message) const;
  void EndSend(Span span, const Status& sent) const;
  // Nothing if no span of its sending is recorded.
  void Granted(const Received& received, const GrantedMessage& granted) const;

 private:
  Span Begin(const char* operation, const std::string& topic, const std::string& key) const;

  Tracer* tracer_ = nullptr;
  const Clock* clock_ = nullptr;
  std::string client_id_, group_;
};

}  // namespace acl::kafka
