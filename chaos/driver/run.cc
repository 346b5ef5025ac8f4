#include "chaos/driver/run.h"

#include <unistd.h>

#include <fmt/format.h>
#include <fstream>

#include "chaos/checkers/project_rows.h"
#include "chaos/checkers/session_rows.h"
#include "chaos/driver/collect.h"
#include "chaos/faults/fault.h"
#include "chaos/load/agents.h"
#include "chaos/load/monitor.h"
#include "chaos/load/sessions.h"
#include "chaos/load/workload.h"
#include "chaos/process/patience.h"
#include "shared/base/uuid7.h"
#include "shared/journal/event.h"
#include "shared/postgres/chaos_mark.h"

namespace acl::chaos {
namespace {

class Driver {
 public:
  explicit Driver(const RunOptions& options) : options_(options) {}
  Result<Report> Run();

 private:
  Status SetUp();
  Status SetUpElsewhere();
  void Describe();
  void Phase(const std::string& name);
  void OneFault(int n, const PlannedFault& planned);
  void Event(int n, const FaultKind& kind, const char* event, const Json& more = Json::object());
  Status Drain();
  Status DrainAgents();
  Status DrainSessions();
  Status StartAgents(const WorkloadOptions& load);
  void Say(const std::string& line) {
    if (options_.say) options_.say(line);
  }

