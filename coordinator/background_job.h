#pragma once
// A job of this process (job_core.h) on a thread of its own: waits for the database, waits between passes, says what becomes of it.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "coordinator/database_watch.h"
#include "coordinator/job_core.h"

namespace acl::coordinator {

class BackgroundJob final : public Service, private JobObserver {
 public:
  struct Options {
    std::string name;  // these three as in JobCore::Options
    std::function<Result<std::chrono::milliseconds>()> tick;
    std::function<void()> on_lost;
  };

  BackgroundJob(Options options, LeaderLeases& leases, DatabaseWatch& database, const Clock& clock, Metrics* metrics);
  ~BackgroundJob() override { Stop(); }

  Status Start() override;
  void Stop() override;
  void BeginToStop();  // takes no more ticks and holds nothing after the one it is in; Stop waits for that
  void Wake();         // a tick now, if it is held
  bool held() const { return core_.held(); }

 private:
  void RunUntilStopped();
  bool Pause(std::chrono::nanoseconds time);  // false: stopping

  void Held(Token token) override;
  void Lost() override;
  void Ticked() override {
    ticks_.Add();
    outage_.Worked();
  }
  void Failed(const Error& error, bool first) override;
  void Recovered() override {}  // Ticked follows

  const std::string name_;
  DatabaseWatch& database_;
  const Logger log_;
  OutageLog outage_;
  Gauge held_gauge_;
  Counter ticks_;
  SystemRandom random_;
  JobCore core_;  // on the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, woken_ = false;
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl::coordinator
