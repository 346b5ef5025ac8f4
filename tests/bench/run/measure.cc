#include "tests/bench/run/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "tests/bench/load/work.h"
#include "tests/bench/run/machine.h"
#include "tests/bench/run/statements.h"
#include "tests/bench/wire/database.h"

namespace acl::bench {
namespace {

constexpr const char* kModelDatabase = "bench_model";

Window WindowOf(const Json& line) {
  return {line.at("runs_per_s"), line.at("steps_per_s"), line.at("p50_ms"), line.at("p99_ms"), line.at("max_ms")};
}

// Reads a program's marks until it is done; `begin` and `end` are called at each window's ends. The line "done".
Json Follow(Child* program, double longest_s, const std::function<void()>& begin, const std::function<void(const Json&)>& end) {
  const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>((longest_s + 90) * 1000));
  while (auto text = program->ReadLine(limit)) {
    auto line = ParseJson(*text);
    if (!line || !line->is_object()) throw std::runtime_error(program->name() + " says: " + *text);
    const std::string mark = line->value("mark", "");
    if (mark == "begin") begin();
    if (mark == "end") end(*line);
    if (mark == "done") return *line;
  }
  throw std::runtime_error(program->name() + " ended early: " + program->LogTail());
}

// A quarter of them, at most 64, and none left over.
int BatchOf(int in_flight) {
  int batch = std::clamp(in_flight / 4, 1, 64);
  while (in_flight % batch != 0) --batch;
  return batch;
}

// What is counted from one end of a window to the other.
struct Reading {
  std::map<std::string, double> cpu_s;
  double wal_bytes = 0;
  double busy_s = 0;  // of the whole machine
};

// What the machine did beside what was read, in processors.
double OthersOf(const Reading& begin, const Reading& end, double seconds) {
  double others = end.busy_s - begin.busy_s;
  for (const auto& [name, cpu] : end.cpu_s) others -= cpu - begin.cpu_s.at(name);
  return std::max(0.0, others) / seconds;
}

class Measurement {
 public:
  Measurement(const Stage& stage, const ColumnDef& column, int in_flight) : stage_(stage), column_(column) {
    point_.column = column.name;
    point_.in_flight = in_flight;
  }

  Point Measure() {
    const std::string conninfo = FreshDatabase(stage_);
    FleetOptions options = stage_.fleet;
    auto settings = column_.settings;
    std::unique_ptr<Child> handler;
    if (column_.handler) {
      handler = std::make_unique<Child>(ChildOptions{{stage_.tools / "bench-handler"}, {}, stage_.fleet.folder / "handler.log", true});
      handled_ = stage_.fleet.folder / "handled.yaml";
      std::ofstream(handled_) << TenHandledSteps(std::stoi(handler->ReadLine(std::chrono::seconds(10)).value_or("0")));
      others_["handler"] = handler->pid();
    }
    if (column_.kafka) StartBroker(&settings);
    for (auto* all : {&options.coordinator, &options.worker}) {
      for (const auto& [name, value] : settings) all->emplace(name, value);
    }
    Fleet fleet(options, conninfo);
    const Totals before = Count(&fleet);
    RunLoad(&fleet, stage_.pace);
    const Totals after = Count(&fleet);
    const double steps = static_cast<double>(submitted_ * 10);
    point_.transactions_per_step = (after.transactions - before.transactions) / steps;
    point_.flushes_per_step = (after.flushes - before.flushes) / steps;
    const double commits = after.commits - before.commits;
    point_.steps_per_commit = commits > 0 ? steps / commits : 0;
    CountStatements(&fleet);
    fleet.Stop();
    Finish();
    CheckOptions check{conninfo, options.programs / "airun", submitted_};
    check.verify_all_up_to = stage_.verify_all_up_to;
    const Checked checked = CheckRuns(check);
    point_.verified_runs = checked.runs;
    stage_.tell(fmt::format("checked {} runs in {:.1f} s, {} events and their hashes in {:.1f} s; airun verify of {} in {:.1f} s",
                            checked.runs, checked.sql_s, checked.events, checked.journals_s, checked.verified, checked.verify_s));
    stage_.server->DropDatabase(kFleetDatabase);
    return point_;
  }

