// The checkers have teeth: on what the production code leaves all are silent and have rows to look at; one violation of each kind, made by
// a superuser with the triggers off (or written into the history), is found by its own checker.
#include "chaos/checkers/invariants.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>

#include "cli/verify_kinds.h"
#include "shared/base/uuid7.h"
#include "shared/postgres/connection.h"
#include "shared/verify/verify.h"
#include "tests/integration/chaos/healthy_fleet.h"
#include "tests/integration/verify/story.h"
#include "tests/support/test_database.h"

namespace acl::chaos {
namespace {

enum class Of { kFleet, kStory };  // which healthy database the violation is seeded in

struct Violation {
  const char* id;
  const char* name;
  Of of;
  const char* subject;  // of the story; the fleet's is its first run
  const char* sql;      // {s}: the subject, quoted
};

// Not by SQL but in what clients and receivers saw.
struct SeenViolation {
  const char* id;
  const char* name;
  std::function<void(InvariantOptions&)> seed;
};

class InvariantsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto fleet = test::TestDatabase::Create(), story = test::TestDatabase::Create();
    ASSERT_TRUE(fleet.ok() && story.ok()) << fleet.message() << story.message();
    fleet_db_ = std::move(*fleet);
    story_db_ = std::move(*story);
    test::HealthyFleet healthy(fleet_db_->conninfo());
    healthy.Run();
    run_ = healthy.runs().front();
    history_ = healthy.history();
    ledger_ = healthy.ledger();
    test::Story told(story_db_->conninfo());
    told.Tell();
    subjects_ = told.subjects();
  }
  static void TearDownTestSuite() {
    fleet_db_.reset();
    story_db_.reset();
  }

  static InvariantOptions FleetOptions(const test::TestDatabase& database) {
    InvariantOptions options;
    options.conninfo = database.conninfo();
    options.role = "";
    options.history = history_;
    options.ledger = ledger_;
    options.canaries = {"the canary's secret"};
    options.drained = true;
    return options;
  }
  static InvariantOptions StoryOptions(const test::TestDatabase& database) {
    InvariantOptions options;
    options.conninfo = database.conninfo();
    return options;
  }
  static verify::Report Replay(const test::TestDatabase& database) {
    verify::VerifyOptions options;
    options.conninfo = database.conninfo();
    options.kinds = cli::VerifyKinds();
    auto report = verify::VerifyAll(options);
    EXPECT_TRUE(report.ok()) << report.message();
    return report ? std::move(*report) : verify::Report{};
  }
  static InvariantReport Check(const InvariantOptions& options) {
    auto report = CheckInvariants(options);
    EXPECT_TRUE(report.ok()) << report.message();
    return report ? std::move(*report) : InvariantReport{};
  }
  static void ExpectFound(const InvariantReport& report, const char* id, const std::string& what) {
    const InvariantResult* result = report.Find(id);
    ASSERT_NE(result, nullptr);
    EXPECT_TRUE(result->asked) << result->not_asked;
    EXPECT_GT(result->found, 0) << id << " is blind to: " << what << "\n" << ToText(report);
    EXPECT_FALSE(result->anomalies.empty());
    EXPECT_FALSE(report.clean());
  }

  static std::unique_ptr<test::TestDatabase> fleet_db_, story_db_;
  static std::map<std::string, SubjectId> subjects_;
  static SubjectId run_;
  static History history_;
  static Ledger ledger_;
};

std::unique_ptr<test::TestDatabase> InvariantsTest::fleet_db_, InvariantsTest::story_db_;
std::map<std::string, SubjectId> InvariantsTest::subjects_;
SubjectId InvariantsTest::run_;
History InvariantsTest::history_;
Ledger InvariantsTest::ledger_;

