#include "worker/app.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>

#include "shared/base/build_info.h"
#include "shared/base/private_file.h"
#include "shared/capability/launchers.h"
#include "shared/capability/process_tree.h"
#include "shared/capability/runner.h"
#include "shared/capability/standard.h"
#include "shared/http/health.h"
#include "shared/http/server.h"
#include "shared/kinds/agent/agent_kind.h"
#include "shared/objectstore/open_store.h"
#include "shared/postgres/pg_store.h"
#include "shared/queue/doorbell_client.h"
#include "shared/runtime/blocking_pool.h"
#include "shared/telemetry/log.h"
#include "shared/webhook/key_file.h"
#include "shared/workflow/workflow_kind.h"
#include "worker/app_config.h"
#include "worker/app_observer.h"
#include "worker/coordinator_watch.h"
#include "worker/queue_choice.h"
#include "worker/shell.h"

namespace acl {

namespace {

// Quick steps that come together and are carried out by who decides: some 6 us each, and what is told of them is decided on at once.
constexpr std::size_t kQuickHere = 128;

Tracer MakeTracer(const WorkerConfig& config, const Clock& clock, Metrics& metrics) {
  const Json process = {{"service.version", std::string(kProducerVersion)},
                        {"service.instance.id", config.session.worker_name},
                        {"host.name", config.session.host},
                        {"process.pid", config.session.pid}};
  return Tracer(ReadOtelConfig(Environment(), "acl-worker"), process, clock, &metrics);
}

}  // namespace

struct WorkerApp::Impl {
  explicit Impl(const Settings& given)
      : settings(given),
        config(MakeWorkerConfig(given)),
        tracer(MakeTracer(config, clock, metrics)),
        store(StoreOptions(given, objects ? *objects : nullptr)),
        contents(store),
        coordinators(store.pool()),
        traces(tracer, clock, config.session.worker_name),
        observer(metrics, traces),
        log("worker") {}

  Status StartRunner();
  Status MakeShell();
  Status StartHealth();
  Readiness Ready() const;