 private:
  struct Totals {
    double transactions = 0, flushes = 0, commits = 0;
  };

  // Sessions hand in what they counted at most once a second, and when they have been idle for as long.
  Totals Count(Fleet* fleet) {
    Pause(std::chrono::milliseconds(1300));
    Database database(stage_.server->Conninfo("postgres"));
    Totals totals;
    totals.transactions = database.Number(fmt::format("SELECT xact_commit FROM pg_stat_database WHERE datname = '{}'", kFleetDatabase));
    totals.flushes = database.Number("SELECT wal_sync FROM pg_stat_wal");
    totals.commits = fleet->WorkerMetric("acl_commit_batch_size_count");
    return totals;
  }

  Reading Read(Fleet* fleet, pid_t load, Database* database) {
    Reading reading;
    reading.wal_bytes = database->Number("SELECT pg_current_wal_insert_lsn() - '0/0'");
    reading.cpu_s["postgres"] = CpuSeconds(stage_.server->pid());
    reading.cpu_s["coordinator"] = CpuSeconds(fleet->coordinator());
    for (const auto& worker : fleet->workers()) reading.cpu_s["worker"] += CpuSeconds(worker->pid());
    reading.cpu_s["load"] = CpuSeconds(load);
    for (const auto& [name, pid] : others_) reading.cpu_s[name] = CpuSeconds(pid);
    reading.busy_s = BusySeconds();
    return reading;
  }

  void RunLoad(Fleet* fleet, const Pace& pace, bool counted = true) {
    std::vector<std::string> argv = {stage_.tools / "bench-load",
                                     "--api",
                                     fmt::format("127.0.0.1:{}", fleet->api_port()),
                                     "--in-flight",
                                     std::to_string(point_.in_flight),
                                     "--capability",
                                     column_.capability,
                                     "--warm-up",
                                     fmt::format("{}", pace.warm_up),
                                     "--window",
                                     fmt::format("{}", pace.window),
                                     "--rounds",
                                     std::to_string(pace.rounds)};
    if (column_.batch) argv.insert(argv.end(), {"--batch", std::to_string(BatchOf(point_.in_flight))});
    if (column_.handler) argv.insert(argv.end(), {"--workflow", handled_});
    Child load({argv, {}, stage_.fleet.folder / "load.log", true});
    Database database(stage_.server->Conninfo("postgres"));
    Reading begin;
    const Json done = Follow(
        &load, pace.rounds * (pace.warm_up + pace.window),
        [&] {
          begin = Read(fleet, load.pid(), &database);
          point_.peak_mb["load"] = Mega(PeakBytes(load.pid()));  // it may have gone by the end of the last window
        },
        [&](const Json& line) {
          if (!counted) return;
          const Reading end = Read(fleet, load.pid(), &database);
          const double steps = std::max(1.0, line.at("steps").get<double>());
          windows_.push_back(WindowOf(line));
          windows_.back().others = OthersOf(begin, end, line.at("seconds"));
          wal_.push_back((end.wal_bytes - begin.wal_bytes) / steps);
          for (const auto& [name, seconds] : end.cpu_s) cpu_[name].push_back((seconds - begin.cpu_s.at(name)) * 1e6 / steps);
          auto& peak = point_.peak_mb;
          peak["postgres"] = std::max(peak["postgres"], Mega(FamilyBytes(stage_.server->pid())));
          for (const auto& [name, pid] : others_) peak[name] = Mega(PeakBytes(pid));
          peak["coordinator"] = Mega(PeakBytes(fleet->coordinator()));
          double workers = 0;
          for (const auto& worker : fleet->workers()) workers += Mega(PeakBytes(worker->pid()));
          peak["worker"] = workers;
        });
    load.Wait(std::chrono::seconds(30));
    fleet->MustRun();
    submitted_ += done.at("submitted").get<std::int64_t>();
    if (done.at("errors") != 0 || done.at("submitted") != done.at("completed")) {
      throw std::runtime_error(
          fmt::format("the load met {} errors; the first: {}", done.at("errors").get<int>(), done.value("first_error", "")));
    }
  }

