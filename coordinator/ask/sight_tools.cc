#include "coordinator/ask/sight_tools.h"

#include <algorithm>
#include <array>

#include "shared/telemetry/log.h"

namespace acl::coordinator {

namespace {

constexpr auto kSightValues = std::to_array<SightValue>({
    {"sys_health", "cpu_load", "tasks", "load of the last minute, /proc/loadavg"},
    {"sys_health", "cpu_cores", "cores", "processors that are online"},
    {"sys_health", "mem_used_mb", "MiB", "total less available, /proc/meminfo"},
    {"sys_health", "mem_total_mb", "MiB", "/proc/meminfo"},
    {"sys_health", "disk_free_pct", "%", "free for programs, file system of the first folder"},
    {"sys_health", "uptime_s", "s", "/proc/uptime"},
    {"sys_health", "gpu_health", "", "always unknown: nothing reads it"},
    {"disk_usage", "disk_free_pct", "%", "of the fullest file system"},
    {"disk_usage", "disk_free_mb", "MiB", "of the fullest file system"},
    {"disk_usage", "disk_total_mb", "MiB", "of the fullest file system"},
    {"disk_usage", "fullest", "", "a folder on the fullest file system"},
    {"disk_usage", "disks", "", "each folder's file system: `free_pct`, `free_mb`, `total_mb`, `inodes_free_pct`"},
    {"service_status", "coordinators_alive", "processes", "those that announced themselves lately"},
    {"service_status", "workers_alive", "sessions", "sessions that nobody declared dead"},
    {"service_status", "workers_late", "sessions", "of these, those whose heartbeat is overdue"},
    {"service_status", "workers_dead", "sessions", "sessions that died and are still listed"},
    {"service_status", "heartbeat_oldest_s", "s", "oldest heartbeat of a living session"},
    {"index_status", "index_files", "files", "files in the folder"},
    {"index_status", "index_folders", "folders", "folders in the folder"},
    {"index_status", "index_mb", "MiB", "sum of the sizes"},
    {"index_status", "newest_change", "", "time of the newest change of a file"},
    {"index_status", "digest", "", "SHA-256 over names, sizes and times of change"},
    {"index_changed", "changed", "", "whether the digest differs from the previous look"},
    {"index_changed", "since", "", "when this coordinator looked before"},
    {"index_changed", "files_before", "files", "files at the previous look"},
    {"index_changed", "files_now", "files", "files now"},
    {"index_changed", "digest", "", "as in `index_status`"},
    {"fleet_health", "coordinators_alive", "processes", "as in `service_status`"},
    {"fleet_health", "workers_alive", "sessions", "as in `service_status`"},
    {"fleet_health", "slots", "slots", "of living workers"},
    {"fleet_health", "leases_held", "runs", "runs and tasks that living workers hold"},
    {"fleet_health", "ready", "runs", "runs and tasks that wait for a worker"},
    {"fleet_health", "ready_oldest_s", "s", "the longest of these waits"},
    {"fleet_health", "queues_unserved", "queues", "queues with waiting work and without a worker"},
    {"fleet_health", "outbox_oldest_s", "s", "age of the oldest message that was not sent"},
    {"fleet_health", "quarantined", "runs", "runs in quarantine"},
    {"queue_depth", "ready", "runs", "runs and tasks that wait for a worker"},
    {"queue_depth", "ready_oldest_s", "s", "the longest of these waits"},
    {"queue_depth", "queues_ready", "queues", "queues with waiting work"},
    {"queue_depth", "queues_unserved", "queues", "of these, those without a worker"},
    {"queue_depth", "queues", "", "the 20 with the most waiting work: `ready`, `oldest_s`, `workers`"},
    {"stuck_runs", "quarantined", "runs", "runs in quarantine"},
    {"stuck_runs", "quarantined_oldest_s", "s", "the longest of these; 0: none"},
    {"stuck_runs", "suspects_waiting", "runs", "died with their workers twice or more, wait for a worker of their own"},
    {"stuck_runs", "suspects_held", "runs", "the same, and a worker has them"},
    {"stuck_runs", "leases_expired", "runs", "held by a worker whose lease is over"},
    {"stuck_runs", "ready_unserved", "runs", "wait in queues that no worker serves"},
    {"stuck_runs", "needs_person", "", "always unknown: it is counted by project only"},
});

int KnownTools() {
  int tools = 0;
  std::string_view last;
  for (const SightValue& value : kSightValues) {
    if (value.tool != last) ++tools;
    last = value.tool;
  }
  return tools;
}

}  // namespace

std::span<const SightValue> SightValues() { return kSightValues; }

// One look of a tool, by all who wait for it.
struct SightTools::Flight {
  std::string tool, execution;
  WallTime observed_at{};
  SteadyTime begun{};
  std::optional<Result<Reading>> read;  // set once, under the mutex
};

// As many threads as tools: a tool that hangs takes no thread of another.
SightTools::SightTools(Dependencies parts, Options options)
    : parts_(parts),
      options_(std::move(options)),
      pool_({.name = "sight", .threads = KnownTools(), .max_queued = std::size_t(KnownTools())}) {}

SightTools::~SightTools() { pool_.Stop(); }

bool SightTools::Installed(std::string_view tool) const {
  if (tool.starts_with("index_") && options_.index_folder.empty()) return false;
  return std::any_of(kSightValues.begin(), kSightValues.end(), [&](const SightValue& value) { return tool == value.tool; });
}

Result<Reading> SightTools::Read(std::string_view tool, WallTime now) {
  const FleetSources fleet{parts_.queries, parts_.coordinators};
  const std::vector<std::string> here{"."};  // no folder is named: where this process runs
  const std::vector<std::string>& disks = options_.disks.empty() ? here : options_.disks;
  if (tool == "sys_health") return ReadHostHealth(options_.proc, disks.front());
  if (tool == "disk_usage") return ReadDisks(disks);
  if (tool == "index_status") return ReadIndexStatus(LookAtFolder(options_.index_folder, options_.index, parts_.clock));
  if (tool == "index_changed") return change_.Read(LookAtFolder(options_.index_folder, options_.index, parts_.clock), now);
  if (tool == "service_status") return ReadServices(fleet, now);
  if (tool == "fleet_health") return ReadFleetHealth(fleet);
  if (tool == "queue_depth") return ReadQueueDepth(fleet);
  return ReadStuckRuns(fleet, now);
}

void SightTools::Run(Flight& flight) {
  static const Logger log("sight");
  Result<Reading> read = Error{Code::kUnavailable, "nothing was read"};
  try {
    read = Read(flight.tool, flight.observed_at);
  } catch (const std::exception& thrown) {
    read = Error{Code::kUnavailable, thrown.what()};
  }
  if (!read) log.Warn("a tool gives no values", {{"tool", flight.tool}, {"execution", flight.execution}, {"why", read.message()}});
  std::lock_guard lock(mutex_);
  flight.read = std::move(read);
  flights_.erase(flight.tool);
  ended_.notify_all();
}

std::shared_ptr<SightTools::Flight> SightTools::Join(const std::string& tool) {
  std::lock_guard lock(mutex_);
  auto& flight = flights_[tool];
  if (flight) return flight;
  flight = std::make_shared<Flight>();
  flight->tool = tool;
  flight->execution = parts_.ids.Make().ToString();
  flight->observed_at = parts_.clock.Wall();
  flight->begun = parts_.clock.Steady();
  const auto joined = flight;
  if (!pool_.Post([this, joined] { Run(*joined); })) {
    joined->read = Error{Code::kUnavailable, "no thread is free for it"};
    flights_.erase(tool);
  }
  return joined;
}

aegis::ToolOutput SightTools::OutputOf(const Flight& flight, SteadyTime deadline) {
  aegis::ToolOutput output;
  output.tool = flight.tool;
  output.execution = flight.execution;
  output.observed_at = flight.observed_at;
  output.reason = "tool_error";
  std::unique_lock lock(mutex_);
  const SteadyTime until = std::min(deadline, flight.begun + options_.hung);
  ended_.wait_for(lock, std::max(SteadyTime::duration(0), until - parts_.clock.Steady()), [&] { return flight.read.has_value(); });
  if (!flight.read) {
    static const Logger log("sight");
    log.Warn("a tool did not answer in time", {{"tool", flight.tool}, {"execution", flight.execution}});
  } else if (*flight.read) {
    output.available = true;
    output.reason.clear();
    output.values = (**flight.read).values;
    output.unknowns = (**flight.read).unknowns;
  }
  return output;
}

std::vector<aegis::ToolOutput> SightTools::Look(const aegis::Kernel& kernel, SteadyTime deadline) {
  std::vector<aegis::ToolOutput> outputs;
  std::vector<std::pair<std::size_t, std::shared_ptr<Flight>>> looks;  // all are begun before the first is waited for
  for (const aegis::ToolRule& rule : kernel.observational) {
    aegis::ToolOutput output;
    output.tool = rule.name;
    if (rule.from_tier > kernel.tier) {
      output.reason = "blocked_by_tier";
    } else if (!Installed(rule.name)) {
      output.reason = "not_installed";
    } else {
      looks.emplace_back(outputs.size(), Join(rule.name));
    }
    if (!output.reason.empty()) {
      output.execution = parts_.ids.Make().ToString();
      output.observed_at = parts_.clock.Wall();
    }
    outputs.push_back(std::move(output));
  }
  for (const auto& [at, flight] : looks) outputs[at] = OutputOf(*flight, deadline);
  return outputs;
}

}  // namespace acl::coordinator
