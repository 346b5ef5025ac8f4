#pragma once
// A real fleet for a test: a database of its own on a private PostgreSQL, coordinators and workers as processes, the CLI and the API to
// talk to them. Everything it started ends with it.

#include <memory>
#include <string>
#include <vector>

#include "shared/base/json.h"
#include "tests/support/http.h"
#include "tests/support/process.h"
#include "tests/support/test_database.h"
#include "tests/support/wait.h"

namespace acl::test {

// A PostgreSQL of this test alone, for tests that kill it. `./dev pg` makes it; it keeps its port over a restart.
class TestPostgres {
 public:
  TestPostgres();
  ~TestPostgres();
  TestPostgres(const TestPostgres&) = delete;
  TestPostgres& operator=(const TestPostgres&) = delete;

  const std::string& url() const { return url_; }
  void Start();
  void Stop();  // a clean end
  void Kill();  // kill -9 of all its processes

  // A standby fed by asynchronous streaming replication; Promote makes it the primary.
  void StartReplica();
  void Promote();
  const std::string& replica_url() const { return replica_url_; }
  // One address for both: libpq takes whichever can be written to.
  std::string both_urls() const;

 private:
  std::string name_, url_, replica_url_;
};

// `sql` through psql, unaligned rows; fails the test on an error.
std::string Psql(const std::string& url, const std::string& sql);

// The port of a database's address, and the address with another one: that of a proxy before it.
std::uint16_t PortOf(const std::string& url);
std::string WithPort(const std::string& url, std::uint16_t port);

struct FleetOptions {
  std::string database_url;  // empty: a new database on the tests' server (test_database.h)
  bool migrate = true;
  int lease_ttl_ms = 1500;                         // short: a takeover must not make the tests slow
  std::map<std::string, std::string> environment;  // for every process
};

class Fleet {
 public:
  explicit Fleet(FleetOptions options = {});

  // The n-th coordinator keeps its ports over a restart.
  Process& StartCoordinator(int n = 0);
  // `launcher`: a command line that runs the program whose path follows it.
  Process& StartWorker(int n, std::map<std::string, std::string> environment = {}, std::vector<std::string> launcher = {});
  Process& coordinator(int n = 0) { return nodes_.at("coordinator-" + std::to_string(n)).process; }
  Process& worker(int n) { return nodes_.at(WorkerName(n)).process; }
  // Whatever is started from now on is a program of the version to come (tests/versions).
  void UseNextVersion() { version_ = "-next"; }
  // SIGTERM, and until it has ended as it should.
  void Drain(Process& process);
  // Until each process started says that it is ready.
  bool AwaitReady();

  static std::string WorkerName(int n) { return "worker-" + std::to_string(n); }
  std::string ApiUrl(int n = 0) const { return "http://127.0.0.1:" + std::to_string(nodes_.at("coordinator-" + std::to_string(n)).port); }
  std::string HealthUrl(int n) const { return "http://127.0.0.1:" + std::to_string(nodes_.at(WorkerName(n)).port); }
  std::uint16_t DoorbellPort(int n = 0) const { return nodes_.at("coordinator-" + std::to_string(n)).doorbell; }
  const std::string& database_url() const { return options_.database_url; }
  const TestFolder& folder() const { return folder_; }

  HttpAnswer Api(const std::string& method, const std::string& path, const Json& body = Json(),
                 std::map<std::string, std::string> headers = {}, int coordinator = 0);
  // airun with this fleet's addresses in its environment.
  RunResult Cli(std::vector<std::string> arguments);
  // Submits a workflow; the id, or a failed test and "".
  std::string Submit(const std::string& yaml, const Json& more = Json::object(), int coordinator = 0);
  Json Run(const std::string& id);
  std::string StatusOf(const std::string& id);
  // Until the run has this status; else the test fails and says what the run looks like.
  bool AwaitStatus(const std::string& id, const std::string& status);
  std::vector<Json> Events(const std::string& id);
  // Which worker holds the run's lease: its number, or -1.
  int HolderOf(const std::string& id);
  // Sum of a metric over its labels; `labels` is a text every counted line holds.
  double Metric(const std::string& base_url, const std::string& name, const std::string& labels = "");
  // `airun verify --all --invariants` finds nothing.
  void ExpectVerified();
  // Everything the processes wrote: for the message of a failed test.
  std::string Logs() const;

 private:
  struct Node {
    std::uint16_t port = 0, doorbell = 0;
    Process process;
  };
  std::map<std::string, std::string> Environment() const;

  FleetOptions options_;
  std::string version_;
  std::unique_ptr<TestDatabase> database_;
  TestFolder folder_;
  std::map<std::string, Node> nodes_;
};

// The programs under test.
std::string Binary(const std::string& name);

}  // namespace acl::test
