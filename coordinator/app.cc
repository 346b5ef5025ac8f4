#include "coordinator/app.h"

#include <unistd.h>

#include <set>

#include "coordinator/announcer.h"
#include "coordinator/api/api.h"
#include "coordinator/api/approval_page.h"
#include "coordinator/api/contents.h"
#include "coordinator/api/event_feed.h"
#include "coordinator/api_keys.h"
#include "coordinator/ask/ask_desk.h"
#include "coordinator/ask/sight_tools.h"
#include "coordinator/background_job.h"
#include "coordinator/definition_cache.h"
#include "coordinator/end_watch.h"
#include "coordinator/job_plan.h"
#include "coordinator/projects/store_desk.h"
#include "coordinator/projects/transfer.h"
#include "coordinator/queue_watch.h"
#include "coordinator/request_spans.h"
#include "coordinator/run_creator.h"
#include "shared/base/build_info.h"
#include "shared/capability/standard.h"
#include "shared/http/health.h"
#include "shared/http/problem.h"
#include "shared/http/server.h"
#include "shared/journal/event.h"
#include "shared/kafka/relay_sender.h"
#include "shared/kinds/agent/agent_kind.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/memory/memory.h"
#include "shared/queue/doorbell_server.h"
#include "shared/telemetry/names.h"
#include "shared/workflow/workflow_kind.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSightWithin{5'000};  // of an ask; longer than a tool may read the folder of an index

std::shared_ptr<const CapabilityRegistry> StandardRegistry() {
  auto registry = std::make_shared<CapabilityRegistry>();
  RegisterStandardCapabilities(*registry, {});
  return registry;
}

// On loopback its own names are always taken; a browser page of another site that resolves to 127.0.0.1 is not (DNS rebinding).
std::vector<std::string> AllowedHosts(const Settings& settings) {
  std::vector<std::string> hosts = settings.allowed_hosts;
  if (!settings.listen.is_loopback()) return hosts;
  for (const char* name : {"localhost", "127.0.0.1", "[::1]"}) hosts.emplace_back(name);
  const auto& own = settings.listen.host;
  hosts.push_back(own.find(':') == std::string::npos ? own : "[" + own + "]");
  return hosts;
}

}  // namespace

