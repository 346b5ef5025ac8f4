// A queue that no worker serves: said wherever people look, and what needs no worker is decided without one (coordinator/bookkeeper.h).
#include <gmock/gmock.h>

#include "coordinator/bookkeeper.h"
#include "coordinator/decide_alone.h"
#include "coordinator/queue_watch.h"
#include "shared/journal/snapshot.h"
#include "shared/kernel/fold.h"
#include "shared/kernel/item_builder.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/telemetry/log.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class UnservedTest : public ApiFixture {
 protected:
  UnservedTest() {
    SetLogLevel(LogLevel::kOff);
    ApiContext api = *api_;
    api.queues = &watch_;
    router_ = Router();
    AddApiRoutes(router_, api);
  }
  ~UnservedTest() override { SetLogLevel(LogLevel::kInfo); }

  SubjectId SubmitTo(const std::string& queue, const std::string& more = "") {
    const std::string yaml = std::string("name: far\nqueue: ") + queue + "\n" + more + "steps:\n  - {name: a, capability: test.echo}\n";
    const auto answer = Post("/v1/workflows", {{"workflow", yaml}});
    EXPECT_EQ(answer.status, 201) << answer.text;
    submitted_ = answer.body;
    return *SubjectId::Parse(answer.body.value("id", ""));
  }
  WorkerSessionId Serve(const std::string& queue) {
    return store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {queue}, .ttl = milliseconds(86'400'000)})->session;
  }
  // As long as a queue must be without a worker, and one tick more.
  void LetPass(milliseconds time = kUnservedFor) {
    ASSERT_TRUE(tick_());
    clock_.Advance(time);
    const auto turned = tick_();
    ASSERT_TRUE(turned) << turned.error();
  }
  std::string StatusOf(const SubjectId& run) { return queries_.GetSubject(run)->listing->status; }
  MemorySubject Look(const SubjectId& run) { return *store_.Inspect(run); }
  std::vector<std::string> TypesOf(const SubjectId& run) {
    std::vector<std::string> types;
    for (const Event& event : Look(run).events) types.push_back(event.type);
    return types;
  }
  // A worker begins it, sets its timers and gives it back.
  void Begin(const SubjectId& run, const std::string& queue) {
    const WorkerSessionId session = Serve(queue);
    auto answer = store_.Claim({.session = session, .queues = {queue}, .max = 1});
    ASSERT_TRUE(answer && answer->claimed.size() == 1u);
    const Claimed& claimed = answer->claimed[0];
    ASSERT_EQ(claimed.subject, run);
    auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, ReaderOf(store_, claimed.snapshot, claimed.events));
    ASSERT_TRUE(restored);
    const Input resumed = ResumedInput{};
    Decision decision = kind_->Decide(restored->state, resumed, claimed.db_now);
    CommitItem item;
    item.subject = run, item.session = session, item.token = claimed.token, item.base_seq = claimed.head.seq;
    item.chain = claimed.head.chain;
    item.last_timestamp = claimed.db_now;
    for (EventDraft& draft : decision.events) {
      auto event = FoldDraft(*kind_, restored->state, std::move(draft));
      ASSERT_TRUE(event);
      event->subject = run, event->journal = claimed.head.journal, event->token = claimed.token, event->timestamp = claimed.db_now;
      event->seq = item.base_seq + std::int64_t(item.events.size()) + 1;
      item.chain = event->chain = ChainNext(item.chain, *event);
      item.events.push_back(std::move(*event));
    }
    item.state_root = restored->state.Root();
    item.timers_set = decision.timers_set;
    item.listing = decision.listing;
    item.disposition = Disposition::kRelease;
    item.requeue = true;
    auto outcome = store_.Commit({&item, 1});
    ASSERT_TRUE(outcome);
    ASSERT_EQ(outcome->front().kind, CommitOutcome::Kind::kCommitted) << outcome->front().error;
    ASSERT_TRUE(store_.CloseSession(session));
    ASSERT_TRUE(store_.Reap(10));
  }

  QueueWatch watch_{queries_, clock_, {}};
  std::vector<SubjectId> ended_;
  const JobContext context_{store_, queries_, clock_, metrics_, {}, {}, [this](const SubjectId& run) { ended_.push_back(run); }};
  Tick tick_ = BookkeeperJob(context_, *kind_, milliseconds(1'000));
  Json submitted_;
};

TEST_F(UnservedTest, ARunThatNobodyBeganIsCancelled) {
  const SubjectId run = SubmitTo("gpuu");
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/cancel", {{"reason", "a typing mistake"}}).status, 202);
  ASSERT_TRUE(tick_());
  EXPECT_EQ(StatusOf(run), "PENDING") << "a worker that is being replaced is not stood in for";
  LetPass();
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_THAT(TypesOf(run), ElementsAre("workflow.created", "workflow.failed", "workflow.ended")) << "it never began";
  const MemorySubject row = Look(run);
  EXPECT_TRUE(row.closed);
  EXPECT_TRUE(row.inbox.empty());
  EXPECT_THAT(store_.Ready(), IsEmpty()) << "nothing of it is left in a queue that nobody empties";
  EXPECT_THAT(ended_, ElementsAre(run)) << "whoever waits for it hears";
  const auto shown = Ask("GET", "/v1/workflows/" + run.ToString()).body;
  EXPECT_EQ(shown.value("reason", ""), "cancelled");
  EXPECT_THAT(shown.value("error", ""), HasSubstr("a typing mistake"));
  EXPECT_THAT(*queries_.Sessions(false), IsEmpty()) << "its session is closed";
  EXPECT_THAT(metrics_.Page(), HasSubstr("acl_runs_ended_total{ending=\"cancelled\"} 1"));
}

TEST_F(UnservedTest, WhereAWorkerIsNothingIsDone) {
  Serve("gpu");
  const SubjectId run = SubmitTo("gpu");
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/cancel", Json::object()).status, 202);
  LetPass();
  LetPass(milliseconds(60'000));
  EXPECT_EQ(StatusOf(run), "PENDING");
  EXPECT_EQ(Look(run).grants.size(), 0u);
}

TEST_F(UnservedTest, ATimeLimitThatTheFileStatesEndsARunThatNobodyBegins) {
  const SubjectId stated = SubmitTo("gpuu", "max_execution_time_seconds: 60\n");
  const SubjectId by_default = SubmitTo("gpuu");
  LetPass();
  EXPECT_EQ(StatusOf(stated), "PENDING");
  LetPass(milliseconds(60'000));
  EXPECT_EQ(StatusOf(stated), "FAILED");
  const auto shown = Ask("GET", "/v1/workflows/" + stated.ToString()).body;
  EXPECT_EQ(shown.value("reason", ""), "timeout");
  EXPECT_THAT(shown.value("error", ""), HasSubstr("max_execution_time_seconds (60): no worker of queue 'gpuu' began it"));
  LetPass(milliseconds(24 * 3'600'000));
  EXPECT_EQ(StatusOf(by_default), "PENDING") << "a fleet whose workers are away for a night loses nothing";
  EXPECT_EQ(Look(by_default).grants.size(), 0u);
}

TEST_F(UnservedTest, ATimeLimitDoesNotCountWhereAWorkerIs) {
  Serve("gpu");
  const SubjectId run = SubmitTo("gpu", "max_execution_time_seconds: 60\n");
  LetPass(milliseconds(3'600'000));
  EXPECT_EQ(StatusOf(run), "PENDING") << "it counts from the run's beginning";
}

// To begin is a worker's: what does not end the run waits for one.
TEST_F(UnservedTest, ARunThatNobodyBeganHearsOfNothingElse) {
  const SubjectId run = SubmitTo("gpuu");
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/pause", Json::object()).status, 202);
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/signal", {{"name", "go"}}).status, 202);
  LetPass();
  EXPECT_EQ(Look(run).inbox.size(), 2u);
  EXPECT_EQ(Look(run).grants.size(), 0u);
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/cancel", Json::object()).status, 202);
  LetPass();
  EXPECT_EQ(StatusOf(run), "FAILED");
  EXPECT_TRUE(Look(run).inbox.empty());
}

TEST_F(UnservedTest, ARunThatHasBegunHearsOfEverything) {
  const SubjectId run = SubmitTo("gpu", "max_execution_time_seconds: 600\n");
  Begin(run, "gpu");
  const std::string at = "/v1/workflows/" + run.ToString();
  ASSERT_EQ(Post(at + "/pause", {{"reason", "lunch"}}).status, 202);
  LetPass();
  EXPECT_EQ(StatusOf(run), "PAUSED");
  EXPECT_EQ(queries_.GetSubject(run)->state, OpenState::kPaused);
  ASSERT_EQ(Post(at + "/signal", {{"name", "go"}}).status, 202);
  ASSERT_EQ(Post(at + "/resume", Json::object()).status, 202);
  LetPass();
  EXPECT_EQ(StatusOf(run), "RUNNING");
  EXPECT_EQ(queries_.GetSubject(run)->state, OpenState::kReady) << "its step waits for a worker";
  EXPECT_THAT(TypesOf(run), ElementsAre("workflow.created", "workflow.started", "workflow.paused", "signal.received", "workflow.resumed"));
  clock_.Advance(milliseconds(700'000));
  ASSERT_EQ(store_.FireTimers(10)->fired, 1);
  LetPass();
  EXPECT_NE(StatusOf(run), "RUNNING") << "its time is over";
  EXPECT_TRUE(Look(run).closed);
  EXPECT_EQ(TypesOf(run)[5], "workflow.failed");
}

// What a claim would not be given is not asked for again and again, and takes no place of what can be decided.
TEST_F(UnservedTest, WhatOnlyANewerProgramMayClaimIsLeftAlone) {
  const SubjectId run = SubmitTo("gpuu");
  const WorkerSessionId session = Serve("gpuu");
  auto answer = store_.Claim({.session = session, .queues = {"gpuu"}, .max = 1});
  ASSERT_TRUE(answer && answer->claimed.size() == 1u);
  const CommitItem item = ReleaseFor(answer->claimed[0], session, 99);
  ASSERT_EQ(store_.Commit({&item, 1})->front().kind, CommitOutcome::Kind::kCommitted);
  ASSERT_TRUE(store_.CloseSession(session));
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/cancel", Json::object()).status, 202);
  const std::size_t sessions = queries_.Sessions(true)->size();
  LetPass();
  EXPECT_EQ(queries_.Sessions(true)->size(), sessions) << "no session is opened for nothing";
  EXPECT_EQ(StatusOf(run), "PENDING");
}

// As a worker reads it: damage that a person has seen is damage no more.
TEST_F(UnservedTest, DamageBeforeAReleaseIsSettled) {
  const SubjectId run = SubmitTo("gpu");
  Begin(run, "gpu");
  const auto put = [&](const std::string& kind, const Json& payload) {
    ASSERT_TRUE(store_.Post({.subject = run, .id = InboxId{NewUuid7()}, .kind = kind, .payload = DumpJson(payload)}));
  };
  put("dispatch_result", {{"step_id", "a"}, {"attempt", 1}, {"outcome", "failed"}, {"damaged", "content x is gone"}, {"repeatable", true}});
  put("quarantine_released", Json::object());
  LetPass();
  EXPECT_FALSE(Look(run).quarantined());
  EXPECT_TRUE(Look(run).inbox.empty());
}

// The same as a worker would have written: the journal is whole.
TEST_F(UnservedTest, ItsJournalReplays) {
  const SubjectId run = SubmitTo("gpuu");
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/cancel", Json::object()).status, 202);
  LetPass();
  const MemorySubject row = Look(run);
  auto restored = Restore(run, {}, row.events, ReaderOf(store_, {}, row.events));
  ASSERT_TRUE(restored) << restored.error();
  EXPECT_TRUE(MatchesHead(*restored, row.head.seq, row.head.chain, row.head.state_root));
  EXPECT_EQ(row.grants.size(), 1u);
  EXPECT_EQ(row.events.back().token, row.grants[0].token);
}

// ---- what is said

TEST_F(UnservedTest, IsSaidAtSubmitInTheRunAndInTheListOfQueues) {
  const SubjectId run = SubmitTo("gpuu");
  ASSERT_EQ(submitted_["warnings"].size(), 1u) << submitted_;
  EXPECT_EQ(submitted_["warnings"][0]["code"], "no-worker");
  EXPECT_THAT(submitted_["warnings"][0].value("message", ""), HasSubstr("queue 'gpuu'"));
  auto shown = Ask("GET", "/v1/workflows/" + run.ToString()).body;
  EXPECT_EQ(shown["state"].value("no_worker_for", Json()), Json::array({"gpuu"}));
  ASSERT_EQ(shown["warnings"].size(), 1u);
  const auto batch = Post("/v1/workflows/batch", {{"workflow", "name: x\nqueue: gpuu\nsteps:\n  - {name: a, capability: test.echo}\n"},
                                                  {"runs", Json::array({Json::object(), Json::object()})}});
  ASSERT_EQ(batch.body["warnings"].size(), 1u) << batch.text;

  auto queues = Ask("GET", "/v1/queues").body["queues"];
  ASSERT_EQ(queues.size(), 1u);
  EXPECT_EQ(queues[0]["queue"], "gpuu");
  EXPECT_EQ(queues[0]["ready"], 3);
  EXPECT_EQ(queues[0]["workers"], 0);
  clock_.Advance(milliseconds(1));
  ASSERT_EQ(Post("/v1/workflows/" + run.ToString() + "/signal", {{"name", "go"}}).status, 202);
  EXPECT_EQ(store_.Ready().size(), 4u);
  EXPECT_EQ(Ask("GET", "/v1/queues").body["queues"][0]["ready"], 3) << "runs, not rows: one has two";

  Serve("gpuu");
  clock_.Advance(milliseconds(1'001));  // as long as an answer of the database is believed
  EXPECT_EQ(Ask("GET", "/v1/queues").body["queues"][0]["workers"], 1);
  shown = Ask("GET", "/v1/workflows/" + run.ToString()).body;
  EXPECT_FALSE(shown["state"].contains("no_worker_for"));
  EXPECT_FALSE(shown.contains("warnings"));
  SubmitTo("gpuu");
  EXPECT_THAT(submitted_["warnings"], IsEmpty());
}

TEST_F(UnservedTest, TheQueueOfAStepCountsToo) {
  Serve("default");
  const auto answer = Post("/v1/workflows", {{"workflow",
                                              "name: two\nsteps:\n  - {name: a, capability: test.echo}\n  - {name: b, "
                                              "capability: test.echo, queue: gpuu}\n"}});
  ASSERT_EQ(answer.body["warnings"].size(), 1u) << answer.text;
  EXPECT_THAT(answer.body["warnings"][0].value("message", ""), HasSubstr("'gpuu'"));
}

// A submit on a queue that is known to be served asks the database nothing.
TEST_F(UnservedTest, AWorkerOnTheDoorbellIsBelieved) {
  QueueWatch heard(queries_, clock_, [](const std::string& queue) { return queue == "here"; });
  EXPECT_TRUE(heard.Known({"here"}));
  EXPECT_FALSE(heard.Known({"here", "there"}));
  EXPECT_THAT(heard.Unserved({"here", "there"}), ElementsAre("there"));
  Serve("there");
  EXPECT_THAT(heard.Unserved({"there"}), ElementsAre("there")) << "asked a moment ago";
  clock_.Advance(milliseconds(1'001));
  EXPECT_THAT(heard.Unserved({"there"}), IsEmpty());
}

// On the server's thread the database is never asked: not even if what was known a moment ago is known no more.
TEST_F(UnservedTest, AQuickSubmitAsksOnce) {
  int asked = 0;
  QueueWatch heard(queries_, clock_, [&](const std::string&) { return ++asked == 1; });
  ApiContext api = *api_;
  api.queues = &heard;
  SubmitTo("here");  // loaded once, so that it can be quick
  router_ = Router();
  AddApiRoutes(router_, api);
  const auto answer = Post("/v1/workflows", {{"workflow", "name: far\nqueue: here\nsteps:\n  - {name: a, capability: test.echo}\n"}});
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_TRUE(answer.quick);
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(answer.body["warnings"], IsEmpty());
}

}  // namespace
}  // namespace acl::coordinator
