#pragma once
// Makes runs for callers that come at the same time in one transaction: what was asked for while the last one was on its way, and a moment
// after it (pace.h), goes together with the next. A run for which a worker has room is granted to it in the same transaction (
// docs/architecture.md#create-and-grant); for the others workers are notified. One thread.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "coordinator/linger.h"
#include "shared/kernel/store.h"
#include "shared/queue/step_message.h"
#include "shared/runtime/service.h"
#include "shared/telemetry/metrics.h"

namespace acl::coordinator {

class RunCreator final : public Service {
 public:
  struct Options {
    std::size_t max_queued = 10'000;
    std::size_t at_once = 200;
    std::function<InFlightLoad()> load = {};  // of runs in flight; none: nobody is kept waiting
    // Instead of ringing; false: rings. On the creator's thread.
    std::function<bool(const std::vector<StepMessage>&)> hinted = {};
    Counter created = {};
  };
  // Called once, on the creator's thread or in Stop; must not block.
  using Done = std::function<void(Result<CreateOutcome> outcome)>;
  // Runs of this queue were made; once a queue and transaction.
  using Ring = std::function<void(const std::string& queue)>;
  // Who has room (GrantBook), and how its worker hears of what it was granted; called on the creator's thread, must not block.
  struct Grants {
    std::function<std::optional<WorkerSessionId>(const CreateItem&)> take;
    std::function<void(const WorkerSessionId&)> put_back, dead;
    std::function<void(const WorkerSessionId&, std::vector<SubjectId>)> tell;
  };

  // Without `grants.take` nothing is granted.
  RunCreator(KernelStore& store, Ring ring, Grants grants = {}) : RunCreator(store, std::move(ring), std::move(grants), Options{}) {}
  RunCreator(KernelStore& store, Ring ring, Grants grants, Options options)
      : store_(store), ring_(std::move(ring)), grants_(std::move(grants)), options_(options) {}
  ~RunCreator() override { Stop(); }

  Status Start() override;
  void Stop() override;  // what was taken is made first

  // False: too much waits, or it is stopped; `done` is not called then.
  bool Add(CreateItem item, Done done);

 private:
  struct Asked {
    CreateItem item;
    Done done;
  };
  void RunUntilStopped();
  void AwaitSome(std::unique_lock<std::mutex>& lock);
  // What a transaction made, to be told of.
  struct Made {
    std::set<std::string> queues;
    std::vector<StepMessage> rows;  // ready ones whose keys are known
    std::map<WorkerSessionId, std::vector<SubjectId>> granted;
  };
  void Make(std::vector<Asked> asked);
  void Note(const CreateItem& item, const Result<CreateOutcome>& outcome, Made& made) const;
  void Tell(Made made) const;

  KernelStore& store_;
  const Ring ring_;
  const Grants grants_;
  const Options options_;
  std::mutex lifecycle_, mutex_;
  std::condition_variable changed_;
  std::vector<Asked> queue_;
  std::size_t wake_at_ = 1;  // so many in the queue wake the thread
  bool stopping_ = false;
  const LingerWindow linger_{8};
  std::thread thread_;
};

}  // namespace acl::coordinator
