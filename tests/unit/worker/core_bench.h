#pragma once
// A WorkerCore on a bench: the in-memory store, a clock that only the test moves, every command in the test's hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <set>

#include "shared/base/memory.h"
#include "shared/kernel/fold.h"
#include "shared/kernel/memory_store.h"
#include "tests/support/counter_kind.h"
#include "tests/support/faulty_store.h"
#include "tests/support/manual_clock.h"
#include "worker/command_executor.h"
#include "worker/worker_core.h"

namespace acl::test {

// What the core told, as far as tests ask.
struct Told final : WorkerObserver {
  int dropped = 0, quarantined_at_claim = 0, refused = 0;
  std::size_t found_recorded = 0;
  std::vector<std::string> lost, released, quarantines, unavailable, sessions_lost;
  std::vector<StepResult::Outcome> ended;
  std::vector<std::string> ended_why;
  std::vector<SteadyTime::duration> batches;
  std::vector<int> rooms;
  std::vector<StepMessage> ready;
  bool all_ready_told = true;

  void OnClaimMissed(int d, int q) override {
    dropped += d;
    quarantined_at_claim += q;
  }
  void OnSessionLost(const std::string& why, int) override { sessions_lost.push_back(why); }
  void OnLost(const SubjectId&, Token, const char* why) override { lost.emplace_back(why); }
  void OnReleased(const SubjectId&, Token, const std::string& why) override { released.push_back(why); }
  void OnQuarantine(const SubjectId&, Token, const std::string&, const std::string& detail) override { quarantines.push_back(detail); }
  void OnUnavailable(const char* what, const Error&) override { unavailable.emplace_back(what); }
  void OnStepDone(const StepEnd&, const StepResult& result) override {
    ended.push_back(result.outcome);
    ended_why.push_back(result.error);
  }
  void OnBatch(std::size_t, SteadyTime::duration took) override { batches.push_back(took); }
  void OnReady(const std::vector<StepMessage>& rows, bool all) override {
    ready.insert(ready.end(), rows.begin(), rows.end());
    all_ready_told = all_ready_told && all;
  }
  void OnRoom(const WorkerSessionId&, int room) override { rooms.push_back(room); }
  void OnFoundRecorded(std::size_t completions) override { found_recorded += completions; }
  void OnRefused(const SubjectId&, Token, const char*) override { ++refused; }
};

// Counts what snapshots send, and can show a journal that this program could not have written.
struct BenchStore final : FaultyStore {
  using FaultyStore::FaultyStore;
  std::vector<std::size_t> sent;               // bytes, by call
  std::map<std::int64_t, int> schema_version;  // of events as claims read them, by sequence number
  bool other_head = false;                     // heads are not what was committed
  bool contents_away = false;                  // payloads that lie apart cannot be read
  bool starves = false;                        // there is no memory for the payloads of events
  std::set<SubjectId> too_large;               // to be read after their claim
  Result<std::string> GetContent(const Hash256& hash) override {
    if (starves) throw std::bad_alloc();
    if (contents_away) return Error{Code::kUnavailable, "away"};
    return FaultyStore::GetContent(hash);
  }
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override {
    auto answer = FaultyStore::Claim(request);
    if (!answer) return answer;
    for (Claimed& claimed : answer->claimed) {
      if (other_head) ++claimed.head.seq, claimed.head.chain.front() ^= std::uint8_t{1};
      for (Event& event : claimed.events) {
        if ((contents_away && event.offloaded) || starves) event.payload.reset(), event.offloaded = true;
        if (auto other = schema_version.find(event.seq); other != schema_version.end()) event.schema_version = other->second;
      }
    }
    return answer;
  }
  Status ReadClaimed(std::vector<Claimed>& granted) override {
    for (const Claimed& claimed : granted) {
      if (too_large.contains(claimed.subject))
        return Error{Code::kUnavailable, std::string("claim.contents: ") + std::string(kOutOfMemory)};
    }
    return FaultyStore::ReadClaimed(granted);
  }
  Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) override {
    std::size_t bytes = 0;
    for (const auto& [hash, text] : contents) bytes += text.size();
    sent.push_back(bytes);
    return FaultyStore::PutContents(contents);
  }
};

class CoreBench : public ::testing::Test {
 protected:
  CoreBench() {
    kinds.Add(counter);
    config.session.worker_name = "w";
    config.session.queues = {"default"};
    config.session.ttl = kTtl;
    config.heartbeat_every = milliseconds(500);
    config.trust_margin = milliseconds(300);
    config.poll_max = milliseconds(200);
  }

