// A fleet that sends its traces to a real Jaeger: what is read back there is whole, also when a worker was killed in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "shared/base/trace_context.h"
#include "shared/base/uuid7.h"
#include "tests/jaeger/jaeger_trace.h"
#include "tests/support/gated_run.h"
#include "tests/support/small_server.h"

namespace acl::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

FleetOptions Traced() {
  FleetOptions options;
  options.environment = {
      {"OTEL_EXPORTER_OTLP_ENDPOINT", JaegerOtlp()}, {"OTEL_BSP_SCHEDULE_DELAY", "50"}, {"ACL_JAEGER_URL", JaegerUrl() + "/"}};
  return options;
}

// Until the trace has its last span, the run's own, and what the request left.
JaegerTrace AwaitTrace(const std::string& trace_id) {
  JaegerTrace trace;
  EXPECT_TRUE(WaitUntil([&] {
    trace = ReadTrace(trace_id);
    return !trace.Named("workflow ").empty() && !trace.Named("POST ").empty();
  })) << trace.answer.dump(1);
  return trace;
}

// The picture in docs/operate/operations.md is drawn from such a trace (ACL_UPDATE_DOCS=1 ./dev test jaeger).
void ExpectDrawn(const TestFolder& folder, const JaegerTrace& trace) {
  const std::string source = ACL_SOURCE_DIR;
  WriteFile(folder / "trace.json", trace.answer.dump());
  const auto drawn = RunProgram({"/usr/bin/env", "python3", source + "/.dev/trace_svg.py", (folder / "trace.json").string()});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  const auto count = [&drawn](const std::string& what) {
    int found = 0;
    for (auto at = drawn.out.find(what); at != std::string::npos; at = drawn.out.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("class=\"span\""), int(trace.spans.size()));
  EXPECT_EQ(count("class=\"link\""), 1) << "from the lost attempt to the one after it";
  EXPECT_EQ(count(", takeover"), 2);
  EXPECT_EQ(count("attempt (lost)"), 1);
  for (const char* worker : {"worker-1", "worker-2"}) EXPECT_EQ(count(worker), 1);
  if (std::getenv("ACL_UPDATE_DOCS") != nullptr) WriteFile(source + "/docs/operate/trace.svg", drawn.out);
}

TEST(Trace, OfARunWhoseWorkerWasKilledIsWholeAndShowsTheTakeover) {
  Fleet fleet(Traced());
  fleet.StartCoordinator();
  for (int n : {1, 2}) fleet.StartWorker(n);
  ASSERT_TRUE(fleet.AwaitReady());
  GatedRun run(fleet, 3);
  const std::string trace_id = fleet.Run(run.id()).value("trace_id", "");
  ASSERT_EQ(trace_id.size(), 32u);
  ASSERT_TRUE(run.AwaitStarted(1));
  const int killed = fleet.HolderOf(run.id());
  ASSERT_GT(killed, 0);
  run.Open(1);
  ASSERT_TRUE(run.AwaitStarted(2));
  // What it has not sent yet dies with it; the first step's end is seen to have arrived.
  ASSERT_TRUE(WaitUntil([&] { return !ReadTrace(trace_id).Named("step step_1").empty(); })) << fleet.Logs();
  fleet.worker(killed).Kill();
  ASSERT_TRUE(run.AwaitStarted(2, 2));
  run.OpenAll();
  run.ExpectCompletedOnce();

  const JaegerTrace trace = AwaitTrace(trace_id);
  trace.ExpectWhole();
  const std::string dead = Fleet::WorkerName(killed), taker = Fleet::WorkerName(3 - killed);
  std::set<std::string> workers, services;
  for (const JaegerSpan& span : trace.spans) {
    services.insert(span.service);
    if (const std::string worker = span.Tag("acl.worker"); !worker.empty()) workers.insert(worker);
  }
  EXPECT_THAT(workers, ElementsAre("worker-1", "worker-2"));
  EXPECT_THAT(services, ElementsAre("acl-coordinator", "acl-worker"));

  const auto claims = trace.Named("claim");
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].Tag("acl.worker"), dead);
  EXPECT_EQ(claims[1].Tag("acl.worker"), taker);
  EXPECT_THAT(claims[1].events, Contains("acl.takeover"));
  EXPECT_THAT(claims[1].links, ElementsAre(claims[0].id));

  std::vector<JaegerSpan> second;
  for (const JaegerSpan& span : trace.Named("attempt")) {
    if (span.Tag("acl.step_id") == "step_2") second.push_back(span);
  }
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].Tag("acl.outcome"), "lost");
  EXPECT_EQ(second[0].Tag("acl.token"), claims[0].Tag("acl.token")) << "the killed worker's";
  EXPECT_EQ(second[0].Tag("error"), "true");
  EXPECT_EQ(second[1].Tag("acl.outcome"), "succeeded");
  EXPECT_EQ(second[1].Tag("acl.worker"), taker);
  EXPECT_EQ(second[1].Tag("acl.token"), claims[1].Tag("acl.token"));
  EXPECT_THAT(second[1].links, ElementsAre(second[0].id));
  EXPECT_THAT(second[1].events, Contains("acl.takeover"));
  EXPECT_EQ(trace.Named("step ").size(), 3u);
  EXPECT_EQ(trace.Named("attempt").size(), 4u);

  const auto runs = trace.Named("workflow ");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].name, "workflow gated");
  EXPECT_EQ(runs[0].Tag("acl.status"), "COMPLETED");
  EXPECT_EQ(runs[0].parent, trace.Named("POST /v1/workflows")[0].id);
  const auto commits = trace.Named("commit");
  EXPECT_GE(commits.size(), 4u);
  for (const JaegerSpan& commit : commits) EXPECT_GE(std::stoi("0" + commit.Tag("db.operation.batch.size")), 1);
  ExpectDrawn(fleet.folder(), trace);
}

