#pragma once
// The queue driver that the settings name.

#include <memory>

#include "shared/base/clock.h"
#include "shared/config/settings.h"
#include "shared/kernel/store.h"
#include "shared/queue/queue_driver.h"
#include "shared/telemetry/metrics.h"
#include "shared/telemetry/tracer.h"

namespace acl {

struct ChosenQueue {
  std::unique_ptr<QueueDriver> driver;
  std::function<void()> measure;  // before a page of metrics; may be empty
};
// kInvalid: a setting of Kafka's that cannot be. Store, clock, metrics and tracer outlive the driver.
Result<ChosenQueue> ChooseQueue(const Settings& settings, KernelStore& store, const Clock& clock, Metrics& metrics, Tracer& tracer,
                                QueueDriver::OnWork on_work);

}  // namespace acl
