// Group commit: one outcome per item, whatever the others' (docs/architecture.md#commit).
#include <gmock/gmock.h>

#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

using Kind = CommitOutcome::Kind;

class PgCommitTest : public test::PgStoreTest {
 protected:
  std::int64_t Head(const SubjectId& subject) { return db().Count("SELECT head_seq FROM subject_head WHERE subject_id = " + Sql(subject)); }
  std::int64_t Rows(const std::string& table, const SubjectId& subject) {
    return db().Count("SELECT count(*) FROM " + table + " WHERE subject_id = " + Sql(subject));
  }
};

TEST_F(PgCommitTest, KeepWritesJournalAttemptsAndCompletions) {
  WorkerSessionId session = OpenSession();
  CreateOne();
  Claimed claimed = ClaimOne(session);
  CommitItem item = Append(claimed, session, 2);
  item.attempts = {{"step-1", 1, {}, item.last_timestamp}, {"step-2", 1, {}, item.last_timestamp}};
  item.completions = {{"step-1", 1, item.last_timestamp, Sha256("out"), item.base_seq + 1}};
  EXPECT_EQ(CommitOne(item).kind, Kind::kCommitted);
  EXPECT_EQ(Head(item.subject), 3);
  EXPECT_EQ(db().Value("SELECT fencing_token FROM completed_steps WHERE workflow_id = " + Sql(item.subject)),
            std::to_string(item.token.value));
  EXPECT_EQ(db().Value("SELECT result_snapshot_ref FROM completed_steps WHERE workflow_id = " + Sql(item.subject)), "event:2");

  // The attempt of step-2 was committed before; its completion comes now.
  CommitItem second = Append(claimed, session);
  second.completions = {{"step-2", 1, second.last_timestamp, Sha256("out"), second.base_seq + 1}};
  EXPECT_EQ(CommitOne(second).kind, Kind::kCommitted);
  // What was read back is what a new holder sees.
  ASSERT_TRUE(store().ReleaseLease(item.subject, session, item.token).ok());
  Claimed again = ClaimOne(session);
  EXPECT_EQ(again.head.seq, 4);
  EXPECT_EQ(again.events.size(), 4u);
  EXPECT_EQ(again.head.chain, second.chain);
  EXPECT_TRUE(again.attempts.empty());
  EXPECT_GT(again.token, item.token);
  Hash256 chain = ChainStart(item.subject);
  for (const Event& event : again.events) {
    EXPECT_TRUE(Verify(event, chain).ok()) << Verify(event, chain).error();
    chain = event.chain;
  }
}

TEST_F(PgCommitTest, ALongPayloadIsCompressedAndItsHashesStayInTheRow) {
  CreateItem item = NewItem();
  item.events[0].payload = DumpJson(Json{{"n", std::string(3000, 'a')}, {"a", 1}});  // not in canonical order: both hashes are stored
  const SubjectId subject = CreateOne(std::move(item));
  const auto size = [&](const std::string& column) {
    return db().Count("SELECT pg_column_size(" + column + ") FROM journal_rows WHERE subject_id = " + Sql(subject));
  };
  EXPECT_LT(size("payload"), 1000);
  // A byte of length and 32 bytes; of what is out of line it is the 32 alone.
  for (const char* column : {"checksum", "content_hash", "chain"}) EXPECT_EQ(size(column), 33) << column;
}

