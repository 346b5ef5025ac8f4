#pragma once
// Runs steps by calling capabilities: the production StepRunner. A bounded pool of threads of its own, so that a slow capability never
// holds up a heartbeat, the worker's loop or (until the pool is full) another step.
//
// One call: find the capability, check parameters, fill defaults, give it the run's files as a layer of its own, a deadline and the stop
// token; then check that the outputs can be stored. What the outcomes mean: kernel/kind.h. Never blocks the caller of Run. A call that
// waits for somebody else (CapabilityStarter) holds no thread meanwhile.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "shared/base/random.h"
#include "shared/capability/capability.h"
#include "shared/capability/config.h"
#include "shared/capability/content.h"
#include "shared/telemetry/metrics.h"

namespace acl {

struct RunnerOptions {
  std::string work_folder;                  // files are laid out and contents kept below it
  int threads = 8;                          // at most; each is made when it is first needed
  std::size_t max_queued = 1024;            // beyond it a call is answered kNotStarted at once
  std::size_t quick_here = 0;               // so many quick calls that come together are carried out by the caller: no thread is woken
  std::int64_t max_kept_bytes = 1ll << 30;  // contents kept on this worker's disk
  Metrics* metrics = nullptr;               // acl_step_seconds by capability; may be null
  // The W3C `traceparent` that a call hands to the outside; without it that of whoever submitted the run.
  std::function<std::string(const StepCall&)> traceparent;
};

class CapabilityRunner final : public StepRunner {
 public:
  // kUnavailable if the work folder cannot be made. The registry and the store must outlive the runner.
  static Result<std::unique_ptr<CapabilityRunner>> Make(const CapabilityRegistry& registry, ContentStore& contents,
                                                        const CapabilityConfig& config, const RunnerOptions& options);
  // Stops what runs, answers what is queued with kNotStarted, and returns when every `done` has been called.
  ~CapabilityRunner() override;

  void Run(StepCall call, StopToken stop, Done done) override;
  void RunMany(std::vector<Job> jobs) override;

  // One call on this thread.
  StepResult Call(StepCall call, const StopToken& stop);

 private:
  CapabilityRunner(const CapabilityRegistry& registry, ContentStore& contents, const CapabilityConfig& config, const RunnerOptions& options,
                   std::unique_ptr<WorkFolder> folder);
  struct Attempt;                 // a call, from before it begins to after it ended
  using Work = std::vector<Job>;  // run one after the other
  // Gives back what there is no room for, or no thread (then `short_of` says why).
  Work Queue(Work work, std::string& short_of);
  Status WakeAThread();  // under the lock: makes one if all are busy; kExhausted: there is none at all, and none can be had
  void RunWork();
  bool HasWork() const { return !queue_.empty() || (!ended_.empty() && !ending_); }
  // What ended elsewhere and has more than a little left to do, finished by one thread at a time: however many answers come at once, they
  // need no thread each.
  void EndThose(std::unique_lock<std::mutex>& lock);
  // The result of what is carried out here; nothing if it is only begun here, and ends when somebody answers.
  std::optional<StepResult> RunOne(Job& job, std::uint64_t number);
  void End(std::uint64_t number, const Done& done, StepResult result);
  void RunAll(Work& work, std::uint64_t number);
  // Numbers of their own for calls that begin now. Under the lock.
  std::uint64_t Begin(const Work& work);
  enum class Pace { kSlow, kBegun, kQuick };  // kBegun: what is done here is only its beginning
  Pace PaceOf(const StepCall& call) const;
  // The result if the call cannot begin.
  std::optional<StepResult> Prepare(Attempt& attempt, StepCall call, const StopToken& stop);
  StepResult Finish(Attempt& attempt, StepResult result);
  std::string AttemptFolder(const SubjectId& subject, Token token, int attempt_id) const;

  const CapabilityRegistry& registry_;
  const CapabilityConfig config_;
  const std::size_t max_queued_;
  const std::size_t quick_here_;
  const int max_threads_;
  const std::function<std::string(const StepCall&)> traceparent_;
  std::unique_ptr<WorkFolder> folder_;
  ContentCache contents_;
  mutable std::atomic<std::uint64_t> next_name_{SystemRandom().Next()};  // of an attempt's folder; asked for once, not at each step

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> queue_;
  std::vector<std::function<void()>> ended_;       // what is left to do for calls that ended elsewhere
  bool ending_ = false;                            // a thread is at it
  std::size_t queued_ = 0;                         // jobs in it
  int idle_ = 0;                                   // threads that wait
  std::map<std::string, Histogram> step_seconds_;  // by capability; made once, then only read
  std::map<std::uint64_t, StopToken> running_;     // by the number of the call, until its `done` is called
  std::uint64_t next_number_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace acl
