// One row of each kind is damaged by a superuser, with the triggers off, each in a copy of the same good database; `verify` must name
// the check, the table and the row.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <span>

#include "cli/verify_kinds.h"
#include "shared/verify/verify.h"
#include "tests/integration/verify/story.h"
#include "tests/support/test_database.h"

namespace acl::verify {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

struct Damage {
  const char* name;
  const char* check;
  const char* table;
  const char* subject;  // of the story, expected in the key; "": the key is not a subject's
  const char* sql;      // {subject} is its quoted id
};

class VerifyDamage : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = test::TestDatabase::Create();
    ASSERT_TRUE(made.ok()) << made.message();
    good_ = std::move(*made);
    test::Story story(good_->conninfo());
    story.Tell();
    subjects_ = story.subjects();
    good_->Exec("SELECT remove_contents('" + subjects_["erased"].ToString() + "', 3)");
    test::DropJournals(*good_, subjects_["dropped"]);
  }
  static void TearDownTestSuite() { good_.reset(); }

  static VerifyOptions OptionsOf(const test::TestDatabase& database) {
    VerifyOptions options;
    options.conninfo = database.conninfo();
    options.kinds = cli::VerifyKinds();
    return options;
  }

  // Each damage in a copy of its own.
  static void ExpectFound(std::span<const Damage> damages) {
    for (const Damage& damage : damages) ExpectFound(damage);
  }
  static void ExpectFound(const Damage& damage) {
    SCOPED_TRACE(damage.name);
    ASSERT_NE(good_, nullptr);
    auto copy = test::TestDatabase::Copy(*good_);
    ASSERT_TRUE(copy.ok()) << copy.message();
    const std::string id = *damage.subject == '\0' ? "" : subjects_.at(damage.subject).ToString();
    const std::string sql = "SET session_replication_role = replica; " + test::AsTables(damage.sql) +
                            fmt::format(fmt::runtime(damage.sql), fmt::arg("subject", "'" + id + "'"));
    (*copy)->Exec(sql);
    auto report = VerifyAll(OptionsOf(**copy));
    ASSERT_TRUE(report.ok()) << report.message();
    EXPECT_FALSE(report->clean());
    EXPECT_THAT(report->violations, Contains(AllOf(Field(&Violation::check, damage.check), Field(&Violation::table, damage.table),
                                                   Field(&Violation::key, HasSubstr(id)))))
        << sql << "\n"
        << ToText(*report);
  }

  static std::unique_ptr<test::TestDatabase> good_;
  static std::map<std::string, SubjectId> subjects_;
};

std::unique_ptr<test::TestDatabase> VerifyDamage::good_;
std::map<std::string, SubjectId> VerifyDamage::subjects_;

const Damage kJournalDamages[] = {
    {"PayloadByte", "journal.hashes", "event_rows", "completed",
     "UPDATE journal_rows SET payload = replace(payload, 's2', 'sX') WHERE subject_id = {subject} AND seq = (SELECT min(seq) FROM "
     "event_rows "
     "WHERE "
     "subject_id = {subject} AND payload LIKE '%s2%' AND seq > 1)"},
    {"PackedByte", "journal.hashes", "event_rows", "completed",
     "UPDATE ONLY journal_rows SET payload = replace(payload, chr(2), '17') WHERE subject_id = {subject} AND seq = (SELECT min(seq) FROM "
     "journal_rows WHERE subject_id = {subject} AND root IS NOT NULL)"},
    {"PackedRoot", "journal.hashes", "event_rows", "completed",
     "UPDATE ONLY journal_rows SET root = sha256('x') WHERE subject_id = {subject} AND seq = (SELECT min(seq) FROM journal_rows WHERE "
     "subject_id = {subject} AND root IS NOT NULL)"},
    {"PayloadSpace", "journal.hashes", "event_rows", "completed",
     "UPDATE journal_rows SET payload = payload || ' ' WHERE subject_id = {subject} AND seq = 3"},
    {"Checksum", "journal.hashes", "event_rows", "completed",
     "UPDATE journal_rows SET checksum = sha256('x') WHERE subject_id = {subject} AND seq = 4"},
    {"ContentHashOfAnErasedEvent", "journal.hashes", "event_rows", "erased",
     "UPDATE journal_rows SET content_hash = sha256('x') WHERE subject_id = {subject} AND seq = 2"},
    {"Chain", "journal.hashes", "event_rows", "counted",
     "UPDATE journal_rows SET chain = sha256('x') WHERE subject_id = {subject} AND seq = 2"},
    {"Type", "journal.hashes", "event_rows", "counted",
     "UPDATE journal_rows SET type = 'signal.received' WHERE subject_id = {subject} AND seq = 2"},
    {"Timestamp", "journal.timestamps", "event_rows", "counted",
     "UPDATE journal_rows SET at = at - interval '1 hour' WHERE subject_id = {subject} AND seq = 4"},
    {"Gap", "journal.sequence", "event_rows", "completed", "DELETE FROM journal_rows WHERE subject_id = {subject} AND seq = 5"},
    {"FirstEventGone", "journal.start", "event_rows", "completed", "DELETE FROM journal_rows WHERE subject_id = {subject} AND seq = 1"},
    {"LastEventGone", "head.seq", "subject_head", "completed",
     "DELETE FROM journal_rows WHERE subject_id = {subject} AND seq = (SELECT max(seq) FROM event_rows WHERE subject_id = {subject})"},
    {"WholeJournalGone", "head.seq", "subject_head", "counted", "DELETE FROM journal_rows WHERE subject_id = {subject}"},
    {"ForeignToken", "token.granted", "event_rows", "taken_over",
     "UPDATE journal_rows SET token = token + 100 WHERE subject_id = {subject} AND seq = (SELECT max(seq) FROM event_rows WHERE subject_id "
     "= "
     "{subject})"},
    {"OldToken", "token.order", "event_rows", "taken_over",
     "UPDATE journal_rows SET token = (SELECT min(token) FROM lease_history WHERE subject_id = {subject}) WHERE subject_id = {subject} AND "
     "seq = (SELECT "
     "max(seq) FROM event_rows WHERE subject_id = {subject})"},
    {"SegmentMixed", "journal.segment", "event_rows", "counted",
     "UPDATE journal_rows SET journal_id = subject_id WHERE subject_id = {subject} AND seq = 3"},
};

