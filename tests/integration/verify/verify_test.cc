// A database as a fleet leaves it is clean, every check has met rows, and one subject can be asked for alone.
#include "shared/verify/verify.h"

#include <gmock/gmock.h>

#include "cli/verify_kinds.h"
#include "shared/base/uuid7.h"
#include "tests/integration/verify/story.h"
#include "tests/support/test_database.h"

namespace acl::verify {
namespace {

using ::testing::HasSubstr;

class VerifyTest : public test::DatabaseTest {
 protected:
  static void SetUpTestSuite() {
    test::DatabaseTest::SetUpTestSuite();
    told_ = false;
  }
  void SetUp() override {
    test::DatabaseTest::SetUp();
    if (HasFatalFailure()) return;
    options_.conninfo = db().conninfo();
    options_.kinds = cli::VerifyKinds();
    if (std::exchange(told_, true)) return;
    test::Story story(db().conninfo());
    story.Tell();
    subjects_ = story.subjects();
    db().Exec("SELECT remove_contents('" + subjects_["erased"].ToString() + "', 3)");
    test::DropJournals(db(), subjects_["dropped"]);
  }

  VerifyOptions options_;
  static bool told_;
  static std::map<std::string, SubjectId> subjects_;
};

bool VerifyTest::told_ = false;
std::map<std::string, SubjectId> VerifyTest::subjects_;

TEST_F(VerifyTest, AllIsCleanAndEveryCheckMetRows) {
  std::vector<Progress> progress;
  options_.on_progress = [&](const Progress& p) { progress.push_back(p); };
  auto report = VerifyAll(options_);
  ASSERT_TRUE(report.ok()) << report.message();
  EXPECT_TRUE(report->clean()) << ToText(*report);
  for (const char* check :
       {"journal.hashes", "journal.sequence", "journal.segment",    "state.delta",        "state.root",       "snapshot.decodes",
        "snapshot.root",  "head.chain",       "head.state_root",    "token.granted",      "token.span",       "token.lease",
        "grant.order",    "lease.grant",      "lease.session",      "completion.attempt", "completion.event", "completion.result",
        "completion.row", "attempt.row",      "compensation.order", "compensation.log",   "open.state",       "closed.rows",
        "inbox.wakes",    "timer.wakes",      "quarantine.row",     "listing.status",     "content.hash",     "content.referred",
        "ready.place",    "subject.exists",   "request.scope",      "view.shape",         "view.rows",        "guard.trigger",
        "guard.rights",   "token.epoch",      "epoch.cluster",      "journal.end",        "shown.row",        "shown.column",
        "answer.event",   "segment.chain",    "segment.root",       "segment.snapshot",   "segment.row",      "journal.start",
        "journal.dropped"}) {
    EXPECT_GT(report->checked[check], 0) << check;
  }
  EXPECT_EQ(report->checked["journal.hashes"], db().Count("SELECT count(*) FROM event_rows"));
  EXPECT_EQ(report->checked["head.exists"], db().Count("SELECT count(*) FROM subjects"));
  // Of those whose events were dropped the events cannot be looked at.
  EXPECT_EQ(report->checked["completion.event"], db().Count("SELECT count(*) FROM completion_rows c WHERE EXISTS (SELECT FROM event_rows e "
                                                            "WHERE e.subject_id = c.subject_id AND e.seq <= c.event_seq)"));
  ASSERT_EQ(report->notes.size(), 1u) << "which journals were dropped";
  EXPECT_NE(report->notes[0].find(subjects_["dropped"].ToString()), std::string::npos) << report->notes[0];
  EXPECT_GT(db().Count("SELECT count(*) FROM past_attempts"), 0);
  EXPECT_EQ(report->checked["content.size"], db().Count("SELECT count(*) FROM contents"));
  EXPECT_GT(db().Count("SELECT count(*) FROM snapshot_rows WHERE chunks IS NOT NULL"), 0) << "the story must have a snapshot in chunks";
  EXPECT_GT(db().Count("SELECT count(*) FROM snapshot_rows WHERE inline_state IS NOT NULL"), 0);
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back().subjects_done, std::int64_t(subjects_.size()));
  EXPECT_EQ(progress.back().events, db().Count("SELECT count(*) FROM event_rows"));
}

TEST_F(VerifyTest, StatusesOfTheStory) {
  auto status = [&](const char* name) {
    return db().Value("SELECT status FROM workflows WHERE id = '" + subjects_[name].ToString() + "'");
  };
  EXPECT_EQ(status("completed"), "COMPLETED");
  EXPECT_EQ(status("rolled_back"), "ROLLED_BACK");
  EXPECT_EQ(status("paused"), "PAUSED");
}

TEST_F(VerifyTest, OneSubjectAlone) {
  auto report = VerifySubject(options_, subjects_["completed"]);
  ASSERT_TRUE(report.ok()) << report.message();
  EXPECT_TRUE(report->clean()) << ToText(*report);
  EXPECT_EQ(report->checked["head.exists"], 1);
  EXPECT_EQ(report->checked["content.referred"], 1);
  EXPECT_EQ(report->checked["journal.hashes"],
            db().Count("SELECT count(*) FROM event_rows WHERE subject_id = '" + subjects_["completed"].ToString() + "'"));
}

TEST_F(VerifyTest, ASubjectThatIsNotThere) {
  const SubjectId nobody{NewUuid7()};
  auto report = VerifySubject(options_, nobody);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kNotFound);
  EXPECT_THAT(report.message(), HasSubstr(nobody.ToString()));
}

TEST_F(VerifyTest, ADatabaseThatCannotBeReachedIsAnErrorAndNotClean) {
  options_.conninfo = "host=127.0.0.1 port=1 dbname=none user=none connect_timeout=2";
  auto report = VerifyAll(options_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace acl::verify
