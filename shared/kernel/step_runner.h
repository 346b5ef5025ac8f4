#pragma once
// How the kernel has a step run. Production: capabilities on a thread pool (shared/capability/runner.h). Simulation: scripted.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shared/kernel/kind.h"

namespace acl {

struct StepCall {
  SubjectId subject;
  ProjectId project;
  Token token;  // goes to the outside as Fencing-Token
  int attempt_id = 0;
  StartStep step;
  Document state;             // as of the start: cheap copy; the files' manifest is read from it; of a dispatched step only its files
  TraceContext trace;         // SubjectTrace::parent
  const char* scope = "run";  // of the token: "run/step" of a dispatched step
};

// Asked by the runner now and then: true once the step should end (cancel, timeout, lease lost, second signal).
class StopToken {
 public:
  bool stopped() const { return shared_->stopped.load(std::memory_order_acquire); }
  void Stop() { shared_->stopped.store(true, std::memory_order_release); }

  // Said by the runner: the call waits for a thread or a place, then that it begins now. Its time counts from its beginning.
  void Wait() const { shared_->begun.store(kWaits, std::memory_order_release); }
  void Begin(std::chrono::steady_clock::time_point now) const {
    shared_->begun.store(now.time_since_epoch().count(), std::memory_order_release);
  }
  bool waits() const { return shared_->begun.load(std::memory_order_acquire) == kWaits; }
  // Unset: it never waited.
  std::optional<std::chrono::steady_clock::time_point> begun() const {
    const std::int64_t at = shared_->begun.load(std::memory_order_acquire);
    if (at <= 0) return std::nullopt;
    return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(at));
  }

 private:
  static constexpr std::int64_t kWaits = -1;
  struct Shared {
    std::atomic<bool> stopped{false};
    std::atomic<std::int64_t> begun{0};
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

class StepRunner {
 public:
  using Done = std::function<void(StepResult)>;
  struct Job {
    StepCall call;
    StopToken stop;
    Done done;
  };

  virtual ~StepRunner() = default;
  // Steps that are to start at the same time: a runner may do what is quick in one go, which costs less than a thread each.
  virtual void RunMany(std::vector<Job> jobs) {
    for (Job& job : jobs) Run(std::move(job.call), job.stop, std::move(job.done));
  }
  // Runs one attempt to its end; `done` is called exactly once, from any thread. Never blocks the caller.
  virtual void Run(StepCall call, StopToken stop, std::function<void(StepResult)> done) = 0;
};

}  // namespace acl