  void CountStatements(Fleet* fleet) {
    StatementCount count(*stage_.server, kFleetDatabase);
    const std::int64_t before = submitted_;
    RunLoad(fleet, {0.2, 1, 1}, false);
    const double steps = static_cast<double>((submitted_ - before) * kSteps);
    point_.statements_per_step = count.Calls() / steps;
    if (!stage_.show_statements) return;
    for (const auto& line : count.Costliest(steps)) stage_.tell(line);
  }

  // A broker that runs from the first point over Kafka on (`./dev bench` ends it), and topics of this point alone.
  void StartBroker(std::map<std::string, std::string>* settings) {
    std::string address = RunToEnd({stage_.dev, "kafka", "start", stage_.broker});
    address.erase(address.find_last_not_of('\n') + 1);
    std::ifstream(stage_.local / "kafka" / stage_.broker / "pid") >> others_["kafka"];
    (*settings)["ACL_QUEUE_DRIVER"] = "kafka";
    (*settings)["ACL_KAFKA_BOOTSTRAP"] = address;
    (*settings)["ACL_KAFKA_PREFIX"] = fmt::format("{}-{}", column_.name, point_.in_flight);
    RunToEnd({stage_.fleet.programs / "airun", "queue", "init", "default", "--partitions", "4", "--replication", "1"}, *settings);
  }

  void Finish() {
    point_.window = MedianOf(windows_);
    point_.wal_bytes_per_step = Median(wal_);
    for (const auto& [name, values] : cpu_) point_.cpu_us_per_step[name] = Median(values);
  }

  static double Mega(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

  const Stage& stage_;
  const ColumnDef& column_;
  Point point_;
  std::map<std::string, pid_t> others_;  // whose time is counted too
  std::filesystem::path handled_;
  std::int64_t submitted_ = 0;
  std::vector<Window> windows_;
  std::vector<double> wal_;
  std::map<std::string, std::vector<double>> cpu_;
};

}  // namespace

std::vector<ColumnDef> AllColumns() {
  return {{.name = "embedded"},
          {.name = "embedded-batch", .batch = true},
          {.name = kSlowColumn, .flush_delay_us = 1000},
          {.name = "kafka", .kafka = true},
          {.name = "kafka-no-continuation", .kafka = true, .settings = {{"ACL_LOCAL_CONTINUATION", "false"}}},
          {.name = "http-handler", .handler = true}};
}

std::string FreshDatabase(const Stage& stage) {
  stage.server->MakeDatabase(kFleetDatabase, kTemplateDatabase);
  stage.server->Checkpoint();
  return stage.server->Conninfo(kFleetDatabase);
}

Window MeasureModel(const Stage& stage, const std::vector<std::string>& what, const Pace& pace) {
  stage.server->MakeDatabase(kModelDatabase);
  stage.server->Checkpoint();
  std::vector<std::string> argv = {stage.tools / "bench-ceiling"};
  argv.insert(argv.end(), what.begin(), what.end());
  argv.insert(argv.end(), {"--database", stage.server->Conninfo(kModelDatabase), "--warm-up", fmt::format("{}", pace.warm_up), "--window",
                           fmt::format("{}", pace.window), "--rounds", std::to_string(pace.rounds)});
  Child model({argv, {}, stage.fleet.folder / "ceiling.log", true});
  std::vector<Window> windows;
  const auto read = [&] {
    Reading reading;
    reading.cpu_s = {{"postgres", CpuSeconds(stage.server->pid())}, {"model", CpuSeconds(model.pid())}};
    reading.busy_s = BusySeconds();
    return reading;
  };
  Reading begin;
  Follow(
      &model, pace.rounds * (pace.warm_up + pace.window), [&] { begin = read(); },
      [&](const Json& line) {
        windows.push_back(WindowOf(line));
        windows.back().others = OthersOf(begin, read(), line.at("seconds"));
      });
  if (model.Wait(std::chrono::seconds(60)) != 0) throw std::runtime_error("the model failed: " + model.LogTail());
  stage.server->DropDatabase(kModelDatabase);
  return MedianOf(windows);
}

Point MeasurePoint(const Stage& stage, const ColumnDef& column, int in_flight) { return Measurement(stage, column, in_flight).Measure(); }

}  // namespace acl::bench
