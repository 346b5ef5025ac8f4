// Store conformance: outside inputs, direct commands, timers (docs/architecture.md#outside-inputs).
#include <gmock/gmock.h>

#include "shared/base/json.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class InboxConformance : public StoreConformance {
 protected:
  static DirectDecider Append(int events) {
    return [events](const Claimed& claimed) -> Result<CommitItem> { return Holder(claimed, WorkerSessionId{}).Item(events); };
  }
  FireAnswer Fire(int max = 100) {
    auto answer = store().FireTimers(max);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? *answer : FireAnswer{};
  }
  // A subject with timers that many milliseconds from now, given back.
  SubjectId WithTimers(const std::vector<int>& after_ms) {
    WorkerSessionId session = Open();
    Holder holder = ClaimNew(session);
    CommitItem item = holder.Item(1, Disposition::kRelease);
    for (int after : after_ms) {
      item.timers_set.push_back({"t" + std::to_string(after), holder.claimed().db_now + milliseconds(after)});
    }
    item.waiting = Waiting{"timer", std::nullopt};
    MustCommit(holder, item);
    return holder.subject();
  }
};

TEST_P(InboxConformance, AnInputToNobodyIsRefused) { EXPECT_EQ(store().Post(NewPost(SubjectId{NewUuid7()})).code(), Code::kNotFound); }

TEST_P(InboxConformance, AnInputToAHeldSubjectNamesItsHolder) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  InboxPost post = NewPost(holder.subject(), "cancel");
  PostAnswer answer = MustPost(post);
  EXPECT_EQ(answer.holder, session);
  EXPECT_EQ(answer.queue, queue_);
  EXPECT_FALSE(answer.replayed);
  EXPECT_TRUE(ClaimUpTo(Open(), 10).empty()) << "no ready row: the holder is told";
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox);
  ASSERT_EQ(inbox->rows.size(), 1u);
  EXPECT_EQ(inbox->rows[0].id, post.id);
  EXPECT_EQ(inbox->rows[0].kind, "cancel");
  EXPECT_EQ(inbox->rows[0].payload, post.payload);
  EXPECT_EQ(inbox->wake, 1);
}

TEST_P(InboxConformance, AnInputToAFreeSubjectMakesItReady) {
  CreateItem item = NewItem();
  item.make_ready = false;
  Create(item);
  PostAnswer answer = MustPost(NewPost(item.subject));
  EXPECT_FALSE(answer.holder);
  EXPECT_EQ(answer.queue, queue_);
  EXPECT_EQ(ClaimOne(Open(), item.subject).claimed().inbox.size(), 1u);
}

TEST_P(InboxConformance, ARepeatUnderTheSameKeyIsTakenOnce) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  InboxPost first = NewPost(holder.subject()), again = NewPost(holder.subject());
  first.request_key = again.request_key = "key";
  EXPECT_FALSE(MustPost(first).replayed);
  EXPECT_TRUE(MustPost(again).replayed);
  InboxPost other = NewPost(holder.subject(), "cancel");
  other.request_key = "key";
  EXPECT_EQ(store().Post(other).code(), Code::kConflict) << "another input under the same key";
  EXPECT_EQ(harness().UnreadInbox(holder.subject()), 1);
  CommitItem item = holder.Item(1, Disposition::kClose);
  item.consumed_inbox = {first.id};
  item.expected_wake = 1;
  MustCommit(holder, item);
  EXPECT_TRUE(MustPost(again).replayed) << "also after it was consumed and the subject closed";
}

TEST_P(InboxConformance, KeysOfDifferentSubjectsAreDifferent) {
  WorkerSessionId session = Open();
  Holder one = ClaimNew(session), two = ClaimNew(session);
  InboxPost first = NewPost(one.subject()), second = NewPost(two.subject());
  first.request_key = second.request_key = "key";
  EXPECT_FALSE(MustPost(first).replayed);
  EXPECT_FALSE(MustPost(second).replayed);
}

TEST_P(InboxConformance, OnlyTheHolderReads) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  EXPECT_EQ(store().ReadInbox(holder.subject(), Token{holder.token().value - 1}).code(), Code::kLeaseLost);
  EXPECT_EQ(store().ReadInbox(SubjectId{NewUuid7()}, holder.token()).code(), Code::kLeaseLost);
  MustCommit(holder, holder.Item(0, Disposition::kRelease));
  EXPECT_EQ(store().ReadInbox(holder.subject(), holder.token()).code(), Code::kLeaseLost) << "given back";
}

// ---- direct commands

