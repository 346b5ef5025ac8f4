// Making subjects: what only PostgreSQL has. The rest is in the conformance suite, which both stores pass.
#include <map>

#include "chaos/proxy/proxy.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "tests/integration/postgres/store_fixture.h"
#include "tests/support/fleet.h"

namespace acl {
namespace {

class PgCreateTest : public test::PgStoreTest {
 protected:
  // One whose statement of this name is another.
  std::unique_ptr<PgStore> StoreWith(const char* statement, const char* text) {
    PgStoreOptions options;
    options.conninfo = db().conninfo();
    options.override_sql[statement] = text;
    return std::make_unique<PgStore>(options);
  }
  CreateItem Keyed(const std::string& key, const std::string& body = "body") {
    CreateItem item = NewItem();
    item.request_key = key;
    item.request_hash = Sha256(body);
    return item;
  }
  // The rows of the tables that a create writes to, by table, and of all of them; the tests of one process share a database.
  std::map<std::string, std::int64_t> Rows() {
    std::map<std::string, std::int64_t> rows;
    for (const char* table : kTables) rows[table] = db().Count(std::string("SELECT count(*) FROM ") + table);
    return rows;
  }
  std::int64_t AllRows() {
    std::int64_t all = 0;
    for (const auto& [table, rows] : Rows()) all += rows;
    return all;
  }
  static constexpr const char* kTables[] = {"request_keys", "leases", "subjects",      "subject_head", "event_rows",
                                            "listings",     "ready",  "lease_history", "timers",       "content_refs"};
};

// Statements that are as if a key were taken, and as if there were no function.
constexpr const char* kRefuses = "SELECT 1, true, clock_timestamp() WHERE false";
constexpr const char* kFails = "SELECT 1 / 0";

// A workflow as submitted is stored once, whoever makes runs of it, in one batch or in many.
TEST_F(PgCreateTest, RunsOfOneWorkflowShareItsText) {
  const auto with = [&](const std::string& text) {
    CreateItem item = NewItem();
    item.kind = "workflow";
    item.listing = ListingRow{"n", "1", "o", "PENDING", text, "{}"};
    return item;
  };
  const std::string mine = "name: shared by " + NewUuid7().ToString(), other = mine + "\n";
  for (int batch = 0; batch < 2; ++batch) {
    const std::vector<CreateItem> items = {with(mine), with(other), with(mine)};
    auto outcomes = store().Create(items);
    ASSERT_TRUE(outcomes.ok()) << outcomes.message();
    for (std::size_t n = 0; n < items.size(); ++n) {
      EXPECT_EQ(db().Value("SELECT spec_yaml FROM workflows WHERE id = " + Sql((*outcomes)[n].subject)), n == 1 ? other : mine);
    }
  }
  EXPECT_EQ(db().Count("SELECT count(*) FROM definition_texts WHERE text IN ('" + mine + "', '" + other + "')"), 2);
  EXPECT_EQ(db().Refusal("UPDATE definition_texts SET text = ''", "acl_service").code, Code::kDenied);
  EXPECT_EQ(db().Refusal("DELETE FROM definition_texts", "acl_owner").code, Code::kDenied);
}

// The token that new subjects are sealed with is remembered; an epoch that moved since is noticed by the statement, which writes nothing,
// and they are sealed anew.
TEST_F(PgCreateTest, AfterANewEpochWhatIsMadeHasItsToken) {
  auto rows = Rows();
  for (const bool keyed : {false, true}) {
    const auto make = [&] {
      CreateItem item = NewItem();
      if (keyed) item.request_key = item.subject.ToString();
      auto outcomes = store().Create({&item, 1});
      EXPECT_TRUE(outcomes) << outcomes.error();
      return outcomes ? outcomes->front() : CreateOutcome{};
    };
    const CreateOutcome before = make();
    db().Exec("SELECT new_epoch(NULL)");
    const CreateOutcome after = make();
    EXPECT_GE(after.token.value, before.token.value + (std::int64_t(1) << 32)) << (keyed ? "with" : "without") << " a key";
    EXPECT_EQ(db().Count("SELECT count(*) FROM leases l JOIN event_rows e USING (subject_id, token) WHERE l.token = " +
                         std::to_string(after.token.value) + " AND l.subject_id = '" + after.subject.ToString() + "' AND e.seq = 1"),
              1);
  }
  for (const char* table : {"leases", "subjects", "subject_head", "event_rows", "ready"}) rows[table] += 4;
  rows["request_keys"] += 2;
  EXPECT_EQ(Rows(), rows);
}

// One that a table refuses takes the others of its batch with it, and is said as the table says it.
TEST_F(PgCreateTest, OneThatIsRefusedMakesNothing) {
  const auto rows = Rows();
  for (const bool keyed : {false, true}) {
    std::vector<CreateItem> items{NewItem(), NewItem()};
    items[1].kind = std::string(51, 'x');
    if (keyed) items[0].request_key = "key";
    auto outcomes = store().Create(items);
    ASSERT_FALSE(outcomes);
    EXPECT_EQ(outcomes.code(), Code::kConflict);
    EXPECT_NE(outcomes.message().find("subjects_kind_check"), std::string::npos) << outcomes.message();
    EXPECT_EQ(Rows(), rows);
  }
}

// ---- request keys: new ones are one statement's, the others the function's

TEST_F(PgCreateTest, TheStatementWritesWhatTheFunctionWrites) {
  const auto by_statement = StoreWith("create", kFails), by_function = StoreWith("create.keyed", kRefuses);
  const WorkerSessionId session = OpenSession();
  const auto items = [&](const std::string& prefix) {
    std::vector<CreateItem> made{Keyed(prefix + "granted"), NewItem(2), Keyed(prefix + "asleep"), Keyed(prefix + "other project")};
    made[0].grant_to = session;
    made[0].listing = ListingRow{"report", "1.2", "anna", "CREATED", "name: report\n", "{\"team\":\"a\"}"};
    made[0].traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    made[1].grant_to = WorkerSessionId{NewUuid7()};  // of nobody
    made[2].make_ready = false;
    made[2].required_version = 3;
    made[2].time_limit = milliseconds(90'000);
    made[3].project = ProjectId{NewUuid7()};
    made[3].priority = 2;
    return made;
  };
  const std::vector<CreateItem> one = items("s "), other = items("f ");
  const auto answer = by_statement->Create(one), expected = by_function->Create(other);
  ASSERT_TRUE(answer) << answer.error();
  ASSERT_TRUE(expected) << expected.error();
  // All but what is new each time: ids, times, places and hashes over them.
  const auto rows = [&](const std::string& table, const CreateItem& item) {
    std::string found;
    for (const auto& row : db().Query("SELECT (to_jsonb(t) - '{subject_id,journal_id,at,created_at,updated_at,last_timestamp,acquired_at,"
                                      "granted_at,ready_at,run_deadline,lsn,shard,checksum,chain,project_id,scope}'::text[])::text FROM " +
                                      table + " t WHERE subject_id = " + Sql(item.subject) + " ORDER BY 1"))
      found += *row[0] + "\n";
    const std::string& key = item.request_key.value_or("-");
    const auto at = found.find("\"" + key + "\"");
    return at == std::string::npos ? found : found.replace(at + 1, 2, "");  // without the prefix
  };
  for (const CreateItem& item : {one[2], other[2]}) {
    EXPECT_EQ(db().Count("SELECT count(*) FROM subject_head WHERE run_deadline = last_timestamp + interval '90 s' AND subject_id = " +
                         Sql(item.subject)),
              1);
  }
  for (std::size_t n = 0; n < one.size(); ++n) {
    EXPECT_EQ(answer->at(n).kind, expected->at(n).kind);
    EXPECT_EQ(answer->at(n).subject, one[n].subject);
    EXPECT_EQ(answer->at(n).token, expected->at(n).token);
    EXPECT_EQ(answer->at(n).granted, expected->at(n).granted);
    EXPECT_EQ(answer->at(n).granted, n == 0);
    for (const char* table : kTables) EXPECT_EQ(rows(table, one[n]), rows(table, other[n])) << table << ", item " << n;
    EXPECT_EQ(db().Count("SELECT count(*) FROM request_keys r JOIN subjects s ON s.subject_id = r.subject_id AND s.project_id = r.scope "
                         "WHERE s.subject_id = " +
                         Sql(one[n].subject)),
              one[n].request_key ? 1 : 0);
  }
  EXPECT_NE(rows("lease_history", one[0]), "");
  EXPECT_NE(rows("ready", one[1]), "");
  EXPECT_EQ(rows("ready", one[2]), "");
}

TEST_F(PgCreateTest, AKeyThatIsTakenIsAnsweredByTheFunctionAndWritesNothing) {
  const CreateItem first = Keyed("taken");
  const auto made = StoreWith("create", kFails)->Create({&first, 1});
  ASSERT_TRUE(made) << made.error();
  const std::int64_t before = AllRows();
  const CreateItem again = Keyed("taken"), other = Keyed("taken", "another body");
  EXPECT_FALSE(StoreWith("create", kFails)->Create({&again, 1})) << "the statement answers nothing";
  for (int i = 0; i < 2; ++i) {
    const auto replay = store().Create({&again, 1}), conflict = store().Create({&other, 1});
    ASSERT_TRUE(replay && conflict) << replay.error() << conflict.error();
    EXPECT_EQ(replay->at(0).kind, CreateOutcome::Kind::kReplayed);
    EXPECT_EQ(replay->at(0).subject, first.subject);
    EXPECT_EQ(replay->at(0).token, made->at(0).token);
    EXPECT_EQ(conflict->at(0).kind, CreateOutcome::Kind::kKeyConflict);
  }
  EXPECT_EQ(AllRows(), before);
  CreateItem elsewhere = Keyed("taken");
  elsewhere.project = ProjectId{NewUuid7()};
  const auto of_another = StoreWith("create", kFails)->Create({&elsewhere, 1});
  ASSERT_TRUE(of_another) << of_another.error();
  EXPECT_EQ(of_another->at(0).kind, CreateOutcome::Kind::kCreated) << "a key is its project's";
}

// A batch stays one transaction: nothing of it is there until all of it is.
TEST_F(PgCreateTest, ABatchWithATakenKeyIsMadeByTheFunctionOrNotAtAll) {
  const CreateItem first = Keyed("old");
  CreateOne(first);
  for (const bool twice : {false, true}) {  // taken by who came before, or by an item beside it
    const std::string key = twice ? "new twice" : "new";
    const std::vector<CreateItem> batch{NewItem(), Keyed(key), Keyed(twice ? key : "old"), NewItem()};
    const std::int64_t before = AllRows();
    EXPECT_FALSE(StoreWith("create", kFails)->Create(batch));
    EXPECT_EQ(AllRows(), before);
    const auto outcomes = store().Create(batch);
    ASSERT_TRUE(outcomes) << outcomes.error();
    for (const std::size_t n : {0u, 1u, 3u}) {
      EXPECT_EQ(outcomes->at(n).kind, CreateOutcome::Kind::kCreated);
      EXPECT_EQ(outcomes->at(n).subject, batch[n].subject);
    }
    EXPECT_EQ(outcomes->at(2).kind, CreateOutcome::Kind::kReplayed);
    EXPECT_EQ(outcomes->at(2).subject, twice ? batch[1].subject : first.subject);
    EXPECT_EQ(AllRows(), before + 16) << "three subjects of five rows, one with a key";
  }
}

// The statement is committed, and its answer lost.
TEST_F(PgCreateTest, WhoseAnswerIsLostIsFoundByItsKey) {
  const auto proxy = std::move(*chaos::Proxy::Start(test::PortOf(db().conninfo()), chaos::Proxy::Protocol::kBytes));
  PgStoreOptions options;
  options.conninfo = test::WithPort(db().conninfo(), proxy->port());
  options.connections = 1;
  PgStore far(options);
  const CreateItem before = Keyed("before"), item = Keyed("lost"), again = Keyed("lost");
  ASSERT_TRUE(far.Create({&before, 1}));  // so that what follows is one message and one answer
  proxy->ArmCuts(chaos::Proxy::Cut::kWhenAnswered, 1);
  EXPECT_EQ(far.Create({&item, 1}).code(), Code::kOutcomeUnknown);
  EXPECT_EQ(proxy->counters().committed_unseen, 1);
  const auto replay = far.Create({&again, 1});
  ASSERT_TRUE(replay) << replay.error();
  EXPECT_EQ(replay->at(0).kind, CreateOutcome::Kind::kReplayed);
  EXPECT_EQ(replay->at(0).subject, item.subject);
  EXPECT_EQ(db().Count("SELECT count(*) FROM subjects WHERE subject_id = " + Sql(item.subject)), 1);
  EXPECT_EQ(db().Count("SELECT count(*) FROM subjects WHERE subject_id = " + Sql(again.subject)), 0);
}

}  // namespace
}  // namespace acl
