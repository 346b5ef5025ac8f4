#pragma once
// A duty that one coordinator at a time does (reaping, timers, counting ready work), under a fenced lease of its own kind. The others
// stand by and take over when the holder is silent for one TTL. A holder trusts its lease only until `request_sent_at + ttl - margin` on
// its own steady clock. Every turn is harmless if two do it: the lease saves work, it does not guard correctness.
//
//   stand by --LoopLeases gives it--> holding --turn, turn, renew ...--> (renewal refused or unanswered in time) --> stand by

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "coordinator/database_watch.h"
#include "coordinator/loop_leases.h"

namespace acl::coordinator {

class Duty final : public Service {
 public:
  struct Options {
    std::string name;  // of the lease: "timers", "reaper" ...
    // One turn; how long to wait until the next, if nobody wakes it. An error is logged once and tried again with backoff.
    std::function<Result<std::chrono::milliseconds>()> turn;
    std::function<void()> on_lost;  // the duty went to somebody else, or stops; may be empty
  };

  Duty(Options options, LoopLeases& leases, DatabaseWatch& database, const Clock& clock, Metrics* metrics);
  ~Duty() override { Stop(); }

  Status Start() override;
  void Stop() override;
  void Wake();  // a turn now, if it is held
  bool held() const { return held_.load(); }

 private:
  void RunUntilStopped();
  // Takes or renews. False: not ours now.
  bool Renew();
  void Lose();
  bool Pause(std::chrono::nanoseconds time);  // false: stopping
  void Failed(const Error& error);

  const Options options_;
  LoopLeases& leases_;
  DatabaseWatch& database_;
  const Clock& clock_;
  const Logger log_;
  Gauge held_gauge_;
  Counter turns_;
  std::atomic<bool> held_{false};
  SteadyTime trusted_until_{}, renew_at_{}, turn_at_{};
  bool failing_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, woken_ = false;
  std::mutex lifecycle_;
  std::thread thread_;
};

}  // namespace acl::coordinator
