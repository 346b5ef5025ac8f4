#include "tests/sim/test_bed.h"

#include <fmt/format.h>

#include <cstdlib>

namespace acl::test {

namespace {

constexpr auto kTtl = milliseconds(2'000);

FaultyStore::Rates FaultRates() { return {.unavailable = 0.03, .lost_request = 0.02, .lost_answer = 0.05}; }

}  // namespace

struct SimTestBed::Worker {
  // Its end of a coordinator's doorbell: how much it may be granted unasked, counted as doorbell_client.h counts.
  struct Line final : WorkerObserver {
    Line(SimTestBed& given, Worker& of, std::int64_t peer) : test_bed(given), worker(of), number(peer) {}
    void OnSession(const WorkerSessionId& session) override {
      heard = room = 0;
      test_bed.grants_.Hello(number, session, worker.Queues(test_bed));
    }
    void OnRoom(const WorkerSessionId& session, int now) override {
      room = now;
      Say(session);
    }
    void OnReady(const std::vector<StepMessage>& rows, bool all) override { test_bed.TellReady(rows, all); }
    void Heard(const WorkerSessionId& session) {
      ++heard;
      Say(session);
    }
    void Say(const WorkerSessionId& session) {
      test_bed.grants_.Room(number, session, std::uint64_t(heard + room), EventSchemaVersion(), test_bed.load_.kinds().Names());
    }
    SimTestBed& test_bed;
    Worker& worker;
    const std::int64_t number;
    int heard = 0, room = 0;
  };

  Worker(SimTestBed& test_bed, int number)
      : line(test_bed, *this, number),
        name(fmt::format("w{}", number)),
        store(test_bed.store_, test_bed.random_.Next(), FaultRates()),
        random(test_bed.random_.Next()),
        queue(MakeQueue(test_bed)),
        executor{store, *queue, test_bed.clock_, test_bed.ids_, {}} {
    store.SetStrikes(test_bed.StoreStrikes());
  }

  // Each worker serves half of the load's own queues, and no two the same half: a dispatch usually runs elsewhere than its run.
  std::vector<std::string> Queues(SimTestBed& test_bed) const {
    std::vector<std::string> served{"default"};
    const auto queues = test_bed.load_.DispatchQueues();
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if ((i + std::size_t(name.back())) % 2 == 0) served.push_back(queues[i]);
    }
    return served;
  }
  std::unique_ptr<QueueDriver> MakeQueue(SimTestBed& test_bed) {
    if (!test_bed.messages_) return std::make_unique<PostgresDriver>(store);
    const auto hint = [this, &test_bed] {
      const std::uint64_t now_running = incarnation;
      test_bed.After(Micros(100), [this, &test_bed, now_running] {
        test_bed.Deliver(*this, now_running, [](WorkerCore& of, SteadyTime now) { of.OnWorkHint(now); });
      });
    };
    const milliseconds late_after(test_bed.random_.Below(3) == 0 ? 30'000 : 2'000);
    return test_bed.broker_.MakeDriver(Queues(test_bed), store, test_bed.clock_, hint, 1 + test_bed.random_.Below(12), late_after,
                                       milliseconds(500));
  }

