#include "tests/bench/run/limits.h"

#include <fmt/format.h>

#include <sstream>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/work.h"
#include "tests/bench/run/journals.h"
#include "tests/bench/run/machine.h"
#include "tests/bench/run/statements.h"
#include "tests/bench/wire/database.h"

namespace acl::bench {
namespace {

// Runs the load to its end; what it said of its last window and at its end.
std::pair<Json, Json> Load(const Stage& stage, const Fleet& fleet, std::vector<std::string> options) {
  std::vector<std::string> argv = {stage.tools / "bench-load", "--api", fmt::format("127.0.0.1:{}", fleet.api_port())};
  argv.insert(argv.end(), options.begin(), options.end());
  std::istringstream lines(RunToEnd(argv));
  Json window, done;
  for (std::string text; std::getline(lines, text);) {
    const auto line = ParseJson(text);
    if (line && line->value("mark", "") == "end") window = *line;
    if (line && line->value("mark", "") == "done") done = *line;
  }
  return {window, done};
}

double FleetCpu(const Stage& stage, const Fleet& fleet) {
  double seconds = CpuSeconds(stage.server->pid()) + CpuSeconds(fleet.coordinator());
  for (const auto& worker : fleet.workers()) seconds += CpuSeconds(worker->pid());
  return seconds;
}

void Submit(const Fleet& fleet, const std::string& workflow) {
  Connection connection("127.0.0.1", fleet.api_port());
  const std::string request =
      RequestText("POST", "/v1/workflows", fmt::format("127.0.0.1:{}", fleet.api_port()), "", DumpJson({{"workflow", workflow}}));
  connection.Send(request, 0);
  std::optional<Answer> answer;
  const bool answered = AwaitThat(
      [&] {
        connection.SendMore();
        answer = connection.Read();
        return answer.has_value();
      },
      std::chrono::minutes(1));
  if (!answered || answer->status != 201) throw std::runtime_error("a long run is not taken: " + std::string(answer ? answer->body : ""));
}

}  // namespace

double MeasureSubmit(const Stage& stage, bool batch) {
  const std::string conninfo = FreshDatabase(stage);
  FleetOptions options = stage.fleet;
  options.workers = 0;
  Fleet fleet(options, conninfo);
  std::vector<std::string> load = {"--in-flight", "64", "--warm-up", "1", "--window", "5", "--no-wait"};
  if (batch) load.insert(load.end(), {"--batch", "16"});
  const auto [window, done] = Load(stage, fleet, load);
  fleet.Stop();
  const std::int64_t there = std::stoll(Database(conninfo).Value("SELECT count(*) FROM listings"));
  if (there != done.at("submitted"))
    throw std::runtime_error(fmt::format("{} runs are there, {} were submitted", there, done.at("submitted").dump()));
  return window.at("runs_per_s");
}

double MeasureIdle(const Stage& stage) {
  constexpr int kSeconds = 10;
  const std::string conninfo = FreshDatabase(stage);
  Fleet fleet(stage.fleet, conninfo);
  Pause(std::chrono::seconds(3));
  StatementCount count(*stage.server, kFleetDatabase);
  Pause(std::chrono::seconds(kSeconds));
  const double statements = count.Calls() / kSeconds;
  fleet.Stop();
  return statements;
}

double MeasureLongRuns(const Stage& stage, int steps) {
  constexpr int kRuns = 4;
  const std::string conninfo = FreshDatabase(stage);
  Fleet fleet(stage.fleet, conninfo);
  double before = FleetCpu(stage, fleet);
  const auto [window, done] = Load(stage, fleet, {"--in-flight", std::to_string(kRuns), "--warm-up", "1", "--window", "5"});
  const std::int64_t short_runs = done.at("completed");
  const double of_short = (FleetCpu(stage, fleet) - before) / static_cast<double>(short_runs * kSteps);

  const std::string workflow = SequentialSteps("test.effect", steps);
  before = FleetCpu(stage, fleet);
  for (int i = 0; i < kRuns; ++i) Submit(fleet, workflow);
  Database database(conninfo);
  // Looked at rarely, for looking costs too.
  const std::string ended = "SELECT count(*) FROM listings WHERE status NOT IN ('PENDING', 'RUNNING')";
  for (int waited = 0; std::stoll(database.Value(ended)) < short_runs + kRuns; ++waited) {
    if (waited == 600) throw std::runtime_error(fmt::format("runs of {} steps do not end in ten minutes", steps));
    Pause(std::chrono::seconds(1));
  }
  const double of_long = (FleetCpu(stage, fleet) - before) / (double(kRuns) * steps);
  fleet.Stop();
  const std::string completed = database.Value("SELECT count(*) FROM listings WHERE status = 'COMPLETED'");
  const std::string completions = database.Value("SELECT count(*) FROM completion_rows");
  if (completed != std::to_string(short_runs + kRuns) || completions != std::to_string(short_runs * kSteps + std::int64_t(kRuns) * steps)) {
    throw std::runtime_error(fmt::format("{} runs completed with {} completions", completed, completions));
  }
  VerifyJournals(conninfo, 2, true);
  stage.tell(fmt::format("CPU a step: {:.1f} µs in runs of 10 steps, {:.1f} µs in runs of {}", of_short * 1e6, of_long * 1e6, steps));
  return of_long / of_short;
}

}  // namespace acl::bench
