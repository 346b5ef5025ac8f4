#pragma once
// The fleet that is tested when none is named: PostgreSQL, coordinators and workers as real processes on this machine, each with a proxy of
// its own in front of PostgreSQL, and an effects server, also behind a proxy. Short leases, so that a theft takes seconds.

#include <algorithm>
#include <map>
#include <memory>

#include "chaos/effects/server.h"
#include "chaos/fleet/server.h"
#include "chaos/fleet/toxiproxy.h"
#include "chaos/proxy/proxy.h"
#include "shared/base/clock.h"

namespace acl::chaos {

// A Kafka broker for the fleet's queue, or a cluster of them, and how to hurt it.
struct KafkaAccess {
  std::string bootstrap;  // the addresses of all, with commas between
  // A shell command with {} for kill, start, or tool (and the tool's own words behind it): ./dev kafka {} NAME. Of a cluster also for
  // freeze, thaw and wipe, with a broker's number behind it: ./dev kafka cluster {} NAME.
  std::string control;
  std::string prefix;  // of the topics
  // Of a listener of the broker that sends its clients elsewhere: the port where, and its own. There toxiproxy can stand between.
  std::uint16_t byway_advertised = 0, byway_port = 0;

  int brokers() const { return bootstrap.empty() ? 0 : int(1 + std::count(bootstrap.begin(), bootstrap.end(), ',')); }
};

struct FleetOptions {
  std::filesystem::path programs;  // where acl-coordinator and acl-worker are
  std::filesystem::path folder;    // logs and data; made anew
  std::filesystem::path postgres;  // PostgreSQL's programs; empty: looked for
  int coordinators = 1, workers = 3;
  milliseconds lease_ttl{1'500};
  bool failpoints = false;                         // armed: their orders are looked for all the time
  KafkaAccess kafka;                               // without a bootstrap address: the queue is PostgreSQL
  bool clocks = false;                             // every process has a wall clock that can be set, where libfaketime is there
  std::filesystem::path toxiproxy;                 // its program; empty: not in the way
  std::map<std::string, std::string> objects;      // ACL_S3_...: of an object store on this machine; empty: none
  bool disk = false;                               // PostgreSQL has a disk of its own, where one can be made
  std::map<std::string, std::string> environment;  // of every process, on top
};

// One place of the fleet: a process that may be killed and started again, always behind the same proxy.
struct Node {
  std::string name;
  bool is_worker = false;
  std::uint16_t http = 0, doorbell = 0;
  std::unique_ptr<Proxy> database;  // its way to PostgreSQL
  bool upgraded = false;            // started anew, it is the program of the version to come (acl-worker-next)
  std::unique_ptr<Child> process;

  std::string Url(const std::string& path = "") const { return "http://127.0.0.1:" + std::to_string(http) + path; }
};

class Fleet {
 public:
  static Result<std::unique_ptr<Fleet>> Start(const FleetOptions& options, const Clock& clock);
  ~Fleet();

  const FleetOptions& options() const { return options_; }
  Server& database() { return *database_; }
  EffectsServer& effects() { return *effects_; }
  Proxy& effects_proxy() { return *effects_proxy_; }
  // In everybody's way to the object store; null if there is none.
  Proxy* objects_proxy() { return objects_proxy_.get(); }
  // Between the proxies and the servers, by the names of the places, and "objects"; null if it was not asked for.
  Toxiproxy* toxiproxy() { return toxiproxy_.get(); }
  std::string conninfo() const { return database_->Conninfo(); }
  // By which its workers sign what they send there; stands in a file of theirs and nowhere else.
  const std::string& effects_key() const { return effects_key_; }
  std::string EffectsUrl() const { return "http://127.0.0.1:" + std::to_string(effects_proxy_->port()) + "/effects"; }
  std::vector<std::string> ApiUrls() const;

  int workers() const { return int(workers_.size()); }
  int coordinators() const { return int(coordinators_.size()); }
  Node& worker(int n) { return *workers_.at(std::size_t(n)); }
  Node& coordinator(int n) { return *coordinators_.at(std::size_t(n)); }
  std::vector<Node*> nodes();
  // Makes the process of a place anew, which must have none that runs.
  Status StartNode(Node& node);
  // A further process under the name of `node`, as a restarted container has it beside a frozen one. Ends with the returned object.
  Result<std::unique_ptr<Child>> StartTwin(const Node& node);
  // One more worker (a place of its own).
  Result<Node*> AddWorker();
  static bool Ready(const Node& node);
  bool AwaitReady(milliseconds limit);
  // kill -9, noted: what it held was not stolen from the living.
  void Kill(Node& node);
  void EndCleanly(Node& node);
  // The topics of the fleet, as `airun queue init` makes them.
  Status MakeTopics();
  // What `airun db new-epoch` does.
  Status NewEpoch();
  // The wall clock of a place (or of "postgres") is this far from the right one.
  Status SetClock(const std::string& name, std::chrono::seconds off) const;
  // Empty: not on this machine.
  static std::filesystem::path FakeTimeLibrary();
  // A process that ended by other means.
  void NoteEnded(pid_t pid) { ended_.emplace(pid, SystemClock().Wall()); }
  // Where the process of this place looks for orders at its failpoints.
  std::filesystem::path FailPoints(const Node& node) const { return options_.folder / (node.name + ".failpoints"); }
  const std::map<pid_t, WallTime>& ended() const { return ended_; }
  std::string Logs();

 private:
  explicit Fleet(FleetOptions options) : options_(std::move(options)) {}
  // A proxy of ours to a port of this machine, with toxiproxy between if it is there.
  Result<std::unique_ptr<Proxy>> MakeWay(const std::string& name, std::uint16_t port, Proxy::Protocol protocol);
  Status MakeObjectsWay();
  Status StartEffects(const Clock& clock);
  Result<std::unique_ptr<Node>> MakeNode(const std::string& name, bool is_worker);
  std::map<std::string, std::string> Environment(const Node& node) const;
  std::map<std::string, std::string> ClockEnvironment(const std::string& name) const;
  Status Airun(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment, const char* log);

  FleetOptions options_;
  std::unique_ptr<Server> database_;
  std::string effects_key_;
  std::unique_ptr<EffectsServer> effects_;
  std::unique_ptr<Proxy> effects_proxy_, objects_proxy_;
  std::unique_ptr<Toxiproxy> toxiproxy_;
  std::vector<std::unique_ptr<Node>> coordinators_, workers_;
  std::map<pid_t, WallTime> ended_;  // and when
};

}  // namespace acl::chaos
