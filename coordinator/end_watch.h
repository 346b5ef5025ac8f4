#pragma once
// Who waits for runs to end (Prefer: wait): one thread for all of this process. A hint that a run has ended comes from its worker
// (doorbell); what is true is asked of the database, many runs at once (pace.h), and from time to time without a hint.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "coordinator/linger.h"
#include "shared/kernel/queries.h"
#include "shared/runtime/service.h"

namespace acl::coordinator {

class EndWatch final : public Service {
 public:
  struct Options {
    std::size_t max_waiting = 20'000;
    std::chrono::milliseconds look_every{1'000};  // at what nobody gave a hint of
    std::size_t at_once = 500;                    // runs asked for in one query
  };
  // Nothing: it has not ended in time, or this process stops. Called once, on the watch's thread or in Stop; must not block.
  using Done = std::function<void(const std::optional<EndView>& end)>;

  EndWatch(Queries& queries, const Clock& clock) : EndWatch(queries, clock, Options{}) {}
  EndWatch(Queries& queries, const Clock& clock, Options options) : queries_(queries), clock_(clock), options_(options) {}
  ~EndWatch() override { Stop(); }

  Status Start() override;
  void Stop() override;  // whoever waits is told

  // False: too many wait, or it is stopped; `done` is not called then. `soon`: the run may have ended long ago.
  bool Add(const SubjectId& subject, std::chrono::milliseconds at_most, Done done, bool soon = false);
  // A hint that it has ended; before or after Add.
  void Nudge(const SubjectId& subject);
  // Who waits, and how long those that were told lately had waited. From any thread.
  InFlightLoad load() const { return {runs_.load(std::memory_order_relaxed), SteadyTime::duration(each_.load(std::memory_order_relaxed))}; }

 private:
  struct Waiter {
    SteadyTime since, until;
    Done done;
  };

  void RunUntilStopped();
  // A hint is there: whether the thread has to be woken for it. Under the lock.
  bool Hinted(const SubjectId& subject);
  void Count();  // under the lock
  std::vector<SubjectId> TakeDue(SteadyTime now);
  void Look(const std::vector<SubjectId>& subjects);
  void GiveUp(SteadyTime now);

  Queries& queries_;
  const Clock& clock_;
  const Options options_;
  std::mutex lifecycle_, mutex_;
  std::condition_variable changed_;
  std::unordered_multimap<SubjectId, Waiter> waiting_;
  std::vector<SubjectId> nudged_;
  std::unordered_map<SubjectId, SteadyTime> early_;  // nudged while nobody waited: a wait may be about to begin
  SteadyTime look_at_{};
  std::size_t wake_at_ = 1;  // so many hints wake the thread
  std::atomic<std::size_t> runs_{0};
  std::atomic<SteadyTime::rep> each_{0};
  BatchInterval interval_{16};  // the thread's
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace acl::coordinator
