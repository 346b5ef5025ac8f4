#include "chaos/fleet/fleet.h"

#include <signal.h>

#include "chaos/load/http.h"
#include "chaos/process/patience.h"
#include "shared/postgres/chaos_mark.h"
#include "shared/postgres/migrate.h"

namespace acl::chaos {
namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> KafkaEnvironment(const KafkaAccess& kafka) {
  if (kafka.bootstrap.empty()) return {};
  return {{"ACL_QUEUE_DRIVER", "kafka"},
          {"ACL_KAFKA_BOOTSTRAP", kafka.bootstrap},
          {"ACL_KAFKA_PREFIX", kafka.prefix},
          {"ACL_QUEUE_LATE_MS", "3000"}};
}

}  // namespace

Status Fleet::MakeTopics() {
  auto environment = KafkaEnvironment(options_.kafka);
  environment["ACL_DATABASE_URL"] = conninfo();
  auto made = RunProgram({options_.programs / "airun", "queue", "init", "--partitions", "6"}, environment,
                         options_.folder / "queue-init.log", milliseconds(60'000));
  return made ? Status() : Status(made.error());
}

Result<std::unique_ptr<Node>> Fleet::MakeNode(const std::string& name, bool is_worker) {
  auto node = std::make_unique<Node>();
  node->name = name;
  node->is_worker = is_worker;
  node->http = FreePort();
  if (!is_worker) node->doorbell = FreePort();
  auto proxy = Proxy::Start(database_->port(), Proxy::Protocol::kPostgres);
  if (!proxy) return proxy.error();
  node->database = std::move(*proxy);
  return node;
}

Result<std::unique_ptr<Fleet>> Fleet::Start(const FleetOptions& options, const Clock& clock) {
  std::unique_ptr<Fleet> fleet(new Fleet(options));
  std::error_code failed;
  fs::create_directories(options.folder, failed);
  if (failed) return Error{Code::kUnavailable, "cannot make " + options.folder.string() + ": " + failed.message()};
  auto database = Server::Make({options.folder / "postgres", options.postgres});
  if (!database) return database.error();
  fleet->database_ = std::move(*database);
  if (auto migrated = pg::Migrate(fleet->conninfo()); !migrated) return migrated.error();
  if (!options.kafka.bootstrap.empty()) {
    if (Status made = fleet->MakeTopics(); !made) return made.error();
  }
  if (options.failpoints) {
    if (Status marked = pg::MarkForChaos(fleet->conninfo(), true); !marked) return marked.error();
  }
  auto effects = EffectsServer::Start(clock);
  if (!effects) return effects.error();
  fleet->effects_ = std::move(*effects);
  auto proxy = Proxy::Start(fleet->effects_->port(), Proxy::Protocol::kBytes);
  if (!proxy) return proxy.error();
  fleet->effects_proxy_ = std::move(*proxy);
  for (int n = 0; n < options.coordinators + options.workers; ++n) {
    const bool is_worker = n >= options.coordinators;
    auto node =
        fleet->MakeNode((is_worker ? "worker-" : "coordinator-") + std::to_string(is_worker ? n - options.coordinators : n), is_worker);
    if (!node) return node.error();
    (is_worker ? fleet->workers_ : fleet->coordinators_).push_back(std::move(*node));
  }
  for (Node* node : fleet->nodes()) {
    if (Status started = fleet->StartNode(*node); !started) return started.error();
  }
  if (!fleet->AwaitReady(milliseconds(60'000))) return Error{Code::kUnavailable, "the fleet does not get ready: " + fleet->Logs()};
  return fleet;
}

Fleet::~Fleet() {
  for (Node* node : nodes()) {
    if (node->process) node->process->Signal(SIGKILL);
  }
}

std::map<std::string, std::string> Fleet::Environment(const Node& node) const {
  const auto local = [](std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); };
  std::string doorbells;
  for (const auto& one : coordinators_) doorbells += (doorbells.empty() ? "" : ",") + local(one->doorbell);
  std::map<std::string, std::string> environment = {
      {"ACL_DATABASE_URL", database_->Conninfo(node.database->port())},
      {"ACL_DEV_MODE", "true"},
      {"ACL_LOG_LEVEL", "warn"},
      {"ACL_LEASE_TTL_MS", std::to_string(options_.lease_ttl.count())},
  };
  if (node.is_worker) {
    environment["ACL_COORDINATORS"] = doorbells;
    environment["ACL_HEALTH_LISTEN"] = local(node.http);
    environment["ACL_WORKER_NAME"] = node.name;
    environment["ACL_WORK_DIR"] = options_.folder / (node.name + ".work");
    environment["ACL_POLL_MS"] = "200";
    environment["ACL_SLOTS"] = "32";
    environment["ACL_ALLOW_PRIVATE_NETWORKS"] = "true";
  } else {
    environment["ACL_LISTEN"] = local(node.http);
    environment["ACL_DOORBELL_LISTEN"] = local(node.doorbell);
    environment["ACL_REAP_MS"] = "200";
    environment["ACL_TIMERS_MS"] = "200";
    environment["ACL_LOOP_TTL_MS"] = "1000";
    environment["ACL_READY_POLL_MS"] = "200";
  }
  for (const auto& [name, value] : KafkaEnvironment(options_.kafka)) environment[name] = value;
  if (options_.failpoints) environment["ACL_FAILPOINTS"] = FailPoints(node);
  for (const auto& [name, value] : options_.environment) environment[name] = value;
  return environment;
}

std::vector<Node*> Fleet::nodes() {
  std::vector<Node*> all;
  for (auto& node : coordinators_) all.push_back(node.get());
  for (auto& node : workers_) all.push_back(node.get());
  return all;
}

std::vector<std::string> Fleet::ApiUrls() const {
  std::vector<std::string> urls;
  for (const auto& node : coordinators_) urls.push_back(node->Url());
  return urls;
}

Status Fleet::StartNode(Node& node) {
  std::error_code ignored;
  if (options_.failpoints) fs::create_directories(FailPoints(node), ignored);
  auto started = Child::Start({node.name,
                               {options_.programs / (node.is_worker ? "acl-worker" : "acl-coordinator")},
                               Environment(node),
                               options_.folder / (node.name + ".log")});
  if (!started) return started.error();
  node.process = std::move(*started);
  return {};
}

Result<std::unique_ptr<Child>> Fleet::StartTwin(const Node& node) {
  auto environment = Environment(node);
  environment["ACL_HEALTH_LISTEN"] = "127.0.0.1:0";
  environment["ACL_WORK_DIR"] = options_.folder / (node.name + ".twin.work");
  return Child::Start({node.name + " again", {options_.programs / "acl-worker"}, environment, options_.folder / (node.name + ".twin.log")});
}

Result<Node*> Fleet::AddWorker() {
  auto node = MakeNode("worker-" + std::to_string(workers_.size()), true);
  if (!node) return node.error();
  workers_.push_back(std::move(*node));
  Node& added = *workers_.back();
  if (Status started = StartNode(added); !started) return started.error();
  return &added;
}

bool Fleet::Ready(const Node& node) {
  HttpAsk ask;
  ask.url = node.Url("/readyz");
  ask.timeout = milliseconds(1'000);
  return Http(ask).ok();
}

bool Fleet::AwaitReady(milliseconds limit) {
  const auto all = nodes();
  return Await([&] { return std::all_of(all.begin(), all.end(), [](Node* node) { return Ready(*node); }); }, limit);
}

void Fleet::Kill(Node& node) {
  if (!node.process) return;
  ended_.insert(node.process->pid());
  node.process->End(SIGKILL, milliseconds(5'000));
}

void Fleet::EndCleanly(Node& node) {
  if (!node.process) return;
  node.process->End(SIGTERM, milliseconds(30'000));
  ended_.insert(node.process->pid());
}

std::string Fleet::Logs() {
  std::string text;
  for (Node* node : nodes()) {
    if (node->process) text += "--- " + node->name + "\n" + node->process->LogTail();
  }
  return text;
}

}  // namespace acl::chaos
