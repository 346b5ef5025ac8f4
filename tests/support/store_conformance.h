#pragma once
// What a test needs to drive any KernelStore through its protocols, and the fixture of the conformance suite
// (tests/integration/kernel/conformance_*_test.cc), which runs on MemoryStore and on PgStore.
//
// A harness owns one empty store. Time moves by Advance only as far as the tests care: MemoryStore's clock is moved; in PostgreSQL all
// stored times (session ends, timers, ready rows) are moved the other way. Nothing sleeps, nothing depends on how fast the machine is.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/kernel/queries.h"
#include "shared/kernel/store.h"
#include "shared/postgres/pg_store.h"

namespace acl::test {

class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  virtual KernelStore& store() = 0;
  virtual Queries& queries() = 0;
  virtual void Advance(milliseconds by) = 0;
  // Holds the subject's lease row locked, as another transaction would, until the guard goes.
  virtual std::shared_ptr<void> LockLease(const SubjectId& subject) = 0;
  // The same for a session's row.
  virtual std::shared_ptr<void> LockSession(const WorkerSessionId& session) = 0;
  // Inbox rows stored and not consumed, whoever holds the lease.
  virtual std::int64_t UnreadInbox(const SubjectId& subject) = 0;
};

struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<StoreHarness>()> make;
};
std::ostream& operator<<(std::ostream& out, const StoreFactory& factory);
std::string FactoryName(const ::testing::TestParamInfo<StoreFactory>& info);
StoreFactory MemoryFactory();
// A database of its own for each harness; `more` changes the store's options.
StoreFactory PostgresFactory(std::string name = "Postgres", std::function<void(PgStoreOptions&)> more = {});
std::vector<StoreFactory> AllStores();

// One subject as its holder writes it: builds items whose events are sealed on top of what has landed.
class Holder {
 public:
  Holder(Claimed claimed, WorkerSessionId session);

  const SubjectId& subject() const { return claimed_.subject; }
  Token token() const { return claimed_.token; }
  const Claimed& claimed() const { return claimed_; }
  std::int64_t seq() const { return seq_; }
  std::int64_t wake = 0;  // what release and close expect; starts with what the claim read

  // n events on top of the head, all else empty. Not landed yet.
  CommitItem Item(int events = 1, Disposition disposition = Disposition::kKeep) const;
  // The same, behind a closing snapshot of the head that goes with it: they stand in the next journal, behind its first event.
  CommitItem RollingItem(int events = 1, Disposition disposition = Disposition::kKeep) const;
  // The item was committed: the next one goes on top.
  void Landed(const CommitItem& item);

 private:
  static Event Happened(std::int64_t seq);
  void Append(Event event, CommitItem& item) const;

  Claimed claimed_;
  WorkerSessionId session_;
  std::int64_t seq_;
  Hash256 chain_;
  WallTime last_;
};

// One session, one queue, and shorthands that fail the test when an answer is not the expected one.
class StoreConformance : public ::testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override;

  KernelStore& store() { return harness_->store(); }
  Queries& queries() { return harness_->queries(); }
  StoreHarness& harness() { return *harness_; }
  void Advance(milliseconds by) { harness_->Advance(by); }

  WorkerSessionId Open(milliseconds ttl = milliseconds(60'000), const std::string& name = "worker");
  // A subject of the test kind with one event, ready.
  CreateItem NewItem() const;
  SubjectId Create(const CreateItem& item);
  SubjectId Create() { return Create(NewItem()); }
  ClaimRequest Request(const WorkerSessionId& session, int max = 1) const;
  std::vector<Claimed> ClaimUpTo(const WorkerSessionId& session, int max);
  // Claims exactly one subject and expects it to be this one.
  Holder ClaimOne(const WorkerSessionId& session, const SubjectId& subject);
  Holder ClaimNew(const WorkerSessionId& session) { return ClaimOne(session, Create()); }
  CommitOutcome CommitOne(const CommitItem& item);
  CommitOutcome::Kind CommitKind(const CommitItem& item) { return CommitOne(item).kind; }
  // Commits and expects it to land.
  void MustCommit(Holder& holder, const CommitItem& item);
  void Close(Holder& holder) { MustCommit(holder, holder.Item(1, Disposition::kClose)); }
  InboxPost NewPost(const SubjectId& subject, const std::string& kind = "signal") const;
  PostAnswer MustPost(const InboxPost& post);
  SubjectView View(const SubjectId& subject);
  std::vector<Event> Journal(const SubjectId& subject);
  // The session ends (its time runs out) and the reaper takes what it held.
  ReapAnswer ExpireAndReap();
  AttemptRow Attempt(const std::string& step, int id = 1);
  CompletionRow Completion(const std::string& step, int attempt, std::int64_t event_seq);

  const std::string queue_ = "conformance";
  std::unique_ptr<StoreHarness> harness_;
};

using Outcome = CommitOutcome::Kind;

}  // namespace acl::test

namespace acl {
void PrintTo(const CommitOutcome::Kind& kind, std::ostream* out);
void PrintTo(const CreateOutcome::Kind& kind, std::ostream* out);
void PrintTo(const OpenState& state, std::ostream* out);
void PrintTo(const Code& code, std::ostream* out);
}  // namespace acl
