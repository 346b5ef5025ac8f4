#pragma once
// The WorkerCore with threads around it: one thread at a time decides (a helper threads helps it build items), pools block. Heartbeats and
// commits have threads of their own, so that neither a slow claim nor a long queue of reads delays them. Deciding is also what feeds the
// heartbeat: if it hangs, the session ends and somebody else takes over.
//
// Who brings an answer from the database decides what follows from it, if nobody is deciding, and a commit that follows is sent by the
// thread that has just ended one: with a single run in flight no thread is woken for a step. The deciding thread is there
// for what else is reported, for the clock, and for what follows from a commit of many runs.

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
  // What a thread carries out itself of what it decided, instead of waking one that sleeps. Who takes commits stays for round after round;
  // there are few threads for the rest, and each has its own work to go on with.
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
  WorkerCore core_;             // touched by who has set deciding_, and by the helper threads that helps
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
