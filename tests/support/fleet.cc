#include "tests/support/fleet.h"

#include <gtest/gtest.h>

#include <sstream>

#include "shared/base/uuid7.h"

namespace acl::test {

std::string Binary(const std::string& name) { return std::string(ACL_BINARY_DIR) + "/bin/" + name; }

std::uint16_t PortOf(const std::string& url) {
  const auto colon = url.find(':', url.find('@'));
  return std::uint16_t(std::stoi(url.substr(colon + 1)));
}

std::string WithPort(const std::string& url, std::uint16_t port) {
  const auto colon = url.find(':', url.find('@'));
  return url.substr(0, colon + 1) + std::to_string(port) + url.substr(url.find('/', colon));
}

Fleet::Fleet(FleetOptions options) : options_(std::move(options)) {
  if (options_.database_url.empty()) {
    auto database = TestDatabase::Create(options_.migrate);
    ACL_CHECK(database.ok(), "no test database: run ./dev test, or export ACL_TEST_DATABASE_URL=$(./dev pg)");
    database_ = std::move(*database);
    options_.database_url = database_->conninfo();
    return;
  }
  if (!options_.migrate) return;
  const auto migrated = RunProgram({Binary("airun"), "db", "migrate"}, Environment());
  EXPECT_EQ(migrated.exit_code, 0) << migrated.out << migrated.err;
}

std::map<std::string, std::string> Fleet::Environment() const {
  std::map<std::string, std::string> environment = {
      {"ACL_DATABASE_URL", options_.database_url},
      {"ACL_DEV_MODE", "true"},
      {"ACL_LEASE_TTL_MS", std::to_string(options_.lease_ttl_ms)},
      {"ACL_REAP_MS", "100"},
      {"ACL_TIMERS_MS", "100"},
      {"ACL_LEADER_TTL_MS", "1000"},
      {"ACL_READY_POLL_MS", "200"},
      {"ACL_POLL_MS", "200"},
      {"ACL_ALLOW_PRIVATE_NETWORKS", "true"},
      {"ACL_ALLOWED_PROGRAMS", "sh,python3,cat,wc,find,ls,echo"},
  };
  std::string doorbells;
  for (const auto& [name, node] : nodes_) {
    if (node.doorbell != 0) doorbells += (doorbells.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(node.doorbell);
  }
  environment["ACL_COORDINATORS"] = doorbells;
  for (const auto& [name, value] : options_.environment) environment[name] = value;
  return environment;
}

Process& Fleet::StartCoordinator(int n) {
  const auto name = "coordinator-" + std::to_string(n);
  Node& node = nodes_[name];
  if (node.port == 0) {
    node.port = FreePort();
    node.doorbell = FreePort();
  }
  auto environment = Environment();
  environment["ACL_LISTEN"] = "127.0.0.1:" + std::to_string(node.port);
  environment["ACL_DOORBELL_LISTEN"] = "127.0.0.1:" + std::to_string(node.doorbell);
  node.process =
      Process({std::vector<std::string>(1, Binary("acl-coordinator" + version_)), environment, folder_ / (name + ".log"), folder_.path()});
  return node.process;
}

Process& Fleet::StartWorker(int n, std::map<std::string, std::string> more, std::vector<std::string> launcher) {
  const auto name = WorkerName(n);
  Node& node = nodes_[name];
  if (node.port == 0) node.port = FreePort();
  auto environment = Environment();
  environment["ACL_HEALTH_LISTEN"] = "127.0.0.1:" + std::to_string(node.port);
  environment["ACL_WORKER_NAME"] = name;
  environment["ACL_WORK_DIR"] = folder_ / (name + ".work");
  for (const auto& [key, value] : more) environment[key] = value;
  launcher.push_back(Binary("acl-worker" + version_));
  node.process = Process({std::move(launcher), environment, folder_ / (name + ".log"), folder_.path()});
  return node.process;
}

void Fleet::Drain(Process& process) {
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.Output();
}

bool Fleet::AwaitReady() {
  for (auto& [name, started] : nodes_) {
    Node& node = started;  // clang does not capture a structured binding
    const auto url = "http://127.0.0.1:" + std::to_string(node.port) + "/readyz";
    const bool ready = WaitUntil([&] { return !node.process.running() || HttpGet(url).status == 200; });
    if (!ready || !node.process.running()) {
      ADD_FAILURE() << name << " is not ready; it wrote:\n" << node.process.Output();
      return false;
    }
  }
  return true;
}

HttpAnswer Fleet::Api(const std::string& method, const std::string& path, const Json& body, std::map<std::string, std::string> headers,
                      int coordinator) {
  HttpAsk request{method, ApiUrl(coordinator) + path, "", std::move(headers), kHttpPatience};
  if (!body.is_null()) {
    request.body = DumpJson(body);
    request.headers.emplace("Content-Type", "application/json");
  }
  return Http(request);
}

RunResult Fleet::Cli(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), Binary("airun" + version_));
  auto environment = Environment();
  for (const auto& [name, node] : nodes_) {
    if (node.doorbell != 0 && !environment.contains("ACL_SERVER"))
      environment["ACL_SERVER"] = "http://127.0.0.1:" + std::to_string(node.port);
  }
  return RunProgram(arguments, environment, folder_.path());
}

