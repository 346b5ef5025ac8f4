// Store conformance: group commit, its outcomes and its dispositions (docs/architecture.md#commit, docs/architecture.md#wake-up-counter).
#include <gmock/gmock.h>

#include "shared/base/uuid7.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class CommitConformance : public StoreConformance {
 protected:
  std::vector<Outcome> Kinds(const std::vector<CommitItem>& items) {
    auto outcomes = store().Commit(items);
    EXPECT_TRUE(outcomes) << outcomes.error();
    std::vector<Outcome> kinds;
    if (outcomes) {
      for (const auto& outcome : *outcomes) kinds.push_back(outcome.kind);
    }
    return kinds;
  }
};

TEST_P(CommitConformance, AppendsEventsAndMovesTheHead) {
  Holder holder = ClaimNew(Open());
  for (int n : {1, 3, 2}) MustCommit(holder, holder.Item(n));
  auto events = Journal(holder.subject());
  ASSERT_EQ(events.size(), 7u);
  Hash256 chain = ChainStart(holder.subject());
  for (const Event& event : events) {
    Status verified = Verify(event, chain);
    EXPECT_TRUE(verified) << verified.error();
    chain = event.chain;
  }
  SubjectView view = View(holder.subject());
  EXPECT_EQ(view.head.seq, 7);
  EXPECT_EQ(view.head.chain, chain);
  EXPECT_EQ(view.head.last_timestamp, events.back().timestamp);
  EXPECT_EQ(view.state, OpenState::kLeased) << "a keeping commit keeps";
}

TEST_P(CommitConformance, AnEmptyBatchIsNothing) {
  auto outcomes = store().Commit({});
  ASSERT_TRUE(outcomes) << outcomes.error();
  EXPECT_TRUE(outcomes->empty());
}

