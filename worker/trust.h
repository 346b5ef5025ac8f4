#pragma once
// How long a worker may trust its leases, and what time it is in the database: both counted on its own steady clock from the moment the
// request that granted them was sent (docs/architecture.md#heartbeat).

#include "shared/kernel/types.h"

namespace acl {

class Trust {
 public:
  Trust(milliseconds ttl, milliseconds margin) : ttl_(ttl), margin_(margin) {}

  void Granted(SteadyTime sent, SteadyTime received, WallTime db_now) {
    until_ = sent + ttl_ - margin_;
    // The database read its clock between sent and received; taking `received` keeps our time at or behind the database's.
    db_at_ = db_now;
    at_ = received;
  }
  void Lost() { until_ = SteadyTime{}; }

  bool Holds(SteadyTime now) const { return now < until_; }
  SteadyTime until() const { return until_; }
  WallTime DatabaseTime(SteadyTime now) const { return db_at_ + std::chrono::duration_cast<std::chrono::microseconds>(now - at_); }

 private:
  milliseconds ttl_, margin_;
  SteadyTime until_{}, at_{};
  WallTime db_at_{};
};

}  // namespace acl
