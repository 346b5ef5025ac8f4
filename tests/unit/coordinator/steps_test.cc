// What runs now, who needs a person, one step with its history.
#include <gmock/gmock.h>

#include "coordinator/api/activity.h"
#include "shared/kernel/item_builder.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json Form(const std::string& state, Json steps, Json dispatches = Json::array()) {
  return {{"state", {{"name", state}, {"holder", "w1"}}}, {"steps", std::move(steps)}, {"dispatches", std::move(dispatches)}};
}

Json ActivityOf(Json form) {
  AddActivity(form);
  return form["steps"][0].value("activity", Json());
}

TEST(Activity, SaysWhatTheDatabaseKnowsAndNoMore) {
  const Json pending = {{"step_id", "a"}, {"status", "PENDING"}}, ready = {{"step_id", "a"}, {"status", "PENDING"}, {"ready", true}};
  const Json journaled = {{"step_id", "a"}, {"capability", "c"}, {"status", "RUNNING"}, {"started_at", "T"}};
  const Json away = {{"step_id", "a"}, {"capability", "c"}, {"status", "RUNNING"}, {"dispatched_at", "T"}};
  const Json scope = {{"step_id", "a"}, {"capability", ""}, {"step_type", "CHILD"}, {"status", "RUNNING"}, {"started_at", "T"}};
  EXPECT_EQ(ActivityOf(Form("leased", {ready})), (Json{{"name", "running"}, {"holder", "w1"}, {"assumed", true}}));
  EXPECT_EQ(ActivityOf(Form("leased", {journaled})), (Json{{"name", "running"}, {"holder", "w1"}, {"since", "T"}}));
  EXPECT_EQ(ActivityOf(Form("leased", {pending})), Json()) << "it waits for others";
  EXPECT_EQ(ActivityOf(Form("ready", {ready})), (Json{{"name", "ready"}}));
  EXPECT_EQ(ActivityOf(Form("ready", {journaled})), (Json{{"name", "interrupted"}}));
  EXPECT_EQ(ActivityOf(Form("waiting", {scope})), Json()) << "a run of its own goes on with it";
  EXPECT_EQ(ActivityOf(Form("leased", {scope})), Json()) << "nobody runs it";
  EXPECT_EQ(ActivityOf(Form("quarantined", {ready})), Json());
  EXPECT_EQ(ActivityOf(Form("paused", {ready})), Json());
  const Json queued = {{"step_id", "a"}, {"state", "queued"}, {"queue", "gpu"}, {"queued_at", "Q"}};
  const Json started = {{"step_id", "a"}, {"state", "started"}, {"holder", "w9"}, {"started_at", "S"}};
  const Json lost = {{"step_id", "a"}, {"state", "lost"}, {"holder", "w8"}};
  EXPECT_EQ(ActivityOf(Form("waiting", {away}, {lost, queued})), (Json{{"name", "queued"}, {"queue", "gpu"}, {"since", "Q"}}));
  EXPECT_EQ(ActivityOf(Form("leased", {away}, {lost, started})), (Json{{"name", "running"}, {"holder", "w9"}, {"since", "S"}}));
  EXPECT_EQ(ActivityOf(Form("ready", {away}, {lost})), Json()) << "its result came, and nobody has read it yet";
}

