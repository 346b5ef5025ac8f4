#include "tests/bench/run/fleet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "tests/bench/load/connection.h"

namespace acl::bench {

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool ok = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  if (!ok) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

std::map<std::string, std::string> Fleet::CoordinatorDefaults() { return {{"ACL_DEV_MODE", "true"}, {"ACL_LOG_LEVEL", "warn"}}; }

// Room for the largest point on one worker, the same at every point.
std::map<std::string, std::string> Fleet::WorkerDefaults() {
  return {{"ACL_LOG_LEVEL", "warn"}, {"ACL_RUNS", "512"}, {"ACL_SLOTS", "512"}, {"ACL_ALLOW_PRIVATE_NETWORKS", "true"}};
}

namespace {

std::string Local(int port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace

Fleet::Fleet(const FleetOptions& options, const std::string& conninfo) : api_port_(FreePort()), doorbell_port_(FreePort()) {
  auto environment = CoordinatorDefaults();
  environment["ACL_DATABASE_URL"] = conninfo;
  environment["ACL_LISTEN"] = Local(api_port_);
  environment["ACL_DOORBELL_LISTEN"] = Local(doorbell_port_);
  for (const auto& [name, value] : options.coordinator) environment[name] = value;
  coordinator_ =
      std::make_unique<Child>(ChildOptions{{options.programs / "acl-coordinator"}, environment, options.folder / "coordinator.log"});
  for (int i = 0; i < options.workers; ++i) StartWorker(options, conninfo);
  for (const int port : health_ports_) AwaitReady(port);
  AwaitReady(api_port_);
}

void Fleet::StartWorker(const FleetOptions& options, const std::string& conninfo) {
  const std::string name = "worker-" + std::to_string(workers_.size() + 1);
  health_ports_.push_back(FreePort());
  auto environment = WorkerDefaults();
  environment["ACL_DATABASE_URL"] = conninfo;
  environment["ACL_COORDINATORS"] = Local(doorbell_port_);
  environment["ACL_HEALTH_LISTEN"] = Local(health_ports_.back());
  environment["ACL_WORKER_NAME"] = name;
  environment["ACL_WORK_DIR"] = options.folder / (name + ".work");
  for (const auto& [key, value] : options.worker) environment[key] = value;
  workers_.push_back(
      std::make_unique<Child>(ChildOptions{{options.programs / "acl-worker"}, environment, options.folder / (name + ".log")}));
}

void Fleet::AwaitReady(int port) {
  const auto ready = [&] {
    MustRun();
    return FetchOnce("127.0.0.1", port, "/readyz").has_value();
  };
  if (!AwaitThat(ready, std::chrono::seconds(60))) throw std::runtime_error("the fleet does not get ready: " + Logs());
}

void Fleet::AddWorker(const FleetOptions& options, const std::string& conninfo) {
  StartWorker(options, conninfo);
  AwaitReady(health_ports_.back());
}

void Fleet::MustRun() {
  if (!coordinator_->Running()) throw std::runtime_error("the coordinator has ended: " + coordinator_->LogTail());
  for (const auto& worker : workers_) {
    if (!worker->Running()) throw std::runtime_error("a worker has ended: " + worker->LogTail());
  }
}

void Fleet::Stop() {
  for (const auto& worker : workers_) {
    if (worker->End(SIGTERM) != 0) throw std::runtime_error("a worker did not end well: " + worker->LogTail());
  }
  if (coordinator_->End(SIGTERM) != 0) throw std::runtime_error("the coordinator did not end well: " + coordinator_->LogTail());
}

double Fleet::WorkerMetric(const std::string& name) const {
  double sum = 0;
  for (const int port : health_ports_) {
    std::istringstream lines(FetchOnce("127.0.0.1", port, "/metrics").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      if (line.substr(0, line.find_first_of("{ ")) == name) sum += std::stod(line.substr(line.rfind(' ') + 1));
    }
  }
  return sum;
}

double Fleet::NewestWorkerQuantile(const std::string& name, double share) const {
  std::map<double, double> up_to;  // the bound, how many at or below it, of all series
  std::istringstream lines(FetchOnce("127.0.0.1", health_ports_.back(), "/metrics").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.substr(0, line.find_first_of("{ ")) != name + "_bucket") continue;
    const std::string key = "le=\"";
    up_to[std::stod(line.substr(line.find(key) + key.size()))] += std::stod(line.substr(line.rfind(' ') + 1));
  }
  if (up_to.empty() || up_to.rbegin()->second == 0) throw std::runtime_error("the worker says nothing of " + name);
  const double wanted = share * up_to.rbegin()->second;
  return std::find_if(up_to.begin(), up_to.end(), [&](const auto& one) { return one.second >= wanted; })->first;
}

std::string Fleet::Logs() const {
  std::string text = "coordinator:\n" + coordinator_->LogTail();
  for (const auto& worker : workers_) text += "\nworker:\n" + worker->LogTail();
  return text;
}

}  // namespace acl::bench
