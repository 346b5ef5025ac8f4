#pragma once
// Which coordinators live, as the database has it: read at the start, about once a minute while every doorbell is connected, and every few
// seconds while one is not. So a coordinator that came up at another address is found by every worker. On a thread of its own; what it
// reads is a hint, and a database that is away is tried again.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "shared/base/host_port.h"
#include "shared/postgres/pg_coordinator_store.h"
#include "shared/runtime/service.h"

namespace acl {

// The doorbells that a worker of this machine can reach: a loopback address is only for workers of the machine that announced it.
std::vector<HostPort> DoorbellsFor(const std::string& host, const std::vector<LivingCoordinator>& living);

class CoordinatorWatch final : public Service {
 public:
  struct Options {
    std::string host;                                        // of this machine
    std::function<void(std::vector<HostPort>)> on_living;    // after each reading, on the watch's thread
    std::chrono::milliseconds calm{60'000}, worried{5'000};  // between two readings
    std::chrono::milliseconds silent{35'000};                // who was not heard of for so long does not live
  };

  CoordinatorWatch(Options options, CoordinatorStore& store) : options_(std::move(options)), store_(store) {}
  ~CoordinatorWatch() override { Stop(); }

  Status Start() override;
  void Stop() override;
  // From any thread. While not all lines are connected it reads more often.
  void SetLines(bool all_connected);

 private:
  void RunUntilStopped();

  const Options options_;
  CoordinatorStore& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool all_connected_ = true, stopping_ = false;
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl
