// airun why, top: each state that a run can wait in, and what is said of it.
#include "cli/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Json RunThat(const Json& state, const Json& more = Json::object()) {
  Json run = {{"id", kId},       {"name", "hello"}, {"version", "1"},     {"status", "RUNNING"},
              {"closed", false}, {"queue", "gpu"},  {"fencing_token", 7}, {"state", state}};
  run["state"]["since"] = "2026-11-22T01:02:03.000004Z";
  run.update(more);
  return run;
}

Json WorkerOf(const char* queue, int held, bool dead = false) {
  return {{"worker_name", "w"}, {"queues", Json::array({queue})}, {"leases_held", held}, {"slots", 4}, {"dead", dead}};
}

// A run's one step.
Json StepThat(Json step) { return {{"steps", Json::array({std::move(step)})}}; }

const Json kBacklog = Json::array({Json{{"queue", "gpu"}, {"ready", 3}, {"oldest_seconds", 61.0}, {"workers", 0}}});

TEST(WhyOf, ReadyAndNobodyServesItsQueue) {
  const Why why = WhyOf(RunThat({{"name", "ready"}}), kBacklog, Json::array({WorkerOf("cpu", 0), WorkerOf("gpu", 0, true)}));
  EXPECT_TRUE(why.stuck);
  EXPECT_THAT(why.what, HasSubstr("waits for a worker of queue 'gpu'"));
  EXPECT_THAT(why.because, Contains("no living worker takes from queue 'gpu'"));
  EXPECT_THAT(why.because, Contains(HasSubstr("3 wait, the oldest for 61 s")));
  EXPECT_THAT(why.commands, Contains(HasSubstr("acl-worker --queues gpu")));
}

TEST(WhyOf, ReadyAndItsWorkersAreFullIsNotStuck) {
  const Why full = WhyOf(RunThat({{"name", "ready"}}), kBacklog, Json::array({WorkerOf("gpu", 4)}));
  EXPECT_FALSE(full.stuck);
  EXPECT_THAT(full.because, Contains(HasSubstr("hold as much as they may")));
  const Why room = WhyOf(RunThat({{"name", "ready"}}), kBacklog, Json::array({WorkerOf("gpu", 4), WorkerOf("gpu", 1)}));
  EXPECT_THAT(room.because, Contains(HasSubstr("live and have room")));
}

TEST(WhyOf, HeldByAWorker) {
  const Why why = WhyOf(RunThat({{"name", "leased"}, {"holder", "worker-1"}},
                                StepThat({{"name", "copy"}, {"status", "RUNNING"}, {"started_at", "2026-11-22T01:02:04Z"}})),
                        Json::array(), Json::array());
  EXPECT_FALSE(why.stuck);
  EXPECT_THAT(why.what, HasSubstr("worker worker-1 has it since 2026-11-22 01:02:03Z, under token 7"));
  EXPECT_THAT(why.because, Contains(HasSubstr("step copy runs since")));
}

TEST(WhyOf, UncertainIsForAPersonToSettle) {
  const Why why = WhyOf(RunThat({{"name", "waiting"}, {"blocked_on", "uncertain"}}, {{"uncertain", Json::array({"pay"})}}), Json::array(),
                        Json::array());
  EXPECT_TRUE(why.stuck);
  EXPECT_THAT(why.commands, Contains("airun step resolve " + kId + " pay --decision completed|failed|retry"));
}