TEST_F(PgCommitTest, FencedBusyBadAndGoodInOneBatch) {
  WorkerSessionId session = OpenSession();
  for (int i = 0; i < 5; ++i) CreateOne();
  ClaimAnswer answer = Claim(session, 5);
  ASSERT_EQ(answer.claimed.size(), 5u);
  std::vector<CommitItem> items;
  for (Claimed& claimed : answer.claimed) items.push_back(Append(claimed, session));
  items[0].token.value -= 1;
  items[0].events[0].token = items[0].token;            // stale
  items[2].events[0].type = std::string(51, 'x');       // refused by the table
  items[3].base_seq += 7, items[3].events[0].seq += 7;  // decided on another head

  db().Exec("SELECT 1");  // a connection of our own that holds one lease row
  auto holder = std::thread([&] {
    db().Exec("BEGIN; UPDATE leases SET token = token + 1 WHERE subject_id = " + Sql(items[4].subject) +
              "; SELECT pg_sleep(1.5); ROLLBACK");
  });
  while (db().Count("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()") == 0) {
  }
  auto outcomes = store().Commit(items);
  holder.join();
  ASSERT_TRUE(outcomes.ok()) << outcomes.error();
  EXPECT_EQ((*outcomes)[0].kind, Kind::kFenced);
  EXPECT_EQ((*outcomes)[1].kind, Kind::kCommitted);
  EXPECT_EQ((*outcomes)[2].kind, Kind::kRejected);
  EXPECT_NE((*outcomes)[2].error.find("journal_rows"), std::string::npos) << (*outcomes)[2].error;
  EXPECT_EQ((*outcomes)[3].kind, Kind::kFenced);
  EXPECT_EQ((*outcomes)[4].kind, Kind::kBusy);
  EXPECT_EQ(Head(items[0].subject), 1);
  EXPECT_EQ(Head(items[1].subject), 2);
  EXPECT_EQ(Head(items[2].subject), 1);
  EXPECT_EQ(Head(items[4].subject), 1);
  EXPECT_EQ(CommitOne(items[4]).kind, Kind::kCommitted) << "busy goes with the next batch";
}

TEST_F(PgCommitTest, CompletionWithoutAttemptOrTwiceIsRejected) {
  WorkerSessionId session = OpenSession();
  CreateOne();
  Claimed claimed = ClaimOne(session);
  Claimed before = claimed;
  CommitItem item = Append(claimed, session);
  item.completions = {{"ghost", 1, item.last_timestamp, Sha256("x"), 2}};
  EXPECT_EQ(CommitOne(item).kind, Kind::kRejected);
  EXPECT_EQ(Head(item.subject), 1);
  item.attempts = {{"ghost", 1, {}, item.last_timestamp}};
  EXPECT_EQ(CommitOne(item).kind, Kind::kCommitted);
  CommitItem twice = Append(claimed, session);
  twice.completions = item.completions;
  EXPECT_EQ(CommitOne(twice).kind, Kind::kRejected);
}

