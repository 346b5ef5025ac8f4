#include "tests/support/store_conformance.h"

#include <fmt/format.h>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/journal/segment.h"
#include "shared/kernel/memory_queries.h"
#include "shared/kernel/memory_store.h"
#include "tests/support/manual_clock.h"

namespace acl {

void PrintTo(const CommitOutcome::Kind& kind, std::ostream* out) {
  const char* names[] = {"committed", "fenced", "busy", "moved", "rejected"};
  *out << names[int(kind)];
}
void PrintTo(const CreateOutcome::Kind& kind, std::ostream* out) {
  const char* names[] = {"created", "replayed", "key_conflict"};
  *out << names[int(kind)];
}
void PrintTo(const OpenState& state, std::ostream* out) { *out << OpenStateName(state); }
void PrintTo(const Code& code, std::ostream* out) { *out << CodeName(code); }

namespace test {

namespace {

class MemoryHarness final : public StoreHarness {
 public:
  KernelStore& store() override { return store_; }
  Queries& queries() override { return queries_; }
  void Advance(milliseconds by) override { clock_.Advance(by); }
  std::shared_ptr<void> LockLease(const SubjectId& subject) override {
    store_.LockLease(subject);
    return {&store_, [subject](MemoryStore* store) { store->UnlockLease(subject); }};
  }
  std::shared_ptr<void> LockSession(const WorkerSessionId& session) override {
    store_.LockSession(session);
    return {&store_, [session](MemoryStore* store) { store->UnlockSession(session); }};
  }
  std::int64_t UnreadInbox(const SubjectId& subject) override { return std::int64_t(store_.Inspect(subject)->inbox.size()); }

