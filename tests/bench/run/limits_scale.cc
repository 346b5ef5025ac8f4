// What is measured with very many of something: calls on their way, leases that end at once, runs that are open.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "shared/base/clock.h"
#include "tests/bench/load/connection.h"
#include "tests/bench/load/work.h"
#include "tests/bench/run/limits.h"
#include "tests/bench/run/load_run.h"
#include "tests/bench/run/machine.h"
#include "tests/bench/wire/database.h"

namespace acl::bench {
namespace {

std::int64_t Count(Database& database, const std::string& of) { return std::stoll(database.Value("SELECT count(*) FROM " + of)); }

// Looked at rarely, for looking costs too.
void AwaitCount(Database& database, const std::string& of, std::int64_t wanted, std::chrono::seconds limit) {
  const SteadyTime end = SystemClock().Steady() + limit;
  for (std::int64_t there = 0; (there = Count(database, of)) < wanted; Pause(std::chrono::milliseconds(500))) {
    if (SystemClock().Steady() > end) throw std::runtime_error(fmt::format("{} of {} after {} s: {}", there, wanted, limit.count(), of));
  }
}

// One step, then `width` beside each other: calls to a handler that takes its time.
std::string ManyCalls(int port, int width) {
  std::string text = "name: bench-many-calls\nsteps:\n  - {name: start, capability: test.echo}\n";
  for (int i = 1; i <= width; ++i) {
    text += fmt::format(
        "  - {{name: call_{0}, depends_on: [start], capability: net.http.put, timeout_seconds: 600,\n"
        "     inputs: {{url: 'http://127.0.0.1:{1}/{0}', body: '{{}}', timeout: 600}}}}\n",
        i, port);
  }
  return text;
}

std::unique_ptr<Child> SlowHandler(const Stage& stage, std::chrono::seconds delay, int* port) {
  auto handler = std::make_unique<Child>(ChildOptions{
      {stage.tools / "bench-handler", "--delay", std::to_string(delay.count() * 1000)}, {}, stage.fleet.folder / "handler.log", true});
  *port = std::stoi(handler->ReadLine(std::chrono::seconds(10)).value_or("0"));
  return handler;
}

// CPU of everything but the load, seconds a step of ten-step runs, 16 in flight.
double StepCost(const Stage& stage, Fleet& fleet) {
  const double before = FleetCpu(stage, fleet);
  const auto [window, done] = RunLoad(stage, fleet, {"--in-flight", "16", "--warm-up", "1", "--window", "6"});
  return (FleetCpu(stage, fleet) - before) / static_cast<double>(done.at("completed").get<std::int64_t>() * kSteps);
}

}  // namespace

double MeasureSlowCalls(const Stage& stage, int calls) {
  constexpr int kWidth = 100;
  const std::string conninfo = FreshDatabase(stage);
  int port = 0;
  auto handler = SlowHandler(stage, std::chrono::seconds(40), &port);
  FleetOptions options = stage.fleet;
  options.worker["ACL_SLOTS"] = std::to_string(calls);
  Fleet fleet(options, conninfo);
  const int runs = calls / kWidth;
  for (int i = 0; i < runs; ++i) SubmitRun(fleet, ManyCalls(port, kWidth));
  Database database(conninfo);
  AwaitCount(database, "attempt_rows", runs + calls, std::chrono::seconds(30));
  Pause(std::chrono::seconds(1));
  // All are on their way: none of the calls has an answer yet.
  if (const std::int64_t ended = Count(database, "completion_rows"); ended != runs)
    throw std::runtime_error(fmt::format("{} steps had ended before the last call was made", ended - runs));
  const double megabytes = static_cast<double>(PeakBytes(fleet.workers().front()->pid())) / 1e6;
  AwaitCount(database, "listings WHERE status = 'COMPLETED'", runs, std::chrono::minutes(3));
  if (Count(database, "attempt_rows") != runs + calls) throw std::runtime_error("some calls were made twice");
  const double after = static_cast<double>(PeakBytes(fleet.workers().front()->pid())) / 1e6;
  stage.tell(fmt::format("{} calls on their way: {:.0f} MB; at most, with their answers: {:.0f} MB", calls, megabytes, after));
  fleet.Stop();
  return std::max(megabytes, after);
}

double MeasureBesideCalls(const Stage& stage, int calls) {
  const std::string conninfo = FreshDatabase(stage);
  int port = 0;
  auto handler = SlowHandler(stage, std::chrono::seconds(300), &port);
  FleetOptions options = stage.fleet;
  constexpr int kRoom = 512;  // for the load
  options.worker["ACL_SLOTS"] = options.worker["ACL_RUNS"] = std::to_string(calls + kRoom);
  Fleet fleet(options, conninfo);
  StepCost(stage, fleet);  // plans are made, caches are warm
  const double alone = StepCost(stage, fleet);
  Database database(conninfo);
  const std::int64_t attempts = Count(database, "attempt_rows");
  for (int i = 0; i < calls; ++i) SubmitRun(fleet, ManyCalls(port, 1));
  AwaitCount(database, "attempt_rows", attempts + 2 * calls, std::chrono::minutes(2));
  const double beside = StepCost(stage, fleet);
  stage.tell(
      fmt::format("CPU a step: {:.1f} µs alone, {:.1f} µs beside {} slow calls on the same worker", alone * 1e6, beside * 1e6, calls));
  handler->End(SIGKILL);  // no run needs to end
  return beside / alone;
}

double MeasureRestore(const Stage& stage, int events) {
  constexpr int kRuns = 200;
  constexpr std::size_t kStateBytes = 150'000;  // so much that the second snapshot is not due within the events after the first
  constexpr int kBeforeSnapshot = 60;           // events until the first snapshot is there, at most: it is due after 32
  const std::string conninfo = FreshDatabase(stage);
  int port = 0;
  auto handler = SlowHandler(stage, std::chrono::seconds(300), &port);
  FleetOptions options = stage.fleet;
  options.worker["ACL_SLOTS"] = std::to_string(kRuns);
  Fleet fleet(options, conninfo);
  // Created and started, then an event a step; the last step's call is still on its way.
  const int head = kBeforeSnapshot + events, steps = head - 2;
  std::string text = "name: bench-restore\ninitial_state: {held: " + std::string(kStateBytes, 'x') + "}\nsteps:\n";
  for (int i = 0; i < steps; ++i) text += fmt::format("  - {{name: s{}, capability: test.effect, inputs: {{size: 130}}}}\n", i);
  text += fmt::format(
      "  - {{name: call, capability: net.http.put, timeout_seconds: 600, inputs: {{url: 'http://127.0.0.1:{}/', body: '{{}}', timeout: "
      "600}}}}\n",
      port);
  for (int i = 0; i < kRuns; ++i) SubmitRun(fleet, text);
  Database database(conninfo);
  AwaitCount(database, "completion_rows", std::int64_t(kRuns) * steps, std::chrono::minutes(5));
  AwaitCount(database, "attempt_rows", std::int64_t(kRuns) * (steps + 1), std::chrono::minutes(1));
  const auto since = database.Value(
      "SELECT min(h.head_seq - (SELECT max(x.last_event_seq) FROM snapshot_rows x WHERE x.subject_id = h.subject_id)) FROM subject_head h");
  if (since.empty() || std::stoi(since) < events)
    throw std::runtime_error(fmt::format("a run has only {} events since its snapshot", since));
  fleet.AddWorker(options, conninfo);
  fleet.workers().front()->End(SIGKILL);
  AwaitCount(database, "leases l JOIN worker_sessions s USING (session_id) WHERE s.dead_at IS NULL", kRuns, std::chrono::minutes(2));
  // Restored, and the call begun again: the event that says so is there.
  AwaitCount(database, fmt::format("subject_head WHERE head_seq > {}", head), kRuns, std::chrono::minutes(2));
  const double ms = fleet.NewestWorkerQuantile("restore_time_ms", 0.99);
  stage.tell(fmt::format("{} runs restored from {} events or more and a snapshot: half within {} ms, 99 % within {} ms", kRuns, since,
                         fleet.NewestWorkerQuantile("restore_time_ms", 0.5), ms));
  handler->End(SIGKILL);  // no run needs to end
  return ms;
}

double MeasureTakeover(const Stage& stage, int leases) {
  const std::string conninfo = FreshDatabase(stage);
  int port = 0;
  auto handler = SlowHandler(stage, std::chrono::seconds(300), &port);
  constexpr std::chrono::seconds kTtl{10};
  FleetOptions options = stage.fleet;
  options.worker["ACL_SLOTS"] = options.worker["ACL_RUNS"] = std::to_string(leases);
  options.worker["ACL_LEASE_TTL_MS"] = options.coordinator["ACL_LEASE_TTL_MS"] = std::to_string(kTtl.count() * 1000);
  Fleet fleet(options, conninfo);
  for (int i = 0; i < leases; ++i) SubmitRun(fleet, ManyCalls(port, 1));
  Database database(conninfo);
  AwaitCount(database, "leases WHERE session_id IS NOT NULL", leases, std::chrono::minutes(2));
  AwaitCount(database, "attempt_rows", 2 * leases, std::chrono::minutes(2));
  fleet.AddWorker(options, conninfo);
  Pause(std::chrono::seconds(2));
  fleet.workers().front()->End(SIGKILL);
  AwaitCount(database, "leases WHERE acquired_at > (SELECT max(dead_at) FROM worker_sessions)", leases, std::chrono::minutes(2));
  // From the last sign of life of the worker that died, as everybody saw it.
  const double seconds =
      std::stod(database.Value("SELECT extract(epoch FROM max(l.acquired_at) - (SELECT max(heartbeat_at) FROM worker_sessions WHERE "
                               "dead_at IS NOT NULL)) FROM leases l"));
  // And each went on: its call was begun again.
  AwaitCount(database, "attempt_rows", 3 * leases, std::chrono::minutes(2));
  const double went_on =
      std::stod(database.Value("SELECT extract(epoch FROM max(a.started_at) - (SELECT max(heartbeat_at) FROM worker_sessions WHERE dead_at "
                               "IS NOT NULL)) FROM attempt_rows a"));
  stage.tell(
      fmt::format("{} leases: the last was granted again {:.2f} s after the last heartbeat of their worker, whose time was {} s; the "
                  "last run went on after {:.2f} s",
                  leases, seconds, kTtl.count(), went_on));
  handler->End(SIGKILL);  // no run needs to end
  return seconds - static_cast<double>(kTtl.count());
}

double MeasureOpenRuns(const Stage& stage, int open) {
  const std::string conninfo = FreshDatabase(stage);
  Fleet fleet(stage.fleet, conninfo);
  StepCost(stage, fleet);  // plans are made, caches are warm
  const double few = StepCost(stage, fleet);
  // Each waits for its timer: as many timers are pending.
  const auto file = stage.fleet.folder / "waiting.yaml";
  std::ofstream(file) << "name: bench-waiting\nmax_execution_time_seconds: 8640000\nsteps:\n  - {name: later, wait: 7d}\n";
  for (std::int64_t there = 0; there < open;) {
    const std::string window = std::to_string(std::clamp<std::int64_t>((open - there) / 10'000, 1, 20));
    const auto [ended, done] =
        RunLoad(stage, fleet,
                {"--in-flight", "64", "--batch", "16", "--no-wait", "--workflow", file.string(), "--warm-up", "0", "--window", window});
    there += done.at("submitted").get<std::int64_t>();
  }
  Database database(conninfo);
  AwaitCount(database, "timers", open, std::chrono::minutes(30));
  Pause(std::chrono::seconds(5));
  const double many = StepCost(stage, fleet);
  stage.tell(
      fmt::format("CPU a step: {:.1f} µs with no other run, {:.1f} µs beside {} that wait for their timers", few * 1e6, many * 1e6, open));
  fleet.Stop();
  return many / few;
}

}  // namespace acl::bench