// One attempt and one completion stand in the row of an event; what it has no room for has rows of its own, and both are one table to
// readers.
TEST_F(PgCommitTest, AttemptsAndCompletionsStandInEventsOrBeside) {
  WorkerSessionId session = OpenSession();
  CreateOne();
  Claimed claimed = ClaimOne(session);
  const auto count = [&](const std::string& what) { return db().Count("SELECT " + what + " WHERE subject_id = " + Sql(claimed.subject)); };
  CommitItem first = Append(claimed, session);
  const WallTime before = first.last_timestamp - std::chrono::seconds(1);
  first.attempts = {{"a", 1, {}, before}, {"b", 1, {}, before}};
  EXPECT_EQ(CommitOne(first).kind, Kind::kCommitted);
  EXPECT_EQ(count("count(begun) FROM event_rows"), 1);
  EXPECT_EQ(count("count(*) FROM other_attempts"), 1);
  EXPECT_EQ(count("count(*) FROM attempt_rows"), 2);
  EXPECT_EQ(count("count(DISTINCT started_at) FROM attempt_rows"), 1) << "the time of the attempt, not that of the event";

  CommitItem second = Append(claimed, session, 2);
  second.completions = {{"a", 1, second.last_timestamp, Sha256("a"), second.base_seq + 2},
                        {"b", 1, before, Sha256("b"), second.base_seq + 2}};
  EXPECT_EQ(CommitOne(second).kind, Kind::kCommitted);
  EXPECT_EQ(db().Value("SELECT completed || seq FROM event_rows WHERE completed IS NOT NULL AND subject_id = " + Sql(claimed.subject)),
            "a4");
  EXPECT_EQ(count("count(*) FROM other_completions"), 1);
  EXPECT_EQ(
      db().Value(
          "SELECT string_agg(step_id || ' ' || result_snapshot_ref, ', ' ORDER BY step_id) FROM completed_steps WHERE workflow_id = " +
          Sql(claimed.subject)),
      "a event:4, b event:4");
  // None of them again, in either form.
  const auto refused = [&](auto change) {
    Claimed unmoved = claimed;
    CommitItem again = Append(unmoved, session);
    change(again);
    return CommitOne(again).kind == Kind::kRejected;
  };
  for (const char* step : {"a", "b"}) {
    SCOPED_TRACE(step);
    EXPECT_TRUE(refused([&](CommitItem& i) {
      i.completions = {{step, 1, i.last_timestamp, Sha256("x"), i.base_seq + 1}};
    })) << "in its event";
    EXPECT_TRUE(refused([&](CommitItem& i) { i.completions = {{step, 1, before, Sha256("x"), i.base_seq + 1}}; })) << "beside it";
    EXPECT_TRUE(refused([&](CommitItem& i) { i.attempts = {{"c", 1, {}, before}, {step, 1, {}, before}}; })) << "the attempt, beside it";
  }
  EXPECT_TRUE(refused([&](CommitItem& i) { i.attempts = {{"a", 1, {}, before}}; })) << "the attempt, in its event";
  Claimed unmoved = claimed;
  CommitItem twice = Append(unmoved, session, 2);
  twice.attempts = {{"d", 1, {}, before}, {"d", 1, {}, before}};
  EXPECT_EQ(CommitOne(twice).kind, Kind::kRejected) << "twice in one item";
  twice.attempts.pop_back();
  twice.completions = {{"d", 1, twice.last_timestamp, Sha256("d"), twice.base_seq + 1},
                       {"d", 1, twice.last_timestamp, Sha256("d"), twice.base_seq + 2}};
  EXPECT_EQ(CommitOne(twice).kind, Kind::kRejected) << "completed twice in one item";
  EXPECT_EQ(Head(claimed.subject), 4);

  // The attempt in an event, its completion beside: neither that attempt nor a new one, promised at once, completes the step again.
  CommitItem third = Append(claimed, session);
  third.attempts = {{"e", 1, {}, third.last_timestamp}};
  EXPECT_EQ(CommitOne(third).kind, Kind::kCommitted);
  CommitItem fourth = Append(claimed, session);
  fourth.completions = {{"e", 1, before, Sha256("e"), fourth.base_seq + 1}};
  EXPECT_EQ(CommitOne(fourth).kind, Kind::kCommitted);
  for (const int attempt : {1, 2}) {
    SCOPED_TRACE(attempt);
    EXPECT_TRUE(refused([&](CommitItem& i) {
      if (attempt == 2) i.attempts = {{"e", 2, {}, i.last_timestamp}};
      i.completions = {{"e", attempt, i.last_timestamp, Sha256("x"), i.base_seq + 1}};
    }));
  }
  EXPECT_EQ(Head(claimed.subject), 6);
}

// A program of before inserts into what are views now.
TEST_F(PgCommitTest, RowsOfAProgramOfBeforeAreRowsLikeOthers) {
  WorkerSessionId session = OpenSession();
  CreateOne();
  Claimed claimed = ClaimOne(session);
  const std::string id = Sql(claimed.subject);
  const std::string token = std::to_string(claimed.token.value);
  const auto old_completion = [&](const std::string& step) {
    return "INSERT INTO completion_rows (subject_id, step_id, attempt_id, token, event_seq, completed_at, result_checksum) VALUES (" + id +
           ", '" + step + "', 1, " + token + ", 1, now(), sha256('r'))";
  };
  const auto old_attempt = [&](const std::string& step) {
    return "INSERT INTO attempt_rows (subject_id, step_id, attempt_id, token, started_at) VALUES (" + id + ", '" + step + "', 1, " + token +
           ", now())";
  };
  for (const char* step : {"old", "moved"}) db().Exec(old_attempt(step), "acl_service");
  db().Exec(old_completion("old"), "acl_service");
  CommitItem item = Append(claimed, session);
  item.attempts = {{"new", 1, {}, item.last_timestamp}};
  item.completions = {{"moved", 1, item.last_timestamp, Sha256("r"), item.base_seq + 1}};
  EXPECT_EQ(CommitOne(item).kind, Kind::kCommitted) << "its attempt was made by the program of before";
  Claimed unmoved = claimed;
  CommitItem again = Append(unmoved, session);
  again.completions = {{"old", 1, again.last_timestamp, Sha256("r"), again.base_seq + 1}};
  EXPECT_EQ(CommitOne(again).kind, Kind::kRejected) << "completed by the program of before";
  for (const std::string& sql : {old_attempt("new"), old_attempt("old"), old_completion("moved"), old_completion("old")}) {
    EXPECT_EQ(db().Refusal(sql, "acl_service").code, Code::kConflict) << sql;
  }
  EXPECT_EQ(db().Count("SELECT count(*) FROM attempt_rows WHERE subject_id = " + id), 3);
  EXPECT_EQ(db().Count("SELECT count(*) FROM completion_rows WHERE subject_id = " + id), 2);
}

