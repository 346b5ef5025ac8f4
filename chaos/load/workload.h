#pragma once
// What the fleet is given to do, through its API, as clients do it: runs of several kinds under idempotency keys, repeated until an answer
// comes, reads, pauses. Every request is in the history with its outcome: ok, fail (certainly not done), info (nobody knows).

#include <atomic>
#include <mutex>
#include <set>

#include "chaos/history/history.h"
#include "chaos/http/client.h"
#include "chaos/load/clients.h"
#include "shared/base/random.h"

namespace acl::chaos {

struct WorkloadOptions {
  std::vector<std::string> api_urls;  // of the coordinators
  std::string api_key;
  std::string effects_url;  // empty: no runs that call the outside
  std::uint64_t seed = 1;
  int clients = 3;
  bool large = false;  // also runs whose results do not fit into their journals
};

// The workflow of a kind. Pure.
std::string WorkflowOf(const std::string& kind, const std::string& effects_url);
std::vector<std::string> WorkflowKinds(bool with_effects);
// Kinds that hold steps, wait for people or begin other runs: a third of the load.
std::vector<std::string> StepKinds(bool with_effects);

class Workload {
 public:
  Workload(WorkloadOptions options, Recorder* history);

  // No new runs (clients.h).
  bool Stop(std::chrono::milliseconds limit) { return clients_.Stop(limit); }
  // A database that moved has lost what was asked of it in these times (steady, from and until): as an operator is told to, the runs whose
  // resuming was answered then are resumed again.
  void ResumeAgain(std::vector<std::pair<std::int64_t, std::int64_t>> lost);
  bool AwaitAnswers(int more, std::chrono::milliseconds limit) const { return clients_.AwaitAnswers(more, limit); }
  // The label that every run of this workload carries.
  std::string label() const { return std::to_string(options_.seed); }
  int submitted() const { return submitted_; }

 private:
  void Client(int number);
  bool Decide(const std::string& process, const std::string& id, Random& random);
  // Under an idempotency key of its own; the time of the answer is kept.
  void Resume(const std::string& process, const std::string& id, const std::string& key, Random& random);
  HttpAnswer Act(const std::string& process, const std::string& act, const std::string& id, const std::string& key, Random& random);
  // Until it is answered; the answer's status, 0 if time was up.
  HttpAnswer AskUntilAnswered(const std::string& process, const std::string& f, HttpAsk ask, const Json& args, Random& random);

  const WorkloadOptions options_;
  Recorder* history_;
  std::atomic<int> submitted_{0};
  std::mutex mutex_;
  std::vector<std::pair<std::int64_t, std::string>> resumed_;  // when it was answered, the run
  Clients clients_;                                            // last: they use the others
};

}  // namespace acl::chaos
