// airun doctor: is everything there? Each finding with its fix.
#include <fmt/format.h>

#include "cli/app.h"
#include "cli/format.h"
#include "cli/kafka_access.h"
#include "shared/base/random.h"
#include "shared/kafka/naming.h"
#include "shared/kafka/topics.h"
#include "shared/postgres/migrate.h"
#include "shared/postgres/rights.h"

namespace acl::cli {

namespace {

struct Finding {
  std::string name, state, text, fix;  // state: ok, warning, failed
};

class Doctor {
 public:
  explicit Doctor(Session* session) : session_(session) {}

  void Run() {
    if (Database()) Permissions();
    Objects();
    Coordinator();
    if (session_->environment.environment("ACL_QUEUE_DRIVER") == "kafka") Kafka();
    Report();
  }

 private:
  void Add(std::string name, std::string state, std::string text, std::string fix = "") {
    findings_.push_back({std::move(name), std::move(state), std::move(text), std::move(fix)});
  }

  bool Database() {
    const SystemClock clock;
    const WallTime before = clock.Wall();
    auto status = pg::ReadDatabaseStatus(session_->DatabaseUrl());
    const WallTime after = clock.Wall();
    if (!status) {
      Add("PostgreSQL", "failed", status.message(),
          "start PostgreSQL, or name it: --database-url or ACL_DATABASE_URL=postgresql://user@host:port/name");
      return false;
    }
    Add("PostgreSQL", "ok", "reachable");
    constexpr int kOldest = 150'000;
    if (status->server_version_number >= kOldest)
      Add("version", "ok", "PostgreSQL " + status->server_version);
    else
      Add("version", "failed", "PostgreSQL " + status->server_version + " is too old", "use PostgreSQL 15 or newer");
    if (status->in_recovery)
      Add("role", "failed", "the server is a standby, nothing can be written",
          "name the primary in ACL_DATABASE_URL (target_session_attrs=read-write)");
    if (status->read_only)
      Add("role", "failed", "the database takes no writes (default_transaction_read_only is on)",
          "let it, or name another in ACL_DATABASE_URL");
    if (!status->unknown.empty())
      Add("migrations", "failed", "the database is newer than this program", "update the programs");
    else if (!status->changed.empty())
      Add("migrations", "failed", "an applied migration differs from the program's: " + status->changed.front(),
          "use the programs that made this database");
    else if (!status->pending.empty())
      Add("migrations", "failed", std::to_string(status->pending.size()) + " not applied", "airun db migrate");
    else if (!status->right_schema())
      Add("migrations", "failed", status->Problem(),
          status->changed_objects.empty() ? "airun db migrate" : "use the programs that made this database");
    else
      Add("migrations", "ok", std::to_string(status->applied.size()) + " applied, epoch " + std::to_string(status->epoch));
    if (!status->right_cluster) Add("cluster", "failed", "the database was restored or copied: tokens are refused", "airun db new-epoch");
    // The database's time lies between `before` and `after` on an equal clock.
    const auto behind = std::chrono::duration_cast<std::chrono::milliseconds>(before - status->db_now),
               ahead = std::chrono::duration_cast<std::chrono::milliseconds>(status->db_now - after);
    const auto skew = std::max({behind, ahead, std::chrono::milliseconds(0)});
    if (skew > std::chrono::seconds(5))
      Add("clock", "warning", "this machine and the database differ by " + std::to_string(skew.count()) + " ms",
          "set both by NTP (only the database's clock decides about leases; logs are hard to compare)");
    else
      Add("clock", "ok", "within " + std::to_string(std::max<long long>(1, skew.count())) + " ms of the database's");
    return status->pending.empty() && status->pending_objects.empty();
  }

  void Permissions() {
    auto rights = pg::ReadRights(session_->DatabaseUrl());
    if (!rights) return Add("permissions", "failed", rights.message(), "airun db migrate");
    if (!rights->may_serve)
      Add("permissions", "failed", "login " + rights->login + " is no member of acl_service", "GRANT acl_service TO " + rights->login);
    else if (!rights->too_much.empty())
      Add("permissions", "failed", "acl_service may do what it must not: " + rights->too_much.front(), "REVOKE it as acl_owner");
    else
      Add("permissions", "ok", "login " + rights->login + " may serve" + (rights->may_migrate ? " and migrate" : ""));
  }

