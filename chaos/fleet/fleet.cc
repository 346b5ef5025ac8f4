#include "chaos/fleet/fleet.h"

#include <signal.h>

#include <fstream>

#include "chaos/http/client.h"
#include "chaos/process/patience.h"
#include "shared/base/base64.h"
#include "shared/base/random.h"
#include "shared/postgres/chaos_mark.h"
#include "shared/postgres/migrate.h"

namespace acl::chaos {
namespace fs = std::filesystem;

namespace {

fs::path KeysFile(const FleetOptions& options) { return options.folder / "webhook-keys"; }

// What clients of a cluster are told of librdkafka's own settings: they learn of partitions that were added within seconds, not minutes.
fs::path KafkaProperties(const FleetOptions& options) { return options.folder / "kafka.properties"; }

std::map<std::string, std::string> KafkaEnvironment(const FleetOptions& options) {
  const KafkaAccess& kafka = options.kafka;
  if (kafka.bootstrap.empty()) return {};
  return {{"ACL_KAFKA_PROPERTIES_FILE", kafka.brokers() > 1 ? KafkaProperties(options).string() : ""},
          {"ACL_QUEUE_DRIVER", "kafka"},
          {"ACL_KAFKA_BOOTSTRAP", kafka.byway_advertised != 0 ? "127.0.0.1:" + std::to_string(kafka.byway_advertised) : kafka.bootstrap},
          {"ACL_KAFKA_PREFIX", kafka.prefix},
          {"ACL_QUEUE_LATE_MS", "3000"}};
}

}  // namespace

Status Fleet::Airun(std::vector<std::string> arguments, const std::map<std::string, std::string>& more, const char* log) {
  arguments.insert(arguments.begin(), options_.programs / "airun");
  auto environment = more;
  environment["ACL_DATABASE_URL"] = conninfo();
  auto done = RunProgram(arguments, environment, options_.folder / log, milliseconds(60'000));
  return done ? Status() : Status(done.error());
}

Status Fleet::MakeTopics() {
  const std::string copies = std::to_string(std::min(options_.kafka.brokers(), 3));
  return Airun({"queue", "init", "--partitions", "6", "--replication", copies}, KafkaEnvironment(options_), "queue-init.log");
}
Status Fleet::NewEpoch() { return Airun({"db", "new-epoch"}, {}, "new-epoch.log"); }

fs::path Fleet::FakeTimeLibrary() {
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"}) {
    const fs::path library = fs::path(folder) / "faketime" / "libfaketimeMT.so.1";
    if (fs::exists(library)) return library;
  }
  return {};
}

std::map<std::string, std::string> Fleet::ClockEnvironment(const std::string& name) const {
  if (!options_.clocks || FakeTimeLibrary().empty()) return {};
  // The file is looked at once a second. Timers and the ages of files stay as they are. The plain allocator comes before ours, which asks
  // for the time before the library knows it.
  const std::string preload = FakeTimeLibrary().string() + ":libstdc++.so.6:libc.so.6";
  return {{"LD_PRELOAD", preload},
          {"FAKETIME_TIMESTAMP_FILE", options_.folder / (name + ".clock")},
          {"FAKETIME_CACHE_DURATION", "1"},
          {"DONT_FAKE_MONOTONIC", "1"},
          {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
          {"NO_FAKE_STAT", "1"}};
}

Status Fleet::SetClock(const std::string& name, std::chrono::seconds off) const {
  const fs::path file = options_.folder / (name + ".clock");
  std::ofstream(file.string() + ".new") << (off.count() < 0 ? "" : "+") << off.count() << "s\n";
  std::error_code failed;
  fs::permissions(file.string() + ".new", fs::perms(0644), failed);
  fs::rename(file.string() + ".new", file, failed);
  return failed ? Status(Error{Code::kUnavailable, "the clock of " + name + ": " + failed.message()}) : Status();
}

Result<std::unique_ptr<Proxy>> Fleet::MakeWay(const std::string& name, std::uint16_t port, Proxy::Protocol protocol) {
  if (toxiproxy_) {
    auto added = toxiproxy_->Add(name, port);
    if (!added) return added.error();
    port = *added;
  }
  return Proxy::Start(port, protocol);
}

Status Fleet::MakeObjectsWay() {
  const std::string& endpoint = options_.objects["ACL_S3_ENDPOINT"];
  const auto colon = endpoint.rfind(':');
  if (!endpoint.starts_with("http://127.0.0.1:") || colon == std::string::npos)
    return Error{Code::kInvalid, "the object store must be at http://127.0.0.1:PORT: \"" + endpoint + "\""};
  auto proxy = MakeWay("objects", std::uint16_t(std::atoi(endpoint.c_str() + colon + 1)), Proxy::Protocol::kBytes);
  if (!proxy) return proxy.error();
  objects_proxy_ = std::move(*proxy);
  options_.objects["ACL_S3_ENDPOINT"] = "http://127.0.0.1:" + std::to_string(objects_proxy_->port());
  options_.objects["ACL_S3_TIMEOUT_MS"] = "2000";
  options_.objects["ACL_LARGE_VALUE_BYTES"] = "1024";
  return {};
}

Status Fleet::StartEffects(const Clock& clock) {
  SystemRandom random;
  std::string bytes(32, '\0');
  for (char& byte : bytes) byte = char(random.Below(256));
  effects_key_ = "whsec_" + EncodeBase64(bytes);
  std::ofstream(KeysFile(options_)).flush();
  std::error_code failed;
  fs::permissions(KeysFile(options_), fs::perms(0600), failed);
  if (failed) return Error{Code::kUnavailable, "the file of keys: " + failed.message()};
  std::ofstream(KeysFile(options_)) << "effects 127.0.0.1 localhost = " << effects_key_ << "\n";
  auto key = webhook::Key::Parse(effects_key_);
  if (!key) return key.error();
  auto effects = EffectsServer::Start(clock, {*key});
  if (!effects) return effects.error();
  effects_ = std::move(*effects);
  auto proxy = Proxy::Start(effects_->port(), Proxy::Protocol::kBytes);
  if (!proxy) return proxy.error();
  effects_proxy_ = std::move(*proxy);
  return {};
}

Result<std::unique_ptr<Node>> Fleet::MakeNode(const std::string& name, bool is_worker) {
  auto node = std::make_unique<Node>();
  node->name = name;
  node->is_worker = is_worker;
  node->http = FreePort();
  if (!is_worker) node->doorbell = FreePort();
  auto proxy = MakeWay(name, database_->port(), Proxy::Protocol::kPostgres);
  if (!proxy) return proxy.error();
  node->database = std::move(*proxy);
  return node;
}

Result<std::unique_ptr<Fleet>> Fleet::Start(const FleetOptions& options, const Clock& clock) {
  std::unique_ptr<Fleet> fleet(new Fleet(options));
  std::error_code failed;
  fs::create_directories(options.folder, failed);
  if (failed) return Error{Code::kUnavailable, "cannot make " + options.folder.string() + ": " + failed.message()};
  ServerOptions server{options.folder / "postgres", options.postgres};
  server.disk = options.disk;
  server.environment = fleet->ClockEnvironment("postgres");
  if (options.clocks) {
    if (Status set = fleet->SetClock("postgres", std::chrono::seconds(0)); !set) return set.error();
  }
  auto database = Server::Make(server);
  if (!database) return database.error();
  fleet->database_ = std::move(*database);
  if (auto migrated = pg::Migrate(fleet->conninfo()); !migrated) return migrated.error();
  if (options.failpoints) {
    if (Status marked = pg::MarkForChaos(fleet->conninfo(), true); !marked) return marked.error();
  }
  if (!options.toxiproxy.empty()) {
    auto toxic = Toxiproxy::Start(options.toxiproxy, options.folder / "toxiproxy.log");
    if (!toxic) return toxic.error();
    fleet->toxiproxy_ = std::move(*toxic);
  }
  if (fleet->toxiproxy_ == nullptr) fleet->options_.kafka.byway_advertised = 0;
  if (const KafkaAccess& kafka = fleet->options_.kafka; !kafka.bootstrap.empty()) {
    if (kafka.byway_advertised != 0) {
      if (auto way = fleet->toxiproxy_->Add("kafka", kafka.byway_port, kafka.byway_advertised); !way) return way.error();
    }
    if (kafka.brokers() > 1) std::ofstream(KafkaProperties(options)) << "topic.metadata.refresh.interval.ms=2000\n";
    if (Status made = fleet->MakeTopics(); !made) return made.error();
  }
  if (!options.objects.empty()) {
    if (Status made = fleet->MakeObjectsWay(); !made) return made.error();
  }
  if (Status started = fleet->StartEffects(clock); !started) return started.error();
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
    environment["ACL_WEBHOOK_KEYS_FILE"] = KeysFile(options_);
    environment["ACL_ALLOW_PRIVATE_NETWORKS"] = "true";
    environment["ACL_ALLOWED_PROGRAMS"] = "sh";
  } else {
    environment["ACL_LISTEN"] = local(node.http);
    environment["ACL_DOORBELL_LISTEN"] = local(node.doorbell);
    environment["ACL_REAP_MS"] = "200";
    environment["ACL_TIMERS_MS"] = "200";
    environment["ACL_LEADER_TTL_MS"] = "1000";
    environment["ACL_READY_POLL_MS"] = "200";
  }
  if (options_.clocks) environment["ACL_LOG_LEVEL"] = "info";  // what time it is there is seen in its log
  for (const auto& [name, value] : ClockEnvironment(node.name)) environment[name] = value;
  for (const auto& [name, value] : KafkaEnvironment(options_)) environment[name] = value;
  for (const auto& [name, value] : options_.objects) environment[name] = value;
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
  if (options_.clocks && !fs::exists(options_.folder / (node.name + ".clock"))) {
    if (Status set = SetClock(node.name, std::chrono::seconds(0)); !set) return set;
  }
  auto started =
      Child::Start({node.name,
                    {options_.programs / (std::string(node.is_worker ? "acl-worker" : "acl-coordinator") + (node.upgraded ? "-next" : ""))},
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
  NoteEnded(node.process->pid());
  node.process->End(SIGKILL, milliseconds(5'000));
}

void Fleet::EndCleanly(Node& node) {
  if (!node.process) return;
  node.process->End(SIGTERM, milliseconds(30'000));
  NoteEnded(node.process->pid());
}

std::string Fleet::Logs() {
  std::string text;
  for (Node* node : nodes()) {
    if (node->process) text += "--- " + node->name + "\n" + node->process->LogTail();
  }
  return text;
}

}  // namespace acl::chaos
