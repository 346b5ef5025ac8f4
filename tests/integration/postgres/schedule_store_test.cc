// One conformance test of ScheduleStore on PostgreSQL and in memory; and two coordinators' turns at once on PostgreSQL.
#include <thread>

#include "coordinator/schedules.h"
#include "shared/capability/standard.h"
#include "shared/postgres/pg_schedule_store.h"
#include "shared/telemetry/log.h"
#include "shared/workflow/workflow_kind.h"
#include "tests/integration/postgres/store_fixture.h"
#include "tests/support/memory_schedules.h"

namespace acl::schedule {
namespace {

using std::chrono::seconds;

class ScheduleStoreTest : public test::PgStoreTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    PgStoreTest::SetUp();
    db().Exec("DELETE FROM schedules");
    if (GetParam()) {
      store_ = std::make_unique<PgScheduleStore>(store().pool());
    } else {
      auto memory = std::make_unique<test::MemorySchedules>(clock_);
      memory->is_open = [this](const SubjectId& run) { return open_.contains(run); };
      memory->has_key = [this](const std::string& key) { return keys_.contains(key); };
      store_ = std::move(memory);
    }
  }

  SubjectId NewRun(const std::string& key = "") {
    CreateItem item = NewItem();
    if (!key.empty()) item.request_key = key;
    const SubjectId run = CreateOne(std::move(item));
    open_.insert(run);
    keys_.insert(key);
    return run;
  }
  void CloseRun(const SubjectId& run) {
    open_.erase(run);
    db().Exec("UPDATE leases SET state = 1 WHERE subject_id = " + Sql(run));
  }
  // Due a minute ago.
  ScheduleRow Make(const std::string& name = "s", std::int64_t ago = 60) {
    NewSchedule fresh;
    fresh.row.id = ScheduleId{NewUuid7()};
    fresh.row.name = name;
    fresh.row.definition = {"name: x", R"({"a":1})", R"({"b":"c"})", "* * * * *", "Europe/Berlin", {Overlap::kBufferOne, 90}};
    fresh.row.created_by = "me";
    fresh.row.next_fire_at = std::chrono::floor<seconds>(*schedules().Now()) - seconds(ago);
    auto made = schedules().Create(fresh);
    EXPECT_TRUE(made.ok()) << made.error();
    EXPECT_EQ(made->kind, CreateAnswer::Kind::kCreated);
    return made->row;
  }
  static Advance From(const ScheduleRow& row, std::vector<FireRow> fires) {
    return {row.id, row.version, row.next_fire_at, row.waiting_at, *row.next_fire_at + seconds(600), std::nullopt, std::move(fires), 0};
  }
  ScheduleStore& schedules() { return *store_; }

  SystemClock clock_;
  std::set<SubjectId> open_;
  std::set<std::string> keys_;
  std::unique_ptr<ScheduleStore> store_;
};

TEST_P(ScheduleStoreTest, KeepsWhatWasSaid) {
  const auto made = Make();
  auto got = schedules().Get(kDefaultProject, "s");
  ASSERT_TRUE(got.ok()) << got.error();
  EXPECT_EQ(got->id, made.id);
  EXPECT_EQ(got->definition, made.definition);
  EXPECT_EQ(got->definition.policy.overlap, Overlap::kBufferOne);
  EXPECT_EQ(got->created_by, "me");
  EXPECT_EQ(got->next_fire_at, made.next_fire_at);
  EXPECT_EQ(got->version, 1);
  Make("t");
  EXPECT_EQ(schedules().List(kDefaultProject, "", 10)->size(), 2u);
  EXPECT_EQ(schedules().List(kDefaultProject, "s", 10)->front().name, "t");
  EXPECT_TRUE(schedules().Delete(kDefaultProject, "s").ok());
  EXPECT_EQ(schedules().Delete(kDefaultProject, "s").code(), Code::kNotFound);
  EXPECT_EQ(schedules().Get(kDefaultProject, "s").code(), Code::kNotFound);
}

