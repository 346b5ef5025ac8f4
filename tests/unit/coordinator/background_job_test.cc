#include "coordinator/background_job.h"

#include <deque>
#include <future>

#include "coordinator/jobs.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/telemetry/names.h"
#include "tests/support/faulty_store.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;

// Counts ticks and lets a test wait for one.
class TurnCounter {
 public:
  Result<milliseconds> Note() {
    std::lock_guard lock(mutex_);
    ++ticks_;
    changed_.notify_all();
    return milliseconds(1);
  }
  bool AwaitMore(int than) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return ticks_ > than; });
  }
  int ticks() {
    std::lock_guard lock(mutex_);
    return ticks_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int ticks_ = 0;
};

class BackgroundJobTest : public ::testing::Test {
 protected:
  BackgroundJobTest() {
    SetLogLevel(LogLevel::kOff);
    EXPECT_TRUE(watch_.Start().ok());
    EXPECT_TRUE(watch_.AwaitReady(milliseconds(20'000)));
  }
  ~BackgroundJobTest() override { SetLogLevel(LogLevel::kInfo); }

  WorkerSessionId Session() { return store_.OpenSession({.worker_name = "c", .ttl = milliseconds(600'000)})->session; }
  std::unique_ptr<BackgroundJob> Make(TurnCounter& counter, milliseconds ttl, std::function<void()> on_lost = {}) {
    BackgroundJob::Options options{"test", [&counter] { return counter.Note(); }, std::move(on_lost)};
    return std::make_unique<BackgroundJob>(std::move(options), Leases(ttl), watch_, clock_, nullptr);
  }
  // Of another process each time.
  LeaderLeases& Leases(milliseconds ttl = milliseconds(600'000)) {
    LeaderLeases::Options options{ttl, Session(), {"test", "other"}};
    return leases_.emplace_back(std::move(options), store_, clock_);
  }

  SystemClock clock_;
  MemoryStore store_{clock_};
  std::deque<LeaderLeases> leases_;
  DatabaseWatch watch_{[] { return DatabaseState{true, ""}; }, nullptr};
};

TEST_F(BackgroundJobTest, TurnsWhileItHoldsTheLeaseAndStops) {
  TurnCounter counter;
  bool lost = false;
  auto job = Make(counter, milliseconds(600'000), [&] { lost = true; });
  ASSERT_TRUE(job->Start().ok());
  EXPECT_TRUE(counter.AwaitMore(3));
  EXPECT_TRUE(job->held());
  job->Stop();
  job->Stop();
  EXPECT_FALSE(job->held());
  EXPECT_TRUE(lost);
}

TEST_F(BackgroundJobTest, OnlyOneOfTwoTurns) {
  TurnCounter first_turns, second_turns;
  auto first = Make(first_turns, milliseconds(600'000)), second = Make(second_turns, milliseconds(600'000));
  ASSERT_TRUE(first->Start().ok());
  ASSERT_TRUE(first_turns.AwaitMore(0));
  ASSERT_TRUE(second->Start().ok());
  ASSERT_TRUE(first_turns.AwaitMore(first_turns.ticks() + 20));
  EXPECT_EQ(second_turns.ticks(), 0);
  first->Stop();
  second->Stop();
}

TEST_F(BackgroundJobTest, AnotherTakesOverWhenTheHolderIsSilent) {
  TurnCounter first_turns, second_turns;
  auto first = Make(first_turns, milliseconds(100)), second = Make(second_turns, milliseconds(100));
  ASSERT_TRUE(first->Start().ok());
  ASSERT_TRUE(first_turns.AwaitMore(0));
  ASSERT_TRUE(second->Start().ok());
  first->Stop();  // it does not give the lease back: the other waits it out, as after a crash
  EXPECT_TRUE(second_turns.AwaitMore(3));
  EXPECT_TRUE(second->held());
}

// Its process holds the leases of all jobs with one statement: while one of them ends a long tick, nobody renews those of the others.
TEST_F(BackgroundJobTest, WhoBeginsToStopRenewsNothing) {
  LeaderLeases& leases = Leases(milliseconds(300));
  std::promise<void> in_turn, go;
  TurnCounter counter;
  BackgroundJob other({"other", [&]() -> Result<milliseconds> { return counter.Note(); }, {}}, leases, watch_, clock_, nullptr);
  BackgroundJob busy({"test",
                      [&, first = true]() mutable -> Result<milliseconds> {
                        if (std::exchange(first, false)) {
                          in_turn.set_value();
                          go.get_future().wait();
                        }
                        return milliseconds(1);
                      },
                      {}},
                     leases, watch_, clock_, nullptr);
  ASSERT_TRUE(busy.Start().ok());
  in_turn.get_future().wait();
  ASSERT_TRUE(other.Start().ok());
  ASSERT_TRUE(counter.AwaitMore(0));
  busy.BeginToStop();
  other.BeginToStop();
  TurnCounter taken;
  auto next = Make(taken, milliseconds(300));
  ASSERT_TRUE(next->Start().ok());
  EXPECT_TRUE(taken.AwaitMore(0)) << "another process has it while this one ends its tick";
  go.set_value();
  busy.Stop(), other.Stop(), next->Stop();
}

TEST_F(BackgroundJobTest, WaitsForTheDatabase) {
  std::atomic<bool> up{false};
  DatabaseWatch watch(
      [&]() -> Result<DatabaseState> {
        if (!up) return Error{Code::kUnavailable, "away"};
        return DatabaseState{true, ""};
      },
      nullptr);
  ASSERT_TRUE(watch.Start().ok());
  TurnCounter counter;
  BackgroundJob job({"test", [&] { return counter.Note(); }, {}}, Leases(), watch, clock_, nullptr);
  ASSERT_TRUE(job.Start().ok());
  EXPECT_EQ(counter.ticks(), 0);
  up = true;
  EXPECT_TRUE(counter.AwaitMore(0));
  job.Stop();
}

// Renewing the lease is no reason for a tick; being woken is.
TEST_F(BackgroundJobTest, TurnsFarApartStayFarApart) {
  TurnCounter rare, often;
  LeaderLeases& leases = Leases(milliseconds(60));
  const auto tick = [&]() -> Result<milliseconds> {
    (void)rare.Note();
    return milliseconds(3'600'000);
  };
  BackgroundJob job({"test", tick, {}}, leases, watch_, clock_, nullptr),
      other({"other", [&] { return often.Note(); }, {}}, leases, watch_, clock_, nullptr);
  ASSERT_TRUE(job.Start().ok());
  ASSERT_TRUE(rare.AwaitMore(0));
  ASSERT_TRUE(other.Start().ok());
  ASSERT_TRUE(often.AwaitMore(300));  // of a millisecond and more each: many renewals
  EXPECT_EQ(rare.ticks(), 1);
  job.Wake();
  EXPECT_TRUE(rare.AwaitMore(1));
  job.Stop();
  other.Stop();
}

TEST_F(BackgroundJobTest, AFailingTurnIsTriedAgain) {
  TurnCounter counter;
  std::atomic<int> failures{0};
  BackgroundJob job({"test",
                     [&]() -> Result<milliseconds> {
                       if (failures++ < 3) return Error{Code::kTimeout, "slow"};
                       return counter.Note();
                     },
                     {}},
                    Leases(), watch_, clock_, nullptr);
  ASSERT_TRUE(job.Start().ok());
  EXPECT_TRUE(counter.AwaitMore(0));
  job.Stop();
  EXPECT_GE(failures, 4);
}

TEST(LeaderLeasesTest, OneStatementServesAllJobsOfAProcess) {
  test::ManualClock clock;
  MemoryStore store(clock);
  LeaderLeases leases({milliseconds(3'000), WorkerSessionId{NewUuid7()}, {"a", "b", "c"}}, store, clock);
  const auto expiry = [&](const char* name) {
    auto held = leases.Hold(name);
    EXPECT_TRUE(held && held->lease && held->lease->name == name);
    clock.Advance(milliseconds(1));  // a statement of its own would say a later time
    return held->lease->expires_at;
  };
  const WallTime first = expiry("a");
  EXPECT_EQ(expiry("b"), first);
  EXPECT_EQ(expiry("c"), first);
  clock.Advance(milliseconds(990));
  EXPECT_EQ(expiry("a"), first);
  clock.Advance(milliseconds(10));
  const WallTime renewed = expiry("c");
  EXPECT_GT(renewed, first) << "a third of the TTL has gone: renewed, for all";
  EXPECT_EQ(expiry("a"), renewed);
}

class TurnsTest : public ApiFixture {
 protected:
  JobContext context_{store_, queries_, clock_, metrics_, [this](const std::string& queue) { notified_.push_back(queue); }};
};

TEST_F(TurnsTest, TimersFireAndWaitForTheNext) {
  Submit();
  auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(600'000)});
  auto claimed = store_.Claim({.session = session->session, .max = 1});
  const Claimed& run = claimed->claimed.at(0);
  CommitItem item{.subject = run.subject,
                  .session = session->session,
                  .token = run.token,
                  .base_seq = run.head.seq,
                  .chain = run.head.chain,
                  .state_root = run.head.state_root,
                  .last_timestamp = run.head.last_timestamp};
  for (const auto& timer : run.timers) item.timers_cleared.push_back(timer.timer_id);
  item.timers_set = {{"a", clock_.Wall() + milliseconds(50)}, {"b", clock_.Wall() + std::chrono::hours(1)}};
  item.disposition = Disposition::kRelease;
  item.expected_wake = run.wake;
  item.waiting = Waiting{"timer", clock_.Wall() + milliseconds(50)};
  ASSERT_EQ(store_.Commit({&item, 1})->front().kind, CommitOutcome::Kind::kCommitted);
  notified_.clear();
  auto tick = TimersJob(context_, milliseconds(1'000));
  EXPECT_EQ(*tick(), milliseconds(50));
  EXPECT_TRUE(notified_.empty());
  clock_.Advance(milliseconds(50));
  EXPECT_EQ(*tick(), milliseconds(1'000));  // the next is an hour away: looks again before
  EXPECT_EQ(notified_, (std::vector<std::string>{"default"}));
  EXPECT_EQ(metrics_.counter(names::kTimersFired).Value(), 1);
  EXPECT_EQ(store_.Inspect(run.subject)->inbox.size(), 1u);
}

TEST_F(TurnsTest, ReaperFreesWhatDeadSessionsHold) {
  SetLogLevel(LogLevel::kOff);
  Submit();
  auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(1'000)});
  ASSERT_EQ(store_.Claim({.session = session->session, .max = 1})->claimed.size(), 1u);
  notified_.clear();
  auto tick = ReaperJob(context_, milliseconds(700));
  EXPECT_EQ(*tick(), milliseconds(700)) << "the death is a second away: looks again before";
  clock_.Advance(milliseconds(700));
  EXPECT_EQ(*tick(), milliseconds(300)) << "when it is due, no later";
  EXPECT_EQ(metrics_.counter(names::kReaps).Value(), 0);
  clock_.Advance(milliseconds(300));
  while (*tick() == milliseconds(0)) {
  }
  EXPECT_EQ(metrics_.counter(names::kReaps).Value(), 1);
  EXPECT_EQ(metrics_.counter(names::kSessionsDied).Value(), 1);
  EXPECT_EQ(notified_, (std::vector<std::string>{"default"}));
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(TurnsTest, RetentionGoesOnWhileABatchIsFull) {
  SetLogLevel(LogLevel::kOff);
  const auto day = std::chrono::duration_cast<milliseconds>(std::chrono::hours(24));
  for (int n = 0; n < 1'001; ++n) {
    auto session = store_.OpenSession({.worker_name = "w", .ttl = day});
    ASSERT_TRUE(session && store_.CloseSession(session->session));
  }
  auto tick = RetentionJob(context_, {7 * day, 30 * day});
  EXPECT_EQ(*tick(), milliseconds(3'600'000));
  EXPECT_EQ(store_.SessionRows().size(), 1'001u);
  clock_.Advance(8 * day);
  EXPECT_LT(*tick(), milliseconds(1'000));
  EXPECT_EQ(store_.SessionRows().size(), 1u);
  EXPECT_EQ(*tick(), milliseconds(3'600'000));
  EXPECT_EQ(store_.SessionRows().size(), 0u);
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(TurnsTest, ContentsThatNobodyRefersToGoAndAreCounted) {
  SetLogLevel(LogLevel::kOff);
  std::vector<std::pair<Hash256, std::string>> contents;
  for (int n = 0; n < 501; ++n) {
    const std::string bytes = std::to_string(n);
    contents.emplace_back(Sha256(bytes), bytes);
  }
  ASSERT_TRUE(store_.PutContents(contents));
  auto tick = ContentsJob(context_, milliseconds(3'600'000));
  EXPECT_EQ(*tick(), milliseconds(3'600'000));
  const auto removed = [&] { return metrics_.counter(names::kContentsCollected, {{"kind", "content"}}).Value(); };
  EXPECT_EQ(removed(), 0);
  clock_.Advance(milliseconds(3'700'000));
  EXPECT_LT(*tick(), milliseconds(1'000)) << "a page was full: other work, then the next";
  EXPECT_EQ(removed(), 500);
  EXPECT_EQ(*tick(), milliseconds(3'600'000));
  EXPECT_EQ(removed(), 501);
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(TurnsTest, ReadyIsCountedRungAndForgotten) {
  Submit();
  Submit();
  notified_.clear();
  auto ready = CountReady(context_, milliseconds(300));
  EXPECT_EQ(*ready.tick(), milliseconds(300));
  const auto depth = [&] { return metrics_.gauge(names::kReadyDepth, {{"queue", "default"}}).Value(); };
  EXPECT_EQ(depth(), 2);
  EXPECT_EQ(notified_, (std::vector<std::string>{"default"}));
  auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(600'000)});
  ASSERT_EQ(store_.Claim({.session = session->session, .max = 8})->claimed.size(), 2u);
  (void)ready.tick();
  EXPECT_EQ(depth(), 0);
  Submit();
  (void)ready.tick();
  EXPECT_EQ(depth(), 1);
  ready.forget();
  EXPECT_EQ(depth(), 0);
}

// Whoever may submit names queues as they like: the page stays as long as it is.
TEST_F(TurnsTest, QueuesThatAuthorsMakeUpAreBoundedSeries) {
  constexpr int kMade = 400;
  for (int i = 0; i < kMade; ++i)
    Submit({{"workflow", "name: w\nqueue: made-up-" + std::to_string(i) + "\nsteps: [{name: s, capability: test.echo}]\n"}});
  auto ready = CountReady(context_, milliseconds(300));
  ASSERT_TRUE(ready.tick());
  const auto series = [&] {
    const std::string page = metrics_.Page();
    int found = 0;
    for (std::size_t at = 0; (at = page.find("acl_ready_depth{", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(series(), 51);
  const auto of = [&](const MetricDef& def, const char* queue) { return metrics_.gauge(def, {{"queue", queue}}).Value(); };
  EXPECT_EQ(of(names::kReadyDepth, "other"), kMade - 50);
  EXPECT_EQ(of(names::kReadyUnserved, "other"), kMade - 50);
  // One that a worker serves has its own series, however many others there are.
  ASSERT_TRUE(store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"made-up-399"}, .ttl = milliseconds(600'000)}));
  ASSERT_TRUE(ready.tick());
  EXPECT_EQ(series(), 52);
  EXPECT_EQ(of(names::kReadyDepth, "made-up-399"), 1);
  EXPECT_EQ(of(names::kReadyUnserved, "made-up-399"), 0);
  EXPECT_EQ(of(names::kReadyDepth, "other"), kMade - 51);
}

TEST_F(TurnsTest, WhatWaitsHasAnAge) {
  Submit();
  auto ready = CountReady(context_, milliseconds(300));
  const auto ready_age = [&] { return metrics_.gauge(names::kReadyOldest, {{"queue", "default"}}).Value(); };
  const auto outbox_age = [&] { return metrics_.gauge(names::kOutboxOldest).Value(); };
  clock_.Advance(milliseconds(61'000));
  ASSERT_TRUE(ready.tick());
  EXPECT_EQ(ready_age(), 61);
  EXPECT_EQ(outbox_age(), 0);
  auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(600'000)});
  auto claimed = store_.Claim({.session = session->session, .max = 8})->claimed;
  ASSERT_EQ(claimed.size(), 1u);
  CommitItem item;
  item.subject = claimed[0].subject;
  item.session = session->session;
  item.token = claimed[0].token;
  item.base_seq = claimed[0].head.seq;
  item.chain = claimed[0].head.chain;
  item.state_root = claimed[0].head.state_root;
  item.last_timestamp = claimed[0].head.last_timestamp;
  item.outbox.push_back({"topic", "key", "{}"});
  ASSERT_EQ(store_.Commit({&item, 1})->front().kind, CommitOutcome::Kind::kCommitted);
  clock_.Advance(milliseconds(7'000));
  ASSERT_TRUE(ready.tick());
  EXPECT_EQ(ready_age(), 0) << "it was taken";
  EXPECT_EQ(outbox_age(), 7);
  ready.forget();
  EXPECT_EQ(outbox_age(), 0);
}

TEST_F(TurnsTest, SuspectsAreCounted) {
  Submit();
  auto ready = CountReady(context_, milliseconds(300));
  const auto suspects = [&](const char* state) {
    EXPECT_TRUE(ready.tick());
    return metrics_.gauge(names::kSuspects, {{"state", state}}).Value();
  };
  const auto open = [&](milliseconds ttl) {
    return store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = ttl})->session;
  };
  const WorkerSessionId survivor = open(milliseconds(600'000));
  for (int death = 0; death < 2; ++death) {
    EXPECT_EQ(suspects("waiting"), 0);
    ASSERT_EQ(store_.Claim({.session = open(milliseconds(10'000)), .max = 8})->claimed.size(), 1u);
    clock_.Advance(milliseconds(11'000));
    ASSERT_EQ(store_.Reap(8)->leases_freed, 1);
  }
  EXPECT_EQ(suspects("waiting"), 1);
  for (int minutes = 0; minutes < 31; ++minutes) {
    ASSERT_TRUE(store_.Heartbeat(survivor, milliseconds(600'000)));
    clock_.Advance(milliseconds(60'000));
  }
  ASSERT_EQ(store_.Claim({.session = survivor, .max = 8})->claimed.size(), 1u);
  EXPECT_EQ(suspects("waiting"), 0);
  EXPECT_EQ(suspects("held"), 1);
  ready.forget();
  EXPECT_EQ(metrics_.gauge(names::kSuspects, {{"state", "held"}}).Value(), 0);
}

TEST_F(TurnsTest, WhatNobodyRefersToIsCollectedAndCounted) {
  const std::string text = "of a run that was never created";
  const std::pair<Hash256, std::string> content{Sha256(text), text};
  ASSERT_TRUE(store_.PutContents({&content, 1}));
  auto tick = ContentsJob(context_, milliseconds(60'000));
  const auto collected = [&] { return metrics_.counter(names::kContentsCollected, {{"kind", "content"}}).Value(); };
  ASSERT_TRUE(tick());
  EXPECT_EQ(collected(), 0) << "a run may be about to refer to it";
  clock_.Advance(milliseconds(61'000));
  ASSERT_TRUE(tick());
  EXPECT_EQ(collected(), 1);
  EXPECT_EQ(store_.GetContent(content.first).code(), Code::kNotFound);
}

}  // namespace
}  // namespace acl::coordinator
