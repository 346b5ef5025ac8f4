// What making and granting N runs in one transaction costs PostgreSQL. What is printed as time is CPU of the backend; nothing waits for the
// disk. Run: ./dev bench micro create

#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>

#include "shared/base/uuid7.h"
#include "shared/postgres/pg_store.h"
#include "tests/support/test_database.h"

namespace acl {
namespace {

constexpr int kPayloadBytes = 1'900, kSpecBytes = 600;

template <class T>
T Must(Result<T> result) {
  ACL_CHECK(result.ok(), result.ok() ? "" : result.error().message.c_str());
  return std::move(*result);
}

class CreateBench {
 public:
  CreateBench() : database_(Must(test::TestDatabase::Create())) {
    database_->Exec("ALTER DATABASE \"" + database_->name() + "\" SET synchronous_commit = off");
    PgStoreOptions options;
    options.conninfo = database_->conninfo();
    options.application_name = "bench";
    options.connections = 1;
    store_ = std::make_unique<PgStore>(options);
    SessionRequest request;
    request.worker_name = "bench", request.host = "here", request.version = "1", request.slots = 1'000;
    request.queues = {"default"};
    request.ttl = milliseconds(3'600'000);
    session_ = Must(store_->OpenSession(request)).session;
  }

  std::vector<CreateItem> Next(int runs) const {
    std::vector<CreateItem> items;
    for (int i = 0; i < runs; ++i) {
      CreateItem item;
      item.subject = SubjectId{NewUuid7()};
      item.kind = "workflow", item.queue = "default";
      Event event;
      event.type = "workflow.created";
      event.payload = R"({"text":")" + std::string(kPayloadBytes, 'x') + R"("})";
      item.events.push_back(event);
      item.listing = ListingRow{"bench", "1", "bench", "PENDING", std::string(kSpecBytes, 's'), "{}"};
      item.grant_to = session_;
      items.push_back(std::move(item));
    }
    return items;
  }
  void Create(const std::vector<CreateItem>& items) { (void)Must(store_->Create(items)); }

  double BackendSeconds() {
    if (stat_.empty()) {
      stat_ = "/proc/" +
              database_->Value(
                  "SELECT pid FROM pg_stat_activity WHERE query LIKE '%create_item%' AND pid <> pg_backend_pid() AND datname = "
                  "current_database()") +
              "/schedstat";
    }
    double nanos = 0;
    std::ifstream(stat_) >> nanos;
    return nanos / 1e9;
  }

 private:
  std::unique_ptr<test::TestDatabase> database_;
  std::unique_ptr<PgStore> store_;
  SessionId session_;
  std::string stat_;
};

void Create(benchmark::State& state) {
  const int runs = int(state.range(0));
  CreateBench bench;
  for (int i = 0; i < 30; ++i) bench.Create(bench.Next(runs));  // plans are made and caches filled
  std::vector<double> each;
  for (auto _ : state) {
    const auto items = bench.Next(runs);
    const double before = bench.BackendSeconds();
    bench.Create(items);
    each.push_back(bench.BackendSeconds() - before);
    state.SetIterationTime(each.back());
  }
  std::sort(each.begin(), each.end());  // a quarter of the batches took less: beside other work the mean says little
  state.counters["us_a_run"] = each[each.size() / 4] * 1e6 / runs;
}
BENCHMARK(Create)->Arg(1)->Arg(8)->Arg(24)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(500);

}  // namespace
}  // namespace acl
