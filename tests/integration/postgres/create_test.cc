// Making subjects: what only PostgreSQL has. The rest is in the conformance suite, which both stores pass.
#include "shared/base/uuid7.h"
#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

using PgCreateTest = test::PgStoreTest;

// The token that new subjects are sealed with is remembered; an epoch that moved since is noticed by the statement, which writes nothing,
// and they are sealed anew. A request key, a timer or a content makes it the function instead of the statement.
TEST_F(PgCreateTest, AfterANewEpochWhatIsMadeHasItsToken) {
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
  EXPECT_EQ(db().Count("SELECT count(*) FROM leases"), 4);
  EXPECT_EQ(db().Count("SELECT count(*) FROM subjects"), 4);
  EXPECT_EQ(db().Count("SELECT count(*) FROM ready"), 4);
}

// One that a table refuses takes the others of its batch with it, and is said as the table says it.
TEST_F(PgCreateTest, OneThatIsRefusedMakesNothing) {
  for (const bool keyed : {false, true}) {
    std::vector<CreateItem> items{NewItem(), NewItem()};
    items[1].kind = std::string(51, 'x');
    if (keyed) items[0].request_key = "key";
    auto outcomes = store().Create(items);
    ASSERT_FALSE(outcomes);
    EXPECT_EQ(outcomes.code(), Code::kConflict);
    EXPECT_NE(outcomes.message().find("subjects_kind_check"), std::string::npos) << outcomes.message();
    for (const char* table : {"leases", "subjects", "subject_head", "event_rows", "ready", "request_keys"})
      EXPECT_EQ(db().Count(std::string("SELECT count(*) FROM ") + table), 0) << table;
  }
}

}  // namespace
}  // namespace acl
