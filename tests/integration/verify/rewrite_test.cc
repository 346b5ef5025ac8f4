// Rows that say something else than their project's journal are found, and written once more from it.
#include "shared/verify/rewrite_rows.h"

#include <gmock/gmock.h>

#include "cli/verify_kinds.h"
#include "shared/kernel/fold.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/verify/verify.h"
#include "tests/integration/verify/story.h"
#include "tests/support/test_database.h"

namespace acl::verify {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

class RewriteTest : public test::DatabaseTest {
 protected:
  void SetUp() override {
    test::DatabaseTest::SetUp();
    if (HasFatalFailure()) return;
    auto made = test::TestDatabase::Create();
    ASSERT_TRUE(made.ok()) << made.message();
    copy_ = std::move(*made);
    story_ = std::make_unique<test::Story>(copy_->conninfo());
    story_->Tell();
    options_.conninfo = copy_->conninfo();
    options_.kinds = cli::VerifyKinds();
  }
  SubjectId Book() { return story_->subjects().at("book"); }

  std::unique_ptr<test::TestDatabase> copy_;
  std::unique_ptr<test::Story> story_;
  VerifyOptions options_;
  std::shared_ptr<const CommandKind> kind_ = project::MakeProjectKind();
};

TEST_F(RewriteTest, WhatIsShownIsWrittenOnceMoreFromTheJournal) {
  copy_->Exec(
      "DELETE FROM checkpoints; UPDATE goals SET text = 'x', created_at = now() - interval '1 day', priority = 4; UPDATE tasks SET "
      "task_id = 't9' WHERE task_id = 't3'; UPDATE tasks SET holder = 'nobody', depends_on = ARRAY['t9']");
  auto wrong = VerifySubject(options_, Book());
  ASSERT_TRUE(wrong.ok()) << wrong.message();
  EXPECT_THAT(wrong->violations, Contains(Field(&Violation::check, "shown.row")));
  EXPECT_THAT(wrong->violations, Contains(Field(&Violation::expected, HasSubstr("holder = \"story\" (by replay)"))));
  auto rewritten = RewriteRows(story_->store(), *kind_, Book());
  ASSERT_TRUE(rewritten.ok()) << rewritten.message();
  EXPECT_EQ(rewritten->written, 5);
  EXPECT_EQ(rewritten->removed, 1);
  auto clean = VerifyAll(options_);
  ASSERT_TRUE(clean.ok()) << clean.message();
  EXPECT_TRUE(clean->clean()) << ToText(*clean);
}

TEST_F(RewriteTest, OnlyProjectsWhoseJournalIsSoundAreRewritten) {
  EXPECT_EQ(RewriteRows(story_->store(), *kind_, story_->subjects().at("direct")).code(), Code::kNotFound);
  copy_->Exec("SET session_replication_role = replica; UPDATE journal_rows SET checksum = sha256('x') WHERE seq = 3 AND subject_id = '" +
              Book().ToString() + "'");
  EXPECT_EQ(RewriteRows(story_->store(), *kind_, Book()).code(), Code::kCorrupt);
}

// A journal that is sealed as it should be, of a program that decided what nobody may.
TEST_F(RewriteTest, AStateThatNoCommandLeavesIsFoundInASoundJournal) {
  auto wrote = story_->store().Direct(Book(), [&](const Claimed& claimed) -> Result<CommitItem> {
    auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, [](const Hash256&) -> Result<std::string> {
      return Error{Code::kNotFound, "no chunks here"};
    });
    if (!restored) return restored.error();
    CommitItem item;
    item.subject = claimed.subject;
    item.token = claimed.token;
    item.base_seq = claimed.head.seq;
    Folded folded;
    folded.type = "task.changed";
    Json first = *restored->state.Find("task:t1"), second = *restored->state.Find("task:t2");
    first["depends_on"] = {"t2"};
    second["needed_by"] = {"t1"};
    folded.delta.Add("task:t1", first);
    folded.delta.Add("task:t2", second);
    if (Status applied = restored->state.Apply(folded.delta); !applied) return applied.error();
    Event event;
    WordPayload(folded, restored->state, event);
    event.type = folded.type;
    event.subject = claimed.subject;
    event.seq = claimed.head.seq + 1;
    event.journal = claimed.head.journal;
    event.token = claimed.token;
    event.timestamp = std::max(claimed.db_now, claimed.head.last_timestamp);
    Seal(event, claimed.head.chain);
    item.chain = event.chain;
    item.last_timestamp = event.timestamp;
    item.events.push_back(std::move(event));
    item.state_root = restored->state.Root();
    return item;
  });
  ASSERT_TRUE(wrote.ok()) << wrote.message();
  auto report = VerifySubject(options_, Book());
  ASSERT_TRUE(report.ok()) << report.message();
  EXPECT_THAT(report->violations, Contains(Field(&Violation::found, HasSubstr("in a circle"))));
  EXPECT_THAT(report->violations, Contains(Field(&Violation::check, "state.kind")));
}

}  // namespace
}  // namespace acl::verify