TEST(Trace, ContextGoesFromTheCallersEnvironmentToEachCall) {
  SmallServer receiver([](const std::string&) { return SmallServer::Answer("200 OK", "hello"); });
  Fleet fleet(Traced());
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const TraceContext caller{ToHex(NewUuid7().bytes.data(), 16), "00f067aa0ba902b7", true};
  const auto file = fleet.folder() / "calls.yaml";
  WriteFile(file,
            "name: calls\nsteps:\n"
            "  - name: shell\n    capability: sys.exec.run\n    inputs: {command: sh, args: [-c, 'echo $TRACEPARENT']}\n"
            "  - name: fetch\n    capability: net.http.get\n    inputs: {url: '" +
                receiver.Url("/thing?token=hidden") + "'}\n");
  const auto submitted = RunProgram({"/usr/bin/env", "TRACEPARENT=" + FormatTraceparent(caller), "ACL_SERVER=" + fleet.ApiUrl(),
                                     Binary("airun"), "workflow", "run", file.string(), "--wait", "-o", "json"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.out << submitted.err;
  const JaegerTrace trace = AwaitTrace(caller.trace_id);
  trace.ExpectWhole(caller.span_id);
  const auto shell = trace.Named("attempt sys.exec.run"), fetch = trace.Named("attempt net.http.get");
  ASSERT_EQ(shell.size(), 1u);
  ASSERT_EQ(fetch.size(), 1u);
  const std::string id = trace.Named("workflow ")[0].Tag("acl.run_id");
  const Json run = fleet.Run(id);
  EXPECT_EQ(run["steps"][0]["outputs"]["stdout"], "00-" + caller.trace_id + "-" + shell[0].id + "-01\n");
  ASSERT_EQ(receiver.requests().size(), 1u);
  EXPECT_THAT(receiver.requests()[0], ::testing::HasSubstr("traceparent: 00-" + caller.trace_id + "-" + fetch[0].id + "-01\r\n"));
  EXPECT_EQ(fetch[0].Tag("span.kind"), "client");
  EXPECT_EQ(fetch[0].Tag("http.request.method"), "GET");
  EXPECT_EQ(fetch[0].Tag("http.response.status_code"), "200");
  EXPECT_EQ(fetch[0].Tag("url.full"), receiver.Url("/thing")) << "without what may be a secret";
  EXPECT_EQ(trace.answer.dump().find("hidden"), std::string::npos);

  EXPECT_EQ(run["trace_id"], caller.trace_id);
  EXPECT_EQ(run["trace_url"], JaegerUrl() + "/trace/" + caller.trace_id);
  const auto status = fleet.Cli({"workflow", "status", id});
  EXPECT_THAT(status.out, ::testing::HasSubstr("trace       " + caller.trace_id + "  " + JaegerUrl() + "/trace/" + caller.trace_id));
}

TEST(Trace, OfACallerThatDoesNotRecordIsNotRecorded) {
  Fleet fleet(Traced());
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  const auto submit = [&](bool sampled) {
    const TraceContext caller{ToHex(NewUuid7().bytes.data(), 16), "00f067aa0ba902b7", sampled};
    const Json body = {{"workflow", "name: quick\nsteps:\n  - {name: a, capability: sys.info.get_time}\n"}, {"file", "quick.yaml"}};
    const auto reply =
        fleet.Api("POST", "/v1/workflows", body, {{"Idempotency-Key", caller.trace_id}, {"traceparent", FormatTraceparent(caller)}});
    EXPECT_EQ(reply.status, 201) << reply.body;
    EXPECT_TRUE(fleet.AwaitStatus(reply.json()["id"], "COMPLETED"));
    return caller.trace_id;
  };
  const std::string silent = submit(false), told = submit(true);
  AwaitTrace(told).ExpectWhole("00f067aa0ba902b7");  // sent after the other would have been
  EXPECT_TRUE(ReadTrace(silent).spans.empty());
}

}  // namespace
}  // namespace acl::test
