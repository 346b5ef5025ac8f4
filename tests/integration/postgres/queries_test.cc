// What people read: states of a subject in the order of invariant 6, lists, pages.
#include "shared/postgres/pg_queries.h"

#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

class PgQueriesTest : public test::PgStoreTest {};

TEST_F(PgQueriesTest, StatesOfASubject) {
  PgQueries queries(store());
  CreateItem create = NewItem();
  create.listing = ListingRow{"report", "1.0.0", "ann", "PENDING", "steps: []", R"({"a":"b"})"};
  SubjectId subject = CreateOne(create);
  auto state = [&] {
    auto view = queries.GetSubject(subject);
    EXPECT_TRUE(view.ok()) << view.error();
    return *view;
  };
  EXPECT_EQ(state().state, OpenState::kReady);
  EXPECT_EQ(state().listing->labels_json, R"({"a":"b"})");
  EXPECT_EQ(*queries.ReadyQueues(), std::vector{queue()});

  WorkerSessionId session = OpenSession();
  Claimed claimed = ClaimOne(session);
  EXPECT_EQ(state().state, OpenState::kLeased);
  EXPECT_EQ(state().holder, session);
  EXPECT_EQ(state().holder_name, "test");

  CommitItem paused = Append(claimed, session, 1, Disposition::kRelease);
  paused.waiting = Waiting{"paused", std::nullopt};
  paused.attempts = {{"s", 1, {}, paused.last_timestamp}};
  ASSERT_EQ(CommitOne(paused).kind, CommitOutcome::Kind::kCommitted);
  EXPECT_EQ(state().state, OpenState::kPaused);
  EXPECT_TRUE(state().since.has_value());

  ASSERT_TRUE(store().Post({subject, InboxId{NewUuid7()}, "resume", "{}", std::nullopt}).ok());
  claimed = ClaimOne(session);
  CommitItem waiting = Append(claimed, session, 1, Disposition::kRelease);
  waiting.consumed_inbox = {claimed.inbox.front().id};
  waiting.timers_set = {{"retry", claimed.db_now + std::chrono::hours(1)}};
  waiting.waiting = Waiting{"retry", claimed.db_now + std::chrono::hours(1)};
  ASSERT_EQ(CommitOne(waiting).kind, CommitOutcome::Kind::kCommitted);
  EXPECT_EQ(state().state, OpenState::kWaiting);
  EXPECT_EQ(state().waiting_reason, "retry");
  EXPECT_EQ(state().next_wake, claimed.db_now + std::chrono::hours(1));
  EXPECT_EQ(queries.Timers(subject)->size(), 1u);

  ASSERT_TRUE(store().Post({subject, InboxId{NewUuid7()}, "signal", "{}", std::nullopt}).ok());
  claimed = ClaimOne(session);
  ASSERT_TRUE(store().Quarantine(subject, session, claimed.token, "journal_corrupt", "event 2").ok());
  EXPECT_EQ(state().state, OpenState::kQuarantined);
  ASSERT_TRUE(store().ReleaseQuarantine(subject, "ann").ok());
  claimed = ClaimOne(session);
  CommitItem close = Append(claimed, session, 1, Disposition::kClose);
  close.consumed_inbox = {claimed.inbox.front().id};
  close.listing = ListingChange{"COMPLETED", std::nullopt, std::nullopt, close.last_timestamp};
  ASSERT_EQ(CommitOne(close).kind, CommitOutcome::Kind::kCommitted);
  EXPECT_EQ(state().state, OpenState::kClosed);
  EXPECT_EQ(state().completed_at, close.last_timestamp);

  EXPECT_EQ(queries.Events(subject, 1, 2)->size(), 2u);
  EXPECT_EQ(queries.Events(subject, 1, 2)->front().seq, 2);
  EXPECT_EQ(queries.Attempts(subject)->size(), 1u);
  EXPECT_EQ(queries.Grants(subject)->size(), 4u);
  EXPECT_EQ(queries.Events(SubjectId{NewUuid7()}, 0, 2).code(), Code::kNotFound);
  EXPECT_EQ(queries.GetSubject(SubjectId{NewUuid7()}).code(), Code::kNotFound);
}

// A text may also stand in the listing.
TEST_F(PgQueriesTest, TheTextOfAnOldRunIsInItsListing) {
  const SubjectId subject = CreateOne();
  db().Exec(
      "INSERT INTO listings (subject_id, project_id, kind, name, version, owner, status, definition_text, labels, created_at, updated_at) "
      "VALUES "
      "(" +
      Sql(subject) + ", gen_random_uuid(), 'workflow', 'old', '1', '', 'RUNNING', 'name: old', '{}', now(), now())");
  auto view = PgQueries(store()).GetSubject(subject);
  ASSERT_TRUE(view && view->listing);
  EXPECT_EQ(view->listing->definition_text, "name: old");
  EXPECT_EQ(db().Value("SELECT spec_yaml FROM workflows WHERE id = " + Sql(subject)), "name: old");
}

TEST_F(PgQueriesTest, ListsByFilterAndCursor) {
  PgQueries queries(store());
  std::vector<CreateItem> items;
  for (int i = 0; i < 5; ++i) {
    items.push_back(NewItem());
    const char* labels = i == 3 ? R"({"env":"test","team":"a \"b\""})" : R"({"team":"a"})";
    items.back().listing = ListingRow{"list-" + queue(), "1", "ann", i == 2 ? "FAILED" : "PENDING", "", labels};
  }
  ASSERT_TRUE(store().Create(items).ok());
  ListFilter filter;
  filter.name = "list-" + queue();
  filter.limit = 2;
  auto page = queries.List(filter);
  ASSERT_TRUE(page.ok()) << page.error();
  ASSERT_EQ(page->size(), 2u);
  EXPECT_EQ((*page)[0].subject, items[4].subject);
  filter.before = (*page)[1].subject;
  filter.limit = 50;
  EXPECT_EQ(queries.List(filter)->size(), 3u);
  filter.status = "FAILED";
  EXPECT_EQ(queries.List(filter)->size(), 1u);
  filter.status.reset();
  filter.before.reset();
  filter.labels = {{"team", "a \"b\""}};
  ASSERT_EQ(queries.List(filter)->size(), 1u);
  EXPECT_EQ(queries.List(filter)->front().subject, items[3].subject);
  filter.labels["env"] = "test";
  EXPECT_EQ(queries.List(filter)->size(), 1u) << "all of them";
  filter.labels["env"] = "prod";
  EXPECT_TRUE(queries.List(filter)->empty());
  auto found = queries.FindByPart(items[0].subject.ToString());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, std::vector<SubjectId>{items[0].subject});
  EXPECT_EQ(queries.FindByPart("01").code(), Code::kInvalid);

  WorkerSessionId session = OpenSession();
  Claim(session, 5);
  std::int64_t held = 0;
  auto sessions = queries.Sessions(false);
  ASSERT_TRUE(sessions.ok()) << sessions.error();
  for (const SessionRow& row : *sessions) {
    if (row.session == session) held = row.leases_held;
  }
  EXPECT_EQ(held, 5);
  EXPECT_GE(queries.Leases(100)->size(), 5u);
  EXPECT_TRUE(queries.Quarantined(true).ok());
}

}  // namespace
}  // namespace acl