TEST_F(VerifyDamage, Journal) { ExpectFound(kJournalDamages); }

// What `journal.rolled` says is sealed with it: other words than the right ones are unit tests (subject_check_test.cc).
const Damage kSegmentDamages[] = {
    {"SegmentRowGone", "segment.row", "journal_segments", "rolled", "DELETE FROM journal_segments WHERE subject_id = {subject}"},
    {"SegmentOfAnotherJournal", "segment.row", "journal_segments", "rolled",
     "UPDATE journal_segments SET journal_id = subject_id WHERE subject_id = {subject}"},
    {"SegmentToken", "segment.token", "journal_segments", "rolled", "UPDATE journal_segments SET token = 1 WHERE subject_id = {subject}"},
    {"SegmentThatNeverBegan", "segment.event", "journal_segments", "rolled",
     "INSERT INTO journal_segments (subject_id, first_seq, journal_id, token, began_at) VALUES ({subject}, 3, {subject}, 1, now())"},
    {"ClosingSnapshotGone", "segment.snapshot", "snapshot_rows", "rolled",
     "DELETE FROM snapshot_rows WHERE subject_id = {subject} AND last_event_seq = (SELECT min(last_event_seq) FROM snapshot_rows WHERE "
     "subject_id = {subject})"},
    {"HeadOfAnotherBeginning", "head.journal_first", "subject_head", "rolled",
     "UPDATE subject_head SET journal_first = journal_first - 1 WHERE subject_id = {subject}"},
    {"NothingToBeginFrom", "journal.start", "event_rows", "dropped",
     "DELETE FROM snapshot_rows WHERE subject_id = {subject} AND last_event_seq = (SELECT min(last_event_seq) FROM snapshot_rows WHERE "
     "subject_id = {subject})"},
    {"DroppedByNobody", "journal.dropped", "event_rows", "dropped",
     "UPDATE journal_segments SET dropped_at = NULL WHERE subject_id = {subject}"},
    {"MoreGoneThanWasDropped", "journal.dropped", "event_rows", "dropped",
     "DELETE FROM journal_rows WHERE subject_id = {subject} AND seq = (SELECT min(seq) FROM journal_rows WHERE subject_id = {subject})"},
    {"NeededAndDropped", "journal.dropped", "event_rows", "rolled",
     "DELETE FROM journal_rows WHERE subject_id = {subject} AND seq < (SELECT max(first_seq) FROM journal_segments WHERE subject_id = "
     "{subject})"},
    {"AttemptsOfDroppedEventsGone", "completion.attempt", "completion_rows", "dropped",
     "DELETE FROM past_attempts WHERE subject_id = {subject}"},
};

TEST_F(VerifyDamage, Segments) { ExpectFound(kSegmentDamages); }

