// What a claim costs PostgreSQL: N subjects in one. `sticky`: by their keys, the claimer has their states yet, as after a step that went
// through the queue. `taken_over`: from the table, of a holder that died, each with its first events; `reap`: what freeing them costs.
// What is printed as time is CPU of the backend. Nothing waits for the disk. Run: ./dev bench micro claim

#include <benchmark/benchmark.h>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "tests/bench/backend.h"

namespace acl {
namespace {

class ClaimBench {
 public:
  explicit ClaimBench(int runs) {
    for (int i = 0; i < runs; ++i) Begin();
    holder_ = backend_.session();
  }

  // All that is ready, as the relay would name it.
  std::vector<ReadyKey> Keys() {
    std::vector<DueLook> looks;
    for (int shard = 0; shard < 4; ++shard) looks.push_back({shard, {}});
    std::vector<ReadyKey> keys;
    for (const DueRow& row : Must(backend_.store().DueReady(looks, 10'000)).rows) keys.push_back(row.key);
    return keys;
  }
  ClaimRequest ByKeys(std::vector<ReadyKey> keys) const {
    ClaimRequest request;
    request.session = holder_;
    request.keys = std::move(keys);
    request.released_token = [this](const SubjectId& subject) { return released_.at(subject); };
    return request;
  }
  ClaimRequest FromTable(int max) const {
    ClaimRequest request;
    request.session = holder_;
    request.max = max;
    return request;
  }
  ClaimAnswer Claim(const ClaimRequest& request) { return Must(backend_.store().Claim(request)); }
  // CPU of the backend that `work` took.
  template <class Work>
  double Seconds(Work work) {
    const double before = backend_.Seconds();
    work();
    return backend_.Seconds() - before;
  }

  // A step each, and the lease given back.
  void Release(const std::vector<Claimed>& claimed) {
    std::vector<CommitItem> items;
    for (const Claimed& one : claimed) {
      released_[one.subject] = one.token;
      items.push_back(Step(one));
      items.back().disposition = Disposition::kRelease, items.back().requeue = true;
    }
    Commit(items);
  }
  // A step each, the attempt of the next promised.
  void Keep(const std::vector<Claimed>& claimed) {
    std::vector<CommitItem> items;
    for (const Claimed& one : claimed) {
      items.push_back(Step(one));
      items.back().attempts.push_back({"s" + std::to_string(one.head.seq), 1, {}, items.back().last_timestamp});
    }
    Commit(items);
  }
  // Another holder, and the one of before is dead.
  void Die() {
    SessionRequest request;
    request.worker_name = "bench", request.host = "here", request.version = "1", request.slots = 100'000;
    request.queues = {"default"};
    request.ttl = milliseconds(3'600'000);
    const WorkerSessionId next = Must(backend_.store().OpenSession(request)).session;
    ACL_CHECK(backend_.store().CloseSession(holder_).ok(), "close");
    holder_ = next;
  }
  int Reap(int max) { return Must(backend_.store().Reap(max)).leases_freed; }

 private:
  void Begin() {
    CreateItem item = NewBenchRun(R"({"spec":")" + std::string(1'500, 'x') + R"("})");
    item.timers.push_back({"deadline", WallTime(std::chrono::hours(1'000'000))});
    released_[item.subject] = Token{};
    (void)Must(backend_.store().Create({&item, 1}));
  }
  CommitItem Step(const Claimed& on) const {
    CommitItem item;
    item.subject = on.subject, item.session = holder_, item.token = on.token, item.base_seq = on.head.seq;
    item.expected_wake = on.wake;
    item.last_timestamp = std::max(on.db_now, on.head.last_timestamp);
    Event event;
    event.subject = item.subject, event.seq = on.head.seq + 1, event.journal = on.head.journal, event.token = item.token;
    event.type = "workflow.started";
    event.timestamp = item.last_timestamp;
    event.payload =
        R"({"attempt":1,"state_delta":[{"op":"add","path":"/step:s1","value":{"attempts":1,"completed_at":1795576060070770,"order":5,)"
        R"("started_at":1795576060066367,"status":"COMPLETED"}},{"op":"add","path":"/progress","value":{"done":5,"open":["s2"]}}],"state_root":")" +
        ToHex(on.head.chain) + R"(","step_id":"s1"})";
    Seal(event, on.head.chain);
    item.chain = item.state_root = event.chain;
    item.events.push_back(std::move(event));
    return item;
  }
  void Commit(const std::vector<CommitItem>& items) {
    for (const CommitOutcome& outcome : Must(backend_.store().Commit(items)))
      ACL_CHECK(outcome.kind == CommitOutcome::Kind::kCommitted, outcome.error.c_str());
  }

  Backend backend_{"application_name = 'bench' AND query ~ 'due_ready|grant_|reap_'"};
  WorkerSessionId holder_;
  std::map<SubjectId, Token> released_;
};

void Report(benchmark::State& state, const std::vector<double>& each) {
  state.counters["us_a_subject"] = Backend::LowerQuartile(each) / double(state.range(0));
}

void ClaimSticky(benchmark::State& state) {
  const int runs = int(state.range(0));
  ClaimBench bench(runs);
  bench.Release(bench.Claim(bench.ByKeys(bench.Keys())).claimed);
  std::vector<double> each;
  for (auto _ : state) {
    const ClaimRequest request = bench.ByKeys(bench.Keys());
    ClaimAnswer answer;
    each.push_back(bench.Seconds([&] { answer = bench.Claim(request); }));
    state.SetIterationTime(each.back());
    ACL_CHECK(int(answer.claimed.size()) == runs && answer.claimed.front().sticky, "not all, or not sticky");
    bench.Release(answer.claimed);
  }
  Report(state, each);
}
BENCHMARK(ClaimSticky)->Arg(1)->Arg(18)->Arg(64)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(300);

void TakeOver(benchmark::State& state, bool reap) {
  const int runs = int(state.range(0));
  ClaimBench bench(runs);
  bench.Keep(bench.Claim(bench.FromTable(runs)).claimed);
  std::vector<double> each;
  for (auto _ : state) {
    bench.Die();
    ClaimAnswer answer;
    int freed = 0;
    const double reaping = bench.Seconds([&] { freed = bench.Reap(runs); });
    const double claiming = bench.Seconds([&] { answer = bench.Claim(bench.FromTable(runs)); });
    ACL_CHECK(freed == runs && int(answer.claimed.size()) == runs, "not all");
    each.push_back(reap ? reaping : claiming);
    state.SetIterationTime(each.back());
  }
  Report(state, each);
}
BENCHMARK_CAPTURE(TakeOver, reap, true)->Arg(256)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(40);
BENCHMARK_CAPTURE(TakeOver, claim, false)->Arg(256)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(40);

}  // namespace
}  // namespace acl
