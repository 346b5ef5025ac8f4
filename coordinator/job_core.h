#pragma once
// A job that one coordinator at a time does (reaping, timers, counting ready work), under a fenced lease of its own kind. The others
// stand by and take over when the holder is silent for one TTL. A holder trusts its lease only until `request_sent_at + ttl - margin` on
// its own steady clock. Every tick is harmless if two do it: the lease saves work, it does not guard correctness.
//
//   stand by --Hold gives it--> holding --tick, tick, renew ...--> (renewal refused or unanswered in time) --> stand by
//
// This is what is decided, without threads and without waiting: a loop calls Pass again and again (background_job.h in production,
// tests/sim in virtual time), and what Pass calls may block. One thread.

#include <atomic>
#include <functional>
#include <string>

#include "coordinator/leader_leases.h"
#include "shared/runtime/backoff.h"

namespace acl::coordinator {

// Hears what becomes of a job: for logs, metrics and the watch of the database.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void Held(Token token) = 0;
  virtual void Lost() = 0;
  virtual void Ticked() = 0;                                // a tick went through
  virtual void Failed(const Error& error, bool first) = 0;  // a tick or a renewal; `first`: the one before went through
  virtual void Recovered() = 0;                             // the first tick that went through after Failed
};

class JobCore {
 public:
  struct Options {
    std::string name;  // of the lease: "timers", "reaper" ...
    std::chrono::milliseconds ttl{5'000};
    // One tick; how long to wait until the next, if nobody wakes it. An error is told once and tried again with backoff.
    std::function<Result<std::chrono::milliseconds>()> tick;
    std::function<void()> on_lost;  // the job went to somebody else, or stops; may be empty
  };
  using Hold = std::function<Result<LeaderLeases::Answer>(const std::string& name)>;  // LeaderLeases::Hold

  JobCore(Options options, Hold hold, const Clock& clock, Random& random, JobObserver& observer);

  // What is to be done now: takes or renews the lease, runs a tick. When it wants to be called again: after that time, or sooner if
  // somebody wants a tick. `database_ready`: false, and nothing is asked of the database.
  std::chrono::nanoseconds Pass(bool database_ready);
  void Wake() { tick_at_ = {}; }              // the next Pass runs a tick, if the job is held
  void Lose();                                // stops holding it, without a word to the database
  bool held() const { return held_.load(); }  // from any thread

 private:
  // Takes or renews. False: not ours now.
  bool Renew();
  void RunTick();
  void Failed(const Error& error);

  const Options options_;
  const Hold hold_;
  const Clock& clock_;
  JobObserver& observer_;
  Backoff backoff_;
  std::atomic<bool> held_{false};
  SteadyTime trusted_until_{}, renew_at_{}, tick_at_{};
  bool failing_ = false;
};

}  // namespace acl::coordinator