const Violation kViolations[] = {
    {"i01", "a lower token granted later", Of::kFleet, "",
     "UPDATE lease_history SET lsn = '0/1' WHERE subject_id = {s} AND token = (SELECT max(token) FROM lease_history WHERE subject_id = "
     "{s})"},
    {"i01", "a later grant that read an earlier head", Of::kFleet, "",
     "UPDATE lease_history SET head_seq = 0 WHERE subject_id = {s} AND token = (SELECT max(token) FROM lease_history WHERE subject_id = "
     "{s})"},
    {"i02", "one token granted to two", Of::kFleet, "",
     "ALTER TABLE lease_history DROP CONSTRAINT lease_history_pkey; INSERT INTO lease_history (subject_id, token, session_id, head_seq, "
     "takeovers_without_progress, granted_at) SELECT subject_id, token, gen_random_uuid(), head_seq, 0, now() FROM lease_history WHERE "
     "subject_id = "
     "{s} LIMIT "
     "1"},
    {"i02", "one token of two dispatches", Of::kFleet, "",
     "INSERT INTO dispatches (subject_id, step_id, attempt_id, queue, priority, payload, state, token, created_at, ended_at) SELECT "
     "subject_id, "
     "step_id, 9, queue, priority, '', state, token, created_at, ended_at FROM dispatches WHERE subject_id = {s}"},
    {"i03", "a commit of the holder of before", Of::kFleet, "",
     "UPDATE journal_rows SET token = (SELECT min(token) FROM lease_history WHERE subject_id = {s}) WHERE subject_id = {s} AND seq = "
     "(SELECT "
     "max(seq) FROM event_rows WHERE subject_id = {s})"},
    {"i04", "an event under a token of nobody", Of::kFleet, "",
     "UPDATE journal_rows SET token = token + 1000 WHERE subject_id = {s} AND seq = (SELECT max(seq) FROM event_rows WHERE subject_id = "
     "{s})"},
    {"i04", "a grant that left no trace", Of::kFleet, "",
     "DELETE FROM lease_history WHERE subject_id = {s} AND token = (SELECT max(token) FROM event_rows WHERE subject_id = {s})"},
    {"i05", "a step completed again", Of::kFleet, "",
     "INSERT INTO journal_rows SELECT subject_id, (SELECT max(seq) + 1 FROM event_rows WHERE subject_id = {s}), journal_id, type, "
     "schema_version, producer_version, token, at, checksum, content_hash, chain, payload, offloaded FROM event_rows WHERE subject_id = "
     "{s} "
     "AND "
     "type = 'step.completed' ORDER BY seq DESC LIMIT 1"},
    {"i06", "a completion without its event's row", Of::kFleet, "",
     "DELETE FROM completion_rows WHERE subject_id = {s} AND step_id = 'last'"},
    {"i06", "a completion of nothing", Of::kFleet, "",
     "UPDATE completion_rows SET event_seq = event_seq + 1 WHERE subject_id = {s} AND step_id = 'last'"},
    {"i06", "a completion under another token", Of::kFleet, "",
     "UPDATE completion_rows SET token = token - 1 WHERE subject_id = {s} AND step_id = 'last'"},
    {"i07", "a gap", Of::kFleet, "", "DELETE FROM journal_rows WHERE subject_id = {s} AND seq = 4"},
    {"i08", "a head ahead of the journal", Of::kFleet, "", "UPDATE subject_head SET head_seq = head_seq + 1 WHERE subject_id = {s}"},
    {"i08", "a head of another chain", Of::kFleet, "", "UPDATE subject_head SET chain = sha256('x') WHERE subject_id = {s}"},
    {"i09", "a token that falls", Of::kFleet, "", "UPDATE journal_rows SET token = token + 5 WHERE subject_id = {s} AND seq = 3"},
    {"i10", "a payload that was edited", Of::kFleet, "",
     "UPDATE journal_rows SET payload = payload || ' ' WHERE subject_id = {s} AND seq = 5"},
    {"i10", "a time that was edited", Of::kFleet, "",
     "UPDATE journal_rows SET at = at + interval '1 microsecond' WHERE subject_id = {s} AND seq = 5"},
    {"i10", "a type that was edited", Of::kStory, "counted",
     "UPDATE journal_rows SET type = 'signal.received' WHERE subject_id = {s} AND seq = 2"},
    {"i11", "an end in the middle", Of::kFleet, "", "UPDATE journal_rows SET type = 'workflow.ended' WHERE subject_id = {s} AND seq = 4"},
    {"i11", "closed without an end", Of::kStory, "paused", "UPDATE leases SET state = 1 WHERE subject_id = {s}"},
    {"i11", "ended and open", Of::kFleet, "", "UPDATE leases SET state = 0 WHERE subject_id = {s}"},
    {"i12", "no attempt", Of::kFleet, "", "DELETE FROM attempt_rows WHERE subject_id = {s} AND step_id = 'last'"},
    {"i12", "an attempt of another holder", Of::kFleet, "",
     "UPDATE attempt_rows SET token = token - 1 WHERE subject_id = {s} AND step_id = 'more3'"},
    {"i13", "another attempt behind it", Of::kFleet, "",
     "INSERT INTO attempt_rows SELECT subject_id, step_id, 9, token, started_at FROM attempt_rows WHERE subject_id = {s} AND step_id = "
     "'first'"},
    {"i14", "a dispatched step whose dispatch is gone", Of::kFleet, "",
     "DELETE FROM dispatches WHERE subject_id = {s}; UPDATE leases SET state = 0 WHERE subject_id = {s}; DELETE FROM completion_rows WHERE "
     "subject_id = {s} AND step_id = 'elsewhere'"},
    {"i14", "a queued dispatch that nobody is told of", Of::kFleet, "",
     "UPDATE dispatches SET state = 'queued', ended_at = NULL WHERE subject_id = {s}"},
    {"i21", "open, and nothing will wake it", Of::kStory, "ready", "DELETE FROM ready WHERE subject_id = {s}"},
    {"i21", "the timer of a retry is gone, its deadline's is there", Of::kStory, "retrying",
     "UPDATE timers SET fire_at = now() + interval '1 day' WHERE subject_id = {s} AND timer_id NOT LIKE 'retry:%'; DELETE FROM timers "
     "WHERE "
     "subject_id = {s} AND timer_id LIKE 'retry:%'"},
    {"i21", "waits for a dispatch that is not there", Of::kStory, "retrying",
     "UPDATE leases SET waiting_reason = 'dispatch' WHERE subject_id = {s}"},
    {"i21", "held by a session that was reaped", Of::kStory, "held",
     "UPDATE worker_sessions SET dead_at = now(), reaped = true WHERE session_id = (SELECT session_id FROM leases WHERE subject_id = {s})"},
    {"i21", "still held after the drain", Of::kFleet, "",
     "UPDATE leases SET state = 0, session_id = (SELECT session_id FROM worker_sessions LIMIT 1) WHERE subject_id = {s}"},
    {"i27", "a content that is gone", Of::kStory, "completed",
     "DELETE FROM contents WHERE hash = (SELECT hash FROM content_refs WHERE subject_id = {s} LIMIT 1)"},
    {"i27", "a content with another byte", Of::kStory, "completed",
     "UPDATE content_chunks SET bytes = set_byte(bytes, 3, get_byte(bytes, 3) # 1) WHERE hash = (SELECT hash FROM content_refs WHERE "
     "subject_id = {s} LIMIT 1)"},
    {"i28", "a wait that was cut short", Of::kFleet, "",
     "UPDATE journal_rows SET at = at - interval '10 seconds' WHERE subject_id = {s} AND type = 'step.completed' AND payload LIKE "
     "'%due_at%'"},
    {"i28", "a retry before its time", Of::kFleet, "",
     "UPDATE journal_rows SET at = at - interval '10 seconds' WHERE subject_id = {s} AND type = 'step.retry_due'"},
    {"i28", "a timer that fired twice", Of::kFleet, "",
     "INSERT INTO journal_rows SELECT subject_id, seq + 1000, journal_id, type, schema_version, producer_version, token, at, checksum, "
     "content_hash, chain, payload, offloaded FROM event_rows WHERE subject_id = {s} AND type = 'step.retry_due'"},
    {"i29", "a decision nobody asked for", Of::kFleet, "",
     "UPDATE journal_rows SET type = 'step.failed' WHERE subject_id = {s} AND type = 'step.uncertain'"},
    {"i29", "a decision used twice", Of::kFleet, "",
     "INSERT INTO journal_rows SELECT subject_id, seq + 1000, journal_id, type, schema_version, producer_version, token, at, checksum, "
     "content_hash, chain, payload, offloaded FROM event_rows WHERE subject_id = {s} AND type = 'step.resolved'"},
    {"i31", "a secret in an event", Of::kFleet, "",
     "UPDATE journal_rows SET payload = '{{\"text\":\"the canary''s secret\"}}' WHERE subject_id = {s} AND seq = 2"},
    {"i31", "a secret in a workflow's text", Of::kFleet, "", "INSERT INTO definition_texts VALUES (sha256('x'), 'the canary''s secret')"},
    {"i31", "a secret in hex in a content", Of::kFleet, "",
     "INSERT INTO content_chunks VALUES (sha256('x'), 0, convert_to('x' || encode('the canary''s secret', 'hex'), 'UTF8'))"},
    {"i34", "a message that was not sent", Of::kFleet, "",
     "INSERT INTO outbox (subject_id, topic, key, payload, created_at) VALUES ({s}, 't', 'k', '', now())"},
    {"i34", "an input that nobody read", Of::kFleet, "",
     "UPDATE leases SET state = 0 WHERE subject_id = {s}; INSERT INTO inbox (subject_id, inbox_id, kind, payload, created_at) VALUES ({s}, "
     "gen_random_uuid(), 'signal', '{{}}', now())"},
};