TEST_P(InboxConformance, ADirectCommandAppendsUnderATokenOfItsOwn) {
  CreateItem item = NewItem();
  item.make_ready = false;
  Create(item);
  Token before = View(item.subject).token;
  Token minted;
  auto outcome = store().Direct(item.subject, [&](const Claimed& claimed) -> Result<CommitItem> {
    minted = claimed.token;
    EXPECT_EQ(claimed.head.seq, 1);
    EXPECT_EQ(claimed.events.size(), 1u);
    EXPECT_EQ(claimed.kind, "counter");
    return Holder(claimed, WorkerSessionId{}).Item(2);
  });
  ASSERT_TRUE(outcome) << outcome.error();
  EXPECT_EQ(outcome->kind, Outcome::kCommitted) << outcome->error;
  EXPECT_GT(minted, before);
  auto events = Journal(item.subject);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].token, minted);
  SubjectView view = View(item.subject);
  EXPECT_FALSE(view.holder) << "the lease stays free";
  EXPECT_EQ(view.token, minted);
  auto again = store().Direct(item.subject, Append(1));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(Journal(item.subject).back().token, View(item.subject).token);
  MustPost(NewPost(item.subject));
  EXPECT_EQ(ClaimOne(Open(), item.subject).claimed().head.seq, 4);
}