const Damage kHeadDamages[] = {
    {"HeadSeq", "head.seq", "subject_head", "held", "UPDATE subject_head SET head_seq = head_seq - 1 WHERE subject_id = {subject}"},
    {"HeadChain", "head.chain", "subject_head", "ready", "UPDATE subject_head SET chain = sha256('x') WHERE subject_id = {subject}"},
    {"HeadRoot", "head.state_root", "subject_head", "paused",
     "UPDATE subject_head SET state_root = sha256('x') WHERE subject_id = {subject}"},
    {"HeadJournal", "head.journal", "subject_head", "paused",
     "UPDATE subject_head SET journal_id = subject_id WHERE subject_id = {subject}"},
    {"HeadTimestamp", "head.timestamp", "subject_head", "paused",
     "UPDATE subject_head SET last_timestamp = last_timestamp - interval '1 day' WHERE subject_id = {subject}"},
    {"HeadGone", "head.exists", "subject_head", "counted", "DELETE FROM subject_head WHERE subject_id = {subject}"},
};

TEST_F(VerifyDamage, Head) { ExpectFound(kHeadDamages); }

const Damage kSnapshotAndContentDamages[] = {
    {"SnapshotState", "snapshot.decodes", "snapshot_rows", "counted",
     "UPDATE snapshot_rows SET inline_state = replace(inline_state, '\"value\"', '\"valve\"') WHERE subject_id = {subject}"},
    {"SnapshotRoot", "snapshot.root", "snapshot_rows", "completed",
     "UPDATE snapshot_rows SET state_root = sha256('x') WHERE subject_id = {subject}"},
    {"SnapshotChain", "snapshot.chain", "snapshot_rows", "completed",
     "UPDATE snapshot_rows SET chain = sha256('x') WHERE subject_id = {subject}"},
    {"SnapshotToken", "token.granted", "snapshot_rows", "completed",
     "UPDATE snapshot_rows SET token = token + 100 WHERE subject_id = {subject}"},
    {"SnapshotAhead", "snapshot.event", "snapshot_rows", "counted",
     "UPDATE snapshot_rows SET last_event_seq = last_event_seq + 1000 WHERE subject_id = {subject}"},
    {"SnapshotChunkByte", "snapshot.decodes", "snapshot_rows", "completed",
     "UPDATE content_chunks SET bytes = set_byte(bytes, 40, get_byte(bytes, 40) # 1) WHERE hash = (SELECT substring(chunks FROM 1 FOR 32) "
     "FROM "
     "snapshot_rows WHERE subject_id = {subject} AND chunks IS NOT NULL ORDER BY last_event_seq DESC LIMIT 1)"},
    {"ChunkByte", "content.hash", "content_chunks", "",
     "UPDATE content_chunks SET bytes = set_byte(bytes, 0, get_byte(bytes, 0) # 1) WHERE hash = sha256('the report')"},
    {"ChunkGone", "content.hash", "content_chunks", "", "DELETE FROM content_chunks WHERE hash = sha256('the report')"},
    {"ChunkNumber", "content.chunk", "content_chunks", "", "UPDATE content_chunks SET number = 1 WHERE hash = sha256('the report')"},
    {"ContentSize", "content.size", "contents", "", "UPDATE contents SET size = size + 1 WHERE hash = sha256('the report')"},
    {"ContentRowGone", "content.row", "contents", "", "DELETE FROM contents WHERE hash = sha256('the report')"},
    {"SnapshotReferenceGone", "content.snapshot_reference", "content_refs", "",
     "DELETE FROM content_refs WHERE snapshot AND hash = (SELECT substring(chunks FROM 1 FOR 32) FROM snapshot_rows WHERE chunks IS NOT "
     "NULL "
     "LIMIT 1)"},
    {"ReferenceOfNoSnapshot", "content.snapshot_reference", "content_refs", "",
     "INSERT INTO content_refs (hash, subject_id, snapshot) SELECT sha256('the report'), subject_id, true FROM subjects LIMIT 1"},
    {"FileOfARunGone", "content.referred", "contents", "",
     "DELETE FROM contents WHERE hash = sha256('the report'); DELETE FROM content_chunks WHERE hash = sha256('the report')"},
};

TEST_F(VerifyDamage, SnapshotAndContent) { ExpectFound(kSnapshotAndContentDamages); }

