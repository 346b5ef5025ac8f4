#pragma once
// Says where this coordinator's doorbell is, every ten seconds, in a row that workers read (shared/postgres/pg_coordinator_store.h). A
// database that is away is tried again; nothing waits for it.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "shared/base/host_port.h"
#include "shared/config/settings.h"
#include "shared/postgres/pg_coordinator_store.h"
#include "shared/runtime/service.h"

namespace acl::coordinator {

// What workers are told: `doorbell_advertise`, else where the doorbell listens; of one that listens on every address, the machine's name.
// Nothing: "none".
std::optional<LivingCoordinator> AnnouncedAs(const Settings& settings, const HostPort& listening, const std::string& host);

class Announcer final : public Service {
 public:
  Announcer(CoordinatorStore& store, WorkerSessionId session, LivingCoordinator what,
            std::chrono::milliseconds period = std::chrono::milliseconds(10'000))
      : store_(store), session_(session), what_(std::move(what)), period_(period) {}
  ~Announcer() override { Stop(); }

  Status Start() override;
  void Stop() override;  // takes the row away, if the database is there

 private:
  CoordinatorStore& store_;
  const WorkerSessionId session_;
  const LivingCoordinator what_;
  const std::chrono::milliseconds period_;
  bool announced_ = false;  // the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl::coordinator
