#pragma once
// The fixture of the isolation tests: a stage and three actors (a: the old holder, b: who comes next, c: reaper, poster, timers).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/uuid7.h"
#include "tests/support/interleave.h"
#include "tests/support/store_conformance.h"

namespace acl::test {

// How a subject is made: by a statement without or with request keys, or by the function.
enum class MadeBy { kPlain, kKeyed, kFunction };

class IsolationTest : public ::testing::Test {
 protected:
  void SetUp() override { Prepare({}); }
  void TearDown() override {
    if (stage_ && expect_clean_) {
      EXPECT_THAT(stage_->Violations(), ::testing::IsEmpty());
    }
  }
  void Prepare(const std::vector<Stage::Edit>& edits);

  WorkerSessionId Open(Actor& actor, milliseconds ttl = milliseconds(600'000));
  static CreateItem NewItem();
  // Not made yet: one that goes to this session as it is.
  static CreateItem GrantedItem(const WorkerSessionId& session, MadeBy form) {
    CreateItem item = NewItem();
    item.grant_to = session;
    if (form != MadeBy::kPlain) item.request_key = item.subject.ToString();
    if (form == MadeBy::kFunction) item.timers = {{"timer", WallTimeFromMicros(4'000'000'000'000'000)}};
    return item;
  }
  SubjectId Create(bool ready = true);
  static ClaimRequest Request(const WorkerSessionId& session, int max = 1);
  Holder Claim(Actor& actor, const WorkerSessionId& session, const SubjectId& subject);
  Holder ClaimNew(Actor& actor, const WorkerSessionId& session) { return Claim(actor, session, Create()); }
  static InboxPost NewPost(const SubjectId& subject, const std::string& kind = "signal");
  static Outcome Kind(const Result<std::vector<CommitOutcome>>& outcomes, std::size_t item = 0);
  Outcome CommitOne(Actor& actor, const CommitItem& item) const { return Kind(actor.store().Commit(Batch(item))); }
  auto Committing(const CommitItem& item) const {
    return [items = Batch(item)](KernelStore& store) { return store.Commit(items); };
  }
  // It alone, or beside one that is always fenced: a form of the commit for one item, or for many.
  std::vector<CommitItem> Batch(const CommitItem& item) const;
  // Ends every session by its time and frees what it held; answers how many leases.
  int ExpireAndReap();
  std::int64_t HeadSeq(const SubjectId& subject) {
    return stage_->db().Count("SELECT head_seq FROM subject_head WHERE subject_id = '" + subject.ToString() + "'");
  }
  std::int64_t Unread(const SubjectId& subject) {
    return stage_->db().Count("SELECT count(*) FROM inbox WHERE subject_id = '" + subject.ToString() + "'");
  }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Actor> a_, b_, c_;
  bool in_a_batch_ = false;
  bool expect_clean_ = true;  // a mutant's test looks for violations itself
};

}  // namespace acl::test
