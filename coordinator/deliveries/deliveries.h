#pragma once
// The job `deliveries`: sends what runs said to the outside (docs/guides/webhooks.md). Two at once share the work: each message is with
// one of them at a time, and who dies leaves his to be taken up when their time is over.

#include <deque>
#include <memory>
#include <mutex>

#include "coordinator/deliveries/sender.h"
#include "coordinator/jobs.h"
#include "shared/telemetry/log.h"

namespace acl::coordinator {

struct DeliveriesOptions {
  int at_once = 32, each = 8;         // attempts on their way; of one endpoint, so that a slow one does not hold up the others
  milliseconds period{4'000};         // between two looks while there is nothing to send
  milliseconds busy{200};             // the same while there was
  milliseconds lease{60'000};         // longer than any attempt takes
  milliseconds keep{7 * 86'400'000};  // delivered ones
  milliseconds stop_within{3'000};    // what is on its way when the job is lost is waited for so long
};

class Deliveries {
 public:
  Deliveries(delivery::DeliveryStore& store, SendMessage send, const Clock& clock, Random& random, Metrics& metrics,
             DeliveriesOptions options = {});
  ~Deliveries();  // attempts still on their way may end later: nobody hears of them

  Result<milliseconds> Tick();
  void Lost();  // the job went to somebody else, or stops: writes down what has ended

 private:
  struct Shared;  // with the senders' threads
  struct Ended;
  Status WriteEnded();
  Status Look();
  void Begin(const delivery::Delivery& message);
  Status Prune();

  delivery::DeliveryStore& store_;
  const SendMessage send_;
  const Clock& clock_;
  Random& random_;
  const DeliveriesOptions options_;
  const Logger log_;
  std::shared_ptr<Shared> shared_;
  Counter delivered_, failed_, dead_;
  Gauge pending_gauge_, dead_gauge_, oldest_gauge_;
  SteadyTime look_at_{}, prune_at_{};
};

}  // namespace acl::coordinator