const Damage kStepDamages[] = {
    {"CompletedAttemptGone", "completion.attempt", "completion_rows", "completed",
     "DELETE FROM attempt_rows WHERE subject_id = {subject} AND step_id = 's2'"},
    {"OpenAttemptGone", "attempt.row", "attempt_rows", "held",
     "DELETE FROM attempt_rows a WHERE subject_id = {subject} AND NOT EXISTS (SELECT FROM completion_rows c WHERE (c.subject_id, "
     "c.step_id) = "
     "(a.subject_id, a.step_id))"},
    {"FailedAttemptGone", "attempt.row", "attempt_rows", "completed",
     "DELETE FROM attempt_rows WHERE subject_id = {subject} AND step_id = 's3' AND attempt_id = 1"},
    {"AttemptToken", "token.granted", "attempt_rows", "completed",
     "UPDATE attempt_rows SET token = token + 100 WHERE subject_id = {subject} AND step_id = 's2'"},
    {"CompletedTwice", "completion.once", "completion_rows", "completed",
     "INSERT INTO completion_rows SELECT * FROM completion_rows WHERE "
     "subject_id = "
     "{subject} AND step_id = 's1'"},
    {"WrongAttempt", "completion.attempt", "completion_rows", "completed",
     "UPDATE completion_rows SET attempt_id = 7 WHERE subject_id = {subject} AND step_id = 's1'"},
    {"OtherAttempt", "completion.step", "completion_rows", "completed",
     "UPDATE completion_rows SET attempt_id = 1 WHERE subject_id = {subject} AND step_id = 's3'"},
    {"WrongEvent", "completion.step", "completion_rows", "completed",
     "UPDATE completion_rows SET event_seq = (SELECT event_seq FROM completion_rows WHERE subject_id = {subject} AND step_id = 's2') WHERE "
     "subject_id = {subject} AND step_id = 's1'"},
    {"SomethingBehindTheEnd", "journal.end", "event_rows", "completed",
     "UPDATE journal_rows SET type = 'workflow.ended' WHERE subject_id = {subject} AND seq = 3"},
    {"ClosedWithoutAnEnd", "journal.end", "event_rows", "paused", "UPDATE leases SET state = 1 WHERE subject_id = {subject}"},
    {"EventThatIsNot", "completion.event", "completion_rows", "completed",
     "UPDATE completion_rows SET event_seq = 900 WHERE subject_id = {subject} AND step_id = 's1'"},
    {"CompletionToken", "completion.token", "completion_rows", "taken_over",
     "UPDATE completion_rows SET token = (SELECT max(token) FROM lease_history WHERE subject_id = {subject}) WHERE subject_id = {subject} "
     "AND step_id = "
     "'step0'"},
    {"CompletionGone", "completion.row", "completion_rows", "completed",
     "DELETE FROM completion_rows WHERE subject_id = {subject} AND step_id = 's4'"},
    {"ResultChecksum", "completion.result", "completion_rows", "completed",
     "UPDATE completion_rows SET result_checksum = sha256('x') WHERE subject_id = {subject} AND step_id = 's4'"},
    // Where they stand: in the events' rows, and beside them.
    {"CompletedInBothForms", "completion.once", "completion_rows", "completed",
     "INSERT INTO other_completions SELECT subject_id, completed, completed_attempt, token, seq, at, result_checksum FROM event_rows WHERE "
     "subject_id = {subject} AND completed = 's1'"},
    {"BegunInBothForms", "attempt.once", "attempt_rows", "completed",
     "INSERT INTO other_attempts SELECT subject_id, begun, begun_attempt, token, at FROM event_rows WHERE subject_id = {subject} AND begun "
     "IS NOT "
     "NULL LIMIT 1"},
    {"EventCompletesNothing", "completion.row", "completion_rows", "completed",
     "UPDATE journal_rows SET completed = NULL, completed_attempt = NULL, result_checksum = NULL WHERE subject_id = {subject} AND "
     "completed "
     "= "
     "'s4'"},
    {"EventCompletesAnother", "completion.step", "completion_rows", "completed",
     "UPDATE journal_rows SET completed = 's9' WHERE subject_id = {subject} AND completed = 's1'"},
    {"EventOfAnotherResult", "completion.result", "completion_rows", "completed",
     "UPDATE journal_rows SET result_checksum = sha256('x') WHERE subject_id = {subject} AND completed = 's4'"},
    {"EventBeginsNothing", "attempt.row", "attempt_rows", "held",
     "UPDATE journal_rows SET begun = NULL, begun_attempt = NULL, begun_at = NULL WHERE subject_id = {subject} AND begun IS NOT NULL"},
};

TEST_F(VerifyDamage, Step) { ExpectFound(kStepDamages); }

