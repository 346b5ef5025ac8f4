// Store conformance: dispatches (kernel/dispatch.h).
#include <gmock/gmock.h>

#include "shared/kernel/dispatch.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class DispatchConformance : public StoreConformance {
 protected:
  static constexpr const char* kDispatchQueue = "conformance-dispatches";

  CommitItem Offer(const Holder& holder, std::vector<std::string> steps, Disposition disposition = Disposition::kRelease, int attempt = 1) {
    CommitItem item = holder.Item(1, disposition);
    for (const std::string& step : steps) {
      item.attempts.push_back(Attempt(step, attempt));
      item.dispatches.push_back({step, attempt, kDispatchQueue, 2, "{\"v\":1}", std::nullopt});
    }
    if (disposition == Disposition::kRelease) item.waiting = Waiting{"dispatch", std::nullopt};
    return item;
  }
  // A subject given back with these dispatches out.
  SubjectId Offered(std::vector<std::string> steps) {
    Holder holder = ClaimNew(Open());
    MustCommit(holder, Offer(holder, std::move(steps)));
    return holder.subject();
  }
  ClaimAnswer Take(const WorkerSessionId& session, int dispatches, int max = 100) {
    ClaimRequest request = Request(session, max);
    request.queues = {kDispatchQueue};
    request.kinds = {"counter"};
    request.max_dispatches = dispatches;
    auto answer = store().Claim(request);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? std::move(*answer) : ClaimAnswer{};
  }
  ClaimedDispatch TakeOne(const WorkerSessionId& session) {
    ClaimAnswer answer = Take(session, 1);
    EXPECT_THAT(answer.dispatches, SizeIs(1));
    return answer.dispatches.empty() ? ClaimedDispatch{} : std::move(answer.dispatches[0]);
  }
  Result<PostAnswer> Finish(const ClaimedDispatch& dispatch, const std::string& state = "done") {
    return store().FinishDispatch({dispatch.id, dispatch.token, state, "{\"outcome\":\"" + state + "\"}"});
  }
  std::vector<InboxRow> Inbox(const SubjectId& subject) { return ClaimOne(Open(), subject).claimed().inbox; }
  std::string State(const SubjectId& subject, std::size_t n = 0) {
    auto dispatches = queries().Dispatches(subject);
    if (!dispatches || dispatches->size() <= n) return "none";
    return dispatches->at(n).state;
  }
};

TEST_P(DispatchConformance, ATaskIsTakenOnceUnderATokenOfItsOwnAndItsResultIsAnInboxRow) {
  const SubjectId subject = Offered({"a"});
  EXPECT_EQ(View(subject).state, OpenState::kWaiting);
  EXPECT_EQ(View(subject).waiting_reason, "dispatch");
  const WorkerSessionId worker = Open();
  EXPECT_THAT(Take(worker, 0).dispatches, IsEmpty()) << "no room for dispatches";
  ClaimedDispatch dispatch = TakeOne(worker);
  EXPECT_EQ(dispatch.id, DispatchIdOf(subject, "a", 1));
  EXPECT_EQ(dispatch.subject, subject);
  EXPECT_EQ(dispatch.project, kDefaultProject);
  EXPECT_EQ(dispatch.row.step_id, "a");
  EXPECT_EQ(dispatch.row.attempt_id, 1);
  EXPECT_EQ(dispatch.row.queue, kDispatchQueue);
  EXPECT_EQ(dispatch.row.priority, 2);
  EXPECT_EQ(dispatch.row.payload, "{\"v\":1}");
  EXPECT_GT(dispatch.token, Token{});
  EXPECT_THAT(Take(Open(), 5).dispatches, IsEmpty()) << "granted once";
  EXPECT_EQ(State(subject), "started");
  auto finished = Finish(dispatch);
  ASSERT_TRUE(finished) << finished.error();
  EXPECT_FALSE(finished->replayed);
  EXPECT_FALSE(finished->holder);
  EXPECT_EQ(finished->queue, queue_);
  EXPECT_EQ(State(subject), "done");
  auto inbox = Inbox(subject);
  ASSERT_THAT(inbox, SizeIs(1));
  EXPECT_EQ(inbox[0].kind, "dispatch_result");
  EXPECT_EQ(inbox[0].id.uuid, dispatch.id.uuid);
  EXPECT_EQ(inbox[0].payload, "{\"outcome\":\"done\"}");
}

