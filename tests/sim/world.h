#pragma once
// The simulator: the production WorkerCore, several of them, over the in-memory store, on one thread with a virtual clock and seeded
// faults (crash, freeze past the lease, requests and answers lost, slow steps). First faults, then healing and progress. The same seed
// gives the same run, byte for byte (trace_hash).

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "coordinator/relay.h"
#include "shared/base/random.h"
#include "shared/kernel/memory_queries.h"
#include "shared/kernel/memory_store.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_broker.h"
#include "worker/carry_out.h"

namespace acl::test {

class SimClock final : public Clock {
 public:
  WallTime Wall() const override { return WallTime(std::chrono::microseconds(1'800'000'000'000'000 + now_.count())); }
  SteadyTime Steady() const override { return SteadyTime(now_); }
  void Set(std::chrono::microseconds now) { now_ = now; }
  std::chrono::microseconds now() const { return now_; }

 private:
  std::chrono::microseconds now_{1'000'000};
};

// What a run met; zeros over all seeds mean that the simulation does not exercise what it claims to.
struct SimReport {
  // What was done to the fleet, by number. The same seed has the same faults.
  struct Fault {
    std::chrono::microseconds at;
    const char* what;
  };
  std::vector<Fault> faults;
  std::uint64_t seed = 0;
  std::int64_t subjects = 0, closed = 0, events = 0, takeovers = 0, stale_commits_refused = 0, unknown_commits = 0, unknown_landed = 0;
  std::int64_t signals_acked = 0, signals_at_close = 0, direct_commands = 0, crashes = 0, freezes = 0, uncertain_resolved = 0,
               snapshots = 0;
  std::int64_t effects = 0, stale_effects_refused = 0;
  std::int64_t by_messages = 0, messages_lost = 0, messages_repeated = 0, messages_dropped = 0, late_claims = 0;  // of driver `memory`
  std::int64_t tasks_offered = 0, tasks_taken = 0, task_results = 0, tasks_lost = 0, tasks_withdrawn = 0, late_results_refused = 0,
               task_results_kept = 0;
  std::uint64_t trace_hash = 0;
  std::vector<std::string> violations;

  void Add(const SimReport& other);
  std::string ToString() const;
};

// What runs in the simulated fleet: brought by the test (counters, workflows).
class SimLoad {
 public:
  virtual ~SimLoad() = default;
  virtual const KindRegistry& kinds() const = 0;
  virtual CreateItem MakeSubject(Random& random, const SubjectId& id) = 0;
  // An outside input for a subject: kind and payload. `uncertain`: the subject waits for a person to resolve a step.
  virtual std::pair<std::string, Json> MakeSignal(Random& random, const MemorySubject& subject, bool uncertain) = 0;
  // A synchronous command, or nullptr.
  virtual DirectDecider MakeDirect(Random& random, const MemorySubject& subject) = 0;
  // Queues that the workers serve, besides "default": each all, or every other worker.
  virtual std::vector<std::string> TaskQueues() const { return {}; }
  // Result of a step that ran to its end.
  virtual StepResult RunStep(Random& random, const StepCall& call) = 0;
  // The outside acts anew on every success of this call: no key is honoured and nobody asked for a repeat.
  virtual bool ActsEveryTime(const StepCall& call) { return call.step.effect == EffectClass::kNonIdempotent; }
  // Ends a subject that would wait for ever once the faults are over; nullopt if it ends by itself.
  virtual std::optional<std::pair<std::string, Json>> MakeStop(const MemorySubject& subject) = 0;
  // Invariants of the kind itself over a finished subject.
  virtual void Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) = 0;
};

struct SimOptions {
  int workers = 3;
  int subjects = 12;
  std::chrono::seconds fault_time{40};
  std::chrono::seconds heal_time{240};
  MemoryStore::Mutants mutants{};
  // Faults that do not happen, by number: from this one on, and these.
  int faults_until = std::numeric_limits<int>::max();
  std::set<int> spared;
};

class SimWorld {
 public:
  SimWorld(std::uint64_t seed, SimLoad& load, SimOptions options);
  ~SimWorld();
  SimReport Run();

 private:
  struct Worker;
  using Micros = std::chrono::microseconds;
  struct Planned {
    Micros at;
    std::uint64_t order;
    std::function<void()> run;
    bool operator<(const Planned& other) const { return std::tie(other.at, other.order) < std::tie(at, order); }
  };

  void After(Micros delay, std::function<void()> run);
  Micros Ms(std::uint64_t low, std::uint64_t high) { return Micros(1000 * (low + random_.Below(high - low + 1))); }
  bool faults() const { return clock_.now() < faults_end_; }
  // Whether a fault that the dice brought happens; it is numbered either way.
  bool Strikes(bool dice, const char* what);
  FaultyStore::Strikes StoreStrikes();
  void Trace(std::uint64_t value) { report_.trace_hash = report_.trace_hash * 0x100000001b3ull ^ value; }
  void StartWorker(Worker& worker);
  void Pump(Worker& worker);
  void Carry(Worker& worker, Command command);
  void RunStep(Worker& worker, command::RunStep run);
  void Deliver(Worker& worker, std::uint64_t incarnation, Report report);
  void Collect(const Worker& worker);
  void Nemesis();
  // Ready rows become messages, messages travel; some are lost, repeated, reordered on the way.
  void Relay();
  Status SendMessage(const StepMessage& message, coordinator::RelayOptions::Done done);
  void StartRelays();
  void Upkeep();
  void Timers();
  void Clients();
  void CheckWakes(const MemorySubject& subject, const std::set<SubjectId>& ready);
  void CreateSubject(int tries, std::shared_ptr<CreateItem> item);
  void PostSignal(const SubjectId& subject, const std::string& kind, const Json& payload, std::shared_ptr<InboxId> id, int tries);
  void CheckAll();
  void CheckSubject(const MemorySubject& subject);
  bool AllClosed() const;

  SimLoad& load_;
  const SimOptions options_;
  SeededRandom random_;
  SimClock clock_;
  MemoryStore store_;
  FaultyStore client_store_;
  Uuid7Maker ids_;
  // Half of the seeds hear of ready work by messages, the other half look for it.
  const bool messages_;
  MemoryQueries queries_;
  Metrics metrics_;
  MemoryBroker broker_;
  std::vector<coordinator::Relay> relays_;
  std::priority_queue<Planned> planned_;
  std::uint64_t order_ = 0;
  Micros faults_end_{};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<SubjectId> created_;
  std::map<SubjectId, std::set<std::string>> acked_signals_;
  // The outside that steps act on: highest token seen, and effects applied by (subject, step).
  std::map<SubjectId, Token> outside_token_;
  std::map<std::pair<SubjectId, std::string>, Token> outside_task_token_;  // scope run/step
  std::map<std::pair<SubjectId, std::string>, int> unkeyed_effects_;
  std::map<std::pair<SubjectId, std::string>, std::set<std::string>> keys_;  // under which each step's effect was asked for
  SimReport report_;
};

}  // namespace acl::test