  static constexpr milliseconds kTtl{2'000};

  // A core with a session, idle.
  void StartCore() {
    core = std::make_unique<WorkerCore>(config, kinds, random, &told, helpers);
    core->Start(clock.Steady());
    Settle();
    ASSERT_TRUE(core->live());
  }
  SubjectId Create(const CounterOptions& options) { return Create(counter->MakeCreateItem(SubjectId{ids.Make()}, options)); }
  SubjectId Create(CreateItem item) {
    EXPECT_TRUE(memory.Create({&item, 1}).ok());
    return item.subject;
  }

  void ExecuteOne(const Command& command) {
    if (const auto* run = std::get_if<command::RunStep>(&command)) {
      steps.push_back(*run);
    } else {
      ExecuteCommand(executor, command, clock.Steady())(*core, clock.Steady());
    }
  }
  // Carries out whatever the core wants until it wants nothing now. Steps are only collected.
  void Settle() {
    for (auto commands = Take(); !commands.empty(); commands = Take()) {
      for (const Command& command : commands) ExecuteOne(command);
    }
  }
  // The same until it wants a C, which is handed back and not carried out. What else it wanted with it is.
  template <class C>
  C Await() {
    for (int round = 0; round < 1'000; ++round) {
      std::optional<C> found;
      for (const Command& command : Take()) {
        if (const auto* wanted = std::get_if<C>(&command); wanted && !found) {
          found = *wanted;
        } else {
          ExecuteOne(command);
        }
      }
      if (found) return *found;
      Advance(milliseconds(10));
    }
    ADD_FAILURE() << "the core never wanted it";
    return C{};
  }
  std::vector<Command> Take() { return core->TakeCommands(clock.Steady()); }
  void Advance(milliseconds by) { clock.Advance(by); }
  // The one run there is kills seven workers in a row, the last five while it is the only suspect on them (shared/kernel/suspicion.h).
  void KillSevenWorkers() {
    for (int i = 0; i < 7; ++i) {
      const WorkerSessionId dies = memory.OpenSession({.worker_name = "dies", .ttl = kTtl})->session;
      for (milliseconds age{0}; age < 4 * kTtl; age += kTtl / 2) {
        Advance(kTtl / 2);
        ASSERT_TRUE(memory.Heartbeat(dies, kTtl).ok());
      }
      ASSERT_EQ(memory.Claim({.session = dies})->claimed.size(), 1u) << i;
      Advance(kTtl + milliseconds(1));
      ASSERT_EQ(memory.Reap(10)->leases_freed, 1);
      Advance(milliseconds(60'000));  // past the time that a takeover waits
    }
  }
  // Time passes, and everything asked for on the way is done.
  void Live(milliseconds time, milliseconds fast_path = milliseconds(100)) {
    for (milliseconds passed{0}; passed < time; passed += fast_path) {
      Advance(fast_path);
      Settle();
    }
  }
  // The next step that was to run ends so.
  command::RunStep EndStep(StepResult::Outcome outcome = StepResult::Outcome::kSucceeded, std::string error = "") {
    EXPECT_FALSE(steps.empty());
    if (steps.empty()) return {};
    command::RunStep run = steps.front();
    steps.erase(steps.begin());
    StepResult result;
    result.outcome = outcome;
    result.error = std::move(error);
    core->OnStepDone(clock.Steady(), run.call.subject, run.call.token, run.call.step.step_id, run.call.attempt_id, std::move(result));
    return run;
  }
  MemorySubject Look(const SubjectId& subject) { return *memory.Inspect(subject); }
  int EventsOf(const SubjectId& subject, const std::string& type) {
    const auto events = Look(subject).events;
    return int(std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.type == type; }));
  }

  ManualClock clock;
  SeededRandom random{1};
  Uuid7Maker ids{clock, random};
  MemoryStore memory{clock};
  BenchStore store{memory, 1, FaultyStore::Rates{}};
  PostgresDriver queue{store};
  CommandContext executor{store, queue, clock, ids, {}};
  std::shared_ptr<CounterKind> counter = std::make_shared<CounterKind>();
  KindRegistry kinds;
  WorkerConfig config;
  Told told;
  HelperThreads* helpers = nullptr;
  std::unique_ptr<WorkerCore> core;
  std::vector<command::RunStep> steps;
};

}  // namespace acl::test
