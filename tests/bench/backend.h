#pragma once
// What the benchmarks of PostgreSQL's own cost share: a migrated database in which nothing waits for the disk, a store with a session on
// it, and the CPU of the backend that does the work.

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/uuid7.h"
#include "shared/postgres/pg_store.h"
#include "tests/support/test_database.h"

namespace acl {

template <class T>
T Must(Result<T> result) {
  ACL_CHECK(result.ok(), result.ok() ? "" : result.error().message.c_str());
  return std::move(*result);
}

// A run with a first event of this payload, which waits to be claimed.
inline CreateItem NewBenchRun(std::string payload) {
  CreateItem item;
  item.subject = SubjectId{NewUuid7()};
  item.kind = "workflow", item.queue = "default";
  Event event;
  event.type = "workflow.created";
  event.payload = std::move(payload);
  item.events.push_back(std::move(event));
  item.listing = ListingRow{"bench", "1", "bench", "PENDING", "", "{}"};
  return item;
}

class Backend {
 public:
  // `whose`: which of the store's connections, a condition on pg_stat_activity that is true once it has done its first work.
  explicit Backend(std::string whose) : whose_(std::move(whose)), database_(Must(test::TestDatabase::Create())) {
    database_->Exec("ALTER DATABASE \"" + database_->name() + "\" SET synchronous_commit = off");
    PgStoreOptions options;
    options.conninfo = database_->conninfo();
    options.application_name = "bench";
    options.connections = options.commit_connections = 1;
    store_ = std::make_unique<PgStore>(options);
    SessionRequest request;
    request.worker_name = "bench", request.host = "here", request.version = "1", request.slots = 1'000;
    request.queues = {"default"};
    request.ttl = milliseconds(3'600'000);
    session_ = Must(store_->OpenSession(request)).session;
  }

  test::TestDatabase& database() { return *database_; }
  PgStore& store() { return *store_; }
  const WorkerSessionId& session() const { return session_; }

  // CPU spent so far.
  double Seconds() {
    if (stat_.empty()) {
      stat_ = "/proc/" +
              database_->Value("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND " +
                               whose_) +
              "/schedstat";
    }
    double nanos = 0;
    std::ifstream(stat_) >> nanos;
    return nanos / 1e9;
  }

  // In microseconds: a quarter of the batches took less. Beside other work the mean says little.
  static double LowerQuartile(std::vector<double> seconds) {
    const auto at = seconds.begin() + std::ptrdiff_t(seconds.size() / 4);
    std::nth_element(seconds.begin(), at, seconds.end());
    return *at * 1e6;
  }

 private:
  const std::string whose_;
  std::unique_ptr<test::TestDatabase> database_;
  std::unique_ptr<PgStore> store_;
  WorkerSessionId session_;
  std::string stat_;
};

}  // namespace acl
