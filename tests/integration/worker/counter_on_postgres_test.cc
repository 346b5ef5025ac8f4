// The second kind of subject on real PostgreSQL, through the production shell: create, claim, group commit, fused intent, retries by
// timers, signals, direct commands, drain and takeover by reaping. No doorbell anywhere: polling alone ends every run.

#include <gtest/gtest.h>

#include <future>

#include "shared/base/uuid7.h"
#include "shared/journal/event.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/pg_store.h"
#include "tests/support/counter_kind.h"
#include "tests/support/script_runner.h"
#include "tests/support/test_database.h"
#include "worker/shell.h"

namespace acl::test {
namespace {

class CounterOnPostgres : public DatabaseTest {
 protected:
  CounterOnPostgres() : kind_(std::make_shared<CounterKind>()) { kinds_.Add(kind_); }

  void SetUp() override {
    DatabaseTest::SetUp();
    PgStoreOptions options;
    options.conninfo = db().conninfo();
    store_ = std::make_unique<PgStore>(options);
    queue_ = std::make_unique<PostgresDriver>(*store_);
    queries_ = std::make_unique<PgQueries>(*store_);
    runner_.SetDefault([](const StepCall&) {
      StepResult result;
      result.outputs = Json{{"add", 1}};
      return result;
    });
  }

