#pragma once
// Whether a living worker takes from a queue: for people, at submit and in what is shown of a run. Nothing is decided by it. A worker on
// this process's doorbell says its queues; for others the database is asked, once a second at most. Thread-safe.

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/kernel/queries.h"

namespace acl::coordinator {

class QueueWatch {
 public:
  using Heard = std::function<bool(const std::string& queue)>;  // some worker on the doorbell takes from it; may be empty

  QueueWatch(Queries& queries, const Clock& clock, Heard heard) : queries_(queries), clock_(clock), heard_(std::move(heard)) {}

  // Without asking the database: each of them is known to be served. From any thread, does not block for long.
  bool Known(const std::vector<std::string>& queues);
  // Those that no living worker takes from. Empty if the database cannot say.
  std::vector<std::string> Unserved(const std::vector<std::string>& queues);

 private:
  bool Hears(const std::string& queue) const { return heard_ && heard_(queue); }
  bool Fresh() const { return asked_at_ && clock_.Steady() < *asked_at_ + std::chrono::seconds(1); }

  Queries& queries_;
  const Clock& clock_;
  const Heard heard_;
  std::mutex mutex_;
  std::set<std::string> served_;
  std::optional<SteadyTime> asked_at_;
};

// What is said of such a queue, everywhere with the same words.
std::string NoWorkerText(const std::string& queue);

}  // namespace acl::coordinator
