#include "tests/bench/run/limits.h"

#include <fmt/format.h>

#include "tests/bench/load/work.h"
#include "tests/bench/run/journals.h"
#include "tests/bench/run/load_run.h"
#include "tests/bench/run/statements.h"
#include "tests/bench/wire/database.h"

namespace acl::bench {

double MeasureSubmit(const Stage& stage, bool batch) {
  const std::string conninfo = FreshDatabase(stage);
  FleetOptions options = stage.fleet;
  options.workers = 0;
  Fleet fleet(options, conninfo);
  std::vector<std::string> load = {"--in-flight", "64", "--warm-up", "1", "--window", "5", "--no-wait"};
  if (batch) load.insert(load.end(), {"--batch", "16"});
  const auto [window, done] = RunLoad(stage, fleet, load);
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
  const auto [window, done] = RunLoad(stage, fleet, {"--in-flight", std::to_string(kRuns), "--warm-up", "1", "--window", "5"});
  const std::int64_t short_runs = done.at("completed");
  const double of_short = (FleetCpu(stage, fleet) - before) / static_cast<double>(short_runs * kSteps);

  const std::string workflow = SequentialSteps("test.effect", steps);
  before = FleetCpu(stage, fleet);
  for (int i = 0; i < kRuns; ++i) SubmitRun(fleet, workflow);
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