  WorkerConfig Config(const std::string& name, milliseconds ttl = milliseconds(10'000)) {
    WorkerConfig config;
    config.session.worker_name = name;
    config.session.ttl = ttl;
    config.session.queues = {"default"};
    config.trust_margin = ttl / 10;
    config.heartbeat_every = ttl / 4;
    config.poll_max = milliseconds(100);
    return config;
  }

  std::unique_ptr<WorkerShell> StartWorker(WorkerConfig config) {
    auto shell = std::make_unique<WorkerShell>(std::move(config), *store_, *queue_, runner_, kinds_, clock_);
    shell->Start();
    return shell;
  }

  SubjectId Create(const CounterOptions& options) {
    SubjectId id{NewUuid7()};
    CreateItem item = kind_->MakeCreateItem(id, options);
    auto created = store_->Create(std::span(&item, 1));
    EXPECT_TRUE(created.ok()) << created.message();
    return id;
  }

  // Until the subject is as wanted; upkeep is done meanwhile, as coordinators do.
  bool Await(const SubjectId& id, const std::function<bool(const SubjectView&)>& wanted) {
    const auto until = std::chrono::steady_clock::time_point(clock_.Steady()) + std::chrono::seconds(60);
    while (clock_.Steady() < until) {
      (void)store_->Reap(100).ok();
      (void)store_->FireTimers(100).ok();
      auto view = queries_->GetSubject(id);
      if (view && wanted(*view)) return true;
    }
    return false;
  }
  bool AwaitClosed(const SubjectId& id) {
    return Await(id, [](const SubjectView& view) { return view.state == OpenState::kClosed; });
  }

  // Chain, checksums and roots of the whole journal; the types of its events.
  std::vector<std::string> SoundJournal(const SubjectId& id) {
    auto events = queries_->Events(id, 0, 10'000);
    EXPECT_TRUE(events.ok());
    auto restored = Restore(id, std::nullopt, *events, [](const Hash256&) -> Result<std::string> { return Error{Code::kNotFound, ""}; });
    EXPECT_TRUE(restored.ok()) << restored.message();
    std::vector<std::string> types;
    for (const Event& event : *events) types.push_back(event.type);
    return types;
  }
  static int Count(const std::vector<std::string>& types, const std::string& type) {
    return int(std::count(types.begin(), types.end(), type));
  }

  SystemClock clock_;
  std::shared_ptr<CounterKind> kind_;
  KindRegistry kinds_;
  std::unique_ptr<PgStore> store_;
  std::unique_ptr<PostgresDriver> queue_;
  std::unique_ptr<PgQueries> queries_;
  ScriptRunner runner_;
};

TEST_F(CounterOnPostgres, ManyRunToTheirEndOnTwoWorkers) {
  std::vector<SubjectId> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(Create({.steps = 1 + i % 7}));
  auto first = StartWorker(Config("first")), second = StartWorker(Config("second"));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(AwaitClosed(ids[i]));
    EXPECT_EQ(Count(SoundJournal(ids[i]), "step.completed"), 1 + int(i) % 7);
  }
  EXPECT_EQ(first->status().counts.fenced + second->status().counts.fenced, 0);
}

TEST_F(CounterOnPostgres, AFailedStepIsTriedAgainByItsTimer) {
  StepResult failed;
  failed.outcome = StepResult::Outcome::kFailed;
  failed.error = "not yet";
  StepResult good;
  good.outputs = Json{{"add", 5}};
  runner_.Set("step0", {failed, good});
  auto worker = StartWorker(Config("w"));
  SubjectId id = Create({.steps = 1, .effects = "i"});
  ASSERT_TRUE(AwaitClosed(id));
  const auto types = SoundJournal(id);
  EXPECT_EQ(Count(types, "step.attempt_failed"), 1);
  EXPECT_EQ(Count(types, "step.retry_due"), 1);
  EXPECT_EQ(Count(types, "step.completed"), 1);
}

TEST_F(CounterOnPostgres, SignalsAndDirectCommandsReachTheJournalOnce) {
  auto worker = StartWorker(Config("w"));
  SubjectId id = Create({.steps = 1, .effects = "p", .wait_for_stop = true});
  ASSERT_TRUE(Await(id, [](const SubjectView& view) { return view.state == OpenState::kWaiting; }));
  auto direct = store_->Direct(id, kind_->Increment(3));
  ASSERT_TRUE(direct.ok()) << direct.message();
  for (int i = 0; i < 20; ++i) {
    InboxPost post{id, InboxId{NewUuid7()}, "signal", "{\"n\":1}", std::nullopt};
    ASSERT_TRUE(store_->Post(post).ok());
  }
  InboxPost stop{id, InboxId{NewUuid7()}, "stop", "{}", std::nullopt};
  ASSERT_TRUE(store_->Post(stop).ok());
  ASSERT_TRUE(AwaitClosed(id));
  const auto types = SoundJournal(id);
  EXPECT_EQ(Count(types, "counter.incremented"), 1);
  EXPECT_EQ(Count(types, "signal.received"), 20);
  EXPECT_EQ(Count(types, "counter.stopped"), 1);
  auto late = store_->Post({id, InboxId{NewUuid7()}, "signal", "{}", std::nullopt});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.code(), Code::kConflict);
}

TEST_F(CounterOnPostgres, DrainGivesEverythingBackAndAnotherGoesOn) {
  runner_.Hold("step1");
  auto first = StartWorker(Config("first"));
  SubjectId id = Create({.steps = 3, .effects = "i"});
  ASSERT_TRUE(Await(id, [&](const SubjectView&) { return runner_.CallsOf("step1") == 1; }));
  first->Drain();
  EXPECT_FALSE(first->WaitFinished(milliseconds(0))) << "a step still runs";
  ASSERT_TRUE(runner_.Release("step1"));
  ASSERT_TRUE(first->WaitFinished(milliseconds(30'000)));
  auto view = queries_->GetSubject(id);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->state, OpenState::kReady);
  first->Stop();
  auto second = StartWorker(Config("second"));
  ASSERT_TRUE(AwaitClosed(id));
  const auto types = SoundJournal(id);
  EXPECT_EQ(Count(types, "step.completed"), 3);
  EXPECT_EQ(Count(types, "step.attempt_lost"), 0) << "nothing was lost by a clean end";
}

TEST_F(CounterOnPostgres, ADeadWorkersRunIsTakenOverUnderAHigherTokenAndItsLateResultIsRefused) {
  runner_.Hold("step0");
  auto first = StartWorker(Config("first", milliseconds(1'000)));
  SubjectId id = Create({.steps = 2, .effects = "i"});
  ASSERT_TRUE(Await(id, [&](const SubjectView&) { return runner_.CallsOf("step0") == 1; }));
  const Token old_token = queries_->GetSubject(id)->token;
  // As if the process had been stopped: nothing is decided, no heartbeat goes out.
  first->StopDeciding();
  auto second = StartWorker(Config("second"));
  ASSERT_TRUE(Await(id, [&](const SubjectView&) { return runner_.CallsOf("step0") == 2; }));
  // The first call is the dead worker's: it ends into nothing.
  ASSERT_TRUE(runner_.Release("step0"));
  ASSERT_TRUE(runner_.Release("step0"));
  ASSERT_TRUE(AwaitClosed(id));
  auto view = queries_->GetSubject(id);
  EXPECT_GT(view->token, old_token);
  const auto types = SoundJournal(id);
  EXPECT_EQ(Count(types, "step.attempt_lost"), 1);
  EXPECT_EQ(Count(types, "step.completed"), 2);
  EXPECT_EQ(db().Count("select count(*) from step_attempts where workflow_id = '" + id.ToString() + "' and step_id = 'step0'"), 2);
}

}  // namespace
}  // namespace acl::test
