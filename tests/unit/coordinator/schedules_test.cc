// The door of schedules, and the job that fires them, with a store that fails between its steps.
#include "coordinator/schedules.h"

#include <gmock/gmock.h>

#include "shared/telemetry/log.h"
#include "shared/telemetry/names.h"
#include "tests/support/faulty_store.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTimed = R"(
name: timed
inputs:
  scheduled_time: {type: string, required: true}
steps:
  - name: greet
    capability: test.echo
    inputs: {text: "{{ scheduled_time }}"}
)";

class Schedules : public ApiFixture {
 protected:
  Schedules() { SetLogLevel(LogLevel::kOff); }
  ~Schedules() override { SetLogLevel(LogLevel::kInfo); }

  static Json Body(const Json& more = Json::object()) {
    Json body = {{"name", "nightly"}, {"workflow", kTimed}, {"cron", "* * * * *"}};
    body.update(more);
    return body;
  }
  Answer Make(const Json& more = Json::object()) {
    auto answer = Post("/v1/schedules", Body(more));
    EXPECT_EQ(answer.status, 201) << answer.text;
    return answer;
  }
  Json Show(const std::string& name = "nightly") { return Ask("GET", "/v1/schedules/" + name).body; }
  // Outcomes, oldest first.
  std::vector<std::string> Outcomes() {
    std::vector<std::string> out;
    const Json shown = Show();
    for (auto it = shown["fires"].rbegin(); it != shown["fires"].rend(); ++it) out.push_back((*it)["outcome"]);
    return out;
  }
  Tick MakeTurn(KernelStore& store) {
    return SchedulesJob({schedules_, {store, *registry_, *kind_, ids_}, metrics_, bell_}, std::chrono::milliseconds(60'000));
  }
  Tick MakeTurn() { return MakeTurn(store_); }
  std::size_t Runs() { return Ask("GET", "/v1/workflows?label=schedule=nightly").body["workflows"].size(); }
  double Fired(const char* outcome) { return metrics_.counter(names::kScheduleFires, {{"outcome", outcome}}).Value(); }
};

TEST_F(Schedules, MadeShownListedReplacedDeleted) {
  const auto made = Make({{"zone", "Europe/Berlin"}, {"labels", {{"team", "a"}}}});
  EXPECT_EQ(made.Header("Location"), "/v1/schedules/nightly");
  EXPECT_EQ(made.Header("ETag"), "\"1\"");
  EXPECT_EQ(made.body["next_fires"].size(), 10u);
  EXPECT_EQ(made.body["next_fires"][0]["at"], "2026-11-22T00:01:00Z");
  EXPECT_EQ(made.body["next_fires"][0]["local"], "2026-11-22T01:01:00+01:00");
  EXPECT_EQ(made.body["overlap"], "skip");
  EXPECT_EQ(made.body["catchup_seconds"], 60);
  EXPECT_EQ(Ask("GET", "/v1/schedules").body["schedules"].size(), 1u);
  HttpHeaders stale = {{"content-type", "application/json"}, {"if-match", "\"7\""}},
              fresh = {{"content-type", "application/json"}, {"if-match", "\"1\""}};
  const std::string other = Body({{"cron", "@daily"}, {"overlap", "allow"}}).dump();
  EXPECT_EQ(Ask("PUT", "/v1/schedules/nightly", other, stale).code(), "version-mismatch");
  const auto changed = Ask("PUT", "/v1/schedules/nightly", other, fresh);
  ASSERT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(changed.body["next_fire_at"], "2026-11-23T00:00:00.000000Z");
  EXPECT_EQ(changed.body["version"], 2);
  EXPECT_EQ(Ask("PUT", "/v1/schedules/nobody", other, fresh).status, 404);
  EXPECT_EQ(Ask("DELETE", "/v1/schedules/nightly").status, 204);
  EXPECT_EQ(Ask("DELETE", "/v1/schedules/nightly").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/schedules/nightly").status, 404);
}

TEST_F(Schedules, RefusesWhatDoesNotFitAndSaysWhere) {
  const std::tuple<Json, const char*, const char*> table[] = {
      {{{"cron", "61 * * * *"}}, "invalid-request", "minute (column 1)"},
      {{{"cron", "0 0 30 2 *"}}, "invalid-request", "never fires"},
      {{{"zone", "Mars/Base"}}, "invalid-request", "Mars/Base"},
      {{{"overlap", "maybe"}}, "invalid-request", "buffer_one"},
      {{{"catchup_seconds", -1}}, "invalid-request", "0 to 86400"},
      {{{"name", "a/b"}}, "invalid-request", "name"},
      {{{"name", ""}}, "invalid-request", "name"},
      {{{"workflow", "name: x\nsteps: 3\n"}}, "invalid-workflow", "steps"},
      {{{"inputs", {{"scheduled_time", 3}}}}, "invalid-request", "scheduled_time"},
      {{{"labels", {{"schedule", "x"}}}}, "invalid-request", "schedule"},
      {{{"labels", {{"a", 1}}}}, "invalid-request", "labels"},
      {{{"crown", "* * * * *"}}, "invalid-request", "did you mean 'cron'"},
      {{{"files", Json::array()}}, "invalid-request", "files"},
  };
  for (const auto& [more, code, text] : table) {
    const auto answer = Post("/v1/schedules", Body(more));
    EXPECT_EQ(answer.status, 422) << more;
    EXPECT_EQ(answer.code(), code) << more;
    EXPECT_THAT(answer.text, HasSubstr(text)) << more;
  }
  Json body = Body();
  body.erase("cron");
  EXPECT_THAT(Post("/v1/schedules", body).text, HasSubstr("'cron' is missing"));
  EXPECT_TRUE(Ask("GET", "/v1/schedules").body["schedules"].empty());
}

TEST_F(Schedules, ARepeatGetsTheFirstAnswer) {
  const auto first = Post("/v1/schedules", Body(), "k");
  ASSERT_EQ(first.status, 201);
  const auto again = Post("/v1/schedules", Body(), "k");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body["id"], first.body["id"]);
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(Post("/v1/schedules", Body({{"cron", "@daily"}}), "k").code(), "key-reused");
  EXPECT_EQ(Post("/v1/schedules", Body()).code(), "name-taken");
}

TEST_F(Schedules, FiresOnceAtItsTimeWithItsInputAndLabel) {
  Make();
  auto tick = MakeTurn();
  EXPECT_EQ(*tick(), std::chrono::milliseconds(60'000));
  EXPECT_EQ(Runs(), 0u) << "not before its time";
  clock_.Advance(seconds(63));
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  EXPECT_EQ(Runs(), 1u);
  const Json shown = Show();
  EXPECT_EQ(shown["counts"]["started"], 1);
  EXPECT_EQ(shown["fires"][0]["scheduled_time"], "2026-11-22T00:01:00.000000Z");
  const auto run = Ask("GET", "/v1/workflows/" + shown["fires"][0]["run"].get<std::string>());
  EXPECT_EQ(run.body["labels"]["schedule"], "nightly");
  EXPECT_THAT(run.text, HasSubstr("2026-11-22T00:01:00Z"));
  EXPECT_THAT(notified_, ElementsAre("work default"));
  EXPECT_EQ(Fired("started"), 1);
  EXPECT_EQ(metrics_.gauge(names::kScheduleLag).Value(), 3);
}

TEST_F(Schedules, AnOpenRunIsNotOvertaken) {
  Make({{"catchup_seconds", 3600}});
  auto tick = MakeTurn();
  clock_.Advance(minutes(2));
  ASSERT_TRUE(tick());
  EXPECT_THAT(Outcomes(), ElementsAre("started", "skipped_overlap"));
  Close(Show()["fires"][1]["run"]);
  clock_.Advance(minutes(1));
  ASSERT_TRUE(tick());
  EXPECT_THAT(Outcomes(), ElementsAre("started", "skipped_overlap", "started"));
  EXPECT_EQ(Fired("skipped_overlap"), 1);
}

TEST_F(Schedules, BufferOneStartsWhenTheOpenRunEnds) {
  Make({{"overlap", "buffer_one"}});
  auto tick = MakeTurn();
  clock_.Advance(minutes(1));
  ASSERT_TRUE(tick());
  const std::string first = Show()["fires"][0]["run"];
  clock_.Advance(minutes(1));
  ASSERT_TRUE(tick());
  EXPECT_EQ(Show()["waiting_at"], "2026-11-22T00:02:00.000000Z");
  EXPECT_EQ(*tick(), std::chrono::milliseconds(1'000)) << "looks for the end";
  Close(first);
  ASSERT_TRUE(tick());
  EXPECT_THAT(Outcomes(), ElementsAre("started", "started"));
  EXPECT_FALSE(Show().contains("waiting_at"));
}

TEST_F(Schedules, CancelOtherCancelsAndThenStarts) {
  Make({{"overlap", "cancel_other"}});
  auto tick = MakeTurn();
  clock_.Advance(minutes(1));
  ASSERT_TRUE(tick());
  const std::string first = Show()["fires"][0]["run"];
  clock_.Advance(minutes(1));
  ASSERT_TRUE(tick());
  EXPECT_EQ(Runs(), 1u) << "it has not ended yet";
  auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)});
  auto claimed = store_.Claim({.session = session->session, .max = 1});
  ASSERT_EQ(claimed->claimed.size(), 1u);
  ASSERT_EQ(claimed->claimed[0].inbox.size(), 1u);
  EXPECT_EQ(claimed->claimed[0].inbox[0].kind, "cancel");
  EXPECT_THAT(claimed->claimed[0].inbox[0].payload, HasSubstr("nightly"));
}

TEST_F(Schedules, WhatIsTooLateIsMissed) {
  Make();
  clock_.Advance(minutes(10));
  ASSERT_TRUE(MakeTurn()());
  EXPECT_THAT(Outcomes(), ElementsAre("missed", "started", "skipped_overlap"));
  EXPECT_EQ(Show()["counts"]["missed"], 8);
  EXPECT_EQ(Fired("missed"), 8);
}

// The process ends after the run is made and before that is written down: in each form in which a store can fail there.
TEST_F(Schedules, ARunThatWasMadeAndNotSaidIsNotMadeAgain) {
  for (const auto fault :
       {test::FaultyStore::Fault::kLostAnswer, test::FaultyStore::Fault::kLostRequest, test::FaultyStore::Fault::kUnavailable}) {
    const bool made = fault == test::FaultyStore::Fault::kLostAnswer;
    const std::size_t before = Runs();
    Make({{"overlap", "allow"}});
    test::FaultyStore faulty(store_, 1, {});
    faulty.FailNext("Create", fault);
    auto tick = MakeTurn(faulty);
    clock_.Advance(minutes(1));
    EXPECT_FALSE(tick());
    EXPECT_EQ(Runs() - before, made ? 1u : 0u);
    EXPECT_TRUE(Outcomes().empty());
    ASSERT_TRUE(tick());
    ASSERT_TRUE(tick());
    EXPECT_EQ(Runs() - before, 1u);
    EXPECT_THAT(Outcomes(), ElementsAre("started"));
    ASSERT_EQ(Ask("DELETE", "/v1/schedules/nightly").status, 204);
  }
}

// A coordinator is stopped before its request, another holds the job by then, and the request arrives when the fire time is long past.
TEST_F(Schedules, ARunThatIsMadeVeryLateIsStillOfItsFireTime) {
  Make();
  test::FaultyStore slow(store_, 1, {});
  bool once = true;
  slow.SetHook([&](std::string_view function, bool done) {
    if (function != "Create" || done || !std::exchange(once, false)) return;
    clock_.Advance(seconds(150));
    ASSERT_TRUE(MakeTurn()());
  });
  slow.FailNext("Create", test::FaultyStore::Fault::kLostAnswer);
  clock_.Advance(minutes(1));
  EXPECT_EQ(MakeTurn(slow)().code(), Code::kOutcomeUnknown);
  EXPECT_FALSE(once);
  ASSERT_TRUE(MakeTurn()());
  EXPECT_THAT(Outcomes(), ElementsAre("started", "missed", "skipped_overlap"));
  EXPECT_EQ(Runs(), 1u) << "none that the schedule does not know";
}

TEST_F(Schedules, AWorkflowThatDoesNotLoadAnyMoreIsSaidAndOthersGoOn) {
  Make();
  Make({{"name", "other"}});
  auto row = *schedules_.Get(kDefaultProject, "nightly");
  row.definition.workflow = "name: x\nsteps:\n  - {name: a, capability: gone.for.good}\n  - {name: a}\n";
  ASSERT_TRUE(schedules_.Replace(row, true));
  clock_.Advance(minutes(1));
  ASSERT_TRUE(MakeTurn()());
  EXPECT_THAT(Outcomes(), ElementsAre("failed"));
  EXPECT_THAT(Show()["fires"][0]["reason"], HasSubstr("does not load any more"));
  EXPECT_EQ(Show("other")["counts"]["started"], 1);
  EXPECT_EQ(Fired("failed"), 1);
}

TEST_F(Schedules, PausedItDoesNotFireAndResumedItGoesOnFromThen) {
  Make();
  auto tick = MakeTurn();
  EXPECT_EQ(Post("/v1/schedules/nightly/pause", {{"reason", "holiday"}}).body["pause_reason"], "holiday");
  EXPECT_EQ(Post("/v1/schedules/nightly/pause", {{"reason", "holiday"}}).body["version"], 2) << "twice is once";
  clock_.Advance(minutes(5));
  ASSERT_TRUE(tick());
  EXPECT_TRUE(Outcomes().empty());
  const auto resumed = Post("/v1/schedules/nightly/resume", Json::object());
  EXPECT_EQ(resumed.body["next_fire_at"], "2026-11-22T00:06:00.000000Z");
  EXPECT_FALSE(resumed.body.contains("pause_reason"));
  ASSERT_TRUE(tick());
  EXPECT_TRUE(Outcomes().empty()) << "what passed while it was paused is not made up";
  clock_.Advance(minutes(1));
  ASSERT_TRUE(tick());
  EXPECT_THAT(Outcomes(), ElementsAre("started"));
}

TEST_F(Schedules, TriggeredItRunsNowOncePerKey) {
  Make({{"paused", true}});
  const auto first = Post("/v1/schedules/nightly/trigger", Json::object(), "t1");
  ASSERT_EQ(first.status, 201) << first.text;
  const auto again = Post("/v1/schedules/nightly/trigger", Json::object(), "t1");
  EXPECT_EQ(again.body["id"], first.body["id"]);
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(Runs(), 1u);
  EXPECT_EQ(Show()["counts"]["started"], 1);
  EXPECT_EQ(Show()["fires"][0]["reason"], "triggered");
}

TEST_F(Schedules, WhoTriggersItCountsAsWhoAsks) {
  Make({{"workflow", "name: ask\nmetadata: {owner: olga}\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL}\n"}});
  HttpRequest request;
  request.method = "POST";
  request.principal = "eve";
  auto match = router_.Find("POST", "/v1/schedules/nightly/trigger");
  request.params = match.params;
  const auto made = match.route->handler(request);
  ASSERT_EQ(made.status, 201) << made.body;
  const auto run = *SubjectId::Parse(Json::parse(made.body)["id"].get<std::string>());
  const auto events = store_.Inspect(run)->events;
  EXPECT_THAT(events.front().payload.value_or(""), HasSubstr(R"("requesters":["eve"])"));
}

// Who changes what is run says what is approved, as much as who made it.
TEST_F(Schedules, WhoChangesItCountsAsWhoAsks) {
  const std::string workflow = "name: ask\nmetadata: {owner: olga}\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL}\n";
  const Json definition = {{"name", "nightly"}, {"workflow", workflow}, {"cron", "* * * * *"}};
  Make({{"workflow", workflow}});
  const auto as = [&](const std::string& who, const std::string& method, const std::string& path, const Json& body) {
    HttpRequest request;
    request.method = method;
    request.principal = who;
    request.body = body.dump();
    auto match = router_.Find(method, path);
    request.params = match.params;
    return match.route->handler(request);
  };
  Json changed = definition;
  changed["inputs"] = {{"amount", 820'000}};
  const auto put = as("eve", "PUT", "/v1/schedules/nightly", changed);
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(Json::parse(put.body)["edited_by"], "eve");
  ASSERT_EQ(as("bob", "PUT", "/v1/schedules/nightly", changed).status, 200);
  EXPECT_EQ(Show()["edited_by"], "eve") << "who changes nothing of it is not its editor";
  const auto made = as("", "POST", "/v1/schedules/nightly/trigger", Json::object());
  ASSERT_EQ(made.status, 201) << made.body;
  const auto run = *SubjectId::Parse(Json::parse(made.body)["id"].get<std::string>());
  EXPECT_THAT(store_.Inspect(run)->events.front().payload.value_or(""), HasSubstr(R"("requesters":["eve"])"));
}

}  // namespace
}  // namespace acl::coordinator