// Everything that could be asked was, had something to look at, and is silent.
TEST_F(InvariantsTest, AreSilentOnWhatTheProductionCodeLeaves) {
  InvariantOptions options = FleetOptions(*fleet_db_);
  options.replay = Replay(*fleet_db_);
  const InvariantReport fleet = Check(options);
  EXPECT_TRUE(fleet.clean()) << ToText(fleet);
  options = StoryOptions(*story_db_);
  options.replay = Replay(*story_db_);
  const InvariantReport story = Check(options);
  EXPECT_TRUE(story.clean()) << ToText(story);
  ASSERT_EQ(fleet.results.size(), 36u);
  for (const InvariantResult& one : fleet.results) {
    if (one.id == "i22" || one.id == "i30" || one.id == "i33") {
      EXPECT_FALSE(one.asked || one.not_asked.empty()) << one.id;
      continue;
    }
    EXPECT_TRUE(one.asked) << one.id << ": " << one.not_asked;
    EXPECT_GT(one.examined + story.Find(one.id)->examined, 0) << one.id << " had nothing to look at";
  }
  for (const char* id : {"i14", "i28", "i29", "i15", "i23"}) EXPECT_GT(fleet.Find(id)->examined, 0) << id;
  EXPECT_NE(ToText(story).find("not asked: needs a history"), std::string::npos);
}