const Damage kLeaseDamages[] = {
    {"LeaseGone", "lease.exists", "leases", "counted", "DELETE FROM leases WHERE subject_id = {subject}"},
    {"LeaseTokenLowered", "token.lease", "leases", "taken_over", "UPDATE leases SET token = token - 1 WHERE subject_id = {subject}"},
    {"LeaseHeldUnderNoGrant", "lease.grant", "leases", "held", "UPDATE leases SET token = token + 1 WHERE subject_id = {subject}"},
    {"TokenOfALaterEpoch", "token.epoch", "leases", "counted", "UPDATE leases SET token = 9007199254740991 WHERE subject_id = {subject}"},
    {"HistoryRowGone", "token.granted", "event_rows", "taken_over",
     "DELETE FROM lease_history WHERE subject_id = {subject} AND token = (SELECT min(token) FROM lease_history WHERE subject_id = "
     "{subject})"},
    {"HistoryOutOfOrder", "grant.order", "lease_history", "taken_over",
     "UPDATE lease_history SET head_seq = 0 WHERE subject_id = {subject} AND token = (SELECT max(token) FROM lease_history WHERE "
     "subject_id = {subject})"},
    {"HistoryTokenTooLarge", "grant.range", "lease_history", "counted",
     "INSERT INTO lease_history (subject_id, token, head_seq, takeovers_without_progress, granted_at) VALUES ({subject}, 9007199254740992, "
     "1, 0, now())"},
    {"WrittenBeforeItsGrant", "token.span", "event_rows", "taken_over",
     "UPDATE lease_history SET head_seq = head_seq + 2 WHERE subject_id = {subject} AND token = (SELECT max(token) FROM lease_history "
     "WHERE "
     "subject_id = {subject})"},
    {"SessionGone", "lease.session", "leases", "held",
     "DELETE FROM worker_sessions w USING leases l WHERE l.subject_id = {subject} AND w.session_id = l.session_id"},
    {"SessionReaped", "lease.session", "leases", "held",
     "UPDATE worker_sessions w SET dead_at = now(), reaped = true FROM leases l WHERE l.subject_id = {subject} AND w.session_id = "
     "l.session_id"},
    {"EpochOfAnotherCluster", "epoch.cluster", "fleet_epoch", "", "UPDATE fleet_epoch SET system_identifier = system_identifier + 1"},
};

TEST_F(VerifyDamage, Lease) { ExpectFound(kLeaseDamages); }

const Damage kWakerDamages[] = {
    {"ReadyRowGone", "open.state", "leases", "ready", "DELETE FROM ready WHERE subject_id = {subject}"},
    {"ReadyRowMisplaced", "ready.place", "ready", "ready", "UPDATE ready SET shard = 9 WHERE subject_id = {subject}"},
    {"ReadyRowOfAnotherQueue", "open.state", "leases", "ready", "UPDATE ready SET queue = 'elsewhere' WHERE subject_id = {subject}"},
    {"TimerGone", "timer.wakes", "timers", "retrying", "DELETE FROM timers WHERE subject_id = {subject}"},
    {"TimerOfTheRetryGone", "timer.wakes", "timers", "retrying",
     "UPDATE timers SET fire_at = now() + interval '1 day' WHERE subject_id = {subject} AND timer_id NOT LIKE 'retry:%'; "
     "DELETE FROM timers WHERE subject_id = {subject} AND timer_id LIKE 'retry:%'"},
    {"DispatchGone", "dispatch.wakes", "dispatches", "retrying",
     "UPDATE leases SET waiting_reason = 'dispatch' WHERE subject_id = {subject}"},
    {"WaitsForNoTime", "timer.named", "leases", "retrying",
     "UPDATE leases SET next_wake = NULL WHERE subject_id = {subject}; DELETE FROM timers WHERE subject_id = {subject}"},
    {"InboxNobodyReads", "inbox.wakes", "ready", "posted", "DELETE FROM ready WHERE subject_id = {subject}"},
    {"WakeCounterLowered", "wake.counter", "leases", "posted", "UPDATE leases SET wake = 0 WHERE subject_id = {subject}"},
    {"WaitsForNothing", "open.state", "leases", "direct", "UPDATE leases SET waiting_reason = NULL WHERE subject_id = {subject}"},
    {"ClosedFlagCleared", "open.state", "leases", "completed", "UPDATE leases SET state = 0 WHERE subject_id = {subject}"},
    {"ClosedWithATimer", "closed.rows", "leases", "completed",
     "INSERT INTO timers (subject_id, timer_id, fire_at) VALUES ({subject}, 't', now())"},
    {"ClosedWithASignal", "closed.rows", "leases", "completed",
     "INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at) VALUES ({subject}, {subject}, 'signal', '{{}}', now())"},
    {"QuarantineRowGone", "quarantine.row", "quarantine", "quarantined", "DELETE FROM quarantine WHERE subject_id = {subject}"},
    {"QuarantineForgotten", "quarantine.row", "quarantine", "quarantined", "UPDATE leases SET state = 0 WHERE subject_id = {subject}"},
};

