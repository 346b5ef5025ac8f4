#pragma once
// Where a worker's claims come from (docs/architecture.md#claim): driver `postgres` looks at the ready table, driver `kafka` claims the
// rows that messages name. One interface, one conformance suite. Either way the database grants: a driver can be late, never wrong.
//
// What every driver promises: a row that is ready is offered to a living worker of its queue sooner or later, at least once, whatever was
// lost; nothing is given up before the database has answered; what was not claimed when a process dies is offered to others.

#include <functional>
#include <string_view>

#include "shared/kernel/store.h"
#include "shared/runtime/service.h"

namespace acl {

class QueueDriver : public Service {
 public:
  // There may be something to claim now. From any thread, must not block; set before Start.
  using OnWork = std::function<void()>;

  virtual std::string_view name() const = 0;
  // At most one round trip to the database for each batch of what waits; empty at once if nothing does. Errors are the store's.
  virtual Result<ClaimAnswer> Claim(const ClaimRequest& request) = 0;
  // With the next claim look at the ready table once, however the driver is told of work else: leases were freed, and whoever is told by a
  // message may be the very one that died. From any thread.
  virtual void LookOnce() {}
};

// Straight from the ready table, with SKIP LOCKED: one machine needs nothing but PostgreSQL.
class PostgresDriver final : public QueueDriver {
 public:
  explicit PostgresDriver(KernelStore& store) : store_(store) {}
  Status Start() override { return {}; }
  void Stop() override {}
  std::string_view name() const override { return "postgres"; }
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override { return store_.Claim(request); }

 private:
  KernelStore& store_;
};

}  // namespace acl
