#pragma once
// The worker's half of driver `kafka`: a consumer of its queues' topics, claims by what messages name (shared/queue/message_driver.h),
// offsets committed behind the database, dead letters for what cannot be dealt with.

#include <memory>

#include "shared/base/clock.h"
#include "shared/kafka/fleet_settings.h"
#include "shared/kafka/hop_spans.h"
#include "shared/queue/queue_driver.h"
#include "shared/telemetry/metrics.h"

namespace acl::kafka {

struct DriverOptions {
  FleetSettings fleet;
  ClientSettings client;
  std::vector<std::string> queues;
  int max_out = 256;  // messages read and not claimed yet; above it this worker's partitions pause
  std::chrono::milliseconds late_after{30'000}, late_every{5'000};  // message_driver.h
  std::chrono::milliseconds session_timeout{10'000};
  Metrics* metrics = nullptr;  // may be null
  HopSpans spans;
  QueueDriver::OnWork on_work;
};

class KafkaDriver : public QueueDriver {
 public:
  // Messages waiting and lag, measured now for a page of metrics.
  virtual void Measure() = 0;
};

// Store and clock outlive it.
std::unique_ptr<KafkaDriver> MakeKafkaDriver(DriverOptions options, KernelStore& store, const Clock& clock);

}  // namespace acl::kafka