  // Is the bucket there, may it be written, do the clocks agree? As this shell's ACL_S3_... say, which should be the programs'.
  void Objects() {
    auto store = session_->Objects();
    if (!store) return Add("object store", "failed", store.message(), "docs/reference/settings.md says what each takes");
    if (!*store) return Add("object store", "ok", "none is set: large values lie in PostgreSQL");
    auto ahead = (*store)->ClockAhead();
    if (!ahead) return Add("object store", "failed", ahead.message(), "is it running, is ACL_S3_ENDPOINT right?");
    constexpr std::chrono::seconds kTolerable{60};  // requests are refused at 15 minutes
    if (*ahead && std::chrono::abs(**ahead) > kTolerable) {
      Add("object store clock", "warning",
          fmt::format("this machine is {} s {} of it", std::abs((*ahead)->count()), (*ahead)->count() > 0 ? "ahead" : "behind"),
          "set the clock by NTP: requests with a clock 15 minutes off are refused");
    }
    SystemRandom random;
    const std::string key = fmt::format("acl-doctor/{:016x}", random.Next()), bytes = "written by airun doctor";
    auto put = (*store)->PutIfAbsent(key, bytes);
    if (!put) return Add("object store", "failed", put.message(), "see docs/operate/operations.md, Object store");
    auto got = (*store)->Get(key, 1'000);
    const Status gone = (*store)->Delete(key);
    if (!got || *got != bytes)
      return Add("object store", "failed", got ? "it does not give back what was put" : got.message(), "use another store");
    if (!gone) return Add("object store", "warning", gone.message(), "allow DeleteObject: what nobody refers to is never removed");
    Add("object store", "ok", (*store)->Name() + ": put, read and deleted an object");
  }

  void Coordinator() {
    auto api = session_->Api();
    if (!api) return Add("coordinator", "failed", api.message());
    auto ready = (*api)->Probe("/readyz");
    if (!ready)
      return Add("coordinator", "failed", "no answer at " + (*api)->server(),
                 "start one: airun dev, or acl-coordinator; or name it: --server or ACL_SERVER");
    if (ready->status != 200)
      return Add("coordinator", "failed", (*api)->server() + " is not ready: " + Cut(ready->body, 200), "look at its log");
    Add("coordinator", "ok", (*api)->server() + " is ready");
    auto workers = (*api)->Get("/v1/workers");
    if (!workers)
      return Add("workers", "failed", workers.message(),
                 workers.code() == Code::kDenied ? "set ACL_API_KEY or --api-key-file" : "look at the coordinator's log");
    std::size_t alive = 0;
    for (const Json& worker : ItemsOf(*workers)) {
      if (TextOf(worker, "dead") == "true") continue;
      ++alive;
      if (!worker.contains("queues")) continue;
      for (const Json& queue : worker["queues"]) queues_.insert(queue.get<std::string>());
    }
    if (alive == 0)
      Add("workers", "failed", "none is alive: runs are accepted and wait", "start one: acl-worker, or airun dev");
    else
      Add("workers", "ok", std::to_string(alive) + " alive");
    Queues(**api);
    Starved(**api);
    auto quarantined = (*api)->Get("/v1/quarantine");
    if (quarantined && !ItemsOf(*quarantined).empty())
      Add("quarantine", "warning", std::to_string(ItemsOf(*quarantined).size()) + " runs are quarantined",
          "airun workflow quarantine list");
    if (!quarantined || !quarantined->contains("suspects")) return;
    const auto suspects = (*quarantined)["suspects"].value("waiting", 0) + (*quarantined)["suspects"].value("held", 0);
    if (suspects > 0)
      Add("suspects", "warning", std::to_string(suspects) + " runs or tasks died with two workers or more, and no step of them completed",
          "nothing: whoever kills its workers is found and judged, the others go on (docs/operate/operations.md, \"A run that kills its "
          "workers\")");
  }

  // Runs that do not fit into the memory of their workers.
  void Starved(ApiClient& api) {
    auto waiting = api.Get("/v1/workflows?needs_person=true&limit=200");
    if (!waiting) return;
    std::size_t starved = 0;
    for (const Json& run : ItemsOf(*waiting)) starved += TextOf(run.value("state", Json::object()), "blocked_on") == "memory" ? 1 : 0;
    if (starved > 0)
      Add("memory", "warning", std::to_string(starved) + " run(s) do not fit into the memory of the worker that took them last",
          "give acl-worker more memory, or start a larger one; the size: airun workflow list --needs-person, airun workflow status ID");
  }

  // What waits where no worker takes from. A coordinator of the version before does not know them.
  void Queues(ApiClient& api) {
    auto queues = api.Get("/v1/queues");
    if (!queues) return;
    std::size_t unserved = 0;
    for (const Json& queue : ItemsOf(*queues)) {
      if (queue.value("ready", 0) == 0 || queue.value("workers", 0) > 0) continue;
      ++unserved;
      Add("queue", "warning",
          fmt::format("'{}' has no living worker, and {} run(s) or step(s) wait there, the oldest for {:.0f} s", TextOf(queue, "queue"),
                      queue.value("ready", 0), queue.value("oldest_seconds", 0.0)),
          "start a worker for it: acl-worker --queues, or cancel the runs if the name is wrong");
    }
    if (unserved == 0) Add("queues", "ok", "each that has something waiting has a worker");
  }

  // Of the queues that living workers take.
  void Kafka() {
    auto access = ReachKafka(*session_, {"", "", "", ""});
    if (!access) return Add("Kafka", "failed", access.message(), "mend the setting");
    const std::vector<std::string> queues(queues_.begin(), queues_.end());
    auto topics = kafka::StepTopics(access->fleet.prefix, queues.empty() ? std::vector<std::string>{"default"} : queues);
    topics.push_back(kafka::DeadTopic(access->fleet.prefix));
    auto states = kafka::DescribeTopics(access->client, topics, std::chrono::seconds(5));
    if (!states)
      return Add("Kafka", "failed", access->fleet.bootstrap + ": " + states.message(),
                 "start it, or name it: ACL_KAFKA_BOOTSTRAP. Until then workers look for late work themselves (queue_late_ms)");
    std::string missing, headless;
    for (const auto& state : *states) {
      if (state.partitions == 0) missing += " " + state.name;
      if (state.without_leader > 0) headless += " " + state.name;
    }
    if (!missing.empty()) return Add("Kafka", "failed", "topics are missing:" + missing, "airun queue init QUEUE...");
    if (!headless.empty()) return Add("Kafka", "failed", "partitions have no leader:" + headless, "start the broker that has them");
    Add("Kafka", "ok", access->fleet.bootstrap + ", " + std::to_string(states->size()) + " topics");
  }

  void Report() {
    Json all = Json::array();
    for (const Finding& one : findings_) {
      if (one.state == "failed") session_->exit_code = kExitFailure;
      all.push_back({{"check", one.name}, {"state", one.state}, {"text", one.text}});
      if (!one.fix.empty()) all.back()["fix"] = one.fix;
      if (session_->json()) continue;
      const auto colour = one.state == "ok"        ? Session::Colour::kGreen
                          : one.state == "warning" ? Session::Colour::kYellow
                                                   : Session::Colour::kRed;
      session_->Print(session_->Paint(colour, one.state) + std::string(9 - std::min<std::size_t>(8, one.state.size()), ' ') + one.name +
                      ": " + one.text);
      if (!one.fix.empty()) session_->Print("         fix: " + one.fix);
    }
    if (session_->json()) session_->PrintJson(all);
  }

  Session* session_;
  std::set<std::string> queues_;  // that living workers take
  std::vector<Finding> findings_;
};

}  // namespace

void AddDoctorCommand(CLI::App* app, Session* session) {
  CLI::App* doctor = app->add_subcommand("doctor", "is everything there? says the fix if not");
  AddDoctorTasks(doctor, session);
  doctor->callback([=] {
    if (doctor->get_subcommands().empty()) Doctor(session).Run();
  });
}

}  // namespace acl::cli
