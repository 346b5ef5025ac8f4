#pragma once
// How the kernel has a step run. Production: capabilities on a thread pool (worker/runner). Simulation: scripted.

#include <atomic>
#include <functional>
#include <memory>
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
  bool stopped() const { return flag_->load(std::memory_order_acquire); }
  void Stop() { flag_->store(true, std::memory_order_release); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
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
