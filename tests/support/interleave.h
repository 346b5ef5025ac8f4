#pragma once
// Forces an order on real, concurrent PostgreSQL sessions that run the production statements.
//
// The SQL of the product carries marks, `-- hold: name`, at the places where orders matter. In a test's own database every mark becomes
// a call of test_hold('name'), which waits on an advisory lock, but only for the session (application_name) that a Gate names. So:
//
//   Gate gate(stage, "claim_leases_locked", "b");     // session b will stop there
//   auto claim = b.Start([&](KernelStore& store) { return store.Claim(request); });
//   gate.AwaitArrival();                              // seen in pg_locks: b stands at the mark
//   ... what the others do meanwhile ...
//   gate.Open();
//   claim.get();
//
// Nothing sleeps to let something happen: every wait is for a state that PostgreSQL shows.

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/postgres/connection.h"
#include "shared/postgres/pg_store.h"
#include "tests/support/test_database.h"

namespace acl::test {

// Moves the stored times of sessions, timers, ready rows and leases back: for whoever reads the clock now, so much time has passed.
void MoveTimesBack(TestDatabase& database, milliseconds by);

// A database whose functions and statements stop at gates; and, for tests of the tests, with a safety rule taken out.
class Stage {
 public:
  // A text replaced in the product's SQL before the marks are. `where`: a function's name, or a statement's ("commit.keep"). The text
  // must be there, or the test fails: a mutant that changes nothing proves nothing.
  struct Edit {
    std::string where, from, to;
  };
  static Result<std::unique_ptr<Stage>> Make(const std::vector<Edit>& edits = {});

  TestDatabase& db() { return *database_; }
  const std::map<std::string, std::string>& statements() const { return statements_; }
  // How many marks there are in all: none would mean that the tests hold nothing.
  int marks() const { return marks_; }
  void Advance(milliseconds by) { MoveTimesBack(*database_, by); }
  // Waits until this session waits for a lock of this type ("advisory", "tuple", "transactionid"; empty: any). False: it never did.
  bool AwaitBlocked(const std::string& application, const std::string& lock_type = "");
  // What of the invariants (docs/architecture.md#invariants) does not hold, in words; empty if all do. Between transactions only.
  std::vector<std::string> Violations();

 private:
  explicit Stage(std::unique_ptr<TestDatabase> database) : database_(std::move(database)) {}
  void EditFunctions(const std::vector<Edit>& edits);
  void EditStatements(const std::vector<Edit>& edits);

  std::unique_ptr<TestDatabase> database_;
  std::map<std::string, std::string> statements_;  // overrides
  int marks_ = 0;
};

// One process's view of the store: a PgStore of its own, whose calls run beside the test.
class Actor {
 public:
  Actor(Stage& stage, const std::string& name);
  PgStore& store() { return *store_; }
  const std::string& name() const { return name_; }
  template <class Call>
  auto Start(Call call) -> std::future<decltype(call(std::declval<KernelStore&>()))> {
    return std::async(std::launch::async, [this, call] { return call(static_cast<KernelStore&>(*store_)); });
  }

 private:
  std::string name_;
  std::unique_ptr<PgStore> store_;
};

// Closed from construction to Open (or the end). One actor stops at one mark.
class Gate {
 public:
  Gate(Stage& stage, const std::string& mark, const Actor& actor);
  ~Gate() { Open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  // False if the actor never came by.
  [[nodiscard]] bool AwaitArrival();
  void Open();

 private:
  Stage& stage_;
  std::string key_;
  std::unique_ptr<pg::Connection> connection_;
};

// A transaction that holds what its statement locked until it is destroyed.
class HeldLock {
 public:
  HeldLock(const std::string& conninfo, const std::string& sql);
  ~HeldLock();

 private:
  std::unique_ptr<pg::Connection> connection_;
};

}  // namespace acl::test