TEST(WhyOf, WaitsOfEveryKindSayWhatWakesThem) {
  const auto waits = [](const char* on, const Json& more = Json::object(), const char* wake = nullptr) {
    Json state = {{"name", "waiting"}, {"blocked_on", on}};
    if (wake != nullptr) state["next_wake"] = wake;
    return WhyOf(RunThat(state, more), Json::array(), Json::array());
  };
  EXPECT_THAT(waits("timer", Json::object(), "2026-11-23T00:00:00Z").wakes, HasSubstr("its time, 2026-11-23 00:00:00Z"));
  const Why signal = waits("signal", StepThat({{"name", "ask"}, {"status", "WAITING"}, {"signal", "go"}}));
  EXPECT_THAT(signal.commands, Contains("airun workflow signal " + kId + " go"));
  EXPECT_THAT(waits("approval", StepThat({{"name", "ok"}, {"status", "WAITING"}})).commands, Contains("airun approvals list"));
  EXPECT_THAT(waits("child", StepThat({{"name", "sub"}, {"status", "RUNNING"}, {"child", "c1"}})).commands, Contains("airun why c1"));
  EXPECT_THAT(waits("memory", {{"warnings", Json::array({"does not fit"})}}).because, Contains("does not fit"));
  const Why dispatch = waits("dispatch", {{"dispatches", Json::array({Json{{"step_id", "s"}, {"queue", "gpu"}, {"state", "queued"}}})}});
  EXPECT_TRUE(dispatch.stuck);
  EXPECT_THAT(dispatch.because, Contains("no living worker takes from queue 'gpu'"));
  EXPECT_THAT(WhyOf(RunThat({{"name", "paused"}}), {}, {}).commands, Contains("airun workflow resume " + kId));
  EXPECT_THAT(WhyOf(RunThat({{"name", "quarantined"}}), {}, {}).commands, Contains("airun workflow quarantine release " + kId));
}

TEST(WhyOf, TellsTheLastErrorsAndAnEnd) {
  Json steps = Json::array();
  for (int i = 0; i < 5; ++i) steps.push_back({{"name", "s" + std::to_string(i)}, {"error", "no route"}, {"attempts", 2}});
  const Why why = WhyOf(RunThat({{"name", "waiting"}, {"blocked_on", "retry"}}, {{"steps", steps}}), Json::array(), Json::array());
  EXPECT_THAT(why.because, Contains("step s4: no route (attempts: 2)"));
  EXPECT_THAT(why.because, Not(Contains(HasSubstr("step s0"))));
  EXPECT_THAT(WhyOf(RunThat({}, {{"closed", true}, {"status", "FAILED"}, {"error", "x"}}), {}, {}).what, HasSubstr("it has ended: FAILED"));
}

TEST(Why, PrintsWhatIsKnownAndWhatToDo) {
  FakeServer server;
  server.On("GET /v1/workflows/" + kId, 200, RunThat({{"name", "ready"}}));
  server.On("GET /v1/queues", 200, {{"queues", kBacklog}});
  server.On("GET /v1/workers", 200, {{"workers", Json::array()}});
  const Outcome told = Airun(&server, {"why", kId});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("no living worker takes from queue 'gpu'"));
  const Json json = Json::parse(Airun(&server, {"why", kId, "-o", "json"}).out);
  EXPECT_EQ(json.value("stuck", false), true);
}

TEST(Top, ShowsQueuesWorkersAndWhoWaitsForAPerson) {
  FakeServer server;
  server.On("GET /v1/queues", 200, {{"queues", kBacklog}});
  server.On("GET /v1/workers", 200, {{"workers", Json::array({WorkerOf("cpu", 2)})}});
  server.On("GET /v1/quarantine", 200, {{"quarantined", Json::array()}, {"suspects", {{"waiting", 1}, {"held", 1}}}});
  server.On("GET /v1/workflows", 200, {{"workflows", Json::array({RunThat({{"name", "waiting"}, {"blocked_on", "uncertain"}})})}});
  const Outcome told = Airun(&server, {"top"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("3 waiting, 2 held of 4 by 1 workers, 1 need a person, 0 quarantined, 2 suspects"));
  EXPECT_THAT(told.out, HasSubstr("gpu    3        1 m 01 s"));
  EXPECT_THAT(told.out, HasSubstr("uncertain"));
  server.down = true;
  EXPECT_NE(Airun(&server, {"top", "--once"}).code, 0);
}

}  // namespace
}  // namespace acl::cli::test
