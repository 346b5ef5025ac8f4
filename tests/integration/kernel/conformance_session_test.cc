// Store conformance: worker sessions (docs/architecture.md#heartbeat).
#include <gmock/gmock.h>

#include "shared/base/uuid7.h"
#include "tests/support/store_conformance.h"

namespace acl::test {
namespace {

class SessionConformance : public StoreConformance {};

TEST_P(SessionConformance, OpeningGivesDistinctSessionsAndTheDatabasesTime) {
  SessionRequest request;
  request.worker_name = "same name";
  request.queues = {"a", "b"};
  request.slots = 7;
  auto first = store().OpenSession(request);
  auto second = store().OpenSession(request);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->session, second->session);
  EXPECT_GT(MicrosOf(first->db_now), 0);
  EXPECT_LE(first->db_now, second->db_now);
  auto rows = queries().Sessions(false);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).worker_name, "same name");
  EXPECT_EQ(rows->at(0).slots, 7);
  EXPECT_THAT(rows->at(0).queues, testing::UnorderedElementsAre("a", "b"));
  EXPECT_FALSE(rows->at(0).dead);
}

TEST_P(SessionConformance, AHeartbeatExtendsTheSession) {
  WorkerSessionId session = Open(milliseconds(100'000));
  for (int i = 0; i < 3; ++i) {
    Advance(milliseconds(60'000));
    auto answer = store().Heartbeat(session, milliseconds(100'000));
    ASSERT_TRUE(answer) << answer.error();
    EXPECT_TRUE(answer->woken.empty());
  }
  auto reaped = store().Reap(10);
  ASSERT_TRUE(reaped);
  EXPECT_EQ(reaped->sessions_died, 0);
}

TEST_P(SessionConformance, AnExpiredSessionIsNotRenewedEvenBeforeTheReaperCame) {
  WorkerSessionId session = Open(milliseconds(100'000));
  Advance(milliseconds(100'001));
  for (int i = 0; i < 2; ++i) {
    auto answer = store().Heartbeat(session, milliseconds(100'000));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.code(), Code::kLeaseLost);
  }
}

TEST_P(SessionConformance, ADeadSessionStaysDead) {
  WorkerSessionId session = Open(milliseconds(100'000));
  ASSERT_TRUE(store().CloseSession(session));
  ASSERT_TRUE(store().CloseSession(session)) << "closing twice is no error";
  auto answer = store().Heartbeat(session, milliseconds(100'000));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.code(), Code::kLeaseLost);
  auto claim = store().Claim(Request(session));
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.code(), Code::kLeaseLost);
}

TEST_P(SessionConformance, AnUnknownSessionIsRefused) {
  WorkerSessionId nobody{NewUuid7()};
  EXPECT_EQ(store().Heartbeat(nobody, milliseconds(1000)).code(), Code::kLeaseLost);
  EXPECT_EQ(store().Claim(Request(nobody)).code(), Code::kLeaseLost);
}

TEST_P(SessionConformance, AReapedSessionMayNotClaim) {
  WorkerSessionId session = Open();
  Create();
  ExpireAndReap();
  EXPECT_EQ(store().Claim(Request(session)).code(), Code::kLeaseLost);
}

TEST_P(SessionConformance, TheHeartbeatNamesTheSubjectsWithUnreadInputs) {
  WorkerSessionId mine = Open(), other = Open();
  Holder first = ClaimNew(mine), second = ClaimNew(mine), third = ClaimNew(other);
  MustPost(NewPost(first.subject()));
  MustPost(NewPost(third.subject()));
  auto answer = store().Heartbeat(mine, milliseconds(60'000));
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->woken, testing::ElementsAre(first.subject()));
  // Until it is consumed.
  auto inbox = store().ReadInbox(first.subject(), first.token());
  ASSERT_TRUE(inbox);
  CommitItem item = first.Item();
  item.consumed_inbox = {inbox->rows.at(0).id};
  MustCommit(first, item);
  answer = store().Heartbeat(mine, milliseconds(60'000));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->woken.empty());
}

TEST_P(SessionConformance, SessionsAreListedWithWhatTheyHold) {
  WorkerSessionId session = Open(milliseconds(60'000), "busy one");
  ClaimNew(session);
  ClaimNew(session);
  auto rows = queries().Sessions(false);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->at(0).leases_held, 2);
  EXPECT_EQ(rows->at(0).worker_name, "busy one");
  ASSERT_TRUE(store().CloseSession(session));
  EXPECT_TRUE(queries().Sessions(false)->empty());
  ASSERT_EQ(queries().Sessions(true)->size(), 1u);
  EXPECT_TRUE(queries().Sessions(true)->at(0).dead);
}

INSTANTIATE_TEST_SUITE_P(Stores, SessionConformance, testing::ValuesIn(AllStores()), FactoryName);

}  // namespace
}  // namespace acl::test
