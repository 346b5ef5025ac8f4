#pragma once
// Makes runs for callers that come at the same time in one transaction: what was asked for while the last one was on its way goes
// together with the next (as commits do). One thread.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "shared/kernel/store.h"
#include "shared/runtime/service.h"

namespace acl::coordinator {

class RunCreator final : public Service {
 public:
  struct Options {
    std::size_t max_queued = 10'000;
    std::size_t at_once = 200;
  };
  // Called once, on the creator's thread or in Stop; must not block.
  using Done = std::function<void(Result<CreateOutcome> outcome)>;
  // Runs of this queue were made; once a queue and transaction.
  using Ring = std::function<void(const std::string& queue)>;

  RunCreator(KernelStore& store, Ring ring) : RunCreator(store, std::move(ring), Options{}) {}
  RunCreator(KernelStore& store, Ring ring, Options options) : store_(store), ring_(std::move(ring)), options_(options) {}
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
  void Make(std::vector<Asked> asked);

  KernelStore& store_;
  const Ring ring_;
  const Options options_;
  std::mutex lifecycle_, mutex_;
  std::condition_variable changed_;
  std::vector<Asked> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace acl::coordinator
