#pragma once
// Sends step messages: the relay's half of driver `kafka`.

#include "shared/kafka/fleet_settings.h"
#include "shared/kafka/group_watch.h"
#include "shared/kafka/hop_spans.h"
#include "shared/kafka/producer.h"
#include "shared/queue/step_message.h"
#include "shared/telemetry/outage.h"

namespace acl::kafka {

class RelaySender final : public Service {
 public:
  RelaySender(FleetSettings fleet, ClientSettings client, const Clock& clock, HopSpans spans = {});

  Status Start() override;
  void Stop() override {
    group_.Stop();
    prompt_.Stop();
    producer_.Stop();
  }

  // From any thread. The first time by the subject, so that one subject's messages stay with one worker, in the one of its partitions in
  // which they are gathered; later times by another key each time and in the partition that it names, so that a row whose partition belongs
  // to a worker that cannot take it reaches another one. `alone`: sent at once if none is on its way;
  // else it waits a millisecond for those that come with it.
  Status Send(StepMessage message, int times, bool alone, Producer::Done done);

 private:
  const FleetSettings fleet_;
  const HopSpans spans_;
  OutageLog outage_;
  Producer producer_;
  Producer prompt_;  // for those that are alone
  GroupWatch group_;
};

}  // namespace acl::kafka