  const RunOptions& options_;
  SystemClock clock_;
  std::unique_ptr<Recorder> history_;
  std::unique_ptr<Fleet> fleet_;
  TestBed test_bed_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<Agents> agents_;      // null: the profile has none
  std::unique_ptr<Sessions> sessions_;  // null: the profile has none
  std::uint64_t load_seed_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> losses_;  // when the database lost what it acknowledged: from, until
};

void Driver::Phase(const std::string& name) {
  history_->Write("phase", {{"name", name}});
  Say("phase: " + name);
}

Status Driver::SetUpElsewhere() {
  if (options_.database_url.empty())
    return Error{Code::kInvalid,
                 "a fleet elsewhere needs --database-url too: its mark is read there, and its invariants are checked there"};
  test_bed_.conninfo = options_.database_url;
  if (Status marked = pg::IsMarkedForChaos(options_.database_url); !marked) return marked;
  // How long leases live there, as its workers renew them.
  const auto ttl =
      Ask(test_bed_.conninfo,
          "SELECT max(extract(epoch FROM expires_at - heartbeat_at) * 1000)::bigint FROM worker_sessions WHERE dead_at IS NULL");
  if (ttl && !ttl->front().front().empty()) test_bed_.lease_ttl = milliseconds(std::stoll(ttl->front().front()));
  return SameFleet(options_.against, options_.api_key, options_.database_url);
}

Status Driver::SetUp() {
  std::error_code failed;
  std::filesystem::create_directories(options_.folder, failed);
  if (failed) return Error{Code::kUnavailable, "cannot make " + options_.folder.string() + ": " + failed.message()};
  auto history = Recorder::Create(options_.folder / "history.jsonl", clock_);
  if (!history) return history.error();
  history_ = std::move(*history);
  test_bed_.lease_ttl = options_.profile.lease_ttl;
  if (!options_.against.empty()) return SetUpElsewhere();
  FleetOptions fleet;
  fleet.programs = options_.programs;
  fleet.folder = options_.folder / "fleet";
  fleet.postgres = options_.postgres;
  fleet.workers = options_.profile.workers;
  fleet.coordinators = options_.profile.coordinators;
  fleet.lease_ttl = options_.profile.lease_ttl;
  fleet.failpoints = options_.profile.failpoints;
  fleet.clocks = options_.profile.clocks;
  fleet.disk = options_.profile.disk;
  if (options_.profile.toxiproxy) fleet.toxiproxy = options_.toxiproxy;
  if (options_.profile.objects) {
    if (options_.objects.empty())
      return Error{Code::kInvalid,
                   "this profile needs an object store: ACL_S3_ENDPOINT and the rest (./dev chaos --profile objects brings one)"};
    fleet.objects = options_.objects;
  }
  if (options_.profile.kafka || (options_.profile.kafka_if_there && !options_.kafka.bootstrap.empty())) {
    if (options_.kafka.bootstrap.empty() || options_.kafka.control.empty())
      return Error{Code::kInvalid,
                   "this profile needs a Kafka broker: --kafka HOST:PORT --kafka-control COMMAND (./dev chaos --profile kafka brings one)"};
    if (options_.kafka.brokers() < options_.profile.brokers)
      return Error{
          Code::kInvalid,
          fmt::format("this profile needs {} Kafka brokers: --kafka HOST:PORT,HOST:PORT,... (./dev chaos --profile {} brings them)",
                      options_.profile.brokers, options_.profile.name)};
    fleet.kafka = options_.kafka;
    fleet.kafka.prefix = "chaos-" + NewUuid7().ToString();
    if (!options_.toxiproxy.empty() && fleet.kafka.byway_advertised != 0) fleet.toxiproxy = options_.toxiproxy;
    test_bed_.kafka = fleet.kafka;
  }
  auto started = Fleet::Start(fleet, clock_);
  if (!started) return started.error();
  fleet_ = std::move(*started);
  test_bed_.fleet = fleet_.get();
  test_bed_.conninfo = fleet_->conninfo();
  return {};
}

void Driver::Describe() {
  Json run = {{"seed", std::to_string(options_.seed)},
              {"profile", options_.profile.name},
              {"version", std::string(kProducerVersion)},
              {"started", FormatWallTime(clock_.Wall())},
              {"fleet", fleet_ ? "of the driver's own" : options_.against},
              {"lease_ttl_ms", options_.profile.lease_ttl.count()},
              {"workers", fleet_ ? fleet_->workers() : 0},
              {"coordinators", fleet_ ? fleet_->coordinators() : 0},
              {"clients", options_.profile.clients},
              {"agents", options_.profile.agents},
              {"projects", options_.profile.projects},
              {"sessions", options_.profile.sessions},
              {"key_prefix", "chaos-" + std::to_string(load_seed_) + "-"}};
  run["postgres"] = ServerFacts(test_bed_.conninfo);
  if (fleet_) run["programs"] = ProgramFacts(options_.programs);
  const auto& kinds = options_.profile.kinds;
  run["fence_must_refuse"] = fleet_ != nullptr && std::find(kinds.begin(), kinds.end(), "late-commit") != kinds.end();
  history_->Write("run", std::move(run));
}

void Driver::Event(int n, const FaultKind& kind, const char* event, const Json& more) {
  Json line = {{"n", n}, {"kind", kind.name}, {"number", kind.number}, {"event", event}};
  line.update(more);
  history_->Write("fault", std::move(line));
}

void Driver::OneFault(int n, const PlannedFault& planned) {
  const FaultKind& kind = *FindFaultKind(planned.kind);
  Pause(planned.rest);
  if (StopAsked()) return;
  const auto failed = [&](const char* when, const Status& status) {
    Event(n, kind, "failed", {{"error", std::string(when) + ": " + status.message()}});
    Say(fmt::format("  {} {}: {}: {}", kind.number, kind.name, when, status.message()));
  };
  const auto fault = kind.make(test_bed_, planned.draw);
  Event(n, kind, "inject", {{"draw", std::to_string(planned.draw)}});
  const Status injected = fault->Inject();
  const Status seen = injected ? fault->AssertInjected() : injected;
  if (seen) {
    Event(n, kind, "observed");
    Pause(planned.hold);
  }
  // Healed also if it was not seen: what follows must not suffer from it.
  const Status healed = fault->Heal();
  if (seen && healed) Event(n, kind, "healed");
  const Status well = healed ? fault->AssertHealed() : healed;
  if (!seen) return failed("inject", seen);
  if (!well) return failed("heal", well);
  Event(n, kind, "well", {{"facts", fault->facts}});
  if (fault->facts.contains("loses_from")) losses_.emplace_back(fault->facts["loses_from"], fault->facts["loses_until"]);
  Say(fmt::format("  {} {}: observed and healed {}", kind.number, kind.name, fault->facts.empty() ? "" : DumpJson(fault->facts)));
}

// Claims on tasks run out.
Status Driver::DrainAgents() {
  std::string open;
  const auto free = [&] {
    const auto claims = CountOpenClaims(test_bed_.conninfo, ProjectPrefix(workload_->label()));
    if (claims) open = std::to_string(*claims);
    return claims && *claims == 0;
  };
  if (!Await(free, options_.profile.drain)) return Error{Code::kTimeout, open + " claims on tasks never ran out, or were not heard of"};
  return {};
}

// Each session comes to rest, if somebody answers what it asks.
Status Driver::DrainSessions() {
  std::string who;
  const auto rest = [&] {
    if (!sessions_->AllRest(who)) return false;
    const auto busy = CountBusySessions(test_bed_.conninfo, AgentPrefix(workload_->label()));
    if (!busy || *busy > 0) who = "sessions of agents are held, ready, or have something unread";
    return busy && *busy == 0 && sessions_->AllRest(who);
  };
  sessions_->TellAll();
  if (!Await(rest, options_.profile.drain)) return Error{Code::kTimeout, who};
  return {};
}

Status Driver::Drain() {
  if (agents_ && !agents_->Stop(options_.profile.drain)) return Error{Code::kTimeout, "an agent never got an answer"};
  if (sessions_ && !sessions_->Stop(options_.profile.drain)) return Error{Code::kTimeout, "who talks to agents never got an answer"};
  if (!workload_->Stop(options_.profile.drain)) return Error{Code::kTimeout, "a client never got an answer"};
  std::string open;
  const auto quiet = [&] {
    auto rows = Ask(test_bed_.conninfo, OpenRunsSql(workload_->label()));
    if (!rows) return false;
    open = rows->front().front();
    return open == "0";
  };
  if (!Await(quiet, options_.profile.drain)) return Error{Code::kTimeout, open + " runs have not ended"};
  if (agents_)
    if (Status free = DrainAgents(); !free) return free;
  return sessions_ ? DrainSessions() : Status();
}

Status Driver::StartAgents(const WorkloadOptions& load) {
  const Profile& profile = options_.profile;
  if (profile.agents > 0) {
    agents_ =
        std::make_unique<Agents>(AgentsOptions{load.api_urls, load.api_key, load_seed_, profile.agents, profile.projects}, history_.get());
    if (!agents_->AwaitReady(milliseconds(120'000))) return Error{Code::kTimeout, "the agents' projects were not made within two minutes"};
  }
  if (profile.sessions > 0 && load.effects_url.empty())
    return Error{
        Code::kInvalid,
        "agents under faults call a receiver of effects on this machine, which a fleet elsewhere does not reach: leave --against out"};
  if (profile.sessions > 0) {
    sessions_ = std::make_unique<Sessions>(SessionsOptions{load.api_urls, load.api_key, load.effects_url, load_seed_, profile.sessions},
                                           history_.get());
    if (!sessions_->AwaitReady(milliseconds(120'000)))
      return Error{Code::kTimeout, "the sessions of agents were not made within two minutes"};
  }
  return {};
}

Result<Report> Driver::Run() {
  if (Status ready = SetUp(); !ready) return ready.error();
  load_seed_ = SubSeed(options_.seed, "workload");
  if (!fleet_) load_seed_ ^= std::uint64_t(MicrosOf(clock_.Wall()));  // its keys are remembered there
  Describe();
  Say(fmt::format("seed {}  profile {}  {}", options_.seed, options_.profile.name, options_.folder.string()));
  std::map<std::string, std::string> pages;
  WorkloadOptions load;
  load.seed = load_seed_;
  load.clients = options_.profile.clients;
  load.api_key = options_.api_key;
  load.large = options_.profile.objects;
  load.api_urls = fleet_ ? fleet_->ApiUrls() : std::vector<std::string>{options_.against};
  if (fleet_) {
    load.effects_url = fleet_->EffectsUrl();
    for (Node* node : fleet_->nodes()) pages[node->name] = node->Url("/metrics");
  } else {
    history_->Write("skipped",
                    {{"number", "-"}, {"kind", "effects"}, {"why", "a fleet elsewhere does not reach an effects server on this machine"}});
  }
  monitor_ = std::make_unique<Monitor>(std::move(pages));

  Phase("warm-up");
  workload_ = std::make_unique<Workload>(load, history_.get());
  if (Status started = StartAgents(load); !started) return started.error();
  Pause(options_.profile.warm_up);
  Phase("faults");
  Profile possible = options_.profile;
  std::erase_if(possible.kinds, [&](const std::string& name) {
    const FaultKind* kind = FindFaultKind(name);
    const auto why = kind == nullptr ? std::optional<std::string>("there is no such fault") : UnsupportedReason(*kind, test_bed_);
    if (!why) return false;
    history_->Write("skipped", {{"number", kind == nullptr ? "-" : kind->number}, {"kind", name}, {"why", *why}});
    Say("  cannot do " + name + " here: " + *why);
    return true;
  });
  // A schedule is planned by its rests and holds; faults take longer than those to be seen, so it may end before its end.
  const SteadyTime begin = clock_.Steady();
  const int least = possible.dose * int(possible.kinds.size());
  int n = 0;
  for (const PlannedFault& planned : MakeSchedule(possible, options_.seed)) {
    if (n >= least && clock_.Steady() - begin >= possible.at_least) break;
    if (StopAsked()) return Error{Code::kCancelled, "stopped"};
    OneFault(++n, planned);
  }
  Phase("heal");
  if (fleet_ && !fleet_->AwaitReady(milliseconds(30'000))) Say("  not every process is ready");
  workload_->AwaitAnswers(10, milliseconds(30'000));
  if (agents_) agents_->AwaitAnswers(6, milliseconds(60'000));
  if (sessions_) sessions_->AwaitAnswers(6, milliseconds(60'000));
  if (!losses_.empty()) workload_->ResumeAgain(losses_);
  Phase("drain");
  const Status drained = Drain();
  if (!drained) Say("  " + drained.message());
  Json metrics = monitor_->Totals();
  metrics["drained"] = drained.ok();
  history_->Write("metrics", std::move(metrics));
  Phase("check");
  CollectOptions collect{
      test_bed_.conninfo, workload_->label(), fleet_ ? fleet_->ended() : std::map<pid_t, WallTime>(), fleet_ != nullptr, {}};
  if (fleet_) collect.canaries = {fleet_->database().password(), fleet_->effects_key()};
  WriteFinals(collect, history_.get());
  if (agents_) WriteProjects(collect, history_.get());
  if (sessions_) WriteSessions(collect, history_.get());
  if (fleet_) WriteEffects(fleet_->effects(), history_.get());
  WriteGrants(collect, history_.get());
  WriteCheckers(collect, drained, options_.verify, history_.get());
  monitor_.reset();
  if (fleet_) {
    for (Node* node : fleet_->nodes()) fleet_->EndCleanly(*node);
  }
  history_->Write("end", Json::object());
  auto lines = LoadHistory(history_->file());
  if (!lines) return lines.error();
  Report report = MakeReport(*lines, history_->file().string());
  std::ofstream(options_.folder / "report.json") << report.json.dump(2) << "\n";
  std::ofstream(options_.folder / "report.html") << ToHtml(report.json);
  return report;
}

}  // namespace

Result<Report> RunChaos(const RunOptions& options) { return Driver(options).Run(); }

}  // namespace acl::chaos
