#pragma once
// Is the database there, and is its schema this program's? Asked again and again (seldom while all is well: whoever sees a call fail says
// so, and it looks at once); everything else only reads the answer. While it is not,
// the process lives, says so, and goes on by itself once it is.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "shared/base/clock.h"
#include "shared/http/health.h"
#include "shared/runtime/backoff.h"
#include "shared/runtime/service.h"
#include "shared/telemetry/metrics.h"
#include "shared/telemetry/outage.h"

namespace acl::coordinator {

// What the probe found. An Error instead: the database cannot be reached.
struct DatabaseState {
  bool migrated = false;
  std::string detail;  // why not, with the way out
};

class DatabaseWatch final : public Service {
 public:
  using Probe = std::function<Result<DatabaseState>()>;

  DatabaseWatch(Probe probe, Metrics* metrics, std::chrono::milliseconds healthy_period = std::chrono::milliseconds(30'000));
  ~DatabaseWatch() override { Stop(); }

  Status Start() override;
  void Stop() override;

  bool ready() const;
  // For /readyz, which needs no key: "database" and "migrations", without the address or the words of the database. Those are in the log.
  std::vector<Readiness::Check> Checks() const;
  // A call to the database failed: look now.
  void Suspect();
  // Returns when ready or stopping, or after `at_most`. True: ready.
  bool AwaitReady(std::chrono::milliseconds at_most);

 private:
  enum class Standing { kUnknown, kUnreachable, kNotMigrated, kReady };
  void RunUntilStopped();
  void Note(const Result<DatabaseState>& found);

  const Probe probe_;
  Gauge up_;
  const std::chrono::milliseconds healthy_period_;
  const SystemClock clock_{};
  const Logger log_{"database"};
  OutageLog away_{log_,
                  clock_,
                  {"the database cannot be reached; waiting for it", "the database is reached again"},
                  {.settle = std::chrono::milliseconds(0)}};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Standing standing_ = Standing::kUnknown;
  std::string detail_ = "not asked yet";
  bool stopping_ = false, suspected_ = false;
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl::coordinator
