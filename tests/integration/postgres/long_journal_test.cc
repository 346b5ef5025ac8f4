// A subject with very many events: what claiming it and committing to it read does not grow with them, counted in rows by PostgreSQL
// itself.
#include <fmt/format.h>

#include "shared/base/uuid7.h"
#include "shared/kernel/roll.h"
#include "shared/postgres/commit_statement.h"
#include "shared/verify/verify.h"
#include "tests/support/store_conformance.h"
#include "tests/support/test_database.h"

namespace acl::test {
namespace {

constexpr int kEventsOfAnItem = 256;
constexpr std::int64_t kManyEvents = 100'000;

class LongJournal : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    PgStoreOptions options;
    options.conninfo = db().conninfo();
    options.connections = options.commit_connections = 1;
    options.statement_timeout = options.lock_timeout = milliseconds(60'000);
    store_ = std::make_unique<PgStore>(options);
    auto session = store_->OpenSession({.worker_name = "w", .slots = 8, .queues = {"long"}, .ttl = milliseconds(100'000'000)});
    ASSERT_TRUE(session.ok()) << session.message();
    session_ = session->session;
    CreateItem item;
    item.subject = SubjectId{NewUuid7()};
    item.kind = "counter";
    item.queue = "long";
    Event event;
    event.type = "test.created";
    event.payload = "{}";
    item.events.push_back(std::move(event));
    ASSERT_TRUE(store_->Create({&item, 1}).ok());
    ClaimRequest claim;
    claim.session = session_;
    claim.queues = {"long"};
    auto claimed = store_->Claim(claim);
    ASSERT_TRUE(claimed.ok() && claimed->claimed.size() == 1u) << claimed.message();
    holder_ = std::make_unique<Holder>(std::move(claimed->claimed.front()), session_);
    pg::ConnectionSettings settings;
    settings.conninfo = db().conninfo();
    settings.role = "acl_service";
    auto connection = pg::Connection::Open(settings);
    ASSERT_TRUE(connection.ok()) << connection.message();
    connection_ = std::move(*connection);
  }

  // Each event begins a step and completes the one before: one is open at any time.
  CommitItem NextItem(int events) {
    CommitItem item = RollDue(holder_->seq(), first_) ? holder_->RollingItem(events - 1) : holder_->Item(events);
    for (const Event& event : item.events) {
      item.attempts.push_back({fmt::format("s{}", event.seq), 1, {}, event.timestamp});
      if (event.seq > 2) item.completions.push_back({fmt::format("s{}", event.seq - 1), 1, event.timestamp, Hash256{}, event.seq});
    }
    return item;
  }
  void Landed(const CommitItem& item) {
    holder_->Landed(item);
    if (item.begins_journal) first_ = item.base_seq + 1, ++rolls_;
  }
  // Until it has so many events, and the last of its journals `into`.
  void GoTo(std::int64_t events, std::int64_t into) {
    while (holder_->seq() < events || holder_->seq() - first_ < into) {
      const CommitItem item = NextItem(kEventsOfAnItem);
      auto outcomes = store_->Commit(std::span(&item, 1));
      ASSERT_TRUE(outcomes.ok()) << outcomes.message();
      ASSERT_EQ(outcomes->front().kind, CommitOutcome::Kind::kCommitted) << outcomes->front().error;
      Landed(item);
    }
  }

  using RowsRead = std::map<std::string, std::int64_t>;  // by table
  RowsRead Counts() {
    auto rows = connection_->RunScript(
        "SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables "
        "WHERE coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) > 0");
    EXPECT_TRUE(rows.ok()) << rows.message();
    RowsRead counts;
    for (int i = 0; rows && i < rows->size(); ++i) counts[rows->Text(i, 0)] = rows->Int(i, 1);
    return counts;
  }
  // What `run` reads in a transaction, which is kept.
  RowsRead Reads(const std::function<void()>& run) {
    EXPECT_TRUE(connection_->Begin().ok());
    const RowsRead before = Counts();
    run();
    RowsRead after = Counts();
    EXPECT_TRUE(connection_->Commit().ok());
    for (const auto& [table, count] : before) after[table] -= count;
    std::erase_if(after, [](const auto& one) { return one.second == 0; });
    return after;
  }
  RowsRead OfAClaim() {
    return Reads([&] {
      auto rows = connection_->RunScript(fmt::format(
          "SELECT count(*) FROM read_granted(ROW(now(), ARRAY['{}'::uuid], ARRAY[1::bigint], ARRAY[0::bigint], ARRAY[0], ARRAY[false], "
          "'{{}}'::uuid[], 0, 0, NULL)::granted)",
          holder_->subject().ToString()));
      ASSERT_TRUE(rows.ok()) << rows.message();
    });
  }
  RowsRead OfACommit() {
    const CommitItem item = NextItem(2);
    const RowsRead reads = Reads([&] {
      const pg::CommitForm form = pg::FormOf({&item, 1});
      auto types = connection_->SentTypes();
      ASSERT_TRUE(types.ok()) << types.message();
      auto rows = connection_->Run(pg::CommitStatement(form), pg::BindCommit({&item, 1}, form, false, **types));
      ASSERT_TRUE(rows.ok()) << rows.message();
      ASSERT_EQ(pg::DecodeCommit(*rows, {&item, 1}).front().kind, CommitOutcome::Kind::kCommitted);
    });
    Landed(item);
    return reads;
  }
  // A claim, a commit, and the commit with which the next journal begins.
  struct Cost {
    RowsRead claim, commit, roll;
  };
  Cost MeasureFrom(std::int64_t events) {
    Cost cost;
    GoTo(events, 512);
    cost.claim = OfAClaim();
    cost.commit = OfACommit();
    GoTo(events, kSegmentEvents - 1);
    cost.roll = OfACommit();
    return cost;
  }
  static void ExpectNoMore(const char* what, const RowsRead& late, const RowsRead& early) {
    constexpr std::int64_t kNoise = 16;  // an item's events lie across the place where a journal ends a little differently
    for (const auto& [table, count] : late) {
      const auto before = early.find(table);
      EXPECT_LE(count, (before == early.end() ? 0 : before->second) + kNoise) << what << " reads more of " << table;
    }
  }

