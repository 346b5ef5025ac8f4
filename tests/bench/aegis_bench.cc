// What a question costs before the model is asked: candidates out of an index of artifacts, the bundle and the prompt
// (docs/lab/2026-11-performance.md, "AEGIS"). `p99_us`: all but one in a hundred take no longer; `p99_cpu_us`: the same in CPU time, on a
// machine that does other things too. Run: ./dev bench micro aegis

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "shared/aegis/artifact_index.h"
#include "shared/aegis/render.h"
#include "shared/base/random.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kVocabulary = 20'000;

WallTime At(std::int64_t seconds) { return WallTime(std::chrono::seconds(1'800'000'000 + seconds)); }

Kernel BenchKernel() {
  auto loaded = LoadKernel(R"(kernel: aegis/1
phase: beta
tier: 2
host_role: brain
constraints: [read_only_default, evidence_first, unknowns_are_risk]
tools: {observational: {sys_health: {from_tier: 1}}}
caps: {ring0: {tokens: 600, bytes: 6000}, ring1: {tokens: 3000, bytes: 24000}, ring2: {tokens: 1500, bytes: 12000}}
drift:
  authority: [{tiers: [1, 2, 3], severity: high, action: fail_closed}]
  evidence: [{tiers: [1, 2, 3], severity: high, action: fail_closed}]
  tone: [{tiers: [1, 2, 3], severity: low, action: mark}]
  schema: [{tiers: [1, 2, 3], severity: medium, action: mark}]
  completeness: [{tiers: [1, 2, 3], severity: high, action: fail_closed}]
model: {provider: ollama, api: openai_compatible, model: "llama3.1:8b", max_tokens: 512}
)");
  ACL_CHECK(loaded.kernel.has_value(), "the bench's kernel does not load");
  return std::move(*loaded.kernel);
}

// As words are in a text: some in every second one, most in hardly any.
std::string Word(Random& random) {
  const double unit = random.Unit();
  return "w" + std::to_string(std::size_t(double(kVocabulary) * unit * unit * unit));
}

std::string Text(Random& random, std::size_t words) {
  std::string text;
  for (std::size_t i = 0; i < words; ++i) text += (i ? " " : "") + Word(random);
  return text;
}

Artifact Made(Random& random, std::int64_t i) {
  static constexpr std::array<ArtifactType, 6> kTypes = {ArtifactType::kLedgerFact, ArtifactType::kTurn,     ArtifactType::kTurn,
                                                         ArtifactType::kNote,       ArtifactType::kDecision, ArtifactType::kDriftwatch};
  Artifact artifact;
  artifact.type = kTypes[random.Below(kTypes.size())];
  artifact.id = "a:" + std::to_string(i);
  const bool turn = artifact.type == ArtifactType::kTurn;
  artifact.source = (turn ? "turn:" : "ledger:") + std::to_string(i);
  artifact.status = artifact.type == ArtifactType::kDriftwatch ? "open" : "ratified";
  artifact.observed_at = At(std::int64_t(random.Below(90 * 86'400)));
  artifact.text = Text(random, 10 + random.Below(40));
  artifact.topics = {Word(random)};
  artifact.confidence = "high";
  artifact.tier = 1 + int(random.Below(3));
  artifact.trust = turn ? Trust::kUntrusted : Trust::kTrusted;
  if (random.Below(4) == 0) artifact.subject = "s" + std::to_string(random.Below(20'000));
  if (turn) artifact.session = "session-" + std::to_string(random.Below(500));
  return artifact;
}

const ArtifactIndex& IndexOf(std::int64_t size) {
  static std::map<std::int64_t, ArtifactIndex> made;
  const auto [place, fresh] = made.try_emplace(size, FindsSecret());
  SeededRandom random(7);
  for (std::int64_t i = 0; fresh && i < size; ++i) place->second.Put(Made(random, i));
  return place->second;
}

double Percentile99(std::vector<double>* values) {
  const auto at = values->begin() + std::ptrdiff_t(values->size() * 99 / 100);
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

// A question of eight words; every tenth asks for deep history.
CompileInput Asked(Random& random, const Kernel& kernel) {
  CompileInput input;
  input.session_id = "session-" + std::to_string(random.Below(500));
  input.user_input = Text(random, 8) + (random.Below(10) == 0 ? ", from the deep history" : "");
  input.session_started_at = At(89 * 86'400);
  input.compiled_at = At(90 * 86'400);
  input.kernel = kernel;
  input.marker = "0123456789abcdef";
  return input;
}

GatherAsked AskedOf(const CompileInput& input) { return {input.session_id, input.user_input, false, input.compiled_at}; }

void Ask(benchmark::State& bench) {
  const ArtifactIndex& index = IndexOf(bench.range(0));
  const Kernel kernel = BenchKernel();
  const SystemClock clock;
  SeededRandom random(11);
  std::vector<double> micros, cpu_micros;
  std::size_t candidates = 0;
  for (auto _ : bench) {
    CompileInput input = Asked(random, kernel);
    const auto begin = clock.Steady();
    const std::clock_t cpu_begin = std::clock();
    input.found = index.Gather(AskedOf(input), kernel);
    candidates += input.found.candidates.size();
    auto bundle = Compile(std::move(input));
    ACL_CHECK(bundle.ok(), "the bench's input does not compile");
    auto prompt = Render(std::move(*bundle));
    ACL_CHECK(prompt.ok(), "the bench's bundle does not render");
    const double seconds = std::chrono::duration<double>(clock.Steady() - begin).count();
    bench.SetIterationTime(seconds);
    micros.push_back(seconds * 1e6);
    cpu_micros.push_back(double(std::clock() - cpu_begin) * 1e6 / CLOCKS_PER_SEC);
  }
  constexpr int kRecords = 50;
  std::size_t record_bytes = 0;
  for (int i = 0; i < kRecords; ++i) {
    CompileInput input = Asked(random, kernel);
    input.found = index.Gather(AskedOf(input), kernel);
    record_bytes += DumpJson(CompileInputToJson(input)).size();
  }
  bench.counters["record_bytes"] = double(record_bytes) / kRecords;  // what a ledger stores of a question
  bench.counters["p99_us"] = Percentile99(&micros);
  bench.counters["p99_cpu_us"] = Percentile99(&cpu_micros);
  bench.counters["candidates"] = double(candidates) / double(micros.size());
}
BENCHMARK(Ask)->Arg(1'000)->Arg(10'000)->Arg(100'000)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(2'000);

// What keeping the index costs: an artifact replaced.
void Replace(benchmark::State& bench) {
  ArtifactIndex index{FindsSecret()};
  SeededRandom random(7);
  for (std::int64_t i = 0; i < bench.range(0); ++i) index.Put(Made(random, i));
  for (auto _ : bench) index.Put(Made(random, std::int64_t(random.Below(std::uint64_t(bench.range(0))))));
}
BENCHMARK(Replace)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace acl::aegis