TEST_F(VerifyDamage, Waker) { ExpectFound(kWakerDamages); }

const Damage kListingDamages[] = {
    {"ListingStatus", "listing.status", "listings", "rolled_back", "UPDATE listings SET status = 'COMPLETED' WHERE subject_id = {subject}"},
    {"ListingGone", "listing.status", "listings", "paused", "DELETE FROM listings WHERE subject_id = {subject}"},
    {"ListingOfAnotherKind", "listing.subject", "listings", "paused", "UPDATE listings SET kind = 'counter' WHERE subject_id = {subject}"},
    {"CompensationOrder", "compensation.order", "completion_rows", "rolled_back",
     "UPDATE completion_rows c SET event_seq = o.event_seq FROM completion_rows o WHERE c.subject_id = {subject} AND o.subject_id = "
     "{subject} AND "
     "((c.step_id = 's0' AND o.step_id = 's1') OR (c.step_id = 's1' AND o.step_id = 's0'))"},
    {"CompensationOfNothing", "compensation.of_completed", "completion_rows", "rolled_back",
     "DELETE FROM completion_rows WHERE subject_id = {subject} AND step_id = 's0'"},
    {"CompensationNotLogged", "compensation.log", "compensation_rows", "rolled_back",
     "DELETE FROM compensation_rows WHERE subject_id = {subject} AND step_id = 's1' AND status = 'executed'"},
    {"CompensationLoggedAsFailed", "compensation.log", "compensation_rows", "rolled_back",
     "UPDATE compensation_rows SET status = 'failed' WHERE subject_id = {subject} AND step_id = 's1' AND status = 'executed'"},
};

TEST_F(VerifyDamage, Listing) { ExpectFound(kListingDamages); }

const Damage kOrphanDamages[] = {
    {"TimerOfNobody", "subject.exists", "timers", "",
     "INSERT INTO timers (subject_id, timer_id, fire_at) VALUES (gen_random_uuid(), 't', now())"},
    {"InboxOfNobody", "subject.exists", "inbox", "",
     "INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at) VALUES (gen_random_uuid(), gen_random_uuid(), 'signal', '{{}}', "
     "now())"},
    {"ReadyOfNobody", "subject.exists", "ready", "",
     "INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version) VALUES ('q', 1, 1, now(), "
     "gen_random_uuid(), "
     "'counter', 1)"},
    {"OutboxOfNobody", "subject.exists", "outbox", "",
     "INSERT INTO outbox (subject_id, topic, key, payload, created_at) VALUES (gen_random_uuid(), 't', 'k', 'p', now())"},
    {"RequestKeyOfNobody", "subject.exists", "request_keys", "",
     "UPDATE request_keys SET subject_id = gen_random_uuid() WHERE request_key = 'key of paused'"},
    {"RequestKeyOfNoScope", "request.scope", "request_keys", "",
     "UPDATE request_keys SET scope = gen_random_uuid() WHERE request_key = 'key of paused'"},
    {"SubjectGone", "subject.exists", "leases", "counted", "DELETE FROM subjects WHERE subject_id = {subject}"},
    {"SubjectOfNoProject", "subject.project", "subjects", "counted",
     "UPDATE subjects SET project_id = gen_random_uuid() WHERE subject_id = {subject}"},
    {"DefinitionTextGone", "subject.definition", "subjects", "completed",
     "DELETE FROM definition_texts WHERE hash = (SELECT definition_hash FROM subjects WHERE subject_id = {subject})"},
    {"DefinitionTextChanged", "subject.definition", "subjects", "completed",
     "UPDATE definition_texts SET text = text || ' ' WHERE hash = (SELECT definition_hash FROM subjects WHERE subject_id = {subject})"},
    {"DispatchWithoutAnAttempt", "dispatch.attempt", "dispatches", "held",
     "INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, created_at) VALUES ({subject}, 'none', 1, 'q', 1, "
     "'', "
     "now())"},
    {"DispatchNobodyCanTake", "dispatch.ready", "dispatches", "held",
     "INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, created_at) SELECT {subject}, step_id, "
     "attempt_id, 'q', 1, "
     "'', "
     "now() FROM attempt_rows WHERE subject_id = {subject} LIMIT 1"},
    {"DispatchNobodyEnds", "dispatch.session", "dispatches", "held",
     "INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, created_at, state, token, session_id) SELECT "
     "{subject}, "
     "step_id, "
     "attempt_id, 'q', 1, '', now(), 'started', 1, gen_random_uuid() FROM attempt_rows WHERE subject_id = {subject} LIMIT 1"},
    {"DispatchOfAClosedRun", "dispatch.closed", "dispatches", "completed",
     "INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, created_at, cancel_requested) SELECT {subject}, "
     "step_id, "
     "attempt_id, 'q', 1, '', now(), true FROM attempt_rows WHERE subject_id = {subject} LIMIT 1"},
    {"DispatchWithoutAResult", "dispatch.result", "dispatches", "held",
     "INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, created_at, state, token, ended_at) SELECT "
     "{subject}, "
     "step_id, "
     "attempt_id, 'q', 1, '', now(), 'done', 1, now() FROM attempt_rows WHERE subject_id = {subject} LIMIT 1"},
    {"DispatchWithTwoResults", "dispatch.result", "dispatches", "held",
     "WITH t AS (INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, created_at, state, token, ended_at) "
     "SELECT "
     "{subject}, "
     "step_id, attempt_id, 'q', 1, '', now(), 'lost', 1, now() FROM attempt_rows WHERE subject_id = {subject} LIMIT 1 RETURNING "
     "dispatch_id), "
     "i AS (INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at) SELECT {subject}, dispatch_id, 'dispatch_result', '{{}}', "
     "now() "
     "FROM t) "
     "INSERT INTO journal_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, "
     "chain, "
     "payload) SELECT {subject}, 1000000, gen_random_uuid(), 't', 1, 'p', 1, now(), sha256('a'), sha256('a'), sha256('a'), "
     "format('{{\"inbox_id\":\"%s\"}}', dispatch_id) FROM t"},
    {"ReadyOfNoTask", "subject.exists", "ready", "",
     "INSERT INTO ready (queue, priority, shard, ready_at, subject_id, kind, required_version) VALUES ('q', 1, 1, now(), "
     "gen_random_uuid(), "
     "'dispatch', 1)"},
};