  Line line;
  std::string name;
  FaultyStore store;
  SeededRandom random;
  std::unique_ptr<QueueDriver> queue;
  CommandContext executor;
  HelperThreads helpers{0};  // its hands are ours alone: the same seed, the same order
  std::unique_ptr<WorkerCore> core;
  std::uint64_t incarnation = 0, wake_generation = 0;
  bool frozen = false;
  std::vector<std::function<void()>> deferred;  // what a frozen process will find when it goes on
};

SimTestBed::SimTestBed(std::uint64_t seed, SimLoad& load, SimOptions options)
    : load_(load),
      options_(options),
      random_(seed),
      store_(clock_, options.mutants),
      client_store_(store_, random_.Next(), FaultRates()),
      ids_(clock_, random_),
      messages_(random_.Below(2) == 0),
      schedules_(clock_),
      log_level_(GetLogLevel()) {
  SetLogLevel(LogLevel::kOff);
  report_.seed = seed;
  store_.SetLeastJournalRetention(kKeptJournals);
  client_store_.SetStrikes(StoreStrikes());
}

SimTestBed::~SimTestBed() { SetLogLevel(log_level_); }

void SimTestBed::After(Micros delay, std::function<void()> run) { planned_.push({clock_.now() + delay, ++order_, std::move(run)}); }

bool SimTestBed::Strikes(bool dice, const char* what) {
  if (!dice) return false;
  const int number = int(report_.faults.size());
  report_.faults.push_back({clock_.now(), what});
  return number < options_.faults_until && !options_.spared.contains(number);
}

FaultyStore::Strikes SimTestBed::StoreStrikes() {
  return [this](FaultyStore::Fault fault) {
    switch (fault) {
      case FaultyStore::Fault::kNone: return true;
      case FaultyStore::Fault::kUnavailable: return Strikes(true, "the database refuses a call");
      case FaultyStore::Fault::kLostRequest: return Strikes(true, "a call to the database is lost");
      case FaultyStore::Fault::kLostAnswer: return Strikes(true, "an answer of the database is lost");
    }
    return true;
  };
}

SimReport SimTestBed::Run() {
  const Micros begin = clock_.now();
  faults_end_ = begin + options_.fault_time;
  for (int i = 0; i < options_.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, i));
    StartWorker(*workers_.back());
  }
  for (int i = 0; i < options_.subjects; ++i) {
    After(Ms(0, std::uint64_t(options_.fault_time.count()) * 1'100),
          [this] { CreateSubject(0, std::make_shared<CreateItem>(load_.MakeSubject(random_, SubjectId{ids_.Make()}))); });
  }
  After(Ms(500, 1'500), [this] { Nemesis(); });
  After(Ms(200, 600), [this] { Clients(); });
  if (messages_) After(Ms(10, 50), [this] { Broker(); });
  MakeCoordinators();
  const Micros end = faults_end_ + options_.heal_time;
  while (!planned_.empty() && clock_.now() < end) {
    Planned next = planned_.top();
    planned_.pop();
    clock_.Set(next.at);
    next.run();
    if (clock_.now() > faults_end_ && created_ == options_.subjects && AllEnded() && SchedulesAreDone()) break;
  }
  for (const auto& worker : workers_) Collect(*worker);
  CheckAll();
  CheckSchedules();
  return report_;
}

// ---- workers

void SimTestBed::StartWorker(Worker& worker) {
  WorkerConfig config;
  config.session.worker_name = worker.name;
  config.session.ttl = kTtl;
  config.session.queues = worker.Queues(*this);
  config.trust_margin = milliseconds(300);
  config.heartbeat_every = milliseconds(500);
  config.run_slots = config.session.slots = 8;
  config.step_slots = 4;
  config.claim_batch = 1 + int(random_.Below(6));
  config.commit_batch = random_.Below(4) == 0 ? 1 : 64;
  config.reconcile_every = milliseconds(5'000);
  if (messages_) config.granted_unheard = 0;
  config.subject.fairness_items = random_.Below(3) == 0 ? 2 : 256;
  config.subject.go_on = (std::uint64_t(worker.name.back()) + worker.incarnation) % 4 != 0;  // a quarter leaves each step to the queue
  // Mostly journals end every few events, so that whatever happens to a run happens where one ends too. No dice: a seed stays the run it
  // was.
  const std::uint64_t kind = report_.seed + std::uint64_t(worker.name.back()) + worker.incarnation;
  config.subject.segment_events = kind % 4 == 0 ? kSegmentEvents : kLeastSegmentEvents + std::int64_t(kind % 9);
  ++worker.incarnation;
  const bool several =
      worker.name.back() % 2 == 0;  // half of the workers build their items several at once, as with more than one processor
  if (several) config.step_slots = 16;
  worker.core = std::make_unique<WorkerCore>(config, load_.kinds(), worker.random, &worker.line, several ? &worker.helpers : nullptr);
  worker.core->Start(clock_.Steady());
  (void)worker.queue->Start().ok();
  Pump(worker);
}

void SimTestBed::Pump(Worker& worker) {
  if (!worker.core || worker.frozen) return;
  for (Command& command : worker.core->TakeCommands(clock_.Steady())) {
    Trace(command.index() + 1);
    if (auto* run = std::get_if<command::RunStep>(&command)) {
      RunStep(worker, std::move(*run));
    } else {
      Carry(worker, std::move(command));
    }
  }
  const auto wait = std::chrono::duration_cast<Micros>(worker.core->NextWake(clock_.Steady()) - clock_.Steady());
  const std::uint64_t generation = ++worker.wake_generation, incarnation = worker.incarnation;
  After(std::max(wait, Micros(1'000)), [this, &worker, generation, incarnation] {
    if (worker.incarnation != incarnation || worker.wake_generation != generation) return;
    if (worker.frozen) {
      worker.deferred.push_back([this, &worker] { Pump(worker); });
    } else {
      Pump(worker);
    }
  });
}

void SimTestBed::Deliver(Worker& worker, std::uint64_t incarnation, Report report) {
  if (worker.incarnation != incarnation || !worker.core) return;
  if (worker.frozen) {
    worker.deferred.push_back([this, &worker, incarnation, report = std::move(report)] { Deliver(worker, incarnation, report); });
    return;
  }
  report(*worker.core, clock_.Steady());
  Pump(worker);
}

// The request travels, is carried out by the store, the answer travels back. A process that dies meanwhile never hears it.
void SimTestBed::Carry(Worker& worker, Command command) {
  const SteadyTime sent = clock_.Steady();
  const std::uint64_t incarnation = worker.incarnation;
  const Micros there = Strikes(random_.Below(20) == 0 && faults(), "a request is slow") ? Ms(200, 5'000) : Ms(0, 3);
  After(there, [this, &worker, incarnation, sent, command = std::make_shared<Command>(std::move(command))] {
    Report report = ExecuteCommand(worker.executor, *command, sent);
    const bool slow = Strikes(random_.Below(20) == 0 && faults(), "an answer is slow");
    const Micros back = slow ? Ms(200, 3'000) : random_.Below(4) == 0 ? Ms(0, 80) : Ms(0, 3);
    After(back, [this, &worker, incarnation, report = std::move(report)] { Deliver(worker, incarnation, report); });
  });
}

void SimTestBed::RunStep(Worker& worker, command::RunStep run) {
  const std::uint64_t incarnation = worker.incarnation;
  // The effect reaches the outside at the start; it refuses a token below one it has seen.
  const bool dispatch = std::string_view(run.call.scope) == "run/step";
  Token& seen = dispatch ? outside_dispatch_token_[{run.call.subject, run.call.step.step_id}] : outside_token_[run.call.subject];
  const bool stale = run.call.token < seen;
  seen = std::max(seen, run.call.token);
  if (stale) ++report_.stale_effects_refused;
  Micros takes = Ms(1, 150);
  if (const auto fixed = load_.Takes(run.call)) takes = *fixed;
  if (Strikes(faults() && random_.Below(12) == 0, "a step is slow")) takes = Ms(1'000, 6'000);
  auto call = std::make_shared<StepCall>(std::move(run.call));
  After(takes, [this, &worker, incarnation, call, stop = run.stop, stale] {
    if (worker.incarnation != incarnation) return;  // the process died in mid-step
    auto finish = [this, &worker, incarnation, call, stop, stale] {
      StepResult result;
      if (stop.stopped()) {
        result.outcome = StepResult::Outcome::kCancelled;
        result.error = "stopped";
      } else if (load_.Kills(*call)) {
        return KillWorker(worker);
      } else if (stale) {
        result.outcome = StepResult::Outcome::kFailed;
        result.error = "the receiver refused a stale token";
      } else {
        result = load_.RunStep(random_, *call);
        ++report_.effects;
        if (call->step.effect >= EffectClass::kIdempotent) keys_[{call->subject, call->step.step_id}].insert(call->step.idempotency_key);
        if (load_.ActsEveryTime(*call) && result.outcome == StepResult::Outcome::kSucceeded) {
          ++unkeyed_effects_[{call->subject, call->step.step_id}];
        }
      }
      Deliver(worker, incarnation, [call, result](WorkerCore& core, SteadyTime now) {
        core.OnStepDone(now, call->subject, call->token, call->step.step_id, call->attempt_id, result);
      });
    };
    if (worker.frozen) {
      worker.deferred.push_back(finish);
    } else {
      finish();
    }
  });
}

bool SimTestBed::AllEnded() const {
  if (!store_.AnyOpen()) return true;
  for (const SubjectId& id : store_.Subjects()) {
    if (store_.IsOpen(id) && !(load_.MayEndQuarantined(id) && store_.Inspect(id)->quarantined())) return false;
  }
  return true;
}

void SimTestBed::Collect(const Worker& worker) {
  if (!worker.core) return;
  const WorkerCounts& counts = worker.core->counts();
  report_.stale_commits_refused += counts.fenced;
  report_.unknown_commits += counts.unknown_commits;
  report_.unknown_landed += counts.unknown_landed;
  report_.takeovers += counts.takeovers;
  report_.snapshots += counts.snapshots;
  report_.signals_at_close += counts.moved;
  const DispatchCounts& dispatches = worker.core->dispatch_counts();
  report_.dispatches_taken += dispatches.taken;
  report_.dispatch_results += dispatches.delivered;
  report_.late_results_refused += dispatches.refused;
  report_.dispatch_results_kept += dispatches.kept;
  if (!messages_) return;
  const MessageDriver::Counts messages = broker_.CountsOf(*worker.queue);
  report_.by_messages += messages.claimed;
  report_.messages_dropped += messages.dropped;
  report_.late_claims += messages.late;
}

// ---- faults

// kill -9, back after a while.
void SimTestBed::KillWorker(Worker& victim) {
  ++report_.crashes;
  Collect(victim);
  victim.core.reset();
  victim.queue->Stop();  // what it read goes to others
  ++victim.incarnation;
  grants_.Gone(victim.line.number);
  victim.deferred.clear();
  victim.frozen = false;
  After(Ms(50, 4'000), [this, &victim] {
    if (!victim.core) StartWorker(victim);
  });
}

void SimTestBed::Nemesis() {
  if (!faults()) {
    // Heal: everything runs again, nothing fails.
    client_store_.SetRates({});
    for (auto& worker : workers_) {
      worker->store.SetRates({});
      worker->store.SetDown(false);
    }
    return;
  }
  Worker& victim = *workers_[random_.Below(workers_.size())];
  switch (random_.Below(4)) {
    case 0:
    case 1:
      if (victim.core && Strikes(true, "a worker is killed")) KillWorker(victim);
      break;
    case 2: {  // SIGSTOP, often past the lease, then SIGCONT
      if (victim.core && !victim.frozen && Strikes(true, "a worker is frozen")) {
        ++report_.freezes;
        victim.frozen = true;
        const std::uint64_t incarnation = victim.incarnation;
        After(Ms(300, 6'000), [this, &victim, incarnation] {
          if (victim.incarnation != incarnation) return;
          victim.frozen = false;
          for (auto& late : std::exchange(victim.deferred, {})) late();
          Pump(victim);
        });
      }
      break;
    }
    default: {  // the database is out of its reach for a while
      if (Strikes(true, "a worker does not reach the database")) victim.store.SetDown(true);
      After(Ms(200, 4'000), [&victim] { victim.store.SetDown(false); });
      break;
    }
  }
  After(Ms(300, 2'500), [this] { Nemesis(); });
}

// Hints are only hints: some reach nobody.
void SimTestBed::Hint(const std::string& queue) {
  if (messages_) return;
  for (auto& worker : workers_) {
    const auto served = worker->Queues(*this);
    if (!worker->core || std::find(served.begin(), served.end(), queue) == served.end() || (faults() && random_.Below(4) == 0)) continue;
    ++report_.hints;
    After(Micros(random_.Below(2'000)), [this, &to = *worker, incarnation = worker->incarnation] {
      Deliver(to, incarnation, [](WorkerCore& of, SteadyTime now) { of.OnWorkHint(now); });
    });
  }
}

// ---- messages

Status SimTestBed::SendMessage(const StepMessage& message, coordinator::RelayOptions::Done done) {
  const std::string bytes = EncodeStepMessage(message);
  if (Strikes(faults() && random_.Below(20) == 0, "the queue takes no message"))
    return Error{Code::kUnavailable, "injected: the queue takes nothing"};
  if (Strikes(faults() && random_.Below(10) == 0, "a message is lost")) {
    ++report_.messages_lost;
    done(random_.Below(2) == 0 ? Status() : Status(Error{Code::kUnavailable, "injected: not acknowledged"}));
    return {};
  }
  broker_.Send(message.key.queue, bytes);
  if (Strikes(faults() && random_.Below(10) == 0, "a message comes twice")) {
    ++report_.messages_repeated;
    broker_.Send(message.key.queue, bytes);
  }
  After(Ms(0, 20), [done] { done({}); });
  return {};
}

void SimTestBed::Broker() {
  if (Strikes(faults() && random_.Below(100) == 0, "all messages are wiped")) {
    report_.messages_lost += std::int64_t(broker_.waiting().size());
    broker_.Wipe();
  }
  auto& waiting = broker_.waiting();
  for (std::size_t n = 1; faults() && n < waiting.size(); ++n) std::swap(waiting[n], waiting[random_.Below(n + 1)]);
  if (!faults() || random_.Below(3) != 0) broker_.Deliver();
  After(Ms(10, 60), [this] { Broker(); });
}

// ---- what a worker is granted unasked

void SimTestBed::TellGranted(const WorkerSessionId& session, const SubjectId& subject) {
  // Not only while there are faults: nothing but a hint is lost, and there must be progress without.
  if (Strikes(random_.Below(6) == 0, "a grant is not heard of")) {
    ++report_.grants_unheard;
    return;
  }
  const auto tell = [this, session, subject](Micros after) {
    for (auto& worker : workers_) {
      if (!worker->core || worker->core->session() != session) continue;
      After(after, [this, &to = *worker, incarnation = worker->incarnation, session, subject] {
        Deliver(to, incarnation, [&to, session, subject](WorkerCore& of, SteadyTime now) {
          of.OnGrantHint(now, session, {subject});
          to.line.Heard(session);
        });
      });
    }
  };
  tell(Micros(random_.Below(2'000)));
  if (!Strikes(faults() && random_.Below(4) == 0, "a grant is heard of twice")) return;
  ++report_.grants_heard_twice;
  tell(Ms(0, 3'000));
}

}  // namespace acl::test
