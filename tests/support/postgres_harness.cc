// The conformance suite's harness over PgStore and PgQueries, as the service role.
#include "shared/postgres/pg_queries.h"
#include "tests/support/interleave.h"
#include "tests/support/store_conformance.h"

namespace acl::test {

namespace {

class PostgresHarness final : public StoreHarness {
 public:
  PostgresHarness(std::unique_ptr<TestDatabase> database, const std::function<void(PgStoreOptions&)>& more)
      : database_(std::move(database)), store_(Options(*database_, more)), queries_(store_) {}

  KernelStore& store() override { return store_; }
  Queries& queries() override { return queries_; }
  void Advance(milliseconds by) override { MoveTimesBack(*database_, by); }
  std::shared_ptr<void> LockLease(const SubjectId& subject) override {
    return std::make_shared<HeldLock>(database_->conninfo(),
                                      "SELECT 1 FROM leases WHERE subject_id = '" + subject.ToString() + "' FOR UPDATE");
  }
  std::shared_ptr<void> LockSession(const WorkerSessionId& session) override {
    return std::make_shared<HeldLock>(database_->conninfo(),
                                      "SELECT 1 FROM worker_sessions WHERE session_id = '" + session.ToString() + "' FOR UPDATE");
  }
  std::int64_t UnreadInbox(const SubjectId& subject) override {
    return database_->Count("SELECT count(*) FROM inbox WHERE subject_id = '" + subject.ToString() + "'");
  }

 private:
  static PgStoreOptions Options(const TestDatabase& database, const std::function<void(PgStoreOptions&)>& more) {
    PgStoreOptions options;
    options.conninfo = database.conninfo();
    options.connections = options.commit_connections = 1;
    options.statement_timeout = options.lock_timeout = milliseconds(60'000);
    if (more) more(options);
    return options;
  }

  std::unique_ptr<TestDatabase> database_;
  PgStore store_;
  PgQueries queries_;
};

}  // namespace

StoreFactory PostgresFactory(std::string name, std::function<void(PgStoreOptions&)> more) {
  return {std::move(name), [more]() -> std::unique_ptr<StoreHarness> {
            auto database = TestDatabase::Create();
            if (!database) {
              ADD_FAILURE() << database.error();
              return nullptr;
            }
            return std::make_unique<PostgresHarness>(*std::move(database), more);
          }};
}

}  // namespace acl::test
