#pragma once
// A duty of this process (duty_core.h) on a thread of its own: waits for the database, waits between passes, says what becomes of it.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "coordinator/database_watch.h"
#include "coordinator/duty_core.h"

namespace acl::coordinator {

class Duty final : public Service, private DutyObserver {
 public:
  struct Options {
    std::string name;  // these three as in DutyCore::Options
    std::function<Result<std::chrono::milliseconds>()> turn;
    std::function<void()> on_lost;
  };

  Duty(Options options, LoopLeases& leases, DatabaseWatch& database, const Clock& clock, Metrics* metrics);
  ~Duty() override { Stop(); }

  Status Start() override;
  void Stop() override;
  void BeginToStop();  // takes no more turns and holds nothing after the one it is in; Stop waits for that
  void Wake();         // a turn now, if it is held
  bool held() const { return core_.held(); }

 private:
  void RunUntilStopped();
  bool Pause(std::chrono::nanoseconds time);  // false: stopping

  void Held(Token token) override;
  void Lost() override;
  void Turned() override {
    turns_.Add();
    outage_.Worked();
  }
  void Failed(const Error& error, bool first) override;
  void Recovered() override {}  // Turned follows

  const std::string name_;
  DatabaseWatch& database_;
  const Logger log_;
  OutageLog outage_;
  Gauge held_gauge_;
  Counter turns_;
  SystemRandom random_;
  DutyCore core_;  // on the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, woken_ = false;
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl::coordinator