  std::unique_ptr<PgStore> store_;
  std::unique_ptr<pg::Connection> connection_;
  std::unique_ptr<Holder> holder_;
  WorkerSessionId session_;
  std::int64_t first_ = 1;
  int rolls_ = 0;
};

TEST_F(LongJournal, OfAHundredThousandEventsIsClaimedAndWrittenAsOneOfAFewThousand) {
  GoTo(2 * kSegmentEvents, 0);
  // The tables hold others' rows too: of a handful PostgreSQL would read all.
  db().Exec(
      "SET session_replication_role = replica; INSERT INTO snapshot_rows (subject_id, last_event_seq, snapshot_id, schema_version, token, "
      "state_root, chain, inline_state, created_at) SELECT gen_random_uuid(), n, gen_random_uuid(), 1, 1, sha256('r'), sha256('c'), '{}', "
      "now() "
      "FROM generate_series(1, 5000) n; INSERT INTO journal_segments (subject_id, first_seq, journal_id, token, began_at) SELECT "
      "gen_random_uuid(), 2, gen_random_uuid(), 1, now() FROM generate_series(1, 5000) n; INSERT INTO journal_rows (subject_id, seq, "
      "journal_id, "
      "type, schema_version, producer_version, token, at, checksum, chain, payload) SELECT o.id, s, o.id, 't', 1, 'p', 1, now(), "
      "sha256('a'), "
      "sha256('a'), '{}' FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 5000)) o, generate_series(1, 40) s; "
      "SET session_replication_role = origin; ANALYZE");
  const Cost early = MeasureFrom(2 * kSegmentEvents);
  ASSERT_GE(rolls_, 3);
  EXPECT_LE(early.claim.at("journal_rows"), 3 * kSegmentEvents) << "events since the snapshot, and the attempts of one journal";
  const Cost late = MeasureFrom(kManyEvents);
  ASSERT_GE(holder_->seq(), kManyEvents);
  EXPECT_GE(rolls_, kManyEvents / (kSegmentEvents + kEventsOfAnItem));
  ExpectNoMore("a claim", late.claim, early.claim);
  ExpectNoMore("a commit", late.commit, early.commit);
  ExpectNoMore("a commit that begins a journal", late.roll, early.roll);

  // Journals that are dropped take nothing with them that is needed.
  verify::VerifyOptions options;
  options.conninfo = db().conninfo();
  auto report = verify::VerifySubject(options, holder_->subject());
  ASSERT_TRUE(report.ok()) << report.message();
  EXPECT_TRUE(report->clean()) << verify::ToText(*report);
  EXPECT_EQ(report->checked["journal.hashes"], holder_->seq());
  db().Exec(
      "SET session_replication_role = replica; UPDATE journal_segments SET began_at = began_at - interval '2 hours'; "
      "SET session_replication_role = origin");
  std::int64_t dropped = 0;
  for (bool more = true; more;) {
    auto answer = store_->DropSegments(kLeastJournalRetention, 10);
    ASSERT_TRUE(answer.ok()) << answer.message();
    dropped += answer->events;
    more = answer->more;
  }
  EXPECT_EQ(dropped, first_ - 1);
  ExpectNoMore("a claim without the old journals", OfAClaim(), early.claim);
  report = verify::VerifySubject(options, holder_->subject());
  ASSERT_TRUE(report.ok()) << report.message();
  EXPECT_TRUE(report->clean()) << verify::ToText(*report);
  EXPECT_EQ(report->checked["journal.hashes"], holder_->seq() - dropped);
  EXPECT_EQ(db().Count("SELECT count(*) FROM completion_rows"), db().Count("SELECT count(*) FROM attempt_rows") - 1) << "one is open";
}

}  // namespace
}  // namespace acl::test
