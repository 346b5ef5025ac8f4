#pragma once
// A database as a small fleet leaves it behind: runs that completed, rolled back, wait, are held, were taken over, the tiny kind beside
// them, and projects; every row written by the production code (PgStore, LeasedSubject, StoreDesk, the kinds).

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "shared/capability/capability.h"
#include "shared/postgres/pg_store.h"
#include "shared/workflow/create_run.h"
#include "tests/support/counter_kind.h"
#include "tests/support/test_database.h"
#include "worker/leased_subject.h"

namespace acl::test {

// As the job of a coordinator would, had the last journal of that subject begun long ago.
void DropJournals(TestDatabase& database, const SubjectId& subject);

class Story {
 public:
  explicit Story(const std::string& conninfo);
  // Writes all of it. Failures are the test's (EXPECT).
  void Tell();
  const std::map<std::string, SubjectId>& subjects() const { return subjects_; }  // by the name in the story
  const WorkerSessionId& session() const { return session_; }
  PgStore& store() { return store_; }

 private:
  using Script = std::function<StepResult(const StepCall&)>;
  struct Drive {
    Script script;
    int stop_after = 1'000;                        // items; then the lease is left as it is
    int snapshot_every = 0;                        // items; 0: none
    std::int64_t segment_events = kSegmentEvents;  // of a journal; it ends behind the next snapshot
  };

  SubjectId Create(const std::string& name, CreateItem item);
  SubjectId CreateCounter(const std::string& name, const CounterOptions& options);
  SubjectId CreateRun(const std::string& name, int steps, bool with_undo, milliseconds retry_delay = milliseconds(0));
  WorkerSessionId OpenSession();
  // Claims the subject and runs it until it is closed, waits, or enough items are committed.
  void Run(const std::string& name, const Drive& drive) { RunAs(session_, name, drive); }
  void RunAs(const WorkerSessionId& session, const std::string& name, const Drive& drive);
  void Post(const std::string& name, const std::string& kind, const Json& payload);
  void TakeSnapshot(LeasedSubject& run);

  void TellRuns();
  void TellApprovals();
  void TellCounters();
  // "book" has a goal, three tasks, a checkpoint and answers under request keys; "fresh" has nothing but its name.
  void TellProjects();

  PgStore store_;
  WorkerSessionId session_;
  std::shared_ptr<CapabilityRegistry> capabilities_;
  std::shared_ptr<const SubjectKind> workflow_;
  CounterKind counter_;
  std::map<std::string, SubjectId> subjects_;
};

}  // namespace acl::test
