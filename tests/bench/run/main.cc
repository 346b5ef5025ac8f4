// bench-run: starts a PostgreSQL and a fleet of its own on this machine, and measures ten-step runs against the model of the same work.
// `./dev bench --help` says what it takes. Everything it starts is ended with it, also after Ctrl-C.
#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "shared/base/clock.h"
#include "tests/bench/figures/result.h"
#include "tests/bench/run/limits.h"
#include "tests/bench/run/machine.h"
#include "tests/bench/run/measure.h"
#include "tests/bench/wire/arguments.h"

namespace acl::bench {
namespace {

constexpr const char* kHelp = R"(usage: ./dev bench [OPTION...]

  --quick               shorter windows, one round, embedded columns only: two minutes
  --points 1,16,64,256  runs in flight
  --columns A,B         embedded, embedded-batch (submitted in batches), flush+1ms (of PostgreSQL's log), kafka (with local continuation),
                        kafka-no-continuation, http-handler (steps are requests to another process); default: all; --quick: the first two
  --warm-up S, --window S, --rounds N   5, 20, 3 (medians)
  --peers               first measure Restate, DBOS and Temporal's dev server at the same work (tests/bench/peers), then compare
  --no-ceiling          without flush time, L1, L2 and the ceiling: shares are not known then
  --verify-all EVENTS   up to so many events (30000) `airun verify` restores all runs after a point, of more a sample; every row is
                        counted and every hash computed again in any case
  --limits              also: runs taken in a second, statements of an idle fleet, cost of a step in runs of 10000 (--long-steps N), memory
                        with 10000 slow calls (--slow-calls N) and cost of a step beside them, runs restored from 100 events (--restore-events N), 10000 leases taken over
                        (--leases N), cost of a step beside 1000000 runs that wait for timers (--open-runs N; 0 leaves one out); done unless --quick, --points or --columns are said
  --statements          show the statements that cost most, from the short further load in which they are counted
  --worker NAME=VALUE, --coordinator NAME=VALUE   a setting of the fleet, as ACL_SLOTS=16; may stand several times
  --workers N           1
  --capability ID       test.effect
  --programs DIR        where acl-coordinator, acl-worker and airun are, instead of those built by ./dev bench
  -o json [--out FILE]  the results as JSON on stdout (people's text goes to stderr), or into a file

  ./dev bench micro [NAME] [ARG...]     the benchmarks of single functions (Google Benchmark)
)";

struct Options {
  std::filesystem::path folder, postgres;
  std::vector<int> points;
  std::vector<ColumnDef> columns;
  Pace pace, model_pace;
  bool ceiling = true, json = false, limits = false;
  int long_steps = 10'000, slow_calls = 10'000, leases = 10'000, open_runs = 1'000'000, restore_events = 100;
  std::string out, peers;
};

std::string Names(const std::vector<ColumnDef>& columns) {
  std::string text;
  for (const auto& column : columns) text += (text.empty() ? "" : ",") + column.name;
  return text;
}

void TakeSettings(const std::vector<std::string>& texts, std::map<std::string, std::string>* settings) {
  for (const auto& text : texts) {
    const auto at = text.find('=');
    if (at == std::string::npos) throw std::runtime_error("a setting is NAME=VALUE: " + text);
    (*settings)[text.substr(0, at)] = text.substr(at + 1);
  }
}

Options Read(Arguments* arguments, Stage* stage, const std::filesystem::path& own) {
  Options options;
  const bool quick = arguments->Has("quick");
  options.folder = arguments->Text("folder", "");
  options.postgres = arguments->Text("postgres", "");
  if (options.folder.empty() || options.postgres.empty()) throw std::runtime_error("run it by ./dev bench");
  stage->tools = own;
  stage->fleet.programs = arguments->Text("programs", own.string());
  for (const auto& text : SplitList(arguments->Text("points", "1,16,64,256"))) options.points.push_back(std::stoi(text));
  const std::string default_columns = quick ? "embedded,embedded-batch" : Names(AllColumns());
  for (const auto& name : SplitList(arguments->Text("columns", default_columns))) {
    const auto all = AllColumns();
    const auto found = std::find_if(all.begin(), all.end(), [&](const ColumnDef& column) { return column.name == name; });
    if (found == all.end()) throw std::runtime_error("no column \"" + name + "\"");
    options.columns.push_back(*found);
    options.columns.back().capability = arguments->Text("capability", found->capability);
  }
  options.pace = quick ? Pace{1, 3, 1} : Pace{5, 20, 3};
  options.pace.warm_up = arguments->Number("warm-up", options.pace.warm_up);
  options.pace.window = arguments->Number("window", options.pace.window);
  options.pace.rounds = arguments->Int("rounds", options.pace.rounds);
  // The model is alike from its first second on: a third of the time is enough.
  options.model_pace = {quick ? 0.5 : 2, quick ? 2.5 : std::min(8.0, options.pace.window), options.pace.rounds};
  stage->verify_all_up_to = static_cast<std::int64_t>(arguments->Number("verify-all", static_cast<double>(stage->verify_all_up_to)));
  stage->dev = arguments->Text("dev", "");
  stage->local = arguments->Text("local", "");
  stage->broker = arguments->Text("broker", "");
  arguments->Has("peers");  // ./dev bench has measured them
  options.peers = arguments->Text("peers-file", "");
  options.limits = arguments->Has("limits") || !(quick || arguments->Has("points") || arguments->Has("columns"));
  options.long_steps = arguments->Int("long-steps", options.long_steps);
  options.slow_calls = arguments->Int("slow-calls", options.slow_calls);
  options.leases = arguments->Int("leases", options.leases);
  options.restore_events = arguments->Int("restore-events", options.restore_events);
  options.open_runs = arguments->Int("open-runs", options.open_runs);
  options.ceiling = !arguments->Has("no-ceiling");
  stage->show_statements = arguments->Has("statements");
  TakeSettings(arguments->All("worker"), &stage->fleet.worker);
  TakeSettings(arguments->All("coordinator"), &stage->fleet.coordinator);
  stage->fleet.workers = arguments->Int("workers", 1);
  options.out = arguments->Text("out", "");
  options.json = arguments->Text("o", "") == "json" || !options.out.empty();
  arguments->RefuseOthers();
  stage->pace = options.pace;
  return options;
}

class Run {
 public:
  Run(Options options, Stage stage) : options_(std::move(options)), stage_(std::move(stage)), text_(options_.json ? std::cerr : std::cout) {
    stage_.tell = [this](const std::string& line) { Say("    " + line); };
  }

  int operator()() {
    const double busy = BusySeconds();
    Pause(std::chrono::seconds(1));
    results_.busy_before = BusySeconds() - busy;
    SayIfBusy();
    Server server({options_.folder, options_.postgres, 0, stage_.tools / "bench_slow_flush.so"});
    stage_.server = &server;
    stage_.fleet.folder = options_.folder / "fleet";
    std::filesystem::create_directory(stage_.fleet.folder);
    results_.machine = MachineText();
    results_.long_run_steps = options_.long_steps;
    results_.slow_calls = options_.slow_calls;
    results_.leases = options_.leases;
    results_.restore_events = options_.restore_events;
    results_.open_runs = options_.open_runs;
    std::ifstream peers(options_.peers);
    for (std::string line; std::getline(peers, line);) {
      if (auto peer = PeerOf(line)) results_.peers.push_back(*peer);
    }
    results_.settings = server.Settings();
    Say(results_.machine);
    std::string settings;
    for (const auto& [name, value] : results_.settings) settings += (settings.empty() ? "" : ", ") + name + " " + value;
    Say("PostgreSQL " + settings);
    server.MakeDatabase(kTemplateDatabase);
    RunToEnd({stage_.fleet.programs / "airun", "db", "migrate"}, {{"ACL_DATABASE_URL", server.Conninfo(kTemplateDatabase)}});
    for (const int delay : {0, 1000}) {
      std::vector<ColumnDef> columns;
      for (const auto& column : options_.columns) {
        if (column.flush_delay_us == delay) columns.push_back(column);
      }
      if (columns.empty()) continue;
      if (delay != 0) server.Restart(delay);
      if (options_.ceiling) MeasureLimits(delay);
      for (const auto& column : columns) MeasureColumn(column);
    }
    if (options_.limits) MeasureOthers();
    Tell();
    return failed_ ? 1 : 0;
  }

 private:
  void Say(const std::string& line) { text_ << line << "\n" << std::flush; }

  void SayIfBusy() {
    if (results_.busy_before <= 0.2) return;
    Say(fmt::format("The machine was busy with other things before ({:.1f} processors): these figures are worth little.",
                    results_.busy_before));
  }

  void MeasureLimits(int delay) {
    const double flush = stage_.server->FlushMicros();
    Say(fmt::format("{}: {:.0f} µs", delay == 0 ? "flush (fdatasync)" : "slow flush", flush));
    auto& ceiling = delay == 0 ? results_.ceiling : results_.slow_ceiling;
    if (delay == 0) {
      results_.flush_us = flush;
      results_.l1_ms = MeasureModel(stage_, {"l1"}, options_.model_pace).p50_ms;
      Say(fmt::format("L1, one step a commit: {:.3f} ms", results_.l1_ms));
      results_.l2_steps_per_s = MeasureModel(stage_, {"l2"}, options_.model_pace).steps_per_s;
      Say(fmt::format("L2, two connections, 64 steps a commit: {:.0f} steps/s", results_.l2_steps_per_s));
    }
    for (const int point : options_.points) {
      ceiling.push_back({point, MeasureModel(stage_, {"closed", std::to_string(point)}, options_.model_pace)});
      text_ << CeilingText({ceiling.back()}) << std::flush;
    }
  }

  void MeasureColumn(const ColumnDef& column) {
    text_ << PointHeading();
    for (const int in_flight : options_.points) {
      try {
        results_.points.push_back(MeasurePoint(stage_, column, in_flight));
        text_ << PointText(results_, results_.points.back()) << std::flush;
      } catch (const Stopped&) {
        throw;
      } catch (const std::exception& error) {
        failed_ = true;
        Say(fmt::format("{} at {}: FAILED, no figure: {}", column.name, in_flight, error.what()));
      }
    }
  }

  void MeasureOthers() {
    stage_.server->Restart(0);
    const auto measure = [&](const char* what, std::optional<double>* into, const std::function<double()>& how) {
      try {
        *into = how();
        Say(fmt::format("{}: {:.2f}", what, **into));
      } catch (const Stopped&) {
        throw;
      } catch (const std::exception& error) {
        failed_ = true;
        Say(fmt::format("{}: FAILED, no figure: {}", what, error.what()));
      }
    };
    measure("submit, a run a request, runs/s", &results_.submit_runs_per_s, [&] { return MeasureSubmit(stage_, false); });
    measure("submit, in batches, runs/s", &results_.submit_batch_runs_per_s, [&] { return MeasureSubmit(stage_, true); });
    measure("idle fleet, statements/s", &results_.idle_statements_per_s, [&] { return MeasureIdle(stage_); });
    if (options_.long_steps > 0)
      measure("a step of a long run, × one of a short", &results_.long_run_cost,
              [&] { return MeasureLongRuns(stage_, options_.long_steps); });
    if (options_.slow_calls > 0)
      measure("slow calls on one worker, MB", &results_.slow_calls_mb, [&] { return MeasureSlowCalls(stage_, options_.slow_calls); });
    if (options_.slow_calls > 0)
      measure("a step beside many slow calls, × beside none", &results_.beside_calls_cost,
              [&] { return MeasureBesideCalls(stage_, options_.slow_calls); });
    if (options_.restore_events > 0)
      measure("runs restored by another worker, 99 %, ms", &results_.restore_p99_ms,
              [&] { return MeasureRestore(stage_, options_.restore_events); });
    if (options_.leases > 0)
      measure("takeover of many leases, s after their time", &results_.takeover_s,
              [&] { return MeasureTakeover(stage_, options_.leases); });
    if (options_.open_runs > 0)
      measure("a step beside many open runs, × beside none", &results_.open_runs_cost,
              [&] { return MeasureOpenRuns(stage_, options_.open_runs); });
  }

  void Tell() {
    Say("");
    SayIfBusy();
    Say(fmt::format("flush {:.0f} µs, L1 {:.3f} ms, L2 {:.0f} steps/s", results_.flush_us, results_.l1_ms, results_.l2_steps_per_s));
    text_ << CeilingText(results_.ceiling);
    if (!results_.slow_ceiling.empty()) text_ << "with 1 ms more a flush:\n" << CeilingText(results_.slow_ceiling);
    if (!results_.points.empty()) text_ << PointHeading();
    for (const Point& point : results_.points) text_ << PointText(results_, point);
    text_ << PeersText(results_);
    text_ << "\n" << TargetsText(TargetsOf(results_)) << std::flush;
    if (!options_.json) return;
    const std::string json = DumpJson(ToJson(results_)) + "\n";
    if (options_.out.empty()) {
      std::cout << json << std::flush;
    } else {
      std::ofstream(options_.out) << json;
    }
  }

  Options options_;
  Stage stage_;
  std::ostream& text_;
  Results results_;
  bool failed_ = false;
};

int Main(int argc, char** argv) {
  Arguments arguments(argc, argv, {"quick", "help", "h", "no-ceiling", "statements", "peers", "limits"});
  if (arguments.Has("help") || arguments.Has("h")) {
    std::cout << kHelp;
    return 0;
  }
  StopOnSignals();
  Stage stage;
  Options options = Read(&arguments, &stage, std::filesystem::read_symlink("/proc/self/exe").parent_path());
  return Run(std::move(options), std::move(stage))();
}

}  // namespace
}  // namespace acl::bench

int main(int argc, char** argv) {
  try {
    return acl::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 1;
  }
}