TEST_P(InboxConformance, ADirectCommandMaySayMuch) {
  CreateItem item = NewItem();
  item.make_ready = false;
  Create(item);
  const std::string large = DumpJson(Json{{"said", std::string(600'000, 'x')}}), small = R"({"said":"little"})";
  const Hash256 file = Sha256("file");
  const std::pair<Hash256, std::string> content(file, "file");
  ASSERT_TRUE(store().PutContents({&content, 1}));
  const auto say = [&](const Claimed& claimed) -> Result<CommitItem> {
    CommitItem said = Holder(claimed, WorkerSessionId{}).Item(2);
    Hash256 chain = claimed.head.chain;
    for (std::size_t i = 0; i < 2; ++i) {
      said.events[i].payload = i == 0 ? large : small;
      Seal(said.events[i], chain);
      chain = said.events[i].chain;
    }
    said.chain = chain;
    said.contents = {file};
    return said;
  };
  for (int times = 1; times <= 2; ++times) {
    auto outcome = store().Direct(item.subject, say);
    ASSERT_TRUE(outcome) << outcome.error();
    EXPECT_EQ(outcome->kind, Outcome::kCommitted) << outcome->error;
  }
  const auto hours = std::chrono::duration_cast<milliseconds>(std::chrono::hours(3));
  Advance(hours);
  auto collected = store().CollectContents(hours / 3, {}, 100);
  ASSERT_TRUE(collected) << collected.error();
  EXPECT_EQ(collected->contents, 0) << "what it names and what lies apart is referred to";
  const auto events = Journal(item.subject);
  ASSERT_EQ(events.size(), 5u);
  Hash256 chain = ChainStart(item.subject);
  for (const Event& event : events) {
    EXPECT_TRUE(Verify(event, chain));
    chain = event.chain;
  }
  EXPECT_EQ(events[1].payload, large);
  EXPECT_EQ(events[2].payload, small);
  EXPECT_EQ(events[3].payload, large);
  EXPECT_LE(events[1].token, events[2].token);
  EXPECT_LT(events[2].token, events[3].token);

  auto missing = store().Direct(item.subject, [](const Claimed& claimed) -> Result<CommitItem> {
    CommitItem said = Holder(claimed, WorkerSessionId{}).Item(1);
    said.contents = {Sha256("never put")};
    return said;
  });
  ASSERT_TRUE(missing) << missing.error();
  EXPECT_EQ(missing->kind, Outcome::kRejected);
  EXPECT_EQ(Journal(item.subject).size(), 5u);
}

TEST_P(InboxConformance, ADirectCommandsRefusalChangesNothing) {
  CreateItem item = NewItem();
  item.make_ready = false;
  Create(item);
  Token before = View(item.subject).token;
  auto outcome = store().Direct(item.subject, [](const Claimed&) -> Result<CommitItem> { return Error{Code::kInvalid, "not like this"}; });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error(), (Error{Code::kInvalid, "not like this"}));
  EXPECT_EQ(View(item.subject).token, before);
  EXPECT_EQ(Journal(item.subject).size(), 1u);
}

TEST_P(InboxConformance, ADirectCommandIsRefusedWhenHeldUnreadClosedOrUnknown) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  EXPECT_EQ(store().Direct(holder.subject(), Append(1)).code(), Code::kConflict) << "held";
  InboxPost post = NewPost(holder.subject());
  MustPost(post);
  CommitItem item = holder.Item(1, Disposition::kRelease);
  item.expected_wake = 1;
  MustCommit(holder, item);
  EXPECT_EQ(store().Direct(holder.subject(), Append(1)).code(), Code::kConflict) << "an unread input goes first";
  MustPost(NewPost(holder.subject()));
  holder = ClaimOne(session, holder.subject());
  item = holder.Item(1, Disposition::kClose);
  for (const InboxRow& row : holder.claimed().inbox) item.consumed_inbox.push_back(row.id);
  MustCommit(holder, item);
  EXPECT_EQ(store().Direct(holder.subject(), Append(1)).code(), Code::kConflict) << "closed";
  EXPECT_EQ(store().Direct(SubjectId{NewUuid7()}, Append(1)).code(), Code::kNotFound);
}

TEST_P(InboxConformance, ADirectCommandWritesRowsToo) {
  CreateItem item = NewItem();
  item.make_ready = false;
  Create(item);
  auto outcome = store().Direct(item.subject, [](const Claimed& claimed) -> Result<CommitItem> {
    CommitItem one = Holder(claimed, WorkerSessionId{}).Item();
    one.timers_set = {{"t", WallTimeFromMicros(4'000'000'000'000'000)}};
    return one;
  });
  ASSERT_TRUE(outcome) << outcome.error();
  EXPECT_EQ(queries().Timers(item.subject)->size(), 1u);
}

// ---- timers

TEST_P(InboxConformance, ATimerFiresOnceItIsDueAndOnlyOnce) {
  SubjectId subject = WithTimers({100'000, 900'000});
  FireAnswer answer = Fire();
  EXPECT_EQ(answer.fired, 0);
  EXPECT_TRUE(answer.next_fire);
  WorkerSessionId session = Open(milliseconds(600'000));
  EXPECT_TRUE(ClaimUpTo(session, 10).empty());
  Advance(milliseconds(100'001));
  answer = Fire();
  EXPECT_EQ(answer.fired, 1);
  EXPECT_TRUE(answer.next_fire);
  EXPECT_EQ(Fire().fired, 0);
  Holder holder = ClaimOne(session, subject);
  ASSERT_EQ(holder.claimed().inbox.size(), 1u);
  EXPECT_EQ(holder.claimed().inbox[0].kind, "timer");
  auto payload = ParseJson(holder.claimed().inbox[0].payload);
  ASSERT_TRUE(payload) << payload.error();
  EXPECT_EQ(payload->at("timer_id"), "t100000");
  EXPECT_TRUE(ParseWallTime(payload->at("fire_at").get<std::string>())) << payload->dump();
  ASSERT_EQ(holder.claimed().timers.size(), 1u);
  EXPECT_EQ(holder.claimed().timers[0].timer_id, "t900000");
}

TEST_P(InboxConformance, TimersAreFiredInBoundedBatches) {
  WithTimers({100'000, 200'000, 300'000});
  WithTimers({150'000});
  Advance(milliseconds(500'000));
  FireAnswer answer = Fire(3);
  EXPECT_EQ(answer.fired, 3);
  EXPECT_TRUE(answer.more);
  answer = Fire(3);
  EXPECT_EQ(answer.fired, 1);
  EXPECT_FALSE(answer.more);
  EXPECT_FALSE(answer.next_fire) << "none left";
}

TEST_P(InboxConformance, ATimerOfAHeldSubjectWakesItsHolder) {
  WorkerSessionId session = Open(milliseconds(600'000));
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item();
  item.timers_set = {{"t", holder.claimed().db_now + milliseconds(100'000)}};
  MustCommit(holder, item);
  Advance(milliseconds(100'001));
  EXPECT_EQ(Fire().fired, 1);
  EXPECT_TRUE(ClaimUpTo(Open(), 10).empty());
  EXPECT_EQ(CommitKind(holder.Item(1, Disposition::kRelease)), Outcome::kMoved);
  auto answer = store().Heartbeat(session, milliseconds(600'000));
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->woken, testing::ElementsAre(holder.subject()));
}

TEST_P(InboxConformance, ASetTimerMovesAndAClearedOneIsGone) {
  WorkerSessionId session = Open(milliseconds(600'000));
  Holder holder = ClaimNew(session);
  WallTime now = holder.claimed().db_now;
  CommitItem item = holder.Item();
  item.timers_set = {
      {"moved", now + milliseconds(100'000)}, {"cleared", now + milliseconds(100'000)}, {"kept", now + milliseconds(100'000)}};
  MustCommit(holder, item);
  item = holder.Item();
  item.timers_set = {{"moved", now + milliseconds(500'000)}};
  item.timers_cleared = {"cleared", "never was"};
  MustCommit(holder, item);
  Advance(milliseconds(100'001));
  EXPECT_EQ(Fire().fired, 1);
  auto inbox = store().ReadInbox(holder.subject(), holder.token());
  ASSERT_TRUE(inbox);
  ASSERT_EQ(inbox->rows.size(), 1u);
  EXPECT_NE(inbox->rows[0].payload.find("kept"), std::string::npos);
}

TEST_P(InboxConformance, AClosedSubjectsTimersNeverFire) {
  WorkerSessionId session = Open();
  Holder holder = ClaimNew(session);
  CommitItem item = holder.Item();
  item.timers_set = {{"t", holder.claimed().db_now + milliseconds(100'000)}};
  MustCommit(holder, item);
  Close(holder);
  Advance(milliseconds(200'000));
  FireAnswer answer = Fire();
  EXPECT_EQ(answer.fired, 0);
  EXPECT_FALSE(answer.next_fire);
  EXPECT_EQ(harness().UnreadInbox(holder.subject()), 0);
}

TEST_P(InboxConformance, ATimerOfALockedLeaseWaits) {
  SubjectId subject = WithTimers({100'000});
  Advance(milliseconds(200'000));
  auto guard = harness().LockLease(subject);
  EXPECT_EQ(Fire().fired, 0);
  guard.reset();
  EXPECT_EQ(Fire().fired, 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, InboxConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
