#pragma once
// The leases of one process's jobs, taken and renewed by one statement for all of them: an idle fleet asks the database once per period,
// not once per job. Each job asks here and hears what the last statement said, or sends the next when that is a third of a TTL old.

#include <map>
#include <mutex>

#include "shared/kernel/store.h"

namespace acl::coordinator {

class LeaderLeases {
 public:
  struct Options {
    std::chrono::milliseconds ttl{5'000};
    WorkerSessionId session;         // one incarnation of this process
    std::vector<std::string> names;  // of every job that will ask
  };
  struct Answer {
    SteadyTime sent{};                 // of the statement: the lease counts from there
    std::optional<LeaderLease> lease;  // nullopt: another process has it
  };

  LeaderLeases(Options options, KernelStore& store, const Clock& clock) : options_(std::move(options)), store_(store), clock_(clock) {}

  // From any thread. An error is the store's and holds for a tenth of a TTL.
  Result<Answer> Hold(const std::string& name);
  std::chrono::milliseconds ttl() const { return options_.ttl; }

 private:
  const Options options_;
  KernelStore& store_;
  const Clock& clock_;
  std::mutex mutex_;  // held while the statement is under way: the other jobs want the same answer
  SteadyTime sent_{}, good_until_{};
  std::optional<Error> error_;
  std::map<std::string, std::optional<LeaderLease>> held_;
};

}  // namespace acl::coordinator