TEST_F(PgCommitTest, ReleaseAndCloseCompareTheWakeUpCounter) {
  WorkerSessionId session = OpenSession();
  SubjectId subject = CreateOne();
  Claimed claimed = ClaimOne(session);
  InboxPost post{subject, InboxId{NewUuid7()}, "signal", "{}", std::nullopt};
  auto posted = store().Post(post);
  ASSERT_TRUE(posted.ok()) << posted.error();
  EXPECT_EQ(posted->holder, session);

  Claimed stale = claimed;
  CommitItem close = Append(stale, session, 1, Disposition::kClose);
  CommitOutcome moved = CommitOne(close);
  EXPECT_EQ(moved.kind, Kind::kMoved);
  EXPECT_EQ(moved.wake, claimed.wake + 1);
  EXPECT_EQ(Head(subject), 1);

  auto inbox = store().ReadInbox(subject, claimed.token);
  ASSERT_TRUE(inbox.ok()) << inbox.error();
  ASSERT_EQ(inbox->rows.size(), 1u);
  EXPECT_EQ(inbox->rows[0].id, post.id);
  auto beat = store().Heartbeat(session, milliseconds(60'000));
  ASSERT_TRUE(beat.ok());
  EXPECT_EQ(beat->woken, std::vector<SubjectId>{subject});

  claimed.wake = inbox->wake;
  CommitItem release = Append(claimed, session, 1, Disposition::kRelease);
  release.consumed_inbox = {post.id};
  release.timers_set = {{"t1", claimed.db_now + std::chrono::hours(1)}, {"t2", claimed.db_now}};
  release.waiting = Waiting{"timer", claimed.db_now + std::chrono::hours(1)};
  EXPECT_EQ(CommitOne(release).kind, Kind::kCommitted);
  EXPECT_EQ(Rows("inbox", subject), 0);
  EXPECT_EQ(Rows("timers", subject), 2);
  EXPECT_EQ(Claim(session).claimed.size(), 0u) << "released without a ready row";
  EXPECT_EQ(CommitOne(Append(claimed, session)).kind, Kind::kFenced) << "the session does not hold it any more";

  // A timer that fires makes it ready; then it is closed, and its other timer is gone.
  auto fired = store().FireTimers(100);
  ASSERT_TRUE(fired.ok()) << fired.error();
  EXPECT_EQ(fired->fired, 1);
  Claimed last = ClaimOne(session);
  ASSERT_EQ(last.inbox.size(), 1u);
  EXPECT_EQ(last.inbox[0].kind, "timer");
  EXPECT_EQ(ParseJson(last.inbox[0].payload)->at("timer_id"), "t2");
  EXPECT_EQ(last.timers.size(), 1u);
  CommitItem end = Append(last, session, 1, Disposition::kClose);
  end.consumed_inbox = {last.inbox[0].id};
  EXPECT_EQ(CommitOne(end).kind, Kind::kCommitted);
  EXPECT_EQ(Rows("timers", subject), 0);
  post.id = InboxId{NewUuid7()};
  EXPECT_EQ(store().Post(post).code(), Code::kConflict);
}

// An asynchronous failover took an input with it, and the counter it had raised; then another input came. The holder of before, who had
// read the counter of the lost one, may not release or close over it (found by tests/model).
TEST_F(PgCommitTest, ACounterThatWentBackIsNeverMetAgain) {
  for (const Disposition disposition : {Disposition::kRelease, Disposition::kClose}) {
    WorkerSessionId session = OpenSession();
    SubjectId subject = CreateOne();
    Claimed claimed = ClaimOne(session);
    ASSERT_TRUE(store().Post({subject, InboxId{NewUuid7()}, "signal", "{}", std::nullopt}).ok());
    auto read = store().ReadInbox(subject, claimed.token);
    ASSERT_TRUE(read.ok()) << read.error();
    claimed.wake = read->wake;
    db().Exec("DELETE FROM inbox WHERE subject_id = " + Sql(subject) + "; UPDATE leases SET wake = 0 WHERE subject_id = " + Sql(subject));
    db().Exec("SELECT new_epoch(NULL)");
    ASSERT_TRUE(store().Post({subject, InboxId{NewUuid7()}, "signal", "{}", std::nullopt}).ok());
    const CommitOutcome moved = CommitOne(Append(claimed, session, 1, disposition));
    EXPECT_EQ(moved.kind, Kind::kMoved);
    EXPECT_GT(moved.wake, read->wake);
    // What it reads now is what counts.
    auto again = store().ReadInbox(subject, claimed.token);
    ASSERT_TRUE(again.ok() && again->rows.size() == 1u);
    Claimed fresh = claimed;
    fresh.wake = again->wake;
    fresh.head.seq = 1;
    EXPECT_EQ(again->wake, moved.wake);
  }
}

TEST_F(PgCommitTest, EverythingElseOfAnItem) {
  WorkerSessionId session = OpenSession();
  CreateItem create = NewItem();
  create.kind = "workflow";
  create.listing = ListingRow{"report", "1.0.0", "ann", "PENDING", "steps: []", R"({"a":"b"})"};
  SubjectId subject = CreateOne(create);
  Claimed claimed = ClaimOne(session);
  for (int round = 1; round <= 3; ++round) {
    CommitItem item = Append(claimed, session);
    item.listing = ListingChange{"RUNNING", std::nullopt, item.last_timestamp, std::nullopt};
    item.outbox = {{"topic", "key", "{}"}};
    item.dispatches = {{"t", round, "remote", 2, "{}", std::nullopt}};
    item.compensations = {{"undo:a", "io.fs.delete", "{}", "executed", "", item.last_timestamp}};
    item.timers_set = {{"again", item.last_timestamp}};
    item.timers_cleared = {"again"};
    item.snapshot = Snapshot{};
    item.snapshot->id = NewUuid7();
    item.snapshot->last_event_seq = item.base_seq + 1;
    item.snapshot->state_root = item.state_root;
    item.snapshot->chain = item.chain;
    item.snapshot->created_at = item.last_timestamp;
    if (round == 2) {
      item.snapshot->chunks = {Sha256("c1"), Sha256("c2")};
      const std::vector<std::pair<Hash256, std::string>> contents{{Sha256("c1"), "c1"}, {Sha256("c2"), "c2"}};
      ASSERT_TRUE(store().PutContents(contents));
    } else {
      item.snapshot->inline_state = R"({"n":1})";
    }
    CommitOutcome outcome = CommitOne(item);
    ASSERT_EQ(outcome.kind, Kind::kCommitted) << outcome.error;
  }
  EXPECT_EQ(Rows("snapshot_rows", subject), 2) << "the last two are kept";
  EXPECT_EQ(Rows("outbox", subject), 3);
  EXPECT_EQ(Rows("dispatches", subject), 3);
  EXPECT_EQ(Rows("timers", subject), 1);
  EXPECT_EQ(db().Value("SELECT count(*) || ' ' || bool_and(success) FROM compensation_log WHERE workflow_id = " + Sql(subject)), "3 true");
  EXPECT_EQ(db().Value("SELECT status || ' ' || (started_at IS NOT NULL) FROM workflows WHERE id = " + Sql(subject)), "RUNNING true");

  CommitItem drain = Append(claimed, session, 1, Disposition::kRelease);
  drain.requeue = true;
  ASSERT_EQ(CommitOne(drain).kind, Kind::kCommitted);
  Claimed again = ClaimOne(session);
  ASSERT_TRUE(again.snapshot.has_value());
  EXPECT_EQ(again.snapshot->last_event_seq, 4);
  EXPECT_EQ(again.events.size(), 1u);
  EXPECT_EQ(again.takeovers_without_progress, 0);

  CommitItem incapable = Append(again, session, 1, Disposition::kRelease);
  incapable.requeue = true;
  incapable.required_version = EventSchemaVersion() + 1;
  ASSERT_EQ(CommitOne(incapable).kind, Kind::kCommitted);
  EXPECT_TRUE(Claim(session).claimed.empty()) << "needs a newer worker";
  ASSERT_TRUE(store().Post({subject, InboxId{NewUuid7()}, "signal", "{}", std::nullopt}).ok());
  EXPECT_TRUE(Claim(session).claimed.empty()) << "and still does after a wake-up";
}

// The start and the end of a run that is alone have statements of their own (commit.first, commit.last): they write what the others write.
TEST_F(PgCommitTest, TheEndsOfARunAloneAreThoseInABatch) {
  const WorkerSessionId session = OpenSession();
  for (const bool alone : {true, false}) {
    CreateItem create = NewItem();
    create.kind = "workflow";
    create.listing = ListingRow{"report", "1.0.0", "ann", "PENDING", "steps: []", "{}"};
    const SubjectId subject = CreateOne(create);
    Claimed claimed = ClaimOne(session);
    const auto commit = [&](const CommitItem& item) {
      std::vector<CommitItem> items{item};
      if (!alone) {
        CreateOne();
        Claimed other = ClaimOne(session);
        items.push_back(Append(other, session, 1, Disposition::kClose));
      }
      auto outcomes = store().Commit(items);
      ASSERT_TRUE(outcomes.ok()) << outcomes.error();
      for (const CommitOutcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, Kind::kCommitted) << outcome.error;
    };
    const auto state = [&] {
      return db().Value(
          "SELECT concat_ws(' ', w.status, w.error_message, w.started_at = h.last_timestamp, w.completed_at = h.last_timestamp, "
          "w.updated_at = h.last_timestamp, h.head_seq, l.state, l.session_id IS NULL, l.acquired_at IS NULL, l.wake, "
          "(SELECT string_agg(t.timer_id || (t.fire_at = h.last_timestamp + interval '1 hour'), ',') FROM timers t "
          "WHERE t.subject_id = h.subject_id)) "
          "FROM subject_head h JOIN leases l USING (subject_id) JOIN workflows w ON w.id = h.subject_id WHERE h.subject_id = " +
          Sql(subject));
    };
    CommitItem first = Append(claimed, session);
    first.attempts = {{"a", 1, {}, first.last_timestamp}};
    first.listing = ListingChange{"RUNNING", std::nullopt, first.last_timestamp, std::nullopt};
    first.timers_set = {{"deadline", first.last_timestamp + std::chrono::hours(1)}};
    commit(first);
    EXPECT_EQ(state(), "RUNNING t t 2 0 f f 0 deadlinetrue");
    CommitItem last = Append(claimed, session, 2, Disposition::kClose);
    last.completions = {{"a", 1, last.last_timestamp, Sha256("out"), last.base_seq + 1}};
    last.listing = ListingChange{"FAILED", "no more", std::nullopt, last.last_timestamp};
    commit(last);
    EXPECT_EQ(state(), "FAILED no more t t t 4 1 t t 0");
    EXPECT_EQ(Rows("completion_rows", subject), 1);
  }
}

// Nothing of them is written when the lease is not there, and its holder is told.
TEST_F(PgCommitTest, TheEndsOfAStaleRunWriteNothing) {
  const WorkerSessionId session = OpenSession();
  CreateItem create = NewItem();
  create.kind = "workflow";
  create.listing = ListingRow{"report", "1.0.0", "ann", "PENDING", "steps: []", "{}"};
  const SubjectId subject = CreateOne(create);
  Claimed stale = ClaimOne(session);
  ASSERT_TRUE(store().ReleaseLease(subject, session, stale.token).ok());
  Claimed claimed = ClaimOne(session);
  for (const Disposition disposition : {Disposition::kKeep, Disposition::kClose}) {
    Claimed from = stale;
    CommitItem item = Append(from, session, 1, disposition);
    item.listing = ListingChange{"COMPLETED", std::nullopt, item.last_timestamp, item.last_timestamp};
    if (disposition == Disposition::kKeep) item.timers_set = {{"deadline", item.last_timestamp}};
    EXPECT_EQ(CommitOne(item).kind, Kind::kFenced);
    // Under its token, but not on its head.
    item.token = claimed.token, item.base_seq = 7;
    for (Event& event : item.events) event.token = item.token, event.seq = 8;
    const CommitOutcome outcome = CommitOne(item);
    EXPECT_EQ(outcome.kind, Kind::kFenced);
    EXPECT_THAT(outcome.error, testing::HasSubstr("the head is not at event 7"));
    item.subject = SubjectId{NewUuid7()};
    for (Event& event : item.events) event.subject = item.subject;
    EXPECT_EQ(CommitOne(item).kind, Kind::kFenced) << "nobody has heard of it";
  }
  EXPECT_EQ(Head(subject), 1);
  EXPECT_EQ(Rows("timers", subject), 0);
  EXPECT_EQ(Rows("journal_rows", subject), 1);
  EXPECT_EQ(db().Value("SELECT status FROM workflows WHERE id = " + Sql(subject)), "PENDING");
  EXPECT_EQ(db().Count("SELECT state FROM leases WHERE subject_id = " + Sql(subject)), 0);
}

TEST_F(PgCommitTest, ReadBackTellsWhatLanded) {
  WorkerSessionId session = OpenSession();
  CreateOne();
  Claimed claimed = ClaimOne(session);
  CommitItem landed = Append(claimed, session);
  ASSERT_EQ(CommitOne(landed).kind, Kind::kCommitted);
  CommitItem not_sent = Append(claimed, session);
  CommitItem stale = not_sent;
  stale.token.value -= 1;
  auto answer = store().ReadBack(std::vector{landed, not_sent, stale});
  ASSERT_TRUE(answer.ok()) << answer.error();
  EXPECT_EQ((*answer)[0].kind, Kind::kCommitted);
  EXPECT_EQ((*answer)[1].kind, Kind::kBusy);
  EXPECT_EQ((*answer)[2].kind, Kind::kFenced);
  CommitOutcome again = CommitOne(landed);
  EXPECT_EQ(again.kind, Kind::kFenced) << "sent twice it lands once";
  EXPECT_EQ(Head(landed.subject), 2);
}

TEST_F(PgCommitTest, SubjectTwiceInABatchIsRefused) {
  WorkerSessionId session = OpenSession();
  CreateOne();
  Claimed claimed = ClaimOne(session);
  CommitItem item = Append(claimed, session);
  EXPECT_EQ(store().Commit(std::vector{item, item}).code(), Code::kInvalid);
}

TEST_F(PgCommitTest, BrokenConnectionIsAnUnknownOutcomeAndThePoolRecovers) {
  WorkerSessionId session = OpenSession();
  CreateOne();
  Claimed claimed = ClaimOne(session);
  ASSERT_EQ(CommitOne(Append(claimed, session)).kind, Kind::kCommitted);
  CommitItem item = Append(claimed, session);
  // The commit waits for its head row while its backend is ended.
  std::thread blocker([&] {
    db().Exec("BEGIN; SELECT 1 FROM subject_head WHERE subject_id = " + Sql(item.subject) + " FOR UPDATE; SELECT pg_sleep(0.8); ROLLBACK");
  });
  while (db().Count("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()") == 0) {
  }
  std::thread killer([&] {
    while (db().Count(
               "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'acl-commit' AND wait_event_type = "
               "'Lock' AND datname = current_database()") == 0) {
    }
  });
  auto outcome = store().Commit(std::span(&item, 1));
  killer.join();
  blocker.join();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.code(), Code::kOutcomeUnknown) << outcome.error();
  auto back = store().ReadBack(std::span(&item, 1));
  ASSERT_TRUE(back.ok()) << back.error();
  EXPECT_EQ(back->front().kind, Kind::kBusy);
  EXPECT_EQ(CommitOne(item).kind, Kind::kCommitted);
}

}  // namespace
}  // namespace acl