TEST_P(DispatchConformance, AResultSaidAgainIsTakenOnce) {
  const SubjectId subject = Offered({"a"});
  ClaimedDispatch dispatch = TakeOne(Open());
  ASSERT_TRUE(Finish(dispatch));
  auto again = Finish(dispatch);
  ASSERT_TRUE(again) << again.error();
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(harness().UnreadInbox(subject), 1);
}

TEST_P(DispatchConformance, AResultUnderAnotherTokenIsRefused) {
  const SubjectId subject = Offered({"a"});
  ClaimedDispatch dispatch = TakeOne(Open());
  ClaimedDispatch forged = dispatch;
  --forged.token.value;
  EXPECT_EQ(Finish(forged).code(), Code::kLeaseLost);
  EXPECT_EQ(store().FinishDispatch({DispatchIdOf(subject, "b", 1), dispatch.token, "done", "{}"}).code(), Code::kNotFound);
  EXPECT_EQ(harness().UnreadInbox(subject), 0);
  EXPECT_EQ(State(subject), "started");
}

TEST_P(DispatchConformance, AHeldSubjectIsToldThroughItsWakeUpCounter) {
  Holder holder = ClaimNew(Open());
  MustCommit(holder, Offer(holder, {"a"}, Disposition::kKeep));
  auto finished = Finish(TakeOne(Open()));
  ASSERT_TRUE(finished) << finished.error();
  EXPECT_TRUE(finished->holder);
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox) << inbox.error();
  EXPECT_THAT(inbox->rows, SizeIs(1));
  EXPECT_EQ(inbox->wake, 1);
  EXPECT_EQ(CommitKind(holder.Item(1, Disposition::kRelease)), Outcome::kMoved) << "no release past an unread result";
}

