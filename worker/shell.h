#pragma once
// The threads around a WorkerCore. One thread at a time decides; helper threads build the items of a group commit beside it; pools make the
// calls that block. Heartbeats and commits have pools of their own, so a slow claim or a long queue of reads delays neither. The deciding
// thread also feeds the heartbeat: if it hangs, the session expires and another worker takes the leases over.
//
// With one run in flight, the thread that receives an answer from the database also decides and sends the next commit, so no other thread
// is woken for a step. The deciding thread handles the other reports, the clock, and what follows from a commit of many runs.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "shared/base/clock.h"
#include "shared/base/uuid7.h"
#include "shared/runtime/blocking_pool.h"
#include "worker/command_executor.h"
#include "worker/worker_core.h"

namespace acl {

class WorkerShell {
 public:
  // Store, queue, runner, kinds, clock and observer outlive the shell.
  WorkerShell(WorkerConfig config, KernelStore& store, QueueDriver& queue, StepRunner& runner, const KindRegistry& kinds,
              const Clock& clock, WorkerObserver* observer = nullptr, std::function<void(double, std::int64_t)> on_restore = {});
  ~WorkerShell();

  void Start();
  // Asks for a clean end; returns at once.
  void Drain();
  // Waits until drained, at most so long. False: it did not end in time (its leases end with its session).
  bool WaitFinished(milliseconds at_most);
  // Nothing is decided any more; what the step runner still reports is dropped. Then end the runner, then the shell.
  void StopDeciding();
  void Stop();

  void HintWork();
  void HintDoorbell(bool connected);
  void HintSubject(const SubjectId& subject);
  void HintGranted(const WorkerSessionId& session, std::vector<SubjectId> subjects);

  struct Status {
    WorkerCounts counts;
    int held = 0, running_steps = 0, lost_slots = 0;
    bool live = false, finished = false, is_short = false;
    WorkerSessionId session;
  };
  Status status() const;

 private:
  void Post(Report report);
  void RunUntilStopped();
  // Which commands a thread executes itself after it has decided, instead of waking another thread. A thread of the commit pool may take
  // any commit, round after round; a thread of the other pools takes small ones, because few threads serve reads.
  enum class Takes { kNothing, kReads, kSmallCommits, kCommits };
  void HandOut(Takes takes, std::optional<Command>& mine);
  static bool Fits(Takes takes, const Command& command);
  // One round: what was reported, what follows. Under the lock, which is not held meanwhile; nobody may be deciding. `mine`: where the
  // first that the thread takes goes.
  void Decide(std::unique_lock<std::mutex>& lock, Takes takes, std::optional<Command>& mine);
  // By the thread that brings it: what this thread carries out next.
  std::optional<Command> DecideHere(Report report, Takes takes);
  void Dispatch(Command command);
  // Carries it out, decides on what that brought, and so on.
  void GoOn(std::optional<Command> next, BlockingPool& pool);
  // What a thread of the pool takes next. `lent`: whether it is one for other things that carries out commits meanwhile.
  Takes TakesOf(const BlockingPool& pool, bool& lent);
  StepRunner::Job JobOf(command::RunStep step);

  const Clock& clock_;
  StepRunner& runner_;
  SystemRandom random_;
  Uuid7Maker ids_;
  HelperThreads helpers_;
  const std::size_t room_for_;  // commands that runs and steps may have on their way at once
  WorkerCore core_;             // touched by the thread that has set deciding_, and by the helper threads
  CommandContext executor_;
  BlockingPool heartbeats_, commits_, others_;
  std::atomic<bool> lent_{false};  // one of others_, to commits
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Report> reports_;
  bool stopping_ = false, deciding_ = false;
  SteadyTime wake_{};          // when the core wants to be asked at the latest
  SteadyTime sleeps_until_{};  // the deciding thread, unless it is woken
  Status status_;
  std::thread thread_;
};

}  // namespace acl