class StepsTest : public ApiFixture {
 protected:
  std::vector<std::string> Listed(const std::string& query) {
    std::vector<std::string> ids;
    const auto answer = Ask("GET", "/v1/workflows?" + query);
    EXPECT_EQ(answer.status, 200) << answer.text;
    if (answer.status == 200)
      for (const Json& run : answer.body["workflows"]) ids.push_back(run["id"]);
    return ids;
  }
  // Ends a claim of the run as its holder would.
  void Commit(const std::string& id, const std::function<void(CommitItem&)>& fill) {
    auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)});
    auto claimed = store_.Claim({.session = session->session, .max = 100});
    ASSERT_TRUE(claimed);
    for (const auto& one : claimed->claimed) {
      if (one.subject.ToString() != id) continue;
      CommitItem item;
      item.subject = one.subject;
      item.session = session->session;
      item.token = one.token;
      item.base_seq = one.head.seq;
      item.chain = one.head.chain;
      item.state_root = one.head.state_root;
      item.last_timestamp = one.head.last_timestamp;
      item.expected_wake = one.wake;
      fill(item);
      auto outcome = store_.Commit({&item, 1});
      ASSERT_TRUE(outcome);
      ASSERT_EQ(outcome->front().kind, CommitOutcome::Kind::kCommitted) << outcome->front().error;
      return;
    }
    FAIL() << "run " << id << " was not claimed";
  }
};

TEST_F(StepsTest, ListsByWhyARunEnded) {
  const std::string failed = Submit();
  Commit(failed, [](CommitItem& item) {
    item.disposition = Disposition::kClose;
    item.listing = ListingChange{.status = "FAILED", .error_message = "step 'a' failed: cancelled"};
  });
  const std::string cancelled = Submit();
  Commit(cancelled, [](CommitItem& item) {
    item.disposition = Disposition::kClose;
    item.listing = ListingChange{.status = "FAILED", .error_message = "cancelled: enough"};
  });
  const std::string late = Submit();
  Commit(late, [](CommitItem& item) {
    item.disposition = Disposition::kClose;
    item.listing = ListingChange{.status = "FAILED", .error_message = "the run took longer than max_execution_time_seconds (1)"};
  });
  const std::string open = Submit();
  EXPECT_THAT(Listed("reason=cancelled"), ElementsAre(cancelled));
  EXPECT_THAT(Listed("reason=step_failed&status=FAILED"), ElementsAre(failed));
  EXPECT_THAT(Listed("reason=timeout"), ElementsAre(late));
  EXPECT_EQ(Ask("GET", "/v1/workflows?reason=bored").status, 400);
  const auto all = Ask("GET", "/v1/workflows?status=FAILED").body["workflows"];
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["reason"], "timeout");
  EXPECT_EQ(all[1]["reason"], "cancelled");
  EXPECT_EQ(all[2]["reason"], "step_failed");
  const std::string cursor = Ask("GET", "/v1/workflows?limit=1&status=FAILED").body["next_cursor"];
  EXPECT_EQ(Ask("GET", "/v1/workflows?limit=1&status=FAILED&reason=cancelled&cursor=" + cursor).status, 400) << "the same filters";
}

TEST_F(StepsTest, ListsWhoNeedsAPerson) {
  const std::string uncertain = Submit();
  Commit(uncertain, [](CommitItem& item) {
    item.disposition = Disposition::kRelease;
    item.waiting = Waiting{"uncertain", std::nullopt};
  });
  const std::string waits = Submit();
  Commit(waits, [](CommitItem& item) {
    item.disposition = Disposition::kRelease;
    item.waiting = Waiting{"retry", std::nullopt};
  });
  const std::string damaged = Submit();
  auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)});
  auto claimed = store_.Claim({.session = session->session, .max = 100});
  for (const auto& one : claimed->claimed) {
    if (one.subject.ToString() == damaged) {
      ASSERT_TRUE(store_.Quarantine(one.subject, session->session, one.token, "corrupt", "why"));
    }
  }
  const std::string starved = Submit();
  Commit(starved, [&](CommitItem& item) {
    item.disposition = Disposition::kRelease;
    item.requeue = true;
    item = ReleaseForMemory(std::move(item), clock_.Wall(), 1);
  });
  Submit();
  EXPECT_THAT(Listed("needs_person=true"), ElementsAre(starved, damaged, uncertain));
  EXPECT_EQ(Listed("needs_person=false").size(), 5u);
  const Json run = Ask("GET", "/v1/workflows/" + starved).body;
  EXPECT_EQ(run["state"]["name"], "waiting");
  EXPECT_EQ(run["state"]["blocked_on"], "memory");
  EXPECT_TRUE(run["state"].contains("next_wake"));
  EXPECT_THAT(run["warnings"].dump(), HasSubstr("MiB"));
  EXPECT_EQ(Ask("GET", "/v1/workflows?needs_person=maybe").status, 400);
}