TEST_P(DispatchConformance, DispatchesOfADeadSessionAreLostAndLateResultsRefused) {
  const SubjectId subject = Offered({"a"});
  const WorkerSessionId worker = Open(milliseconds(60'000), "frozen");
  ClaimedDispatch dispatch = TakeOne(worker);
  ReapAnswer reaped = ExpireAndReap();
  EXPECT_EQ(reaped.dispatches_lost, 1);
  EXPECT_EQ(State(subject), "lost");
  EXPECT_EQ(Finish(dispatch).code(), Code::kLeaseLost);
  auto inbox = Inbox(subject);
  ASSERT_THAT(inbox, SizeIs(1));
  auto payload = ParseJson(inbox[0].payload);
  ASSERT_TRUE(payload);
  EXPECT_EQ((*payload)["outcome"], "lost");
  EXPECT_EQ((*payload)["step_id"], "a");
  EXPECT_EQ((*payload)["attempt"], 1);
  EXPECT_EQ((*payload)["worker"], "frozen");
  EXPECT_EQ((*payload)["token"], dispatch.token.value);
  EXPECT_EQ(ExpireAndReap().dispatches_lost, 0);
}

TEST_P(DispatchConformance, ACleanEndIsNotHeldAgainstTheStep) {
  const SubjectId subject = Offered({"a"});
  const WorkerSessionId worker = Open();
  TakeOne(worker);
  ASSERT_TRUE(store().CloseSession(worker).ok());
  auto reaped = store().Reap(100);
  ASSERT_TRUE(reaped) << reaped.error();
  EXPECT_EQ(reaped->dispatches_lost, 1);
  EXPECT_EQ((*ParseJson(Inbox(subject).at(0).payload))["counted"], false);
}

TEST_P(DispatchConformance, TheNextAttemptsTokenIsHigher) {
  const SubjectId subject = Offered({"a"});
  ClaimedDispatch first = TakeOne(Open());
  ASSERT_TRUE(Finish(first, "failed"));
  Holder holder = ClaimOne(Open(), subject);
  CommitItem item = Offer(holder, {"a"}, Disposition::kKeep, 2);
  item.consumed_inbox = {InboxId{first.id.uuid}};
  MustCommit(holder, item);
  EXPECT_GT(TakeOne(Open()).token, first.token);
}

TEST_P(DispatchConformance, WantedBackBeforeAnybodyTookItItEndsAndIsNotGranted) {
  Holder holder = ClaimNew(Open());
  MustCommit(holder, Offer(holder, {"a", "b"}, Disposition::kKeep));
  CommitItem cancel = holder.Item();
  cancel.dispatches_cancelled = {{"a", 1}};
  MustCommit(holder, cancel);
  EXPECT_EQ(State(holder.subject()), "queued");
  ClaimAnswer taken = Take(Open(), 5);
  ASSERT_THAT(taken.dispatches, SizeIs(1));
  EXPECT_EQ(taken.dispatches[0].row.step_id, "b");
  EXPECT_EQ(taken.dropped, 1);
  auto settled = store().ReapDispatches(holder.subject(), 10);
  ASSERT_TRUE(settled) << settled.error();
  EXPECT_EQ(settled->withdrawn, 1);
  EXPECT_EQ(State(holder.subject()), "cancelled");
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox) << inbox.error();
  ASSERT_THAT(inbox->rows, SizeIs(1));
  EXPECT_EQ((*ParseJson(inbox->rows[0].payload))["outcome"], "cancelled");
  EXPECT_EQ(store().ReapDispatches(std::nullopt, 10)->withdrawn, 0) << "once";
}

TEST_P(DispatchConformance, WhatIsWantedBackLeavesTheQueueWithItsDispatch) {
  Holder holder = ClaimNew(Open());
  MustCommit(holder, Offer(holder, {"a", "b"}, Disposition::kKeep));
  CommitItem cancel = holder.Item();
  cancel.dispatches_cancelled = {{"a", 1}};
  MustCommit(holder, cancel);
  ASSERT_EQ(store().ReapDispatches(holder.subject(), 10)->withdrawn, 1);
  ClaimAnswer taken = Take(Open(), 5);
  ASSERT_THAT(taken.dispatches, SizeIs(1));
  EXPECT_EQ(taken.dispatches[0].row.step_id, "b");
  EXPECT_EQ(taken.dropped, 0) << "nothing is left of the other";
}

TEST_P(DispatchConformance, TheReaperEndsWhatTheHolderDidNotGetToEnd) {
  Holder holder = ClaimNew(Open());
  CommitItem item = Offer(holder, {"a"}, Disposition::kRelease);
  item.dispatches[0].cancel_requested = true;  // offered and wanted back by one item
  MustCommit(holder, item);
  EXPECT_THAT(Take(Open(), 5).dispatches, IsEmpty());
  auto reaped = store().Reap(100);
  ASSERT_TRUE(reaped) << reaped.error();
  EXPECT_EQ(reaped->dispatches_withdrawn, 1);
  EXPECT_THAT(Inbox(holder.subject()), SizeIs(1));
}

TEST_P(DispatchConformance, ATakerHearsThatItsDispatchIsWantedBackAndStillSaysHowItEnded) {
  Holder holder = ClaimNew(Open());
  MustCommit(holder, Offer(holder, {"a"}, Disposition::kKeep));
  const WorkerSessionId worker = Open();
  ClaimedDispatch dispatch = TakeOne(worker);
  EXPECT_THAT(store().Heartbeat(worker, milliseconds(60'000))->unwanted, IsEmpty());
  CommitItem cancel = holder.Item();
  cancel.dispatches_cancelled = {{"a", 1}, {"b", 1}};
  MustCommit(holder, cancel);
  EXPECT_EQ(store().ReapDispatches(holder.subject(), 10)->withdrawn, 0) << "started: its taker ends it";
  EXPECT_THAT(store().Heartbeat(worker, milliseconds(60'000))->unwanted, testing::ElementsAre(dispatch.id));
  EXPECT_TRUE(Finish(dispatch, "cancelled"));
  EXPECT_EQ(State(holder.subject()), "cancelled");
  EXPECT_THAT(store().Heartbeat(worker, milliseconds(60'000))->unwanted, IsEmpty());
}

TEST_P(DispatchConformance, ATakerIsToldWhatItHolds) {
  Offered({"a"});
  const WorkerSessionId worker = Open();
  ClaimedDispatch dispatch = TakeOne(worker);
  EXPECT_THAT(*store().DispatchesOf(worker, milliseconds(10'000)), IsEmpty()) << "too young";
  Advance(milliseconds(11'000));
  auto held = store().DispatchesOf(worker, milliseconds(10'000));
  ASSERT_TRUE(held) << held.error();
  ASSERT_THAT(*held, SizeIs(1));
  EXPECT_EQ(held->at(0).dispatch, dispatch.id);
  EXPECT_EQ(held->at(0).token, dispatch.token);
  EXPECT_EQ(held->at(0).key.step_id, "a");
  ASSERT_TRUE(Finish(dispatch));
  EXPECT_THAT(*store().DispatchesOf(worker, milliseconds(10'000)), IsEmpty());
}

TEST_P(DispatchConformance, RoomForDispatchesIsKeptAndTheRestStays) {
  Offered({"a", "b", "c", "d", "e"});
  EXPECT_THAT(Take(Open(), 2).dispatches, SizeIs(2));
  EXPECT_THAT(Take(Open(), 5, 1).dispatches, SizeIs(1)) << "max counts them too";
  EXPECT_THAT(Take(Open(), 5).dispatches, SizeIs(2));
}

TEST_P(DispatchConformance, MessagesNameDispatchesToo) {
  Offered({"a", "b"});
  std::vector<ReadyKey> keys;
  for (int shard = 0; shard < kReadyShards; ++shard) {
    auto due = store().DueReadyOf(shard, {}, 10);
    ASSERT_TRUE(due) << due.error();
    for (const DueRow& row : due->rows) {
      EXPECT_EQ(row.kind, "dispatch");
      EXPECT_EQ(row.key.queue, kDispatchQueue);
      keys.push_back(row.key);
    }
  }
  ASSERT_THAT(keys, SizeIs(2));
  ClaimRequest request = Request(Open());
  request.kinds = {"counter"};
  request.keys = keys;
  EXPECT_THAT(store().Claim(request)->dispatches, IsEmpty()) << "no room";
  request.max_dispatches = 1;
  auto first = store().Claim(request);
  ASSERT_TRUE(first) << first.error();
  EXPECT_THAT(first->dispatches, SizeIs(1));
  EXPECT_EQ(first->missing, 1);
  request.max_dispatches = 5;
  EXPECT_THAT(store().Claim(request)->dispatches, SizeIs(1));
}

TEST_P(DispatchConformance, ADeadSessionIsGrantedNothing) {
  Offered({"a"});
  const WorkerSessionId worker = Open();
  ASSERT_TRUE(store().CloseSession(worker).ok());
  ClaimRequest request = Request(worker);
  request.queues = {kDispatchQueue};
  request.max_dispatches = 1;
  EXPECT_EQ(store().Claim(request).code(), Code::kLeaseLost);
  EXPECT_THAT(Take(Open(), 1).dispatches, SizeIs(1));
}

TEST_P(DispatchConformance, ALockedLeaseDelaysLossAndNothingElse) {
  const SubjectId locked = Offered({"a"}), free = Offered({"a"});
  ASSERT_THAT(Take(Open(), 2).dispatches, SizeIs(2));
  auto lock = harness().LockLease(locked);
  EXPECT_EQ(ExpireAndReap().dispatches_lost, 1);
  EXPECT_EQ(State(locked), "started");
  EXPECT_EQ(State(free), "lost");
  lock.reset();
  EXPECT_EQ(store().Reap(100)->dispatches_lost, 1) << "a session is done with when no dispatch names it";
  EXPECT_EQ(State(locked), "lost");
}

TEST_P(DispatchConformance, AFencedItemOffersNothing) {
  const WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  ExpireAndReap();
  EXPECT_EQ(CommitKind(Offer(holder, {"a"}, Disposition::kKeep)), Outcome::kFenced);
  EXPECT_THAT(Take(Open(), 5).dispatches, IsEmpty());
  EXPECT_EQ(State(holder.subject()), "none");
}

// ---- retention

TEST_P(DispatchConformance, RowsOfDispatchesGoOnceNothingNeedsThem) {
  const auto day = std::chrono::duration_cast<milliseconds>(std::chrono::hours(24));
  const WorkerSessionId worker = Open(1000 * day, "taker"), holding = Open(1000 * day);
  const auto retain = [&](int max = 100) {
    auto answer = store().Retain(7 * day, 30 * day, max);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? answer->dispatches : -1;
  };
  Holder holder = ClaimNew(holding);
  MustCommit(holder, Offer(holder, {"done", "fails", "runs"}, Disposition::kKeep));
  std::map<std::string, ClaimedDispatch> dispatches;
  for (ClaimedDispatch& dispatch : Take(worker, 3).dispatches) dispatches.emplace(dispatch.row.step_id, dispatch);
  ASSERT_THAT(dispatches, SizeIs(3));
  ASSERT_TRUE(Finish(dispatches.at("done")));
  ASSERT_TRUE(Finish(dispatches.at("fails"), "failed"));
  Advance(8 * day);
  EXPECT_EQ(retain(), 0) << "their ends are unread inputs";

  CommitItem item = holder.Item(1);
  item.consumed_inbox = {InboxId{dispatches.at("done").id.uuid}, InboxId{dispatches.at("fails").id.uuid}};
  item.completions = {Completion("done", 1, holder.seq() + 1)};
  MustCommit(holder, item);
  EXPECT_EQ(store().Retain(9 * day, 30 * day, 100)->dispatches, 0) << "not so long ago";
  EXPECT_EQ(retain(), 1) << "the one whose step is completed";
  EXPECT_EQ(store().FinishDispatch({dispatches.at("done").id, dispatches.at("done").token, "done", "{}"}).code(), Code::kNotFound);

  MustCommit(holder, Offer(holder, {"fails"}, Disposition::kKeep, 2));
  EXPECT_EQ(retain(), 0) << "its next attempt has no token yet, and grows from this one";
  const ClaimedDispatch second = TakeOne(worker);
  EXPECT_GT(second.token, dispatches.at("fails").token);
  EXPECT_EQ(retain(), 1) << "the attempt before";
  Advance(8 * day);
  EXPECT_EQ(retain(), 0) << "what runs stays, however long";
  auto left = queries().Dispatches(holder.subject());
  ASSERT_TRUE(left) << left.error();
  EXPECT_THAT(*left, SizeIs(2));

  ASSERT_TRUE(Finish(second, "failed"));
  ASSERT_TRUE(Finish(dispatches.at("runs")));
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox) << inbox.error();
  item = holder.Item(1, Disposition::kClose);
  for (const InboxRow& row : inbox->rows) item.consumed_inbox.push_back(row.id);
  item.expected_wake = inbox->wake;
  MustCommit(holder, item);
  EXPECT_EQ(retain(), 0) << "closed, and not long enough ago";
  Advance(8 * day);
  EXPECT_EQ(retain(1), 1) << "in batches";
  EXPECT_EQ(retain(1), 1);
  EXPECT_EQ(retain(1), 0);
  EXPECT_THAT(*queries().Dispatches(holder.subject()), IsEmpty());
}

TEST_P(DispatchConformance, ATaskThatNobodyTookGoesWithItsReadyRow) {
  const auto day = std::chrono::duration_cast<milliseconds>(std::chrono::hours(24));
  Holder holder = ClaimNew(Open(1000 * day));
  MustCommit(holder, Offer(holder, {"a"}, Disposition::kKeep));
  CommitItem item = holder.Item(1);
  item.dispatches_cancelled = {{"a", 1}};
  MustCommit(holder, item);
  ASSERT_EQ(store().ReapDispatches(holder.subject(), 10)->withdrawn, 1);
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox) << inbox.error();
  item = holder.Item(1, Disposition::kClose);
  for (const InboxRow& row : inbox->rows) item.consumed_inbox.push_back(row.id);
  item.expected_wake = inbox->wake;
  MustCommit(holder, item);
  const auto offered = [&] {
    std::size_t rows = 0;
    for (int shard = 0; shard < kReadyShards; ++shard) rows += store().DueReadyOf(shard, {}, 100)->rows.size();
    return rows;
  };
  EXPECT_EQ(offered(), 0u) << "nobody serves its queue, and nobody need";
  Advance(8 * day);
  EXPECT_EQ(store().Retain(7 * day, 30 * day, 100)->dispatches, 1);
  EXPECT_EQ(offered(), 0u);
  EXPECT_THAT(Take(Open(), 5).dispatches, IsEmpty());
}

TEST_P(DispatchConformance, AMessageOfATaskCarriesItsRunsTraceContext) {
  CreateItem create = NewItem();
  create.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  Holder holder = ClaimOne(Open(), Create(create));
  MustCommit(holder, Offer(holder, {"a"}, Disposition::kKeep));
  std::vector<DueRow> rows;
  for (int shard = 0; shard < kReadyShards; ++shard) {
    auto due = store().DueReadyOf(shard, {}, 100);
    ASSERT_TRUE(due) << due.error();
    rows.insert(rows.end(), due->rows.begin(), due->rows.end());
  }
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].kind, kDispatchReadyKind);
  EXPECT_EQ(rows[0].traceparent, create.traceparent);
}

INSTANTIATE_TEST_SUITE_P(Stores, DispatchConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