// Contents that were erased are no violation.
TEST_F(InvariantsTest, AreSilentOnErasedContents) {
  auto copy = test::TestDatabase::Copy(*fleet_db_);
  ASSERT_TRUE(copy.ok()) << copy.message();
  (*copy)->Exec("SELECT remove_contents(subject_id, 1000) FROM subjects");
  const InvariantReport report = Check(FleetOptions(**copy));
  EXPECT_TRUE(report.clean()) << ToText(report);
}

TEST_F(InvariantsTest, EveryCheckerFindsItsOwnViolation) {
  for (const Violation& violation : kViolations) {
    SCOPED_TRACE(fmt::format("{}: {}", violation.id, violation.name));
    const bool fleet = violation.of == Of::kFleet;
    auto copy = test::TestDatabase::Copy(fleet ? *fleet_db_ : *story_db_);
    ASSERT_TRUE(copy.ok()) << copy.message();
    const SubjectId subject = fleet ? run_ : subjects_.at(violation.subject);
    (*copy)->Exec("SET session_replication_role = replica; " + test::AsTables(violation.sql) +
                  fmt::format(fmt::runtime(violation.sql), fmt::arg("s", "'" + subject.ToString() + "'")));
    ExpectFound(Check(fleet ? FleetOptions(**copy) : StoryOptions(**copy)), violation.id, violation.name);
  }
}

