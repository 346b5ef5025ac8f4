#pragma once
// Where the doorbells of living coordinators are (migrations/0003_leases.sql). A coordinator says so again and again, workers read
// it: a coordinator that came up at another address is found without anybody changing a setting.

#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"

namespace acl {

struct LivingCoordinator {
  std::string doorbell;  // HOST:PORT
  std::string host;      // the machine's name
  friend bool operator==(const LivingCoordinator&, const LivingCoordinator&) = default;
};

class CoordinatorStore {
 public:
  virtual ~CoordinatorStore() = default;
  // `session`: one incarnation of the process. Rows of those that were not heard of for an hour go.
  virtual Status Announce(const WorkerSessionId& session, const LivingCoordinator& coordinator) = 0;
  virtual Status Leave(const WorkerSessionId& session) = 0;
  // Those heard of within `silent`, by the database's clock, in the order of their addresses.
  virtual Result<std::vector<LivingCoordinator>> Living(std::chrono::milliseconds silent) = 0;
};

namespace pg {
class Pool;
}

class PgCoordinatorStore final : public CoordinatorStore {
 public:
  explicit PgCoordinatorStore(pg::Pool& pool) : pool_(pool) {}  // outlives it
  Status Announce(const WorkerSessionId& session, const LivingCoordinator& coordinator) override;
  Status Leave(const WorkerSessionId& session) override;
  Result<std::vector<LivingCoordinator>> Living(std::chrono::milliseconds silent) override;

 private:
  pg::Pool& pool_;
};

}  // namespace acl
