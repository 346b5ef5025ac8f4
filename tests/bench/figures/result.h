#pragma once
// What a run of the benchmark found, its targets, and both as JSON and as text for people.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::bench {

// One window of the load or of the model.
struct Window {
  double runs_per_s = 0, steps_per_s = 0, p50_ms = 0, p99_ms = 0, max_ms = 0;
  double others = 0;  // processors at work for something that is not measured, meanwhile
};
// Each figure's own median.
Window MedianOf(const std::vector<Window>& windows);
double Median(std::vector<double> values);

struct CeilingPoint {
  int in_flight = 0;
  Window window;
};

struct Point {
  std::string column;
  int in_flight = 0;
  Window window;
  double wal_bytes_per_step = 0, transactions_per_step = 0, flushes_per_step = 0, statements_per_step = 0;
  double steps_per_commit = 0;                    // of the worker's group commits
  std::map<std::string, double> cpu_us_per_step;  // by process
  std::map<std::string, double> peak_mb;          // by process
  std::int64_t verified_runs = 0;                 // runs whose rows were checked after the point
};

// Another engine at the same work, as .dev/peers.sh measured it on this machine just before.
struct Peer {
  std::string name;
  int in_flight = 0;
  Window window;
  std::map<std::string, double> cpu_us_per_step;
};
// Of a line that it prints; nothing if the line is something else.
std::optional<Peer> PeerOf(const std::string& line);

struct Target {
  std::string name, goal;
  std::optional<double> value;  // none: not measured in this run
  bool met = false;
  std::string distance;  // "31 % of 60 %"; for people
};

struct Results {
  std::string machine;
  double busy_before = 0;  // processors at work for others, before anything was started
  std::vector<std::pair<std::string, std::string>> settings;
  double flush_us = 0, l1_ms = 0, l2_steps_per_s = 0;
  std::vector<CeilingPoint> ceiling, slow_ceiling;  // slow: with the longer flush
  std::vector<Point> points;
  std::vector<Peer> peers;
  // Beside throughput; not measured in every run.
  std::optional<double> submit_runs_per_s, submit_batch_runs_per_s, idle_statements_per_s, long_run_cost;
  std::optional<double> slow_calls_mb, beside_calls_cost, takeover_s, open_runs_cost, restore_p99_ms;
  int long_run_steps = 0, slow_calls = 0, leases = 0, open_runs = 0, restore_events = 0;  // how many the limits were measured with

  const Point* Find(const std::string& column, int in_flight) const;
  // What the column's points are compared with.
  const CeilingPoint* CeilingOf(const std::string& column, int in_flight) const;
};

inline constexpr const char* kSlowColumn = "flush+1ms";

std::vector<Target> TargetsOf(const Results& results);
Json ToJson(const Results& results);
std::string TargetsText(const std::vector<Target>& targets);
// The peers, and how many times as many steps a second the columns made.
std::string PeersText(const Results& results);
std::string CeilingText(const std::vector<CeilingPoint>& ceiling);
// A line a point.
std::string PointHeading();
std::string PointText(const Results& results, const Point& point);

}  // namespace acl::bench
