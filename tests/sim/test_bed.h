#pragma once
// The simulator: the production WorkerCore, several of them, and the jobs of two coordinators (job_process.h) over the in-memory store,
// on one thread with a virtual clock and seeded faults (crash, freeze past the lease, stolen jobs, requests and answers lost, slow
// steps). First faults, then healing and progress. The same seed gives the same run, byte for byte (trace_hash).

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "coordinator/job_plan.h"
#include "shared/base/random.h"
#include "shared/kernel/memory_queries.h"
#include "shared/kernel/memory_store.h"
#include "shared/queue/grant_book.h"
#include "shared/telemetry/log.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_broker.h"
#include "tests/support/memory_schedules.h"
#include "worker/command_executor.h"

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
  std::int64_t by_messages = 0, messages_lost = 0, messages_repeated = 0, messages_dropped = 0, late_claims = 0,
               ready_hints = 0;  // of driver `memory`
  std::int64_t dispatches_offered = 0, dispatches_taken = 0, dispatch_results = 0, dispatches_lost = 0, dispatches_withdrawn = 0,
               late_results_refused = 0, dispatch_results_kept = 0;
  // Of the coordinators: ticks that began, those that began while the other was in the same one, jobs that were taken (by whoever).
  std::int64_t ticks = 0, ticks_side_by_side = 0, jobs_taken = 0, jobs_stolen = 0, coordinators_killed = 0, coordinators_frozen = 0;
  std::int64_t fire_times = 0, scheduled_runs = 0, hints = 0;
  std::int64_t granted_as_made = 0, grants_unheard = 0, grants_heard_twice = 0, grants_to_the_dead = 0;  // create and grant
  std::int64_t rolls = 0, dropped = 0;  // journals that began; events of journals that were dropped
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
  // Schedules whose fire times all lie in the first `within`, and what their runs are made of.
  struct Scheduled {
    std::shared_ptr<const CapabilityRegistry> capabilities;
    std::shared_ptr<const SubjectKind> kind;
    std::vector<schedule::NewSchedule> schedules;
  };
  virtual Scheduled MakeSchedules(Random& random, WallTime from, std::chrono::seconds within) = 0;
  // Queues that the workers serve, besides "default": each all, or every other worker.
  virtual std::vector<std::string> DispatchQueues() const { return {}; }
  // Result of a step that ran to its end.
  virtual StepResult RunStep(Random& random, const StepCall& call) = 0;
  // How long the step takes, if that is not left to the dice.
  virtual std::optional<milliseconds> Takes(const StepCall&) { return std::nullopt; }
  // The step ends by killing the process that runs it.
  virtual bool Kills(const StepCall&) { return false; }
  // What kills its workers and has no step to fail waits for a person, and nobody releases it here.
  virtual bool MayEndQuarantined(const SubjectId&) const { return false; }
  // What a person releases: any other quarantine is released too, but counts as a violation.
  virtual bool MayBeReleased(const MemorySubject&) const { return false; }
  // The outside acts anew on every success of this call: no key is honoured and nobody asked for a repeat.
  virtual bool ActsEveryTime(const StepCall& call) { return call.step.effect == EffectClass::kNonIdempotent; }
  // Ends a subject that would wait for ever once the faults are over; nullopt if it ends by itself.
  virtual std::optional<std::pair<std::string, Json>> MakeStop(const MemorySubject& subject) = 0;
  // Invariants of the kind itself over a finished subject.
  virtual void Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) = 0;
};

// How long journals stay in the simulator, after the next began.
inline constexpr milliseconds kKeptJournals{8'000};

struct SimOptions {
  int workers = 3;
  int coordinators = 2;
  int subjects = 12;
  std::chrono::seconds fault_time{40};
  std::chrono::seconds heal_time{240};
  MemoryStore::Mutants mutants{};
  // Faults that do not happen, by number: from this one on, and these.
  int faults_until = std::numeric_limits<int>::max();
  std::set<int> spared;
};

class SimTestBed {
 public:
  SimTestBed(std::uint64_t seed, SimLoad& load, SimOptions options);
  ~SimTestBed();
  SimReport Run();

 private:
  struct Worker;
  struct Coordinator;
  class AwaitedQueries;
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
  void KillWorker(Worker& victim);
  bool AllEnded() const;
  void Nemesis();
  // Messages travel; some are lost, repeated, reordered on the way.
  void Broker();
  Status SendMessage(const StepMessage& message, coordinator::RelayOptions::Done done);
  void Hint(const std::string& queue);
  // -- coordinators.cc
  void MakeCoordinators();
  void StartCoordinator(Coordinator& of);
  // What a worker's doorbell tells every coordinator of rows that it made ready; some of it is lost, late, or said twice.
  void TellReady(const std::vector<StepMessage>& rows, bool all);
  void TroubleCoordinators();
  // Before and after a call of a coordinator to the database: it takes its time.
  void OnTheWay(bool back, std::uint64_t slow_of = 25);  // one call in so many is slow
  void CheckTick(const Coordinator& of, const std::string& job);
  bool SchedulesAreDone();
  void CheckSchedules();
  void Clients();
  void CheckWakes(const MemorySubject& subject, const std::set<SubjectId>& ready);
  // What a coordinator's doorbell tells a worker that was granted a run as it was made; some of it is lost, late, or said twice.
  void TellGranted(const WorkerSessionId& session, const SubjectId& subject);
  void CreateSubject(int tries, std::shared_ptr<CreateItem> item);
  void PostSignal(const SubjectId& subject, const std::string& kind, const Json& payload, std::shared_ptr<InboxId> id, int tries);
  void CheckAll();
  void CheckSubject(const MemorySubject& subject);
  void CheckJournals(const MemorySubject& subject, const std::vector<Event>& all);

  SimLoad& load_;
  const SimOptions options_;
  SeededRandom random_;
  SimClock clock_;
  MemoryStore store_;
  FaultyStore client_store_;
  Uuid7Maker ids_;
  // Half of the seeds hear of ready work by messages, the other half look for it.
  const bool messages_;
  Metrics metrics_;
  MemoryBroker broker_;
  MemorySchedules schedules_;
  SimLoad::Scheduled scheduled_;
  std::map<std::string, std::vector<std::int64_t>> fire_times_;  // of each schedule
  std::priority_queue<Planned> planned_;
  std::uint64_t order_ = 0;
  Micros faults_end_{};
  std::vector<std::unique_ptr<Worker>> workers_;
  int created_ = 0;
  GrantBook grants_;  // of whoever makes the runs
  std::map<SubjectId, std::set<std::string>> acked_signals_;
  // The outside that steps act on: highest token seen, and effects applied by (subject, step).
  std::map<SubjectId, Token> outside_token_;
  std::map<std::pair<SubjectId, std::string>, Token> outside_dispatch_token_;  // scope run/step
  std::map<std::pair<SubjectId, std::string>, int> unkeyed_effects_;
  std::map<std::pair<SubjectId, std::string>, std::set<std::string>> keys_;  // under which each step's effect was asked for
  SimReport report_;
  const LogLevel log_level_;  // what it was: nothing is written here
  Micros stolen_until_{};     // until then whoever a job was stolen from may believe that it has it
  std::vector<std::shared_ptr<Coordinator>> coordinators_;
};

}  // namespace acl::test