TEST_F(StepsTest, OneStepIsShownByItsNameWithItsHistory) {
  const std::string id = Submit(), steps = "/v1/workflows/" + id + "/steps/";
  const auto step = Ask("GET", steps + "greet");
  ASSERT_EQ(step.status, 200) << step.text;
  EXPECT_EQ(step.body["workflow_id"], id);
  EXPECT_EQ(step.body["status"], "PENDING");
  EXPECT_EQ(step.body["activity"], (Json{{"name", "ready"}}));
  EXPECT_THAT(step.body["history"], IsEmpty());
  EXPECT_THAT(step.body["attempt_rows"], IsEmpty());
  EXPECT_EQ(Ask("GET", steps + "nobody").status, 404);
  EXPECT_EQ(Ask("GET", steps + "nobody").code(), "no-such-step");
  EXPECT_EQ(Ask("GET", "/v1/workflows/00000000-0000-7000-8000-000000000009/steps/greet").status, 404);
}

TEST_F(StepsTest, EachAttemptSaysWhoRanItAndHowLong) {
  const std::string id = Submit();
  const WorkerSessionId session =
      store_.OpenSession({.worker_name = "w-7", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)})->session;
  const Claimed claimed = store_.Claim({.session = session, .max = 1})->claimed.at(0);
  auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, [](const Hash256&) { return Error{Code::kNotFound, ""}; });
  ASSERT_TRUE(restored);
  ItemBuilder made(*kind_, BaseOf(claimed, session), restored->state);
  StepResult failed;
  failed.outcome = StepResult::Outcome::kFailed;
  failed.error = "no";
  failed.retryable = true;
  failed.duration = milliseconds(1'500);
  ASSERT_TRUE(made.Decide(ResumedInput{}, clock_.Wall()));
  ASSERT_TRUE(made.Decide(StepFinishedInput{"greet", 1, failed, Json()}, clock_.Wall()));
  made.Finish(clock_.Wall());
  ASSERT_EQ(store_.Commit({&made.item, 1})->front().kind, CommitOutcome::Kind::kCommitted);
  const Json history = Ask("GET", "/v1/workflows/" + id + "/steps/greet").body["history"];
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0]["event_type"], "step.attempt_failed");
  EXPECT_EQ(history[0]["worker"], "w-7");
  EXPECT_EQ(history[0]["duration_ms"], 1'500);
}

// One text, whatever is asked of a run that is not there.
TEST_F(StepsTest, AnUnknownIdIsSaidTheSameEverywhere) {
  for (const std::string id : {"00000000-0000-7000-8000-000000000009", "ffffffff", "zzz", "abc"}) {
    const std::string text = "there is no workflow run '" + id + "'", run = "/v1/workflows/" + id;
    for (const std::string& path : {run, run + "/events", run + "/files", run + "/files/x", run + "/steps/a"}) {
      const auto answer = Ask("GET", path);
      EXPECT_EQ(answer.status, 404) << path;
      EXPECT_EQ(answer.body.value("detail", ""), text) << path;
    }
    const std::vector<std::pair<std::string, Json>> posts = {{run + "/cancel", Json::object()},
                                                             {run + "/pause", Json::object()},
                                                             {run + "/signal", {{"name", "x"}}},
                                                             {run + "/steps/a/resolve", {{"decision", "retry"}}},
                                                             {"/v1/quarantine/" + id + "/release", Json::object()}};
    for (const auto& [path, body] : posts) {
      const auto answer = Post(path, body);
      EXPECT_EQ(answer.status, 404) << path;
      EXPECT_EQ(answer.body.value("detail", ""), text) << path;
    }
  }
}

}  // namespace
}  // namespace acl::coordinator
