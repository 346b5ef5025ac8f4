// What one step costs in state and journal, by the number of entries the state has already. Not growing beyond log n is the point of
// the Merkle trie (docs/architecture.md#invariant-5). Run: build/release/bin/bench_state_root

#include <benchmark/benchmark.h>

#include "shared/journal/event.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/snapshot.h"

namespace acl {
namespace {

Document StateOf(std::int64_t entries) {
  Document document;
  for (std::int64_t i = 0; i < entries; ++i)
    document.Set("step:s" + std::to_string(i), Json{{"status", "COMPLETED"}, {"outputs", {{"n", i}}}});
  document.Set("run", Json{{"status", "RUNNING"}, {"done", 0}});
  return document;
}

Json StepDelta(std::int64_t step) {
  Json outputs = {{"path", "/workspace/report.txt"}, {"size", step}};
  return Json::array(
      {PatchAdd({"step:now"}, Json{{"status", "COMPLETED"}, {"outputs", std::move(outputs)}}), PatchReplace({"run", "done"}, step)});
}

// Delta applied, root known.
void Apply(benchmark::State& bench) {
  const Document start = StateOf(bench.range(0));
  std::int64_t step = 0;
  for (auto _ : bench) {
    Document state = start;
    if (!state.Apply(StepDelta(++step)).ok()) bench.SkipWithError("the delta does not apply");
    benchmark::DoNotOptimize(state.Root());
  }
}
BENCHMARK(Apply)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000);

// All a step's event costs: delta, root, payload text, checksum, content hash, chain.
void ApplyAndSeal(benchmark::State& bench) {
  const Document start = StateOf(bench.range(0));
  Event event;
  event.type = "step.completed";
  Hash256 chain{};
  std::int64_t step = 0;
  for (auto _ : bench) {
    Document state = start;
    Json delta = StepDelta(++step);
    if (!state.Apply(delta).ok()) bench.SkipWithError("the delta does not apply");
    Json payload = {{"step_id", "now"}, {"attempt_id", 1}};
    payload[std::string(kDeltaKey)] = std::move(delta);
    payload[std::string(kRootKey)] = ToHex(state.Root());
    event.payload = DumpJson(payload);
    event.seq = step;
    Seal(event, chain);
    chain = event.chain;
  }
}
BENCHMARK(ApplyAndSeal)->Arg(10)->Arg(10'000);

// The whole state, for comparison: what a snapshot costs, and what a step would cost without the trie.
void WholeSnapshot(benchmark::State& bench) {
  const Document state = StateOf(bench.range(0));
  for (auto _ : bench) benchmark::DoNotOptimize(EncodeSnapshot(state, 1, Hash256{}));
}
BENCHMARK(WholeSnapshot)->Arg(10)->Arg(10'000);

}  // namespace
}  // namespace acl
