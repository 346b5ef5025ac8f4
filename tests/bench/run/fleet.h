#pragma once
// The fleet that is measured: a coordinator and workers over one database, as they are released, and their settings.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/run/child.h"

namespace acl::bench {

struct FleetOptions {
  std::filesystem::path programs;                          // where acl-coordinator, acl-worker and airun are
  std::filesystem::path folder;                            // logs and work folders
  std::map<std::string, std::string> coordinator, worker;  // settings on top of the defaults below, by variable
  int workers = 1;
};

class Fleet {
 public:
  // Starts it and waits until every process says that it is ready.
  Fleet(const FleetOptions& options, const std::string& conninfo);

  // One more, ready when it returns.
  void AddWorker(const FleetOptions& options, const std::string& conninfo);
  // Clean ends; throws if one of them ends otherwise.
  void Stop();
  int api_port() const { return api_port_; }
  pid_t coordinator() const { return coordinator_->pid(); }
  const std::vector<std::unique_ptr<Child>>& workers() const { return workers_; }
  // Throws with its log if a process has ended.
  void MustRun();
  // The sum of a metric over all workers.
  double WorkerMetric(const std::string& name) const;
  // Of a histogram of the newest worker: the least bound that so much of all lies at or below (infinity: above every bound).
  double NewestWorkerQuantile(const std::string& name, double share) const;
  std::string Logs() const;

  static std::map<std::string, std::string> CoordinatorDefaults();
  static std::map<std::string, std::string> WorkerDefaults();

 private:
  void StartWorker(const FleetOptions& options, const std::string& conninfo);
  void AwaitReady(int port);

  int api_port_ = 0, doorbell_port_ = 0;
  std::unique_ptr<Child> coordinator_;
  std::vector<std::unique_ptr<Child>> workers_;
  std::vector<int> health_ports_;
};

// A TCP port on loopback that is free now.
int FreePort();

}  // namespace acl::bench