TEST_F(VerifyDamage, Orphan) { ExpectFound(kOrphanDamages); }

const Damage kProjectDamages[] = {
    {"GoalNotShown", "shown.row", "goals", "book", "DELETE FROM goals WHERE project_id = {subject}"},
    {"TaskNotShown", "shown.row", "tasks", "book", "DELETE FROM tasks WHERE project_id = {subject} AND task_id = 't2'"},
    {"CheckpointNotShown", "shown.row", "checkpoints", "book", "DELETE FROM checkpoints WHERE project_id = {subject}"},
    {"TaskThatIsNot", "shown.row", "tasks", "book", "UPDATE tasks SET task_id = 't9' WHERE project_id = {subject} AND task_id = 't3'"},
    {"TaskOfAnEmptyProject", "shown.row", "tasks", "fresh", "UPDATE tasks SET project_id = {subject} WHERE task_id = 't3'"},
    {"CheckpointThatIsNot", "shown.row", "checkpoints", "book",
     "INSERT INTO checkpoints SELECT project_id, 't2', where_we_left_off, next_step, needed_context_refs, blockers, \"timestamp\" FROM "
     "checkpoints WHERE project_id = {subject}"},
    {"GoalText", "shown.column", "goals", "book", "UPDATE goals SET text = text || ' ' WHERE project_id = {subject}"},
    {"GoalTime", "shown.column", "goals", "book",
     "UPDATE goals SET created_at = created_at + interval '1 microsecond' WHERE project_id = {subject}"},
    {"TaskStatus", "shown.column", "tasks", "book", "UPDATE tasks SET status = 'done' WHERE project_id = {subject} AND task_id = 't1'"},
    {"TaskHolder", "shown.column", "tasks", "book", "UPDATE tasks SET holder = NULL WHERE project_id = {subject} AND task_id = 't1'"},
    {"TaskCriteria", "shown.column", "tasks", "book",
     "UPDATE tasks SET acceptance_criteria = acceptance_criteria[2:2] || acceptance_criteria[1:1] WHERE project_id = {subject} AND "
     "task_id = 't1'"},
    {"TaskWithdrawn", "shown.column", "tasks", "book",
     "UPDATE tasks SET withdrawn = false WHERE project_id = {subject} AND task_id = 't3'"},
    {"CheckpointStep", "shown.column", "checkpoints", "book", "UPDATE checkpoints SET next_step = 'Rest' WHERE project_id = {subject}"},
    {"GoalOfNobody", "subject.exists", "goals", "",
     "INSERT INTO goals SELECT gen_random_uuid(), goal_id, text, priority, status, withdrawn, created_at FROM goals"},
    {"TaskOfARun", "subject.exists", "tasks", "completed", "UPDATE tasks SET project_id = {subject}"},
    {"CheckpointOfNobody", "subject.exists", "checkpoints", "", "UPDATE checkpoints SET project_id = gen_random_uuid()"},
    {"AnswerOfNobody", "subject.exists", "command_answers", "", "UPDATE command_answers SET subject_id = gen_random_uuid()"},
    {"AnswerOfNoEvent", "answer.event", "command_answers", "book",
     "UPDATE command_answers SET event_seq = 100 WHERE subject_id = {subject} AND request_key = 'key 1'"},
    {"ProjectHeldByNobodyWithAnInput", "inbox.wakes", "ready", "fresh",
     "INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at) VALUES ({subject}, {subject}, 'signal', '{{}}', now()); UPDATE "
     "leases SET wake = 1 WHERE subject_id = {subject}"},
};