  const Settings settings;
  SystemClock clock;
  const WorkerConfig config;
  Metrics metrics;
  Tracer tracer;
  Result<std::shared_ptr<S3Store>> objects = OpenObjectStore(settings, clock, &metrics);
  PgStore store;
  KernelContents contents;
  PgCoordinatorStore coordinators;
  std::shared_ptr<CapabilityRegistry> capabilities = std::make_shared<CapabilityRegistry>();
  KindRegistry kinds;
  TraceObserver traces;
  AppObserver observer;
  Logger log;
  Gauge held, slots, busy, up;
  // In the order of dependence: who reports ends before who is reported to.
  ChosenQueue queue;
  std::unique_ptr<WorkerShell> shell;
  std::unique_ptr<CapabilityRunner> runner;
  std::unique_ptr<CoordinatorWatch> watch;  // none: without doorbells
  std::unique_ptr<DoorbellClient> doorbell;
  std::unique_ptr<HttpServer> health;
  std::atomic<bool> draining{false};
};

Status WorkerApp::Impl::StartRunner() {
  if (!objects) return objects.error();
  CapabilityConfig capability_config = MakeCapabilityConfig(settings);
  if (!settings.webhook_keys_file.empty()) {
    auto keys = webhook::ReadKeyFile(settings.webhook_keys_file);
    if (!keys) return keys.error();
    capability_config.http.webhook_keys = std::make_shared<const webhook::Keyring>(std::move(*keys));
  }
  if (!settings.aegis_api_key_file.empty()) {
    auto key = ReadPrivateFile("aegis_api_key_file", settings.aegis_api_key_file);
    if (!key) return key.error();
    capability_config.ask.api_key = std::move(*key);
  }
  AdoptOrphans();
  if (const auto launchers = LaunchersAmong(capability_config.exec.allowed_programs); !launchers.empty()) {
    log.Info("allowed programs that start others: with them a workflow may do what this worker's user may (docs/operate/security.md)",
             {{"programs", fmt::format("{}", fmt::join(launchers, " "))}});
  }
  RegisterStandardCapabilities(*capabilities, capability_config);
  kinds.Add(workflow::MakeWorkflowKind(capabilities));
  kinds.Add(agent::MakeAgentKind(capabilities));
  RunnerOptions options;
  options.work_folder = settings.work_dir;
  options.threads = settings.slots;
  options.quick_here = kQuickHere;
  options.max_queued = std::max<std::size_t>(options.max_queued, std::size_t(settings.slots));
  options.metrics = &metrics;
  options.traceparent = [this](const StepCall& call) { return OutgoingTraceparent(tracer, call); };
  auto made = CapabilityRunner::Make(*capabilities, contents, capability_config, options);
  if (!made) return made.error();
  runner = std::move(*made);
  return {};
}

Status WorkerApp::Impl::MakeShell() {
  auto chosen = ChooseQueue(settings, store, clock, metrics, tracer, [this] { shell->HintWork(); });
  if (!chosen) return chosen.error();
  queue = std::move(*chosen);
  DoorbellClient::Options bell;
  bell.coordinators = settings.coordinators;
  bell.worker_name = settings.worker_name;
  bell.queues = settings.queues;
  bell.by_messages = settings.queue_driver == "kafka";
  bell.on_work = [this](const std::string&) { shell->HintWork(); };
  bell.on_look = [this] { queue.driver->LookOnce(); };
  bell.on_lines = [this](bool all_connected) {
    shell->HintDoorbell(all_connected);
    if (watch) watch->SetLines(all_connected);
  };
  bell.on_woken = [this](const SubjectId& subject) { shell->HintSubject(subject); };
  bell.on_granted = [this](const WorkerSessionId& session, const std::vector<SubjectId>& subjects) {
    shell->HintGranted(session, subjects);
  };
  bell.known_version = EventSchemaVersion();
  bell.kinds = kinds.Names();
  doorbell = std::make_unique<DoorbellClient>(std::move(bell));
  observer.SetDoorbell(doorbell.get());
  if (!settings.coordinators.empty()) {
    CoordinatorWatch::Options options;
    options.host = config.session.host;
    options.on_living = [this](std::vector<HostPort> living) { doorbell->SetLiving(std::move(living)); };
    watch = std::make_unique<CoordinatorWatch>(std::move(options), coordinators);
  }
  shell = std::make_unique<WorkerShell>(config, store, *queue.driver, *runner, kinds, clock, &observer,
                                        [this](double ms, std::int64_t events) { observer.OnRestore(ms, events); });
  return {};
}

Readiness WorkerApp::Impl::Ready() const {
  const WorkerShell::Status status = shell->status();
  Readiness readiness;
  const Error why = status.live ? Error{} : observer.why_no_session();
  const bool other_schema = !status.live && why.code == Code::kConflict;
  readiness.checks.push_back({"migrations", !other_schema, other_schema ? why.message : ""});
  // The page needs no key: neither the database's address nor its words. Those are in the log.
  readiness.checks.push_back({"session", status.live, status.live ? "" : "no session with the database"});
  readiness.checks.push_back({"steps", status.lost_slots == 0,
                              status.lost_slots == 0
                                  ? ""
                                  : fmt::format("{} of {} slots are held by steps that did not end at their deadline; if "
                                                "they stay, restart this worker",
                                                status.lost_slots, settings.slots)});
  // What of, and where, is in the log.
  readiness.checks.push_back(
      {"room", !status.is_short, status.is_short ? "short of disk, descriptors, processes or memory: its log says of which" : ""});
  readiness.checks.push_back({"drain", !draining, "draining: takes no new work"});
  return readiness;
}

Status WorkerApp::Impl::StartHealth() {
  Router router;
  held = metrics.gauge(names::kLeasesHeld);
  slots = metrics.gauge(names::kSlots);
  busy = metrics.gauge(names::kSlotsBusy);
  up = metrics.gauge(names::kDatabaseUp);
  metrics
      .gauge(names::kBuildInfo,
             {{"version", std::string(kProducerVersion)}, {"commit", std::string(BuildCommit())}, {"component", "worker"}})
      .Set(1);
  const auto measure = [this] {
    const WorkerShell::Status status = shell->status();
    held.Set(status.held);
    slots.Set(status.live && !draining && !status.is_short ? settings.slots : 0);
    busy.Set(status.running_steps);
    up.Set(status.live ? 1 : 0);
    if (queue.measure) queue.measure();
  };
  AddHealthRoutes(
      router, metrics, [this] { return Ready(); }, measure);
  HttpServerOptions options;
  options.listen = settings.health_listen;
  options.name = "health";
  health = std::make_unique<HttpServer>(std::move(options), std::move(router), nullptr, &metrics);
  Status started = health->Start();
  if (!started) return Error{started.code(), "health page: " + started.message() + " (--health-listen)"};
  log.Info("worker listens", {{"health", "http://" + health->address().ToString()}, {"work_dir", settings.work_dir}});
  return {};
}

WorkerApp::WorkerApp(const Settings& settings) : impl_(std::make_unique<Impl>(settings)) {}
WorkerApp::~WorkerApp() { Stop(); }

Status WorkerApp::Start() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    if (Status enough = EnoughDescriptors(impl_->settings, std::int64_t(std::min<rlim_t>(files.rlim_cur, 1 << 30))); !enough) return enough;
  }
  Status runner = impl_->StartRunner();
  if (!runner) return runner;
  if (Status shell = impl_->MakeShell(); !shell) return shell;
  if (Status health = impl_->StartHealth(); !health) return health;
  // Last: from here on it takes work, so everything that can refuse to start has started.
  impl_->shell->Start();
  if (Status queue = impl_->queue.driver->Start(); !queue) return Error{queue.code(), "queue: " + queue.message()};
  (void)impl_->doorbell->Start().ok();  // a coordinator that is away is tried again for ever
  return impl_->watch ? impl_->watch->Start() : Status{};
}

bool WorkerApp::Drain() {
  impl_->draining = true;
  if (!impl_->shell) return true;
  impl_->shell->Drain();
  // Its partitions go to others now, not when all that runs here has ended; offsets of what was claimed are committed.
  impl_->queue.driver->Stop();
  const milliseconds longest = std::max(impl_->settings.drain_deadline, impl_->settings.drain_effects_deadline);
  const bool finished = impl_->shell->WaitFinished(longest + milliseconds(5'000));
  if (finished) {
    impl_->log.Info("drained: every lease is released");
  } else {
    impl_->log.Warn("not everything could be released in time: the leases end with the session");
  }
  return finished;
}

void WorkerApp::Stop() {
  if (impl_->health) impl_->health->Stop();
  if (impl_->shell) impl_->shell->StopDeciding();
  if (impl_->watch) impl_->watch->Stop();
  if (impl_->doorbell) impl_->doorbell->Stop();
  if (impl_->queue.driver) impl_->queue.driver->Stop();
  impl_->runner.reset();
  impl_->shell.reset();
  impl_->tracer.Stop();
}

}  // namespace acl