Json& FirstOf(InvariantOptions& options, const char* f) {
  for (Json& one : options.history->operations) {
    if (one["f"] == f) return one;
  }
  ADD_FAILURE() << "the history has no " << f;
  return options.history->operations[0];
}

Json Again(Json operation, const char* member, const Json& value) {
  operation["op"] = "again";
  operation[member] = value;
  return operation;
}

const SeenViolation kSeenViolations[] = {
    {"i15", "an effect applied twice",
     [](InvariantOptions& o) { o.ledger->effects.push_back(Again(o.ledger->effects[0], "outcome", "applied")); }},
    {"i15", "another payload under the same key",
     [](InvariantOptions& o) {
       o.ledger->effects.push_back(Again(Again(o.ledger->effects[0], "outcome", "deduped"), "payload_hash", "q"));
     }},
    {"i16", "a zombie was heard",
     [](InvariantOptions& o) {
       Json late = Again(o.ledger->effects[0], "token", 1);
       late.update(Json{{"n", 1'000'000}, {"key", "late"}});
       o.ledger->effects.push_back(late);
     }},
    {"i17", "an acknowledged run is not there", [](InvariantOptions& o) { FirstOf(o, "start")["run"] = NewUuid7().ToString(); }},
    {"i17", "a result that the run has not", [](InvariantOptions& o) { FirstOf(o, "result")["status"] = "FAILED"; }},
    {"i18", "a run that nobody asked for", [](InvariantOptions& o) { FirstOf(o, "start")["key"] = "another"; }},
    {"i19", "two payloads under one key",
     [](InvariantOptions& o) { o.history->operations.push_back(Again(FirstOf(o, "start"), "request_hash", "other")); }},
    {"i20", "two answers to one request",
     [](InvariantOptions& o) { o.history->operations.push_back(Again(FirstOf(o, "start"), "response_hash", "other")); }},
    {"i23", "an acknowledged signal was lost", [](InvariantOptions& o) { FirstOf(o, "signal")["mark"] = "of nobody"; }},
    {"i24", "a refused run was made", [](InvariantOptions& o) { FirstOf(o, "start")["outcome"] = "fail"; }},
    {"i24", "a refused signal was received", [](InvariantOptions& o) { FirstOf(o, "signal")["outcome"] = "fail"; }},
    {"i31", "a secret in the history", [](InvariantOptions& o) { o.history->text = "x the canary's secret x"; }},
    {"i32", "another project's run was seen", [](InvariantOptions& o) { FirstOf(o, "start")["project"] = NewUuid7().ToString(); }},
    {"i35", "nothing was done during the faults", [](InvariantOptions& o) { o.min_ok_during_faults = 1'000; }},
    {"i35", "what was healed does not do its work",
     [](InvariantOptions& o) {
       for (Json& one : o.history->operations) {
         if (one["f"] == "signal") one["outcome"] = "info";
       }
     }},
    {"i36", "a storm of retries",
     [](InvariantOptions& o) {
       for (int i = 0; i < 30; ++i) o.history->operations.push_back(Again(FirstOf(o, "result"), "try", 2));
     }},
};

TEST_F(InvariantsTest, EveryCheckerOfTheHistoryFindsItsOwnViolation) {
  for (const SeenViolation& violation : kSeenViolations) {
    SCOPED_TRACE(fmt::format("{}: {}", violation.id, violation.name));
    InvariantOptions options = FleetOptions(*fleet_db_);
    violation.seed(options);
    ExpectFound(Check(options), violation.id, violation.name);
  }
}

// Who asks again for what a failover lost comes for the first time when the faults are over.
TEST_F(InvariantsTest, WhoComesAfterTheFaultsNeedNotDoFiveThings) {
  InvariantOptions options = FleetOptions(*fleet_db_);
  Json one = Again(FirstOf(options, "result"), "process", "late");
  one["phase"] = "healed";
  options.history->operations.push_back(one);
  EXPECT_EQ(Check(options).Find("i35")->found, 0);
  one["op"] = "before";
  one["phase"] = "faults";
  options.history->operations.push_back(one);
  EXPECT_EQ(Check(options).Find("i35")->found, 1) << "it was there before";
}

// Sessions and locks are seen while they are there.
TEST_F(InvariantsTest, AnOpenTransactionAndAnAdvisoryLockAreLeft) {
  pg::ConnectionSettings settings;
  settings.conninfo = fleet_db_->conninfo();
  auto other = pg::Connection::Open(settings);
  ASSERT_TRUE(other.ok()) << other.message();
  ASSERT_TRUE((*other)->Begin().ok());
  ASSERT_TRUE((*other)->RunScript("SELECT pg_advisory_lock(7)").ok());
  const InvariantReport report = Check(FleetOptions(*fleet_db_));
  EXPECT_EQ(report.Find("i34")->found, 2) << ToText(report);
}

TEST_F(InvariantsTest, ReplayFindsAnotherState) {
  auto copy = test::TestDatabase::Copy(*fleet_db_);
  ASSERT_TRUE(copy.ok()) << copy.message();
  (*copy)->Exec("SET session_replication_role = replica; UPDATE subject_head SET state_root = sha256('x')");
  (*copy)->Exec("SET session_replication_role = replica; UPDATE listings SET status = 'FAILED'");
  InvariantOptions options = FleetOptions(**copy);
  options.replay = Replay(**copy);
  const InvariantReport report = Check(options);
  ExpectFound(report, "i25", "a head of another state");
  ExpectFound(report, "i26", "a listing of another status");
}

// Every invariant that is asked has a seeded violation.
TEST_F(InvariantsTest, NoneIsUnproven) {
  std::set<std::string> seeded = {"i25", "i26"};
  for (const Violation& violation : kViolations) seeded.insert(violation.id);
  for (const SeenViolation& violation : kSeenViolations) seeded.insert(violation.id);
  InvariantOptions options = FleetOptions(*fleet_db_);
  options.replay.emplace();
  for (const InvariantResult& one : Check(options).results) {
    EXPECT_EQ(seeded.contains(one.id), one.asked) << one.id;
  }
}

TEST(History, LinesOfOneOperationAreOneAndWhatHasNoEndIsUnknown) {
  std::istringstream in(R"({"type":"header","key_prefix":"p-"}
{"op":"1","type":"invoke","process":"c","f":"start","key":"p-1","at_ms":5}
{"op":"2","type":"invoke","process":"c","f":"start","key":"p-2","at_ms":6}
{"op":"1","type":"ok","run":"r","at_ms":9}
{"op":"3","type":"invoke","process":"c","f":"signal","at_ms":7}
{"op":"3","type":"timeout","at_ms":8}
)");
  auto history = ReadHistory(in);
  ASSERT_TRUE(history.ok()) << history.message();
  EXPECT_EQ(history->key_prefix, "p-");
  ASSERT_EQ(history->operations.size(), 3u);
  EXPECT_EQ(history->operations[0]["outcome"], "ok");
  EXPECT_EQ(history->operations[0]["run"], "r");
  EXPECT_EQ(history->operations[0]["at_ms"], 5);
  EXPECT_EQ(history->operations[1]["outcome"], "info");
  EXPECT_EQ(history->operations[2]["outcome"], "info") << "never made into a failure";
  for (const char* bad : {"{\"op\":\"1\",\"type\":\"ok\"}", "[]", "{\"type\":\"invoke\"}", "{"}) {
    std::istringstream wrong(bad);
    EXPECT_FALSE(ReadHistory(wrong).ok()) << bad;
  }
}

}  // namespace
}  // namespace acl::chaos