std::string Fleet::Submit(const std::string& yaml, const Json& more, int coordinator) {
  Json body = {{"workflow", yaml}, {"file", "test.yaml"}};
  body.update(more);
  const auto reply = Api("POST", "/v1/workflows", body, {{"Idempotency-Key", NewUuid7().ToString()}}, coordinator);
  const Json answer = reply.json();
  if (reply.status / 100 != 2 || !answer.is_object() || !answer.contains("id")) {
    ADD_FAILURE() << "submit: " << reply.status << " " << reply.body << reply.error << "\n" << Logs();
    return "";
  }
  return answer["id"];
}

Json Fleet::Run(const std::string& id) { return Api("GET", "/v1/workflows/" + id).json(); }

std::string Fleet::StatusOf(const std::string& id) {
  const Json run = Run(id);
  // While the database is away the answer is a problem, whose status is a number.
  return run.is_object() && run.contains("status") && run["status"].is_string() ? run["status"].get<std::string>() : "";
}

bool Fleet::AwaitStatus(const std::string& id, const std::string& status) {
  if (!id.empty() && WaitUntil([&] { return StatusOf(id) == status; })) return true;
  ADD_FAILURE() << "run " << id << " is not " << status << ": " << DumpJson(Run(id)) << "\n" << Logs();
  return false;
}

std::vector<Json> Fleet::Events(const std::string& id) {
  std::vector<Json> events;
  for (;;) {
    const std::int64_t after = events.empty() ? 0 : events.back()["event_seq"].get<std::int64_t>();
    const Json page = Api("GET", "/v1/workflows/" + id + "/events?limit=200&after_seq=" + std::to_string(after)).json();
    if (!page.is_object() || !page.contains("events") || page["events"].empty()) return events;
    for (const auto& event : page["events"]) events.push_back(event);
  }
}

int Fleet::HolderOf(const std::string& id) {
  const Json leases = Api("GET", "/v1/leases").json();
  if (!leases.is_object() || !leases.contains("leases")) return -1;
  for (const auto& lease : leases["leases"]) {
    if (lease.value("workflow_id", "") != id) continue;
    const std::string name = lease.value("worker_name", "");
    if (name.starts_with("worker-")) return std::stoi(name.substr(7));
  }
  return -1;
}

double Fleet::Metric(const std::string& base_url, const std::string& name, const std::string& labels) {
  std::istringstream lines(HttpGet(base_url + "/metrics").body);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find_first_of("{ ");
    if (line.substr(0, end) != name || line.find(labels) == std::string::npos) continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

void Fleet::ExpectVerified() {
  const auto verified = Cli({"verify", "--all", "--invariants"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

std::string Fleet::Logs() const {
  std::string logs;
  for (const auto& [name, node] : nodes_) logs += "--- " + name + "\n" + node.process.Output();
  return logs;
}

}  // namespace acl::test
