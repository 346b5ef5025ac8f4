#include "tests/bench/figures/result.h"

#include <fmt/format.h>

#include <algorithm>

namespace acl::bench {
namespace {

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// A figure that must be at least (or at most) `bound`.
Target AtLeast(const std::string& name, double bound, std::optional<double> value, const std::string& unit) {
  Target target{name, fmt::format("≥ {:.4g} {}", bound, unit), value, value && *value >= bound, ""};
  if (value && !target.met) target.distance = fmt::format("{:.4g} of {:.4g}", *value, bound);
  return target;
}

Target AtMost(const std::string& name, double bound, std::optional<double> value, const std::string& unit) {
  Target target{name, fmt::format("≤ {:.4g} {}", bound, unit), value, value && *value <= bound, ""};
  if (value && !target.met) target.distance = fmt::format("{:.2f} × too much", *value / bound);
  return target;
}

// Steps a second of a column at 64 in flight over those of a peer, or of the best one.
std::optional<double> OverPeers(const Results& results, const std::string& column, const std::string& name) {
  const Point* point = results.Find(column, 64);
  double best = 0;
  for (const Peer& peer : results.peers) {
    if (peer.in_flight == 64 && (name.empty() || peer.name == name)) best = std::max(best, peer.window.steps_per_s);
  }
  return point && best > 0 ? std::optional(point->window.steps_per_s / best) : std::nullopt;
}

// Said where other work took so much of the machine that the figure is not one of this machine alone.
std::string Disturbed(const Window& window) {
  return window.others > 0.25 ? fmt::format("   (disturbed: {:.1f} processors did other things)", window.others) : "";
}

double Sum(const std::map<std::string, double>& values) {
  double sum = 0;
  for (const auto& [name, value] : values) sum += value;
  return sum;
}

struct Bounds {
  int in_flight;
  double share;  // of the ceiling's steps a second, percent; 0: none asked for
  double p50;    // times the ceiling's; 0: none
  double p99;
};
constexpr Bounds kBounds[] = {{1, 0, 2, 3}, {16, 50, 0, 3}, {64, 60, 0, 2.5}, {256, 60, 0, 2.5}};

void AddShares(const Results& results, const std::string& column, std::vector<Target>* targets) {
  for (const Bounds& bounds : kBounds) {
    const Point* point = results.Find(column, bounds.in_flight);
    const CeilingPoint* ceiling = results.CeilingOf(column, bounds.in_flight);
    const auto name = [&](const char* what) { return fmt::format("{} at {}: {}", column, bounds.in_flight, what); };
    const auto over = [&](double Window::*figure) {
      return point && ceiling ? std::optional(Share(point->window.*figure, ceiling->window.*figure)) : std::nullopt;
    };
    if (bounds.share > 0) {
      const auto share = over(&Window::steps_per_s);
      targets->push_back(AtLeast(name("steps/s"), bounds.share, share ? std::optional(*share * 100) : share, "% of the ceiling"));
    }
    if (bounds.p50 > 0) targets->push_back(AtMost(name("p50"), bounds.p50, over(&Window::p50_ms), "× the ceiling's"));
    targets->push_back(AtMost(name("p99"), bounds.p99, over(&Window::p99_ms), "× the ceiling's"));
  }
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Window MedianOf(const std::vector<Window>& windows) {
  Window median;
  for (double Window::*figure :
       {&Window::runs_per_s, &Window::steps_per_s, &Window::p50_ms, &Window::p99_ms, &Window::max_ms, &Window::others}) {
    std::vector<double> values;
    for (const Window& window : windows) values.push_back(window.*figure);
    median.*figure = Median(std::move(values));
  }
  return median;
}

const Point* Results::Find(const std::string& column, int in_flight) const {
  const auto found =
      std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.column == column && p.in_flight == in_flight; });
  return found == points.end() ? nullptr : &*found;
}

const CeilingPoint* Results::CeilingOf(const std::string& column, int in_flight) const {
  const auto& all = column == kSlowColumn ? slow_ceiling : ceiling;
  const auto found = std::find_if(all.begin(), all.end(), [&](const CeilingPoint& p) { return p.in_flight == in_flight; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<Target> TargetsOf(const Results& results) {
  std::vector<Target> targets;
  AddShares(results, "embedded", &targets);
  AddShares(results, "embedded-batch", &targets);
  AddShares(results, kSlowColumn, &targets);
  const Point* point = results.Find("embedded", 64);
  const auto figure = [&](double Point::*of) { return point ? std::optional(point->*of) : std::nullopt; };
  targets.push_back(AtLeast("embedded at 64: beside peers", 10, OverPeers(results, "embedded", ""), "× the best peer"));
  targets.push_back(
      AtLeast("kafka-no-continuation at 64: beside Restate", 2, OverPeers(results, "kafka-no-continuation", "restate"), "× Restate"));
  targets.push_back(AtMost("embedded at 64: WAL", 1600, figure(&Point::wal_bytes_per_step), "B a step"));
  std::optional<double> transactions;
  if (point) transactions = point->transactions_per_step * point->steps_per_commit;
  targets.push_back(AtMost("embedded at 64: transactions", 1.05, transactions, "a group commit"));
  std::optional<double> statements;
  if (point && point->statements_per_step > 0) statements = point->statements_per_step * point->steps_per_commit;
  targets.push_back(AtMost("embedded at 64: statements", 1.05, statements, "a group commit"));
  targets.push_back(AtLeast("submit, a run a request", 5000, results.submit_runs_per_s, "runs/s"));
  targets.push_back(AtLeast("submit, in batches", 5000, results.submit_batch_runs_per_s, "runs/s"));
  targets.push_back(
      AtMost(fmt::format("a step in a run of {} steps: CPU", results.long_run_steps), 1.2, results.long_run_cost, "× in one of 10"));
  targets.push_back(
      AtMost(fmt::format("a step beside {} open runs and timers: CPU", results.open_runs), 1.2, results.open_runs_cost, "× beside none"));
  targets.push_back(
      AtMost(fmt::format("{} leases end at once: the last taken over", results.leases), 0.5, results.takeover_s, "s after their time"));
  targets.push_back(
      AtMost(fmt::format("a run restored, {} events since its snapshot: 99 %", results.restore_events), 10, results.restore_p99_ms, "ms"));
  targets.push_back(AtMost(fmt::format("{} slow calls on one worker", results.slow_calls), 1074, results.slow_calls_mb, "MB (1 GiB)"));
  targets.push_back(AtMost(fmt::format("a step beside {} slow calls on the same worker: CPU", results.slow_calls), 1.2,
                           results.beside_calls_cost, "× beside none"));
  targets.push_back(AtMost("idle fleet", 10, results.idle_statements_per_s, "statements/s"));
  return targets;
}

Json ToJson(const Results& results) {
  const auto ceiling = [](const std::vector<CeilingPoint>& all) {
    Json list = Json::array();
    for (const auto& one : all) {
      list.push_back({{"in_flight", one.in_flight},
                      {"steps_per_s", one.window.steps_per_s},
                      {"p50_ms", one.window.p50_ms},
                      {"p99_ms", one.window.p99_ms},
                      {"others", one.window.others}});
    }
    return list;
  };
  Json out = {{"machine", results.machine},
              {"busy_before", results.busy_before},
              {"postgresql", Json::object()},
              {"flush_us", results.flush_us},
              {"l1_ms", results.l1_ms},
              {"l2_steps_per_s", results.l2_steps_per_s},
              {"ceiling", ceiling(results.ceiling)}};
  for (const auto& [name, value] : results.settings) out["postgresql"][name] = value;
  if (!results.slow_ceiling.empty()) out["ceiling_slow_flush"] = ceiling(results.slow_ceiling);
  out["points"] = Json::array();
  for (const Point& point : results.points) {
    const CeilingPoint* limit = results.CeilingOf(point.column, point.in_flight);
    Json one = {{"column", point.column},
                {"in_flight", point.in_flight},
                {"runs_per_s", point.window.runs_per_s},
                {"steps_per_s", point.window.steps_per_s},
                {"share_of_ceiling", limit ? Json(Share(point.window.steps_per_s, limit->window.steps_per_s)) : Json()},
                {"p50_ms", point.window.p50_ms},
                {"p99_ms", point.window.p99_ms},
                {"max_ms", point.window.max_ms},
                {"others", point.window.others},
                {"p50_over_ceiling", limit ? Json(Share(point.window.p50_ms, limit->window.p50_ms)) : Json()},
                {"p99_over_ceiling", limit ? Json(Share(point.window.p99_ms, limit->window.p99_ms)) : Json()},
                {"wal_bytes_per_step", point.wal_bytes_per_step},
                {"transactions_per_step", point.transactions_per_step},
                {"flushes_per_step", point.flushes_per_step},
                {"statements_per_step", point.statements_per_step > 0 ? Json(point.statements_per_step) : Json()},
                {"steps_per_commit", point.steps_per_commit}};
    one["cpu_us_per_step"] = point.cpu_us_per_step;
    one["cpu_us_per_step_all"] = Sum(point.cpu_us_per_step);
    one["peak_mb"] = point.peak_mb;
    one["verified_runs"] = point.verified_runs;
    out["points"].push_back(std::move(one));
  }
  out["peers"] = Json::array();
  for (const Peer& peer : results.peers) {
    out["peers"].push_back({{"peer", peer.name},
                            {"in_flight", peer.in_flight},
                            {"steps_per_s", peer.window.steps_per_s},
                            {"p50_ms", peer.window.p50_ms},
                            {"p99_ms", peer.window.p99_ms},
                            {"cpu_us_per_step", peer.cpu_us_per_step},
                            {"cpu_us_per_step_all", Sum(peer.cpu_us_per_step)}});
  }
  out["targets"] = Json::array();
  for (const Target& target : TargetsOf(results)) {
    out["targets"].push_back(
        {{"name", target.name}, {"goal", target.goal}, {"value", target.value ? Json(*target.value) : Json()}, {"met", target.met}});
  }
  return out;
}

std::optional<Peer> PeerOf(const std::string& line) {
  const auto json = ParseJson(line);
  if (!json || !json->is_object()) return std::nullopt;
  Peer peer;
  peer.name = json->value("peer", "");
  peer.in_flight = json->value("in_flight", 0);
  peer.window.runs_per_s = json->value("runs_per_s", 0.0);
  peer.window.steps_per_s = json->value("steps_per_s", 0.0);
  peer.window.p50_ms = json->value("p50_ms", 0.0);
  peer.window.p99_ms = json->value("p99_ms", 0.0);
  peer.cpu_us_per_step = json->value("cpu_us_per_step", std::map<std::string, double>());
  if (peer.name.empty() || peer.in_flight <= 0 || peer.window.steps_per_s <= 0 || json->value("errors", 0) != 0) return std::nullopt;
  return peer;
}

std::string PeersText(const Results& results) {
  std::string text;
  for (const Peer& peer : results.peers) {
    text += fmt::format("{:<22}{:>5} {:>8.0f} {:>9.0f} {:>6} {:>8.2f} {:>6} {:>8.2f} {:>6} | CPU {:.0f} µs a step;", peer.name,
                        peer.in_flight, peer.window.runs_per_s, peer.window.steps_per_s, "", peer.window.p50_ms, "", peer.window.p99_ms, "",
                        Sum(peer.cpu_us_per_step));
    for (const Point& point : results.points) {
      if (point.in_flight != peer.in_flight) continue;
      text += fmt::format(" {} {:.1f} ×", point.column, point.window.steps_per_s / peer.window.steps_per_s);
    }
    text += "\n";
  }
  return text;
}

std::string CeilingText(const std::vector<CeilingPoint>& ceiling) {
  std::string text;
  for (const auto& one : ceiling) {
    text += fmt::format("  ceiling {:>4} in flight {:>9.0f} steps/s   p50 {:>7.2f} ms   p99 {:>7.2f} ms{}\n", one.in_flight,
                        one.window.steps_per_s, one.window.p50_ms, one.window.p99_ms, Disturbed(one.window));
  }
  return text;
}

std::string PointHeading() {
  return fmt::format(
      "{:<22}{:>5} {:>8} {:>9} {:>6} {:>8} {:>6} {:>8} {:>6} | {:>6} {:>6} {:>6} {:>6} {:>6} | CPU in µs a step, peak memory in MB\n",
      "column", "N", "runs/s", "steps/s", "share", "p50 ms", "×ceil", "p99 ms", "×ceil", "WAL B", "tx", "flush", "stmt", "batch");
}

std::string PointText(const Results& results, const Point& point) {
  const CeilingPoint* limit = results.CeilingOf(point.column, point.in_flight);
  const auto over = [&](double Window::*figure, double factor, const char* unit) {
    return limit ? fmt::format("{:.{}f}{}", Share(point.window.*figure, limit->window.*figure) * factor, factor > 1 ? 0 : 2, unit) : "-";
  };
  std::string text = fmt::format(
      "{:<22}{:>5} {:>8.0f} {:>9.0f} {:>6} {:>8.2f} {:>6} {:>8.2f} {:>6} | {:>6.0f} {:>6.3f} {:>6.3f} {:>6.3f} {:>6.1f} |", point.column,
      point.in_flight, point.window.runs_per_s, point.window.steps_per_s, over(&Window::steps_per_s, 100, "%"), point.window.p50_ms,
      over(&Window::p50_ms, 1, ""), point.window.p99_ms, over(&Window::p99_ms, 1, ""), point.wal_bytes_per_step,
      point.transactions_per_step, point.flushes_per_step, point.statements_per_step, point.steps_per_commit);
  for (const auto& [process, micros] : point.cpu_us_per_step) {
    const auto peak = point.peak_mb.find(process);
    text += fmt::format(" {} {:.1f} ({:.0f})", process, micros, peak == point.peak_mb.end() ? 0 : peak->second);
  }
  return text + Disturbed(point.window) + "\n";
}

std::string TargetsText(const std::vector<Target>& targets) {
  std::string text = fmt::format("{:<42} {:<26} {:>10}\n", "target", "goal", "value");
  int others = 0;
  for (const Target& target : targets) {
    if (!target.value) {
      ++others;
      continue;
    }
    text +=
        fmt::format("{:<42} {:<26} {:>10.2f}  {}\n", target.name, target.goal, *target.value, target.met ? "✔" : "✘ " + target.distance);
  }
  if (others > 0) text += fmt::format("not measured in this run: {} targets\n", others);
  return text;
}

}  // namespace acl::bench