TEST_P(ScheduleStoreTest, CreatesOnceByKeyAndByName) {
  using Kind = CreateAnswer::Kind;
  NewSchedule fresh{Make("first"), "key", {1}};
  fresh.row.id = ScheduleId{NewUuid7()};
  EXPECT_EQ(schedules().Create(fresh)->kind, Kind::kNameTaken);
  fresh.row.name = "second";
  EXPECT_EQ(schedules().Create(fresh)->kind, Kind::kCreated);
  const auto id = fresh.row.id;
  fresh.row.id = ScheduleId{NewUuid7()};
  EXPECT_EQ(schedules().Create(fresh)->kind, Kind::kReplayed);
  EXPECT_EQ(schedules().Create(fresh)->row.id, id);
  fresh.request_hash = {2};
  EXPECT_EQ(schedules().Create(fresh)->kind, Kind::kKeyConflict);
}

TEST_P(ScheduleStoreTest, ReplacesByVersion) {
  auto row = Make();
  row.paused = true;
  row.pause_reason = "why";
  row.definition.cron = "@daily";
  auto replaced = schedules().Replace(row, true);
  ASSERT_TRUE(replaced.ok()) << replaced.error();
  EXPECT_EQ(replaced->version, 2);
  EXPECT_EQ(replaced->definition.cron, "@daily");
  EXPECT_EQ(schedules().Replace(row, true).code(), Code::kConflict);
  EXPECT_TRUE(schedules().Due(10)->due.empty()) << "paused";
}

