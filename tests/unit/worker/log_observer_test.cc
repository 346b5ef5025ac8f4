// Document 000's six metrics (11.7.7), each by what it is to tell of.
#include "worker/log_observer.h"

#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

TEST_F(CoreBench, EachOfTheSixMoves) {
  SetLogLevel(LogLevel::kOff);
  Metrics metrics;
  LogObserver observer(metrics);
  executor.on_restore = [&](double ms, std::int64_t events) { observer.OnRestore(ms, events); };
  const auto start = [&] {
    core = std::make_unique<WorkerCore>(config, kinds, random, &observer);
    core->Start(clock.Steady());
    Settle();
    ASSERT_TRUE(core->live());
  };
  KernelMetrics all(metrics);
  EXPECT_EQ(all.restore_time_ms.Count() + all.events_replayed.Count() + all.journal_since_snapshot_bytes.Count(), 0);

  // A run that killed five workers in a row: the claim that finds it quarantines it and does not get it.
  const auto alive = memory.OpenSession({.worker_name = "alive", .ttl = milliseconds(3'600'000)});  // else it would be the fleet that died
  ASSERT_TRUE(alive.ok());
  Create({.steps = 1, .effects = "p"});
  KillSevenWorkers();
  EXPECT_EQ(all.lease_acquisition_failures.Value(), 0);
  start();
  Live(5 * kTtl);  // only who has lived for a while may have it
  EXPECT_EQ(all.lease_acquisition_failures.Value(), 1);

  // A run long enough for a snapshot; then it moves to another worker.
  Create({.steps = 200, .effects = "i"});
  Live(milliseconds(500));
  for (int step = 0; step < 60; ++step) {
    ASSERT_FALSE(steps.empty()) << step;
    EndStep();
    Settle();
  }
  EXPECT_EQ(all.restore_time_ms.Count(), 1);
  EXPECT_EQ(all.events_replayed.Sum(), 1) << "its first event";
  EXPECT_GT(all.journal_since_snapshot_bytes.Sum(), 0);
  EXPECT_EQ(all.time_since_snapshot_sec.Count(), 0) << "there was none";
  core.reset();
  steps.clear();
  Advance(milliseconds(30'000));
  ASSERT_EQ(memory.Reap(10)->leases_freed, 1);
  start();
  Live(milliseconds(300));
  EXPECT_EQ(all.restore_time_ms.Count(), 2);
  EXPECT_GT(all.events_replayed.Sum(), 1);
  EXPECT_EQ(all.time_since_snapshot_sec.Count(), 1);
  EXPECT_GE(all.time_since_snapshot_sec.Sum(), 30) << "seconds";

  // A commit whose answer is lost: what it completed is found recorded.
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(all.idempotency_hits.Value(), 0);
  store.FailNext("Commit", FaultyStore::Fault::kLostAnswer);
  EndStep();
  Live(milliseconds(500));
  EXPECT_EQ(all.idempotency_hits.Value(), 1);
  SetLogLevel(LogLevel::kInfo);
}

TEST(LogObserver, CountsEachRunOnceByHowItEnded) {
  Metrics metrics;
  LogObserver observer(metrics);
  const auto commit = [&](const std::string& status, const std::string& error, bool ended, CommitOutcome::Kind kind) {
    CommitItem item;
    item.listing = ListingChange{status, error.empty() ? std::nullopt : std::optional(error), {}, {}};
    if (ended) item.listing->completed_at = WallTime{};
    CommitOutcome outcome;
    outcome.kind = kind;
    observer.OnOutcome(item, outcome);
  };
  using OfCommit = CommitOutcome::Kind;
  commit("COMPLETED", "", true, OfCommit::kBusy);
  commit("COMPLETED", "", true, OfCommit::kCommitted);
  commit("FAILED", "step 'a' failed", false, OfCommit::kCommitted);  // it is undone first
  commit("ROLLED_BACK", "", true, OfCommit::kCommitted);
  commit("FAILED", "step 'a' failed", true, OfCommit::kCommitted);
  commit("FAILED", "cancelled: not wanted any more", true, OfCommit::kCommitted);
  for (const char* ending : {"completed", "failed", "rolled_back", "cancelled"}) {
    EXPECT_EQ(metrics.counter(names::kRunsEnded, {{"ending", ending}}).Value(), 1) << ending;
  }
}

// Whoever reads logs may not be who may read runs: what a step was given and answered is in no line, whatever way the step ends.
TEST(LogObserver, ValuesOfARunAreInNoLine) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel, const std::string& line) { lines.push_back(line); });
  SetLogLevel(LogLevel::kDebug);
  Metrics metrics;
  LogObserver observer(metrics);
  const SubjectId subject;
  const std::string step = "fetch", trace, secret = "card 4111-1111";
  for (const auto outcome : {StepResult::Outcome::kFailed, StepResult::Outcome::kTimedOut, StepResult::Outcome::kCancelled,
                             StepResult::Outcome::kNotStarted, StepResult::Outcome::kUnknown}) {
    StepResult result;
    result.outcome = outcome;
    result.error = "the service answered 422: " + secret;
    observer.OnStepDone({subject, Token{1}, step, 1, trace}, result);
  }
  CommitItem item;
  CommitOutcome rejected;
  rejected.kind = CommitOutcome::Kind::kRejected;
  rejected.error = "ERROR: violates a check; DETAIL: Failing row contains (" + secret + ")";
  observer.OnOutcome(item, rejected);
  observer.OnQuarantine(subject, Token{1}, "commit rejected", rejected.error);
  SetLogSink({});
  SetLogLevel(LogLevel::kInfo);
  ASSERT_EQ(lines.size(), 7u);
  for (const std::string& line : lines) EXPECT_EQ(line.find(secret), std::string::npos) << line;
  EXPECT_EQ(Json::parse(lines[0])["outcome"], "failed");
}

// A worker whose database is away asks some eight times a second: told of once, then once a minute, and when it is back.
TEST_F(CoreBench, ADatabaseThatIsAwayIsOneLineAndOneWhenItIsBack) {
  std::vector<std::string> away, still, back;
  SetLogSink([&](LogLevel, const std::string& line) {
    const std::string said = Json::parse(line)["msg"];
    if (said == "cannot reach the database, trying again") away.push_back(line);
    if (said == "still: cannot reach the database, trying again") still.push_back(line);
    if (said == "the database is reached again") back.push_back(line);
  });
  Metrics metrics;
  LogObserver observer(metrics, clock);
  core = std::make_unique<WorkerCore>(config, kinds, random, &observer);
  core->Start(clock.Steady());
  Settle();
  ASSERT_TRUE(core->live());
  store.SetDown(true);
  Live(milliseconds(150'000));
  EXPECT_EQ(away.size(), 1u);
  EXPECT_EQ(still.size(), 2u);
  EXPECT_TRUE(back.empty());
  store.SetDown(false);
  Live(milliseconds(20'000));
  EXPECT_TRUE(core->live());
  EXPECT_EQ(away.size(), 1u);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_GE(Json::parse(back[0])["failures"].get<int>(), 100);
  SetLogSink({});
}

}  // namespace
}  // namespace acl::test