TEST_P(CommitConformance, WithoutEventsOnlyTheRowsAreWritten) {
  Holder holder = ClaimNew(Open());
  CommitItem item = holder.Item(0);
  item.timers_set = {{"t", WallTimeFromMicros(4'000'000'000'000'000)}};
  MustCommit(holder, item);
  EXPECT_EQ(View(holder.subject()).head.seq, 1);
  EXPECT_EQ(queries().Timers(holder.subject())->size(), 1u);
}

TEST_P(CommitConformance, EveryWayOfNotBeingTheHolderIsFenced) {
  WorkerSessionId session = Open(), other = Open();
  Holder holder = ClaimNew(session);
  CommitItem wrong = holder.Item();
  wrong.session = other;
  EXPECT_EQ(CommitKind(wrong), Outcome::kFenced) << "another session under my token";
  wrong = holder.Item();
  wrong.token.value -= 1;
  for (Event& event : wrong.events) event.token = wrong.token;
  EXPECT_EQ(CommitKind(wrong), Outcome::kFenced) << "an old token";
  wrong = holder.Item();
  wrong.token.value += 1;
  for (Event& event : wrong.events) event.token = wrong.token;
  EXPECT_EQ(CommitKind(wrong), Outcome::kFenced) << "a token nobody was given";
  wrong = holder.Item();
  wrong.subject = SubjectId{NewUuid7()};
  for (Event& event : wrong.events) event.subject = wrong.subject;
  EXPECT_EQ(CommitKind(wrong), Outcome::kFenced) << "no such subject";
  EXPECT_EQ(Journal(holder.subject()).size(), 1u);
  MustCommit(holder, holder.Item());
}

TEST_P(CommitConformance, AfterReleaseAndAfterCloseTheTokenIsWorthNothing) {
  WorkerSessionId session = Open();
  Holder released = ClaimNew(session);
  MustCommit(released, released.Item(1, Disposition::kRelease));
  EXPECT_EQ(CommitKind(released.Item()), Outcome::kFenced);
  Holder closed = ClaimNew(session);
  Close(closed);
  EXPECT_EQ(CommitKind(closed.Item()), Outcome::kFenced);
  EXPECT_EQ(CommitKind(closed.Item(0, Disposition::kClose)), Outcome::kFenced);
  EXPECT_EQ(Journal(closed.subject()).size(), 2u);
}

TEST_P(CommitConformance, AnItemDecidedOnAnotherHeadDoesNotLand) {
  Holder holder = ClaimNew(Open());
  CommitItem first = holder.Item(), again = holder.Item(2);
  MustCommit(holder, first);
  EXPECT_EQ(CommitKind(first), Outcome::kFenced) << "the same item twice";
  EXPECT_EQ(CommitKind(again), Outcome::kFenced) << "another item on the same base";
  EXPECT_EQ(Journal(holder.subject()).size(), 2u);
  MustCommit(holder, holder.Item());
}

TEST_P(CommitConformance, AFencedSubjectLosesAlone) {
  WorkerSessionId session = Open();
  std::vector<Holder> holders;
  for (int i = 0; i < 4; ++i) holders.push_back(ClaimNew(session));
  ASSERT_TRUE(store().ReleaseLease(holders[1].subject(), session, holders[1].token()));
  std::vector<CommitItem> items;
  for (const Holder& holder : holders) items.push_back(holder.Item());
  EXPECT_THAT(Kinds(items), testing::ElementsAre(Outcome::kCommitted, Outcome::kFenced, Outcome::kCommitted, Outcome::kCommitted));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(Journal(holders[i].subject()).size(), i == 1 ? 1u : 2u);
}

TEST_P(CommitConformance, ALockedLeaseIsBusyAndOnlyThatItemWaits) {
  WorkerSessionId session = Open();
  Holder locked = ClaimNew(session), free = ClaimNew(session), fenced = ClaimNew(session);
  ASSERT_TRUE(store().ReleaseLease(fenced.subject(), session, fenced.token()));
  for (Disposition disposition : {Disposition::kKeep, Disposition::kRelease, Disposition::kClose}) {
    auto guard = harness().LockLease(locked.subject());
    CommitItem other = free.Item();
    EXPECT_THAT(Kinds({locked.Item(1, disposition), other, fenced.Item()}),
                testing::ElementsAre(Outcome::kBusy, Outcome::kCommitted, Outcome::kFenced));
    free.Landed(other);
  }
  EXPECT_EQ(Journal(locked.subject()).size(), 1u);
  MustCommit(locked, locked.Item());
}

TEST_P(CommitConformance, ABadItemIsIsolatedAndLeavesNothing) {
  WorkerSessionId session = Open();
  Holder good = ClaimNew(session), bad = ClaimNew(session), other = ClaimNew(session);
  CommitItem done = bad.Item();
  done.attempts = {Attempt("step")};
  done.completions = {Completion("step", 1, 2)};
  MustCommit(bad, done);
  CommitItem twice = bad.Item();
  twice.attempts = {Attempt("step", 2), Attempt("more")};
  twice.completions = {Completion("step", 2, 3)};
  std::vector<CommitItem> items{good.Item(), twice, other.Item()};
  EXPECT_THAT(Kinds(items), testing::ElementsAre(Outcome::kCommitted, Outcome::kRejected, Outcome::kCommitted));
  EXPECT_EQ(Journal(bad.subject()).size(), 2u);
  EXPECT_EQ(queries().Attempts(bad.subject())->size(), 1u) << "all or nothing of an item";
  EXPECT_FALSE(CommitOne(twice).error.empty()) << "and it says why";
  MustCommit(bad, bad.Item());
}

TEST_P(CommitConformance, ACompletionNamesAnAttemptThatExists) {
  Holder holder = ClaimNew(Open());
  CommitItem item = holder.Item();
  item.completions = {Completion("step", 1, 2)};
  EXPECT_EQ(CommitKind(item), Outcome::kRejected);
  item.attempts = {Attempt("step", 2)};
  EXPECT_EQ(CommitKind(item), Outcome::kRejected) << "another attempt's row does not count";
  item.attempts = {Attempt("step", 1)};
  MustCommit(holder, item);
  auto attempts = queries().Attempts(holder.subject());
  ASSERT_TRUE(attempts);
  ASSERT_EQ(attempts->size(), 1u);
  EXPECT_EQ(attempts->at(0).step_id, "step");
  EXPECT_EQ(attempts->at(0).token, holder.token());
  EXPECT_TRUE(attempts->at(0).completed_at);
}

TEST_P(CommitConformance, AnAttemptNumberIsUsedOnce) {
  Holder holder = ClaimNew(Open());
  CommitItem item = holder.Item();
  item.attempts = {Attempt("step", 1)};
  MustCommit(holder, item);
  CommitItem again = holder.Item();
  again.attempts = {Attempt("step", 1)};
  EXPECT_EQ(CommitKind(again), Outcome::kRejected);
  again.attempts = {Attempt("step", 2)};
  again.completions = {Completion("step", 1, 3)};  // the first one after all
  MustCommit(holder, again);
}

TEST_P(CommitConformance, AGapInTheEventsIsRejected) {
  Holder holder = ClaimNew(Open());
  CommitItem gap = holder.Item(2);
  gap.events.erase(gap.events.begin());
  EXPECT_EQ(CommitKind(gap), Outcome::kRejected);
  EXPECT_EQ(Journal(holder.subject()).size(), 1u);
  MustCommit(holder, holder.Item());
}

TEST_P(CommitConformance, ASubjectIsAtMostOnceInABatch) {
  Holder holder = ClaimNew(Open());
  std::vector<CommitItem> items{holder.Item(), holder.Item(2)};
  auto outcomes = store().Commit(items);
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.code(), Code::kInvalid);
  EXPECT_EQ(Journal(holder.subject()).size(), 1u);
}

TEST_P(CommitConformance, AFieldTooLongIsRejectedAlone) {
  WorkerSessionId session = Open();
  Holder bad = ClaimNew(session), good = ClaimNew(session);
  CommitItem item = bad.Item();
  item.attempts = {Attempt(std::string(500, 'x'))};
  EXPECT_THAT(Kinds({item, good.Item()}), testing::ElementsAre(Outcome::kRejected, Outcome::kCommitted));
}

TEST_P(CommitConformance, ALargeBatchWithEverythingInIt) {
  WorkerSessionId session = Open();
  std::vector<CreateItem> creates;
  for (int i = 0; i < 100; ++i) creates.push_back(NewItem());
  ASSERT_TRUE(store().Create(creates));
  std::vector<CommitItem> items;
  for (Claimed& claimed : ClaimUpTo(session, 100)) {
    Holder holder(std::move(claimed), session);
    auto n = items.size();
    CommitItem item = holder.Item(1 + int(n % 3), n % 3 == 0   ? Disposition::kKeep
                                                  : n % 3 == 1 ? Disposition::kRelease
                                                               : Disposition::kClose);
    item.attempts = {Attempt("a"), Attempt("b")};
    item.completions = {Completion("a", 1, 2)};
    item.timers_set = {{"t1", WallTimeFromMicros(4'000'000'000'000'000)}, {"t2", WallTimeFromMicros(4'000'000'000'000'001)}};
    item.outbox = {{"topic", "key", "payload"}};
    item.compensations = {{"a", "io.fs.write", "{}", "pending", "", item.last_timestamp}};
    item.listing = ListingChange{"RUNNING", std::nullopt, item.last_timestamp, std::nullopt};
    items.push_back(std::move(item));
  }
  ASSERT_EQ(items.size(), 100u);
  auto kinds = Kinds(items);
  EXPECT_THAT(kinds, testing::Each(Outcome::kCommitted));
  for (std::size_t i = 0; i < items.size(); ++i) {
    SubjectView view = View(items[i].subject);
    EXPECT_EQ(view.head.seq, 2 + std::int64_t(i % 3));
    EXPECT_EQ(view.state, i % 3 == 0 ? OpenState::kLeased : i % 3 == 1 ? OpenState::kWaiting : OpenState::kClosed);
    EXPECT_EQ(queries().Attempts(items[i].subject)->size(), 2u);
    EXPECT_EQ(queries().Compensations(items[i].subject)->size(), 1u);
  }
}

TEST_P(CommitConformance, TheListingChangesWithTheStatus) {
  CreateItem create = NewItem();
  create.listing = ListingRow{"n", "1", "o", "CREATED", "spec", "{}"};
  Create(create);
  Holder holder = ClaimOne(Open(), create.subject);
  CommitItem item = holder.Item();
  item.listing = ListingChange{"RUNNING", std::nullopt, item.last_timestamp, std::nullopt};
  WallTime started = item.last_timestamp;
  MustCommit(holder, item);
  MustCommit(holder, holder.Item());
  item = holder.Item(1, Disposition::kClose);
  item.listing = ListingChange{"FAILED", "step 3: no such file", std::nullopt, item.last_timestamp};
  MustCommit(holder, item);
  SubjectView view = View(create.subject);
  ASSERT_TRUE(view.listing);
  EXPECT_EQ(view.listing->status, "FAILED");
  EXPECT_EQ(view.listing->name, "n");
  EXPECT_EQ(view.error_message, "step 3: no such file");
  EXPECT_EQ(view.started_at, started) << "kept by a change that does not name it";
  EXPECT_EQ(view.completed_at, item.last_timestamp);
  EXPECT_EQ(view.state, OpenState::kClosed);
}

TEST_P(CommitConformance, CompensationsAreLogged) {
  Holder holder = ClaimNew(Open());
  CommitItem item = holder.Item();
  item.compensations = {{"a", "io.fs.delete", "{\"path\":\"x\"}", "executed", "", item.last_timestamp},
                        {"b", "net.http.post", "{}", "failed", "connection refused", item.last_timestamp}};
  MustCommit(holder, item);
  auto rows = queries().Compensations(holder.subject());
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).step_id, "a");
  EXPECT_EQ(rows->at(0).inputs_json, "{\"path\":\"x\"}");
  EXPECT_EQ(rows->at(1).status, "failed");
  EXPECT_EQ(rows->at(1).error, "connection refused");
  EXPECT_EQ(rows->at(1).at, item.last_timestamp);
}

INSTANTIATE_TEST_SUITE_P(Stores, CommitConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
