// What making and granting N runs in one transaction costs PostgreSQL, and reading what was granted. What is printed as time is CPU of the
// backend; nothing waits for the disk. Run: ./dev bench micro create

#include <benchmark/benchmark.h>

#include "shared/base/uuid7.h"
#include "tests/bench/backend.h"

namespace acl {
namespace {

constexpr int kPayloadBytes = 1'900, kDefinitionBytes = 600;

std::vector<CreateItem> Runs(int count, const WorkerSessionId& grant_to) {
  std::vector<CreateItem> items;
  for (int i = 0; i < count; ++i) {
    CreateItem item = NewBenchRun(R"({"text":")" + std::string(kPayloadBytes, 'x') + R"("})");
    item.listing->definition_text = std::string(kDefinitionBytes, 's');
    item.grant_to = grant_to;
    items.push_back(std::move(item));
  }
  return items;
}

void Create(benchmark::State& state) {
  const int runs = int(state.range(0));
  Backend backend("application_name = 'bench' AND query LIKE '%INSERT INTO leases%'");
  const auto create = [&] { (void)Must(backend.store().Create(Runs(runs, backend.session()))); };
  for (int i = 0; i < 30; ++i) create();  // plans are made and caches filled
  std::vector<double> each;
  for (auto _ : state) {
    const double before = backend.Seconds();
    create();
    each.push_back(backend.Seconds() - before);
    state.SetIterationTime(each.back());
  }
  state.counters["us_a_run"] = Backend::LowerQuartile(each) / runs;
}
BENCHMARK(Create)->Arg(1)->Arg(8)->Arg(24)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(500);

void ReadGrants(benchmark::State& state) {
  const int runs = int(state.range(0));
  Backend backend("application_name = 'bench' AND query LIKE '%INSERT INTO leases%'");
  const auto made = [&] {
    const std::vector<CreateItem> items = Runs(runs, backend.session());
    (void)Must(backend.store().Create(items));
    std::vector<SubjectId> subjects;
    for (const CreateItem& item : items) subjects.push_back(item.subject);
    return subjects;
  };
  const auto read = [&](const std::vector<SubjectId>& subjects) {
    ACL_CHECK(int(Must(backend.store().ReadGrants(backend.session(), subjects)).size()) == runs, "all of them are there");
  };
  for (int i = 0; i < 30; ++i) read(made());  // plans are made and caches filled
  std::vector<double> each;
  for (auto _ : state) {
    const auto subjects = made();
    const double before = backend.Seconds();
    read(subjects);
    each.push_back(backend.Seconds() - before);
    state.SetIterationTime(each.back());
  }
  state.counters["us_a_run"] = Backend::LowerQuartile(each) / runs;
}
BENCHMARK(ReadGrants)->Arg(1)->Arg(8)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(500);

}  // namespace
}  // namespace acl
