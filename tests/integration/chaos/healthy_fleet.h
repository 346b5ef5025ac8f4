#pragma once
// A database as a small fleet leaves it when all is done: workflow runs by the production worker, with dispatched steps, a wait, a retry,
// a step of unknown outcome that a person resolved, signals and a takeover; and what its clients and a receiver of effects saw.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "chaos/checkers/history.h"
#include "shared/capability/capability.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/pg_store.h"
#include "tests/support/script_runner.h"
#include "worker/shell.h"

namespace acl::test {

class HealthyFleet {
 public:
  explicit HealthyFleet(const std::string& conninfo);
  // Runs all of it to its end. Failures are the test's (EXPECT).
  void Run();

  const std::vector<SubjectId>& runs() const { return runs_; }
  const chaos::History& history() const { return history_; }
  const chaos::Ledger& ledger() const { return ledger_; }

 private:
  SubjectId Start(const std::string& key);
  void Signal(const SubjectId& run, const std::string& mark);
  // A claim of a worker that ends at once: the next one takes the run over.
  void TakeAndDie();
  void Await(const SubjectId& run, const std::string& status);
  std::unique_ptr<WorkerShell> Worker(const std::string& name, std::vector<std::string> queues);
  StepResult Answer(const StepCall& call);
  void Operation(Json fields);

  SystemClock clock_;
  PgStore store_;
  PgQueries queries_;
  PostgresDriver queue_;
  ScriptRunner runner_;
  std::shared_ptr<CapabilityRegistry> capabilities_;
  std::shared_ptr<const SubjectKind> workflow_;
  KindRegistry kinds_;
  std::vector<SubjectId> runs_;
  std::mutex mutex_;  // the ledger is written by the worker's threads
  chaos::History history_;
  chaos::Ledger ledger_;
};

}  // namespace acl::test