TEST_P(ScheduleStoreTest, DueNamesOpenRunsAndRunsThatNobodyRecorded) {
  Make("later", -3'600);
  auto answer = schedules().Due(10);
  ASSERT_TRUE(answer.ok()) << answer.error();
  EXPECT_TRUE(answer->due.empty());
  EXPECT_TRUE(answer->next_fire.has_value());
  const auto row = Make();
  answer = schedules().Due(10);
  ASSERT_EQ(answer->due.size(), 1u);
  EXPECT_TRUE(answer->due[0].open_runs.empty());
  EXPECT_TRUE(answer->due[0].started.empty());
  const auto nominal = MicrosOf(*row.next_fire_at) / 1'000'000;
  const auto run = NewRun(RequestKeyOf(row.id, nominal));
  EXPECT_EQ(schedules().Due(10)->due[0].started, std::vector<std::int64_t>{nominal});
  auto advance = From(row, {{*row.next_fire_at, "started", run, "", {}}});
  advance.next = row.next_fire_at.value() + seconds(1);
  EXPECT_TRUE(*schedules().Record(advance));
  answer = schedules().Due(10);
  ASSERT_EQ(answer->due.size(), 1u);
  EXPECT_EQ(answer->due[0].open_runs, std::vector<SubjectId>{run});
  CloseRun(run);
  EXPECT_TRUE(schedules().Due(10)->due[0].open_runs.empty());
}

TEST_P(ScheduleStoreTest, MovesOnOnceWhateverIsRecorded) {
  const auto row = Make();
  const auto run = NewRun();
  EXPECT_TRUE(*schedules().Record(From(row, {{*row.next_fire_at, "skipped_overlap", std::nullopt, "a", {}}})));
  // Somebody slower made the run: that is what is kept; nothing moves.
  EXPECT_FALSE(*schedules().Record(
      From(row, {{*row.next_fire_at, "started", run, "", {}}, {*row.next_fire_at + seconds(1), "missed", std::nullopt, "", {}}})));
  auto fires = schedules().Fires(row.id, 10);
  ASSERT_EQ(fires->size(), 1u);
  EXPECT_EQ(fires->front().outcome, "started");
  EXPECT_EQ(fires->front().run, run);
  auto now = *schedules().Get(kDefaultProject, "s");
  EXPECT_EQ(now.skipped, 1);
  EXPECT_EQ(now.next_fire_at, *row.next_fire_at + seconds(600));
  EXPECT_EQ(now.version, 1);
  // What waits comes back as due.
  auto waiting = From(now, {});
  waiting.waiting = now.next_fire_at;
  waiting.next.reset();
  waiting.missed = 7;
  EXPECT_TRUE(*schedules().Record(waiting));
  EXPECT_EQ(schedules().Get(kDefaultProject, "s")->missed, 7);
  auto due = schedules().Due(10);
  EXPECT_TRUE(due->some_wait);
  ASSERT_EQ(due->due.size(), 1u);
  EXPECT_EQ(due->due[0].row.waiting_at, now.next_fire_at);
  EXPECT_EQ(due->due[0].row.next_fire_at, std::nullopt);
}

// A change is made of what was read; a fire time may have been dealt with meanwhile.
TEST_P(ScheduleStoreTest, AChangeDoesNotTakeBackWhatFiringMoved) {
  auto row = Make();
  EXPECT_TRUE(*schedules().Record(From(row, {})));
  row.definition.inputs = R"({"a":2})";
  auto changed = schedules().Replace(row, false);
  ASSERT_TRUE(changed.ok()) << changed.error();
  EXPECT_EQ(changed->definition.inputs, R"({"a":2})");
  EXPECT_EQ(changed->next_fire_at, *row.next_fire_at + seconds(600));
  row.version = 2;
  EXPECT_EQ(schedules().Replace(row, true)->next_fire_at, row.next_fire_at) << "a new one, it says";
}

// Who said that a run starts may have died before it wrote down that it did.
TEST_P(ScheduleStoreTest, AChangeForgetsWhatWaitsUnlessItHasBegun) {
  for (const bool begun : {false, true}) {
    auto row = Make(begun ? "begun" : "waits");
    auto waiting = From(row, {});
    waiting.waiting = row.next_fire_at;
    EXPECT_TRUE(*schedules().Record(waiting));
    if (begun) NewRun(RequestKeyOf(row.id, MicrosOf(*row.next_fire_at) / 1'000'000));
    auto changed = schedules().Replace(row, false);
    ASSERT_TRUE(changed.ok()) << changed.error();
    EXPECT_EQ(changed->waiting_at, begun ? row.next_fire_at : std::nullopt);
  }
}

// However soon they would be due again: one whose run has ended could start.
TEST_P(ScheduleStoreTest, ThoseThatOnlyWaitComeLast) {
  for (int n = 0; n < 4; ++n) {
    const auto row = Make(n == 3 ? "may start" : "waits " + std::to_string(n), 600);
    const SubjectId run = NewRun();
    auto started = From(row, {{*row.next_fire_at, "started", run, "", {}}});
    started.next = *schedules().Now() + seconds(n == 3 ? 86'400 : 30);
    started.waiting = row.next_fire_at;
    EXPECT_TRUE(*schedules().Record(started));
    if (n == 3) CloseRun(run);
  }
  auto answer = schedules().Due(1);
  ASSERT_EQ(answer->due.size(), 1u);
  EXPECT_EQ(answer->due[0].row.name, "may start");
  EXPECT_EQ(schedules().Due(10)->due.size(), 4u);
}

TEST_P(ScheduleStoreTest, ATriggeredRunIsRecordedOnce) {
  const auto row = Make();
  const auto run = NewRun();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(schedules().RecordTriggered(row.id, run, "by me").ok());
  EXPECT_EQ(schedules().Fires(row.id, 10)->size(), 1u);
  EXPECT_EQ(schedules().Get(kDefaultProject, "s")->started, 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, ScheduleStoreTest, ::testing::Values(true, false),
                         [](const auto& which) { return which.param ? "PostgreSQL" : "Memory"; });

class ScheduleTurns : public test::PgStoreTest {};

TEST_F(ScheduleTurns, OldFiresAreRemovedButNotOpenRuns) {
  db().Exec("DELETE FROM schedules");
  PgScheduleStore schedules(store().pool());
  NewSchedule fresh;
  fresh.row.id = ScheduleId{NewUuid7()};
  fresh.row.name = "many";
  fresh.row.next_fire_at = *schedules.Now();
  auto row = schedules.Create(fresh)->row;
  const SubjectId run = CreateOne();
  for (int i = 0; i < 150; ++i) {
    Advance advance{row.id, 1, row.next_fire_at, {}, *row.next_fire_at + seconds(1), {}, {}, 0};
    advance.fires.push_back({*row.next_fire_at, i == 0 ? "started" : "failed", i == 0 ? std::optional(run) : std::nullopt, "", {}});
    ASSERT_TRUE(*schedules.Record(advance));
    row.next_fire_at = advance.next;
  }
  const auto fires = *schedules.Fires(row.id, 1'000);
  EXPECT_LE(fires.size(), 103u);
  EXPECT_EQ(fires.back().run, run) << "its run is open";
}

// Four coordinators at once over schedules that fire each second and may overlap: one run of each fire time, none left out.
TEST_F(ScheduleTurns, AtOnceTheyStartEachFireTimeOnce) {
  using namespace acl::coordinator;
  db().Exec("DELETE FROM schedules");
  SetLogLevel(LogLevel::kOff);
  PgScheduleStore schedules(store().pool());
  SystemClock clock;
  SystemRandom random;
  Uuid7Maker ids(clock, random);
  auto registry = std::make_shared<CapabilityRegistry>();
  RegisterStandardCapabilities(*registry, {});
  const auto kind = workflow::MakeWorkflowKind(registry);
  const auto now = std::chrono::floor<seconds>(*schedules.Now());
  constexpr int kSchedules = 5, kDue = 20;
  for (int i = 0; i < kSchedules; ++i) {
    NewSchedule fresh;
    fresh.row.id = ids.New<ScheduleId>();
    fresh.row.name = "s" + std::to_string(i);
    fresh.row.definition = {"name: x\nsteps:\n  - {name: a, capability: test.echo, inputs: {text: hi}}\n",
                            "{}",
                            "{}",
                            "* * * * * *",
                            "UTC",
                            {Overlap::kAllow, 3'600}};
    fresh.row.next_fire_at = now - seconds(kDue - 1);
    ASSERT_TRUE(schedules.Create(fresh));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Metrics metrics;
      Tick tick = SchedulesJob({schedules, {store(), *registry, *kind, ids}, metrics, {}}, std::chrono::milliseconds(50));
      while (db().Count("SELECT count(*) FROM schedules WHERE next_fire_at <= '" + FormatWallTime(now) + "'") > 0) (void)tick();
    });
  }
  for (auto& thread : threads) thread.join();
  SetLogLevel(LogLevel::kInfo);
  const std::string until = " AND nominal_at <= '" + FormatWallTime(now) + "'";
  EXPECT_EQ(db().Count("SELECT count(*) FROM schedule_fires WHERE outcome = 'started'" + until), kSchedules * kDue);
  EXPECT_EQ(db().Count("SELECT count(DISTINCT subject_id) FROM schedule_fires WHERE outcome = 'started'" + until), kSchedules * kDue);
  EXPECT_EQ(db().Count("SELECT count(*) FROM schedule_fires WHERE outcome <> 'started'"), 0);
  EXPECT_EQ(db().Count("SELECT count(*) FROM request_keys WHERE request_key LIKE 'schedule:%'"),
            db().Count("SELECT count(*) FROM listings WHERE labels::jsonb ? 'schedule'"))
      << "a run for each key";
  EXPECT_EQ(db().Count("SELECT count(*) FROM listings WHERE labels::jsonb ? 'schedule'"),
            db().Count("SELECT count(*) FROM schedule_fires WHERE outcome = 'started'"));
}

}  // namespace
}  // namespace acl::schedule