TEST_F(VerifyDamage, Project) { ExpectFound(kProjectDamages); }

const Damage kApprovalDamages[] = {
    {"ApprovalNotShown", "shown.row", "approvals", "asking", "DELETE FROM approvals WHERE subject_id = {subject}"},
    {"ApprovalThatIsNot", "shown.row", "approvals", "unasked",
     "UPDATE approvals SET approval_id = approval_id || '2' WHERE subject_id = {subject}"},
    {"ApprovalDecidedByHand", "shown.column", "approvals", "asking",
     "UPDATE approvals SET state = 'APPROVED' WHERE subject_id = {subject}"},
    {"ApprovalOpenAgain", "shown.column", "approvals", "unasked", "UPDATE approvals SET state = 'PENDING' WHERE subject_id = {subject}"},
    {"ApprovalOfAnotherDigest", "shown.column", "approvals", "asking",
     "UPDATE approvals SET request = jsonb_set(request::jsonb, '{{digest}}', '\"00\"')::text WHERE subject_id = {subject}"},
};

TEST_F(VerifyDamage, Approval) { ExpectFound(kApprovalDamages); }

const Damage kGuardDamages[] = {
    {"TriggerOff", "guard.trigger", "journal_rows", "", "ALTER TABLE journal_rows DISABLE TRIGGER immutable"},
    {"MayBeEmptied", "guard.trigger", "snapshot_rows", "", "DROP TRIGGER not_truncated ON snapshot_rows"},
    {"HeadsMayBeEmptied", "guard.trigger", "subject_head", "", "ALTER TABLE subject_head DISABLE TRIGGER not_truncated"},
    {"SubjectsMayChange", "guard.trigger", "subjects", "", "DROP TRIGGER immutable ON subjects"},
    {"TriggerGone", "guard.trigger", "leases", "", "DROP TRIGGER token_grows ON leases"},
    {"RightGiven", "guard.rights", "event_rows", "", "GRANT UPDATE ON event_rows TO acl_service"},
    {"PolicyGone", "guard.policy", "journal_rows", "", "DROP POLICY written_under_a_lease ON journal_rows"},
    {"PolicyOff", "guard.policy", "other_attempts", "", "ALTER TABLE other_attempts DISABLE ROW LEVEL SECURITY"},
    {"AnotherPolicy", "guard.policy", "other_completions", "", "CREATE POLICY more ON other_completions FOR INSERT WITH CHECK (true)"},
    {"ViewHidesRows", "view.rows", "completed_steps", "",
     "CREATE OR REPLACE VIEW completed_steps AS SELECT c.subject_id AS workflow_id, c.step_id::varchar(100) AS step_id, c.attempt_id, "
     "c.completed_at, "
     "'event:' || c.event_seq AS result_snapshot_ref, encode(c.result_checksum, 'hex')::varchar(64) AS result_checksum, c.token AS "
     "fencing_token, "
     "s.project_id FROM completion_rows c JOIN subjects s USING (subject_id) WHERE c.step_id <> 's1'"},
    {"OneFormHidden", "view.rows", "attempt_rows", "",
     "CREATE OR REPLACE VIEW attempt_rows AS SELECT subject_id, step_id, attempt_id, token, started_at FROM other_attempts"},
    {"ViewMayBeWritten", "guard.trigger", "completion_rows", "", "DROP TRIGGER immutable ON completion_rows"},
    {"ViewColumnRenamed", "view.shape", "events", "", "ALTER VIEW events RENAME COLUMN event_seq TO seq"},
    {"ViewGone", "view.shape", "compensation_log", "", "DROP VIEW compensation_log"},
};

TEST_F(VerifyDamage, Guard) { ExpectFound(kGuardDamages); }

}  // namespace
}  // namespace acl::verify