struct App::Impl {
  Impl(const Settings& s, Backend b)
      : settings(s),
        backend(std::move(b)),
        ids(clock, random),
        capabilities(StandardRegistry()),
        workflow_kind(workflow::MakeWorkflowKind(capabilities)),
        agent_kind(agent::MakeAgentKind(capabilities)),
        project_kind(project::MakeProjectKind()),
        ask_kind(ask::MakeAskKind()),
        ledger_kind(ledger::MakeLedgerKind()),
        database(backend.probe, &metrics),
        tracer(ReadOtelConfig(Environment(), "acl-coordinator"),
               {{"service.version", std::string(kProducerVersion)}, {"process.pid", int(getpid())}}, clock, &metrics),
        spans(tracer, clock),
        feed(*backend.queries, clock),
        keys(*backend.keys, milliseconds(2'000), clock),
        needs_key(!(s.dev_mode && s.listen.is_loopback())) {
    metrics
        .gauge(names::kBuildInfo,
               {{"version", std::string(kProducerVersion)}, {"commit", std::string(BuildCommit())}, {"component", "coordinator"}})
        .Set(1);
  }

  const Settings settings;
  const Logger log{"coordinator"};
  SystemClock clock;
  SystemRandom random;
  Backend backend;
  Metrics& metrics = *backend.metrics;
  Uuid7Maker ids;
  std::shared_ptr<const CapabilityRegistry> capabilities;
  std::shared_ptr<const SubjectKind> workflow_kind, agent_kind;
  std::shared_ptr<const CommandKind> project_kind, ask_kind, ledger_kind;
  BlobPresenceCache contents;
  LoadedDefinitionCache definitions{*capabilities};
  RunCreator creator{*backend.store,
                     [this](const std::string& queue) { RingWork(queue); },
                     MakeGrants(),
                     {.load = [this] { return ends.load(); },
                      .hinted = [this](const std::vector<StepMessage>& rows) { return TellRelays(rows); },
                      .created = metrics.counter(names::kRunsCreated)}};
  EndWatch ends{*backend.queries, clock};
  std::unique_ptr<StoreDesk> desk =
      backend.project_names ? std::make_unique<StoreDesk>(*backend.store, *backend.queries, *backend.project_names, *project_kind, ids)
                            : nullptr;
  std::unique_ptr<ProjectTransfer> transfers =
      backend.project_names
          ? std::make_unique<ProjectTransfer>(*backend.store, *backend.queries, *backend.project_names, *project_kind, ids)
          : nullptr;
  std::unique_ptr<memory::Memory> memory;  // made when it starts: its token is read then; null: there is none
  std::unique_ptr<SightTools> sight;       // null: nobody can ask
  std::unique_ptr<AskDesk> ask_desk;       // made when it starts: its files are read then
  QueueWatch served{*backend.queries, clock, [this](const std::string& queue) { return doorbell->room().Serves(queue); }};
  DatabaseWatch database;
  Tracer tracer;
  RequestSpans spans;
  AskTelemetry ask_telemetry{tracer, metrics};
  EventFeed feed;
  ApiKeys keys;
  const bool needs_key;
  std::optional<ApprovalLinks> approval_links;
  std::atomic<bool> draining{false};
  std::unique_ptr<BlockingPool> pool;
  std::unique_ptr<DoorbellServer> doorbell;
  std::unique_ptr<Announcer> announcer;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<LeaderLeases> leases;
  std::unique_ptr<kafka::RelaySender> sender;  // queue_driver kafka
  std::unique_ptr<kafka::Producer> events;     // the same, for CloudEvents
  std::unique_ptr<WebhookSender> webhooks;
  std::unique_ptr<KafkaSender> cloud_events;
  std::unique_ptr<Deliveries> deliveries;
  std::vector<std::unique_ptr<BackgroundJob>> jobs;
  BackgroundJob* schedules = nullptr;  // of `jobs`: looks at once when a schedule is new or changed here
  BackgroundJob* projects = nullptr;   // of `jobs`: looks when something was posted to one
  std::vector<BackgroundJob*> relays;  // of `jobs`; made before anything rings
  ReadyHints ready_hints;              // empty: nothing is relayed
  std::mutex lifecycle;
  bool started = false;

  Readiness Ready() const {
    Readiness found;
    found.checks = database.Checks();
    if (draining) found.checks.push_back({"drain", false, "this process is ending"});
    return found;
  }

  std::optional<HttpResponse> Authorize(HttpRequest& request, const Route& route) {
    spans.Begin(request, route);
    if (route.options.open) return std::nullopt;
    if (needs_key) {
      if (auto refusal = keys.Authorize(request)) {
        request.undecided = request.undecided && database.ready();
        return refusal;
      }
    }
    return RefuseUnlessReady();
  }

  std::optional<HttpResponse> RefuseUnlessReady() const {
    if (database.ready()) return std::nullopt;
    std::string why = "the database is not ready";
    for (const auto& check : database.Checks()) {
      if (!check.ok) why = check.name + ": " + check.detail;
    }
    return Problem(503, "unavailable", why).With("Retry-After", "1");
  }

  Bell MakeBell() {
    Bell bell;
    bell.work = [this](const std::string& queue) { RingWork(queue); };
    bell.subject = [this](const WorkerSessionId& holder, const SubjectId& subject) { doorbell->RingSubject(holder, subject); };
    return bell;
  }

  Router MakeRouter() {
    const ApiContext api{*backend.store,
                         *backend.queries,
                         *capabilities,
                         *workflow_kind,
                         ids,
                         feed,
                         contents,
                         definitions,
                         creator,
                         ends,
                         *backend.schedules,
                         [this] { schedules->Wake(); },
                         MakeBell(),
                         metrics.counter(names::kIdempotencyHits),
                         settings.jaeger_url,
                         metrics.counter(names::kRunsCreated),
                         &served,
                         desk.get(),
                         transfers.get(),
                         backend.deliveries.get(),
                         backend.approvals.get(),
                         ask_desk.get(),
                         agent_kind.get(),
                         memory.get()};
    Router router;
    AddHealthRoutes(router, metrics, [this] { return Ready(); });
    AddApiRoutes(router, api);
    if (approval_links) AddApprovalPage(router, api, *approval_links, clock);
    return router;
  }

  // The doorbell is there before any request is.
  RunCreator::Grants MakeGrants() {
    return {[this](const CreateItem& item) { return doorbell->room().Take(item); },
            [this](const WorkerSessionId& session) { doorbell->room().PutBack(session); },
            [this](const WorkerSessionId& session) { doorbell->room().Dead(session); },
            [this](const WorkerSessionId& session, std::vector<SubjectId> granted) { doorbell->RingGranted(session, std::move(granted)); }};
  }

  // Whoever follows the run or waits for its end looks now.
  void NoteEnd(const SubjectId& subject) {
    feed.Nudge(subject);
    ends.Nudge(subject);
  }
  // Something of this queue became ready: workers look, or the relays of this process do.
  void RingWork(const std::string& queue, bool look = false) {
    if (IsCommanded(queue)) {  // no worker's
      if (projects != nullptr) projects->Wake();
      return;
    }
    doorbell->RingWork(queue, look);
    WakeRelays();
    if (!std::all_of(relays.begin(), relays.end(), [](const BackgroundJob* relay) { return relay->held(); })) doorbell->PassOn({});
  }
  // These became ready: the relays are told, wherever they are, and who hears of nothing by messages is notified. False: not done.
  bool TellRelays(const std::vector<StepMessage>& rows) {
    if (!ready_hints) return false;
    Hinted told = ready_hints(rows);
    if (!told.all) return false;
    if (!told.others.empty()) doorbell->PassOn(std::move(told.others));
    RingWhoLooks(rows);
    return true;
  }
  // A worker says so, to every coordinator.
  void HeardReady(const std::vector<StepMessage>& rows) {
    if (!ready_hints) return;
    if (!ready_hints(rows).all) WakeRelays();
    RingWhoLooks(rows);
  }
  void RingWhoLooks(const std::vector<StepMessage>& rows) {
    std::set<std::string> queues;
    for (const StepMessage& row : rows) queues.insert(row.key.queue);
    for (const std::string& queue : queues) doorbell->RingHinted(queue);
  }
  void WakeRelays() {
    const auto first = std::find_if(relays.begin(), relays.end(), [](const BackgroundJob* relay) { return relay->held(); });
    if (first != relays.end()) (*first)->Wake();  // it looks for all that are held
  }

  Status StartSender() {
    if (settings.queue_driver != "kafka") return {};
    const kafka::FleetSettings fleet{settings.kafka_bootstrap, settings.kafka_prefix, settings.kafka_group, settings.kafka_properties_file};
    const std::string client_id = "acl-coordinator";
    auto client = kafka::MakeClientSettings(fleet, client_id);
    if (!client) return client.error();
    events = std::make_unique<kafka::Producer>(kafka::Producer::Options{.settings = *client, .max_queued = 1'000});
    if (auto status = events->Start(); !status) return status;
    sender = std::make_unique<kafka::RelaySender>(fleet, std::move(*client), clock, kafka::HopSpans(tracer, clock, client_id));
    return sender->Start();
  }

  Status MakeDeliveries() {
    auto links = ApprovalLinks::Open(settings.approval_link_key, settings.approval_base_url, settings.webhook_keys_file);
    if (!links) return links.error();
    approval_links = std::move(*links);
    if (!backend.deliveries) return {};
    auto endpoints = OpenEndpoints(settings.webhook_endpoints_file, settings.webhook_keys_file);
    if (!endpoints) return endpoints.error();
    webhooks = std::make_unique<WebhookSender>(std::move(*endpoints), clock);
    cloud_events = std::make_unique<KafkaSender>(events.get(), settings.kafka_prefix);
    const auto send = [this](const delivery::Delivery& message, OnAnswered done) {
      if (message.channel == delivery::Channel::kKafka) return cloud_events->Send(message, std::move(done));
      webhooks->Send(approval_links ? approval_links->WithLinks(message) : message, std::move(done));
    };
    deliveries = std::make_unique<Deliveries>(*backend.deliveries, send, clock, random, metrics);
    return {};
  }

  Status MakeAskDesk() {
    if (!backend.ask_rows) return {};
    auto setup = AskSetup::Open(settings, *capabilities, clock, random);
    if (!setup) return setup.error();
    LooksAround look;
    if (*setup) {
      sight = std::make_unique<SightTools>(SightTools::Dependencies{*backend.queries, backend.coordinators.get(), clock, ids},
                                           SightTools::Options{.disks = settings.aegis_disks, .index_folder = settings.aegis_index_folder});
      look = [this](const aegis::Kernel& kernel) { return sight->Look(kernel, clock.Steady() + kSightWithin); };
    }
    ask_desk = std::make_unique<AskDesk>(AskDesk::Dependencies{*backend.store, *backend.queries, *backend.ask_rows, *ask_kind, *ledger_kind,
                                                               desk.get(), ids, clock, random, std::move(look), &ask_telemetry},
                                         std::move(*setup));
    return {};
  }

  void MakeJobs() {
    const auto ring = [this](const std::string& queue) { RingWork(queue); };
    const auto look = [this](const std::string& queue) { RingWork(queue, true); };
    const JobContext context{
        *backend.store, *backend.queries, clock, metrics, ring, look, [this](const SubjectId& subject) { NoteEnd(subject); }};
    const ScheduleContext firing{*backend.schedules,
                                 {*backend.store, *capabilities, *workflow_kind, ids, metrics.counter(names::kRunsCreated)},
                                 metrics,
                                 MakeBell()};
    JobPlan plan{settings.timers,        settings.reap,
                 settings.ready_poll,    {settings.session_retention, settings.request_key_retention},
                 settings.content_grace, settings.journal_retention};
    plan.deliveries = deliveries.get();
    if (desk) plan.projects = &desk->commands();
    if (ask_desk) plan.asks = &ask_desk->asks(), plan.ledgers = &ask_desk->ledgers();
    if (sender) {
      plan.send = [this](const StepMessage& message, int times, bool alone, RelayOptions::Done done) {
        return sender->Send(message, times, alone, std::move(done));
      };
    }
    auto [planned, told] = PlanJobs(context, firing, plan);
    ready_hints = std::move(told);
    // The session is of the loop leases only: a coordinator claims no subjects.
    LeaderLeases::Options held{settings.leader_ttl, ids.New<WorkerSessionId>(), {}};
    for (const PlannedJob& one : planned) held.names.push_back(one.name);
    leases = std::make_unique<LeaderLeases>(std::move(held), *backend.store, clock);
    for (PlannedJob& one : planned) {
      const bool is_relay = IsRelay(one), is_schedules = one.name == kSchedulesJob, is_projects = one.name == kProjectsJob;
      BackgroundJob::Options options{std::move(one.name), std::move(one.tick), std::move(one.on_lost)};
      jobs.push_back(std::make_unique<BackgroundJob>(std::move(options), *leases, database, clock, &metrics));
      if (is_schedules) schedules = jobs.back().get();
      if (is_projects) projects = jobs.back().get();
      if (is_relay) relays.push_back(jobs.back().get());
    }
  }

  Status StartListening() {
    doorbell = std::make_unique<DoorbellServer>(
        DoorbellServer::Options{.listen = settings.doorbell_listen,
                                .metrics = &metrics,
                                .on_closed = [this](const SubjectId& subject) { NoteEnd(subject); },
                                .on_work = [this] { WakeRelays(); },
                                .on_ready = [this](const std::vector<StepMessage>& rows) { HeardReady(rows); }});
    if (auto status = doorbell->Start(); !status) return Error{status.code(), "doorbell: " + status.message() + " (--doorbell-listen)"};
    HttpServerOptions options;
    options.listen = settings.listen;
    options.name = "api";
    options.gate.allowed_hosts = AllowedHosts(settings);
    options.on_answer = [this](const HttpRequest& request, int status, SteadyTime::duration took) {
      spans.Answered(request, status, took);
    };
    options.authorize = [this](HttpRequest& request, const Route& route) { return Authorize(request, route); };
    if (needs_key) {
      options.still_allowed = [this](const HttpRequest& request) {
        HttpRequest again = request;
        const auto refusal = keys.Authorize(again);
        return !refusal || refusal->status != 401;
      };
    }
    options.look_again = [this](HttpRequest& request, const Route&) {
      auto refusal = keys.LookAgain(request);
      return refusal ? refusal : RefuseUnlessReady();
    };
    server = std::make_unique<HttpServer>(std::move(options), MakeRouter(), pool.get(), &metrics);
    if (auto status = server->Start(); !status) return Error{status.code(), "API: " + status.message() + " (--listen)"};
    return {};
  }

  Status StartAnnouncer() {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const auto what = AnnouncedAs(settings, doorbell->address(), host);
    if (!what || !backend.coordinators) return {};
    announcer = std::make_unique<Announcer>(*backend.coordinators, ids.New<WorkerSessionId>(), *what);
    return announcer->Start();
  }

  void StopAll() {
    draining = true;
    if (announcer) announcer->Stop();
    if (ask_desk) ask_desk->StopCalls();
    // All at once: while one ends its tick, the others would renew the leases of them all.
    for (auto& job : jobs) job->BeginToStop();
    for (auto& job : jobs) job->Stop();
    if (sender) sender->Stop();
    if (events) events->Stop();
    feed.Stop();  // streams end and whoever waits is answered, so that the server can
    creator.Stop();
    ends.Stop();
    if (server) server->Stop();
    if (pool) pool->Stop();
    if (doorbell) doorbell->Stop();
    keys.Stop();
    database.Stop();
    tracer.Stop();
  }
};

App::App(const Settings& settings, Backend backend) : impl_(std::make_unique<Impl>(settings, std::move(backend))) {}
App::~App() { Stop(); }

Status App::Start() {
  Impl& parts = *impl_;
  std::lock_guard lock(parts.lifecycle);
  ACL_CHECK(!parts.started, "started twice");
  if (!parts.backend.sound) return parts.backend.sound;
  parts.started = true;
  const bool asks = !parts.settings.aegis_kernel_file.empty();  // each holds a thread until the model has answered
  parts.pool = std::make_unique<BlockingPool>(BlockingPoolOptions{
      .name = "handlers", .threads = parts.settings.db_connections + (asks ? AskDesk::kMostAtOnce : 0), .max_queued = 512});
  if (auto status = parts.StartSender(); !status) {
    parts.StopAll();
    return Error{status.code(), "queue: " + status.message()};
  }
  if (auto status = parts.MakeAskDesk(); !status) {
    parts.StopAll();
    return status;
  }
  auto memory = memory::OpenMemory(parts.settings, parts.clock);
  if (!memory) {
    parts.StopAll();
    return memory.error();
  }
  parts.memory = std::move(*memory);
  if (auto status = parts.MakeDeliveries(); !status) {
    parts.StopAll();
    return status;
  }
  parts.MakeJobs();
  if (auto status = parts.creator.Start(); !status) return status;
  if (auto status = parts.ends.Start(); !status) return status;
  if (auto status = parts.StartListening(); !status) {
    parts.StopAll();
    return status;
  }
  if (auto status = parts.database.Start(); !status) return status;
  if (parts.needs_key) {
    if (auto status = parts.keys.Start(); !status) return status;
  }
  if (auto status = parts.feed.Start(); !status) return status;
  if (auto status = parts.StartAnnouncer(); !status) return status;
  for (auto& job : parts.jobs) {
    if (auto status = job->Start(); !status) return status;
  }
  parts.log.Info("listening", {{"api", address().ToString()}, {"doorbell", doorbell_address().ToString()}, {"api_keys", parts.needs_key}});
  if (!parts.settings.listen.is_loopback()) {
    parts.log.Warn("the API is plain HTTP and reachable from other machines: put a proxy that ends TLS before it");
  }
  if (!parts.settings.doorbell_listen.is_loopback()) {
    parts.log.Warn(
        "the doorbell is plain TCP without a key and reachable from other machines: whoever reaches it can ring workers and is told "
        "ids of runs; keep it in a private network (docs/operate/security.md)");
  }
  return {};
}

void App::Stop() {
  std::lock_guard lock(impl_->lifecycle);
  if (impl_->started) impl_->StopAll();
}

HostPort App::address() const { return impl_->server->address(); }
HostPort App::doorbell_address() const { return impl_->doorbell->address(); }
Metrics& App::metrics() { return impl_->metrics; }

}  // namespace acl::coordinator