 private:
  ManualClock clock_;
  MemoryStore store_{clock_};
  MemoryQueries queries_{store_, clock_};
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const StoreFactory& factory) { return out << factory.name; }
std::string FactoryName(const ::testing::TestParamInfo<StoreFactory>& info) { return info.param.name; }
StoreFactory MemoryFactory() {
  return {"Memory", [] { return std::make_unique<MemoryHarness>(); }};
}

std::vector<StoreFactory> AllStores() { return {MemoryFactory(), PostgresFactory()}; }

// ---- Holder

Holder::Holder(Claimed claimed, WorkerSessionId session)
    : wake(claimed.wake),
      claimed_(std::move(claimed)),
      session_(session),
      seq_(claimed_.head.seq),
      chain_(claimed_.head.chain),
      last_(std::max(claimed_.head.last_timestamp, claimed_.db_now)) {}

CommitItem Holder::RollingItem(int events, Disposition disposition) const {
  CommitItem item = Item(0, disposition);
  Snapshot closing;
  closing.id = NewUuid7();
  closing.last_event_seq = seq_;
  closing.state_root = item.state_root;
  closing.chain = chain_;
  closing.inline_state = "{}";
  closing.created_at = last_;
  item.snapshot = closing;
  item.begins_journal = JournalIdAt(claimed_.subject, seq_ + 1);
  Append(MakeSegmentEvent({claimed_.head.journal, chain_, seq_, item.state_root}), item);
  for (int i = 0; i < events; ++i) Append(Happened(seq_ + 2 + i), item);
  return item;
}

Event Holder::Happened(std::int64_t seq) {
  Event event;
  event.type = "test.happened";
  event.payload = fmt::format("{{\"n\":{}}}", seq);
  return event;
}

void Holder::Append(Event event, CommitItem& item) const {
  event.subject = claimed_.subject;
  event.seq = item.base_seq + std::int64_t(item.events.size()) + 1;
  event.journal = item.begins_journal.value_or(claimed_.head.journal);
  event.token = claimed_.token;
  event.timestamp = item.last_timestamp + std::chrono::microseconds(1);
  Seal(event, item.chain);
  item.chain = event.chain;
  item.last_timestamp = event.timestamp;
  item.events.push_back(std::move(event));
}

CommitItem Holder::Item(int events, Disposition disposition) const {
  CommitItem item;
  item.subject = claimed_.subject;
  item.session = session_;
  item.token = claimed_.token;
  item.base_seq = seq_;
  item.chain = chain_;
  item.state_root = claimed_.head.state_root;
  item.last_timestamp = last_;
  item.disposition = disposition;
  item.expected_wake = wake;
  for (int i = 1; i <= events; ++i) Append(Happened(seq_ + i), item);
  return item;
}

void Holder::Landed(const CommitItem& item) {
  seq_ = item.base_seq + std::int64_t(item.events.size());
  chain_ = item.chain;
  last_ = item.last_timestamp;
  if (!item.begins_journal) return;
  claimed_.head.journal = *item.begins_journal;
  claimed_.head.journal_first = item.base_seq + 1;
}

// ---- StoreConformance

void StoreConformance::SetUp() {
  harness_ = GetParam().make();
  ASSERT_TRUE(harness_);
}

WorkerSessionId StoreConformance::Open(milliseconds ttl, const std::string& name) {
  SessionRequest request;
  request.worker_name = name;
  request.host = "localhost";
  request.pid = 1;
  request.slots = 100;
  request.queues = {queue_};
  request.version = "test";
  request.ttl = ttl;
  auto grant = store().OpenSession(request);
  if (!grant) {
    ADD_FAILURE() << grant.error();
    return {};
  }
  return grant->session;
}

CreateItem StoreConformance::NewItem() const {
  CreateItem item;
  item.subject = SubjectId{NewUuid7()};
  item.kind = "counter";
  item.queue = queue_;
  Event event;
  event.type = "test.created";
  event.payload = "{\"n\":1}";
  item.events.push_back(std::move(event));
  return item;
}

SubjectId StoreConformance::Create(const CreateItem& item) {
  auto outcome = store().Create({&item, 1});
  if (!outcome) {
    ADD_FAILURE() << outcome.error();
    return item.subject;
  }
  EXPECT_EQ(outcome->size(), 1u);
  EXPECT_EQ(outcome->at(0).kind, CreateOutcome::Kind::kCreated);
  EXPECT_EQ(outcome->at(0).subject, item.subject);
  return item.subject;
}

ClaimRequest StoreConformance::Request(const WorkerSessionId& session, int max) const {
  ClaimRequest request;
  request.session = session;
  request.queues = {queue_};
  request.max = max;
  return request;
}

std::vector<Claimed> StoreConformance::ClaimUpTo(const WorkerSessionId& session, int max) {
  auto answer = store().Claim(Request(session, max));
  if (!answer) {
    ADD_FAILURE() << answer.error();
    return {};
  }
  return std::move(answer->claimed);
}

Holder StoreConformance::ClaimOne(const WorkerSessionId& session, const SubjectId& subject) {
  auto claimed = ClaimUpTo(session, 1);
  if (claimed.size() != 1 || claimed[0].subject != subject) {
    ADD_FAILURE() << "expected to claim " << subject.ToString() << ", got " << claimed.size() << " subjects";
    Claimed none;
    none.subject = subject;
    return {none, session};
  }
  return {std::move(claimed[0]), session};
}

CommitOutcome StoreConformance::CommitOne(const CommitItem& item) {
  auto outcome = store().Commit({&item, 1});
  if (!outcome) {
    ADD_FAILURE() << outcome.error();
    return {Outcome::kRejected, 0, outcome.message()};
  }
  EXPECT_EQ(outcome->size(), 1u);
  return outcome->at(0);
}

void StoreConformance::MustCommit(Holder& holder, const CommitItem& item) {
  CommitOutcome outcome = CommitOne(item);
  EXPECT_EQ(outcome.kind, Outcome::kCommitted) << outcome.error;
  if (outcome.kind == Outcome::kCommitted) holder.Landed(item);
}

InboxPost StoreConformance::NewPost(const SubjectId& subject, const std::string& kind) const {
  return {subject, InboxId{NewUuid7()}, kind, "{\"name\":\"go\"}", std::nullopt};
}

PostAnswer StoreConformance::MustPost(const InboxPost& post) {
  auto answer = store().Post(post);
  if (!answer) {
    ADD_FAILURE() << answer.error();
    return {};
  }
  return *answer;
}

SubjectView StoreConformance::View(const SubjectId& subject) {
  auto view = queries().GetSubject(subject);
  if (!view) {
    ADD_FAILURE() << view.error();
    return {};
  }
  return *view;
}

std::vector<Event> StoreConformance::Journal(const SubjectId& subject) {
  auto events = queries().Events(subject, 0, 10'000);
  if (!events) {
    ADD_FAILURE() << events.error();
    return {};
  }
  return *events;
}

ReapAnswer StoreConformance::ExpireAndReap() {
  Advance(milliseconds(60'001));
  auto answer = store().Reap(1000);
  if (!answer) {
    ADD_FAILURE() << answer.error();
    return {};
  }
  return *answer;
}

AttemptRow StoreConformance::Attempt(const std::string& step, int id) {
  return {step, id, Token{}, WallTimeFromMicros(1'795'305'600'000'000)};
}

CompletionRow StoreConformance::Completion(const std::string& step, int attempt, std::int64_t event_seq) {
  return {step, attempt, WallTimeFromMicros(1'795'305'601'000'000), Sha256(step), event_seq};
}

}  // namespace test
}  // namespace acl
