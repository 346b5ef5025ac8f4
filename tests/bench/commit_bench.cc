// What a group commit costs PostgreSQL: one item of each of N runs in a batch. What is printed as time is CPU of the backend; with it CPU
// and WAL an item. `mixed`: two of eleven items are a run's first or last, with timer and listing, as in the fleet's benchmark; `ends`: of
// these two alone, of one run after the other. Nothing waits for the disk. Run: ./dev bench micro commit

#include <benchmark/benchmark.h>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/postgres/connection.h"
#include "tests/bench/backend.h"

namespace acl {
namespace {

constexpr int kCommitsOfARun = 11, kPayloadBytes = 120;

class CommitBench {
 public:
  CommitBench(int runs, bool mixed) : mixed_(mixed) {
    pg::ConnectionSettings beside;
    beside.conninfo = backend_.database().conninfo();
    beside.application_name = "beside", beside.role = "";
    beside_ = Must(pg::Connection::Open(beside));
    for (int i = 0; i < runs; ++i) runs_.push_back(Begin());
    // Runs that are at different steps.
    for (int round = 0; mixed_ && round < kCommitsOfARun - 1; ++round) {
      std::vector<CommitItem> items;
      for (int i = 0; i < runs; ++i) {
        if (i % kCommitsOfARun > round) items.push_back(Step(runs_[std::size_t(i)]));
      }
      if (!items.empty()) Commit(items);
    }
  }

  // Brings one run to where its last item is next, or to a new run's first.
  void SkipToAnEnd() {
    while (runs_.front().commits > 0 && runs_.front().commits < kCommitsOfARun - 1) Commit({Step(runs_.front())});
  }

  // An item of each run; runs that ended are replaced first.
  std::vector<CommitItem> Next() {
    for (Run& run : runs_) {
      if (mixed_ && run.commits == kCommitsOfARun) run = Begin();
    }
    std::vector<CommitItem> items;
    for (Run& run : runs_) items.push_back(Step(run));
    return items;
  }
  void Commit(const std::vector<CommitItem>& items) {
    for (const CommitOutcome& outcome : Must(backend_.store().Commit(items)))
      ACL_CHECK(outcome.kind == CommitOutcome::Kind::kCommitted, outcome.error.c_str());
  }

  double BackendSeconds() { return backend_.Seconds(); }
  std::int64_t WalBytes() { return Must(beside_->RunScript("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")).Int(0, 0); }

 private:
  struct Run {
    Claimed on;
    int commits = 0;
  };

  Run Begin() {
    CreateItem item = NewBenchRun("{}");
    item.timers.push_back({"deadline", WallTime(std::chrono::hours(1'000'000))});
    (void)Must(backend_.store().Create({&item, 1}));
    ClaimRequest request;
    request.session = backend_.session();
    request.queues = {"default"};
    request.max = 1;
    return {std::move(Must(backend_.store().Claim(request)).claimed.at(0)), 0};
  }

  void AddEvent(Run& run, CommitItem& item, const std::string& type, std::size_t bytes) {
    Event event;
    event.subject = item.subject, event.seq = ++run.on.head.seq, event.journal = run.on.head.journal, event.token = item.token;
    event.type = type;
    event.timestamp = item.last_timestamp;
    // As a step's: packed on its way (shared/postgres/packed_payload.h).
    event.payload =
        R"({"attempt":1,"state_delta":[{"op":"add","path":"/step:s1","value":{"attempts":1,"completed_at":1795576060070770,"order":5,)"
        R"("started_at":1795576060066367,"status":"COMPLETED"}},{"op":"add","path":"/progress","value":{"done":5,"open":["s2"]}},)"
        R"({"op":"add","path":"/var:s1","value":{"text":")" +
        std::string(bytes, 'x') + R"("}}],"state_root":")" + ToHex(run.on.head.chain) + R"(","step_id":"s1"})";
    Seal(event, run.on.head.chain);
    run.on.head.chain = item.chain = event.chain;
    item.events.push_back(std::move(event));
  }

  // The attempt of the next step goes with the end of the one before.
  CommitItem Step(Run& run) {
    const int n = ++run.commits;
    const bool first = mixed_ && n == 1, last = mixed_ && n == kCommitsOfARun;
    CommitItem item;
    item.subject = run.on.subject, item.session = backend_.session(), item.token = run.on.token, item.base_seq = run.on.head.seq;
    item.expected_wake = run.on.wake;
    item.last_timestamp = std::max(run.on.db_now, run.on.head.last_timestamp);
    AddEvent(run, item, n == 1 ? "workflow.started" : "step.completed", kPayloadBytes);
    if (n > 1) item.completions.push_back({"s" + std::to_string(n - 1), 1, item.last_timestamp, Sha256("out"), item.base_seq + 1});
    if (!last) item.attempts.push_back({"s" + std::to_string(n), 1, {}, item.last_timestamp});
    if (last) AddEvent(run, item, "workflow.completed", 200);
    item.state_root = item.chain;
    if (first) item.listing = ListingChange{"RUNNING", {}, item.last_timestamp, {}};
    if (last) item.listing = ListingChange{"COMPLETED", {}, {}, item.last_timestamp};
    if (last) item.disposition = Disposition::kClose;
    return item;
  }

  const bool mixed_;
  Backend backend_{"application_name = 'bench-commit'"};
  std::unique_ptr<pg::Connection> beside_;
  std::vector<Run> runs_;
};

enum class Items { kKeeping, kMixed, kEnds };

void Commit(benchmark::State& state, Items kind) {
  CommitBench bench(int(state.range(0)), kind != Items::kKeeping);
  for (int i = 0; i < 30; ++i) bench.Commit(bench.Next());  // plans are made and caches filled
  std::vector<double> each;
  double wal = 0;
  for (auto _ : state) {
    if (kind == Items::kEnds) bench.SkipToAnEnd();
    const auto items = bench.Next();
    const double before = bench.BackendSeconds();
    const std::int64_t wal_before = bench.WalBytes();
    bench.Commit(items);
    const double spent = bench.BackendSeconds() - before;
    wal += double(bench.WalBytes() - wal_before);
    each.push_back(spent);
    state.SetIterationTime(spent);
  }
  const double items = double(state.iterations()) * double(state.range(0));
  state.counters["us_an_item"] = Backend::LowerQuartile(each) / double(state.range(0));
  state.counters["wal_an_item"] = wal / items;
}
void Settings(benchmark::internal::Benchmark* one) { one->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(500); }
BENCHMARK_CAPTURE(Commit, keep, Items::kKeeping)->Arg(1)->Arg(24)->Arg(64)->Apply(Settings);
BENCHMARK_CAPTURE(Commit, mixed, Items::kMixed)->Arg(24)->Arg(64)->Apply(Settings);
BENCHMARK_CAPTURE(Commit, ends, Items::kEnds)->Arg(1)->Apply(Settings);

}  // namespace
}  // namespace acl
